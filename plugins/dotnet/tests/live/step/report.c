/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/tests/live/step/step.h"

#include "core/base/util.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CLASSES 64
#define MAX_SAMPLES (4u << 20)

enum verdict {
	VERDICT_RIGHT,
	VERDICT_WRONG,
	VERDICT_FUNCLET, /* right: it is shown as its method, whose caller is next */
	VERDICT_UNSURE,	 /* the same, but who called the method is not known */
};

struct class
{
	const char *name;
	size_t verdicts[VERDICT_UNSURE + 1];
};

struct report {
	struct ep_vec samples; /* struct sample */
};

struct report *report_new(void)
{
	struct report *report = calloc(1, sizeof(*report));

	if (report)
		ep_vec_init(&report->samples, sizeof(struct sample), MAX_SAMPLES);
	return report;
}

void report_free(struct report *report)
{
	if (report)
		ep_vec_fini(&report->samples);
	free(report);
}

int report_add(struct report *report, const struct sample *sample)
{
	return ep_vec_append(&report->samples, sample, 1);
}

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
static enum verdict judge_funclet(const struct sample *sample, uint32_t i)
{
	if (i > 0) /* all up to it are right */
		return VERDICT_RIGHT;
	if (!sample->parent_caller)
		return VERDICT_UNSURE;
	return sample->n_walked > 0 && sample->walked[0] == sample->parent_caller ? VERDICT_FUNCLET
										  : VERDICT_WRONG;
}

static enum verdict judge(struct ranges *ranges, const struct sample *sample)
{
	uint32_t n = 0; /* of those that were walked */

	for (uint32_t i = 0; i < sample->n_expected && n < STEP_CALLERS; i++) {
		if (n < sample->n_walked && sample->walked[n] == sample->expected[i])
			n++;
		else if (is_replaced(ranges, sample, i))
			continue;
		else if (may_be_funclet(ranges, sample, i))
			return judge_funclet(sample, i);
		else if (!calls_own_funclet(ranges, sample, i))
			return VERDICT_WRONG;
	}
	return VERDICT_RIGHT;
}

static struct class *class_of(struct class *classes, const char *name)
{
	size_t i = 0;

	while (i < MAX_CLASSES - 1 && classes[i].name && strcmp(classes[i].name, name) != 0)
		i++;
	classes[i].name = classes[i].name ? classes[i].name : name;
	return &classes[i];
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
	for (size_t i = 0; i < STEP_CODE_BYTES; i++)
		printf(" %02x", sample->code[i]);
	printf("\n");
	print_addrs("called by", sample->expected, sample->n_expected);
	print_addrs("walked:  ", sample->walked, sample->n_walked);
	print_addrs("entries: ", sample->entry, sample->n_expected);
	print_addrs("the caller of rbp's method:", &sample->parent_caller, 1);
}

void report_print(const struct report *report, struct ranges *ranges, unsigned int examples,
		  size_t *ret_judged, size_t *ret_right)
{
	struct class classes[MAX_CLASSES] = {0};
	const struct sample *sample;
	size_t all[VERDICT_UNSURE + 1] = {0};

	ep_vec_each (&report->samples, sample) {
		enum verdict verdict = judge(ranges, sample);

		class_of(classes, name_of(ranges, sample))->verdicts[verdict]++;
		if (verdict == VERDICT_WRONG && all[verdict] < examples)
			print_example(ranges, sample);
		all[verdict]++;
	}
	for (size_t i = 0; i < MAX_CLASSES && classes[i].name; i++)
		printf("  %7zu right and %zu in funclets, %zu wrong, %zu not sure: %s\n",
		       classes[i].verdicts[VERDICT_RIGHT], classes[i].verdicts[VERDICT_FUNCLET],
		       classes[i].verdicts[VERDICT_WRONG], classes[i].verdicts[VERDICT_UNSURE],
		       classes[i].name);
	*ret_right = all[VERDICT_RIGHT] + all[VERDICT_FUNCLET];
	*ret_judged = *ret_right + all[VERDICT_WRONG];
}
