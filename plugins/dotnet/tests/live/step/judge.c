/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/tests/live/step/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OF_A_FUNCLET " of a funclet"

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

/*
 * Who called the funclet's method. Its own frame is the innermost one with a return address in it,
 * whose caller is no native code, as a funclet's is. In an image rbp has to tell. 0: it was called
 * before the stretch.
 */
static uint64_t find_parent_caller(struct ranges *ranges, const struct sample *sample, uint32_t i)
{
	const char *name;
	uint64_t start = ranges_find_name(ranges, i ? sample->expected[i - 1] - 1 : sample->pc,
					  &name);

	if (!start)
		return i ? 0 : sample->parent_caller;
	for (uint32_t k = i + 1; k + 1 < sample->n_stack; k++) {
		if (ranges_find_name(ranges, sample->stack[k] - 1, &name) == start &&
		    ranges_find(ranges, sample->stack[k + 1]) != RANGE_NATIVE)
			return sample->stack[k + 1];
	}
	return 0;
}

/* The funclet is shown as its method, whose caller is next. */
static enum step_verdict judge_funclet(struct ranges *ranges, const struct sample *sample,
				       uint32_t i, uint32_t n)
{
	uint64_t caller = find_parent_caller(ranges, sample, i);

	if (!caller)
		return STEP_UNKNOWN;
	return n < sample->n_walked && sample->walked[n] == caller ? STEP_RIGHT : STEP_WRONG;
}

/* A filter's thrower is alive: all frames are shown. */
static bool is_filter(const struct ranges *ranges, const struct sample *sample, uint32_t i)
{
	return ranges_has_filter(ranges, sample->entry[i]);
}

/* In ret_where: what the sample is to a funclet. */
static enum step_verdict judge(struct ranges *ranges, const struct sample *sample,
			       const char **ret_where)
{
	uint32_t n = 0; /* of those that were walked */

	for (uint32_t i = 0; i < sample->n_expected && n < STEP_CALLERS; i++) {
		bool may_be = may_be_funclet(ranges, sample, i);
		bool is_known = may_be && ranges_find_name(ranges, sample->entry[i],
							   &(const char *){NULL});

		if (is_known)
			*ret_where = i ? " called by a funclet" : OF_A_FUNCLET;
		if (is_known && !is_filter(ranges, sample, i))
			return judge_funclet(ranges, sample, i, n);
		if (n < sample->n_walked && sample->walked[n] == sample->expected[i])
			n++;
		else if (is_replaced(ranges, sample, i))
			continue;
		else if (may_be)
			return judge_funclet(ranges, sample, i, n);
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

size_t judge_all(struct stepping *run, struct ranges *ranges)
{
	const struct sample *sample;
	size_t n_rare = 0;

	ep_vec_each (&run->samples, sample) {
		char name[64];
		const char *where = "", *kind = name_of(ranges, sample);
		enum step_verdict verdict = judge(ranges, sample, &where);

		n_rare += verdict != STEP_UNKNOWN &&
			  (strcmp(where, OF_A_FUNCLET) == 0 || strstr(kind, "OSR]"));
		snprintf(name, sizeof(name), "%s%s", kind, where);
		if (tally_add(&run->tally, name, true, verdict, sample->pc))
			print_example(ranges, sample);
	}
	return n_rare;
}
