/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/util.h"
#include "plugins/hotspot/tests/live/step/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CLASSES 512
#define MAX_SAMPLES (4u << 20)

struct class {
	char name[64];
	bool is_counted;
	size_t samples, right, wrong; /* right and wrong: of those that are judged */
	size_t unsure_right, unsure_wrong;
};

struct report {
	struct class classes[MAX_CLASSES];
	size_t n_classes;
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

uint32_t report_class(struct report *report, const char *name, bool is_counted)
{
	uint32_t i = 0;

	while (i < report->n_classes && strcmp(report->classes[i].name, name) != 0)
		i++;
	if (i == report->n_classes && i < MAX_CLASSES - 1) {
		snprintf(report->classes[i].name, sizeof(report->classes[i].name), "%s", name);
		report->classes[i].is_counted = is_counted;
		report->n_classes++;
	}
	return i;
}

int report_add(struct report *report, const struct sample *sample)
{
	return ep_vec_append(&report->samples, sample, 1);
}

size_t report_len(const struct report *report)
{
	return report->samples.len;
}

static bool is_right(const struct sample *sample, const struct shadow_caller *truth)
{
	if (truth->addr && sample->walked.caller == truth->addr)
		return true;
	if (sample->within && sample->walked.caller == sample->within)
		return true;
	/* A replaced return address, while it is replaced: either may be said. */
	return truth->fate == FATE_PATCHED && sample->now && sample->walked.caller == sample->now;
}

static bool is_judged(const struct shadow_caller *truth)
{
	return truth->fate == FATE_OPEN || truth->fate == FATE_RETURNED ||
	       truth->fate == FATE_THROWN;
}

static void count(struct class *class, const struct sample *sample,
		  const struct shadow_caller *truth)
{
	bool right = is_right(sample, truth);

	class->samples++;
	if (is_judged(truth)) {
		class->right += right;
		class->wrong += !right;
	} else if (truth->fate != FATE_UNKNOWN) {
		class->unsure_right += right;
		class->unsure_wrong += !right;
	}
}

static void print_example(const struct report *report, const struct sample *sample,
			  const struct shadow_caller *truth)
{
	static const char *const fates[] = {"open",   "returned", "patched",
					    "thrown", "unwound",  "unknown"};

	printf("  %s %s pc %#" PRIx64 " (blob %#" PRIx64 "+%#" PRIx64 ") sp %#" PRIx64 "\n    bytes",
	       is_judged(truth) ? "WRONG" : "unsure", report->classes[sample->class].name,
	       sample->pc, sample->start, sample->pc - sample->start, sample->sp);
	for (size_t i = 0; i < STEP_CODE_BYTES; i++)
		printf(" %02x", sample->code[i]);
	printf(" |");
	for (size_t i = STEP_CODE_BYTES; i < 2 * STEP_CODE_BYTES; i++)
		printf(" %02x", sample->code[i]);
	printf("\n    said %#" PRIx64 " true %#" PRIx64 " (%s) slot holds %#" PRIx64
	       " error %u frames %u headers %x %x %x leaf %#" PRIx64 "\n",
	       sample->walked.caller, truth->addr, fates[truth->fate], sample->now,
	       sample->walked.error, sample->walked.n_frames, sample->walked.header[0],
	       sample->walked.header[1], sample->walked.header[2], sample->walked.leaf);
}

/* Of each class, as many as wanted, at different addresses. */
static void print_examples(const struct report *report, const struct shadow *shadow,
			   unsigned int examples)
{
	unsigned int shown[MAX_CLASSES] = {0};
	uint64_t last[MAX_CLASSES] = {0};
	const struct sample *sample;

	ep_vec_each (&report->samples, sample) {
		const struct shadow_caller *truth = shadow_caller(shadow, sample->caller);

		if (truth->fate == FATE_UNKNOWN || is_right(sample, truth) ||
		    shown[sample->class] >= examples || last[sample->class] == sample->pc)
			continue;
		shown[sample->class]++;
		last[sample->class] = sample->pc;
		print_example(report, sample, truth);
	}
}

static void print_class(const struct class *class)
{
	size_t unsure = class->unsure_right + class->unsure_wrong;

	printf("%-44s %8zu %8zu %8zu %6zu %6zu/%zu\n", class->name, class->samples,
	       class->right + class->wrong, class->right, class->wrong, class->unsure_right, unsure);
}

static void add(struct class *to, const struct class *from)
{
	to->samples += from->samples;
	to->right += from->right;
	to->wrong += from->wrong;
	to->unsure_right += from->unsure_right;
	to->unsure_wrong += from->unsure_wrong;
}

static int compare_names(const void *a, const void *b)
{
	const struct class *one = a, *other = b;

	return strcmp(one->name, other->name);
}

double report_print(const struct report *report, const struct shadow *shadow, unsigned int examples,
		    size_t *ret_judged)
{
	struct class classes[MAX_CLASSES];
	struct class counted = {.name = "all that counts"}, others = {.name = "all other"};
	const struct sample *sample;

	memcpy(classes, report->classes, sizeof(classes));
	ep_vec_each (&report->samples, sample)
		count(&classes[sample->class], sample, shadow_caller(shadow, sample->caller));
	if (examples)
		print_examples(report, shadow, examples);
	qsort(classes, report->n_classes, sizeof(classes[0]), compare_names);
	printf("%-44s %8s %8s %8s %6s %13s\n", "code", "samples", "judged", "right", "wrong",
	       "unsure right");
	for (size_t i = 0; i < report->n_classes; i++) {
		print_class(&classes[i]);
		add(classes[i].is_counted ? &counted : &others, &classes[i]);
	}
	print_class(&counted);
	print_class(&others);
	printf("returns %" PRIu64 ", elsewhere %" PRIu64 ", lost track %" PRIu64 "\n",
	       shadow->returns, shadow->returns_elsewhere, shadow->lost);
	*ret_judged = counted.right + counted.wrong;
	return *ret_judged ? 100.0 * (double)counted.right / (double)*ret_judged : 0.0;
}
