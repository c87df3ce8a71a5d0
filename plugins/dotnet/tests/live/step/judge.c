/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/tests/live/step/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A stub that the runtime has no name for, and an image's code, are what they lie in. */
static const char *name_of(const struct ranges *ranges, const struct sample *sample)
{
	const char *name = "[stub without a name]";

	if (sample->kind == RANGE_IMAGE)
		return "[image]";
	(void)ranges_find_name(ranges, sample->pc, &name);
	return name;
}

/*
 * A method that calls its own finally funclet is shown as that alone. The funclet lies in the
 * method; in an image it is a function of its own, but images call other methods through cells.
 */
static bool calls_own_funclet(struct ranges *ranges, const struct sample *sample, uint32_t i)
{
	const char *name;
	uint64_t called = sample->called[i],
		 start = ranges_find_name(ranges, sample->expected[i] - 1, &name);

	if (!called)
		return false;
	if (!start)
		return ranges_find(ranges, called) == RANGE_IMAGE;
	return called != start && ranges_find_name(ranges, called, &name) == start;
}

/*
 * Code of on-stack replacement is jumped to by the helper that its method called (JIT_Patchpoint,
 * vm/jithelpers.cpp, v8.0.0), with rsp as in that call: which does not return, and whose caller's
 * frame it has taken over.
 */
static bool is_replaced(struct ranges *ranges, const struct sample *sample, uint32_t i)
{
	const char *name = "";

	(void)ranges_find_name(ranges, i ? sample->expected[i - 1] - 1 : sample->pc, &name);
	return strstr(name, "OSR]") && ranges_find(ranges, sample->entry[i]) == RANGE_NATIVE;
}

/* What native code has called within a method is a funclet of it; in an image it may be one. */
static bool may_be_funclet(struct ranges *ranges, const struct sample *sample, uint32_t i)
{
	const char *name;
	uint64_t start = ranges_find_name(ranges, sample->entry[i], &name);

	if (ranges_find(ranges, sample->expected[i]) != RANGE_NATIVE)
		return false;
	return start ? sample->entry[i] != start
		     : ranges_find(ranges, sample->entry[i]) == RANGE_IMAGE;
}

/* The funclet is shown as its method, whose caller is next. rbp of the funclet that runs is its
 * method's. */
static enum step_verdict judge_funclet(const struct sample *sample, uint32_t i,
				       bool *ret_is_funclet)
{
	if (i > 0) /* all up to it are right */
		return STEP_RIGHT;
	*ret_is_funclet = true;
	if (!sample->parent_caller)
		return STEP_UNKNOWN;
	return sample->n_walked > 0 && sample->walked[0] == sample->parent_caller ? STEP_RIGHT
										  : STEP_WRONG;
}

static enum step_verdict judge(struct ranges *ranges, const struct sample *sample,
			       bool *ret_is_funclet)
{
	uint32_t n = 0; /* of those that were walked */

	for (uint32_t i = 0; i < sample->n_expected && n < STEP_CALLERS; i++) {
		if (n < sample->n_walked && sample->walked[n] == sample->expected[i])
			n++;
		else if (is_replaced(ranges, sample, i))
			continue;
		else if (may_be_funclet(ranges, sample, i))
			return judge_funclet(sample, i, ret_is_funclet);
		else if (!calls_own_funclet(ranges, sample, i))
			return STEP_WRONG;
	}
	return STEP_RIGHT;
}

static void print_addrs(const char *what, const uint64_t *addrs, uint32_t n)
{
	printf("    %s", what);
	for (uint32_t i = 0; i < n; i++)
		printf(" %" PRIx64, addrs[i]);
	printf("\n");
}

static void print_example(const struct ranges *ranges, const struct sample *sample)
{
	const char *name = "";
	uint64_t start = ranges_find_name(ranges, sample->pc, &name);

	printf("  WRONG in %s at %" PRIx64 " (+%" PRIx64 "), error %u, code",
	       name_of(ranges, sample), sample->pc, start ? sample->pc - start : 0, sample->error);
	tally_print_code(sample->code, 0, sizeof(sample->code));
	print_addrs("called by", sample->expected, sample->n_expected);
	print_addrs("walked:  ", sample->walked, sample->n_walked);
	print_addrs("entries: ", sample->entry, sample->n_expected);
	print_addrs("the caller of rbp's method:", &sample->parent_caller, 1);
}

void judge_all(struct stepping *run, struct ranges *ranges)
{
	const struct sample *sample;

	ep_vec_each (&run->samples, sample) {
		char name[64];
		bool is_funclet = false;
		enum step_verdict verdict = judge(ranges, sample, &is_funclet);

		snprintf(name, sizeof(name), "%s%s", name_of(ranges, sample),
			 is_funclet ? " of a funclet" : "");
		if (tally_add(&run->tally, name, true, verdict, sample->pc))
			print_example(ranges, sample);
	}
}
