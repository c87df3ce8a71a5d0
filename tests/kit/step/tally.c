/* SPDX-License-Identifier: Apache-2.0 */
/* A table: a row for each class of code, a column for each verdict. */
#include "tests/kit/step/step.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last class has all for which there is no other one. */
static struct tally_class *find_class(struct tally *tally, const char *name, bool is_counted)
{
	struct tally_class *class = tally->classes;

	while (class < tally->classes + tally->n &&
	       strncmp(class->name, name, sizeof(class->name) - 1) != 0)
		class++;
	if (class == tally->classes + tally->n && tally->n < TALLY_CLASSES - 1) {
		tally->n++;
		class->is_counted = is_counted;
		snprintf(class->name, sizeof(class->name), "%s", name);
	}
	return class;
}

bool tally_add(struct tally *tally, const char *name, bool is_counted, enum step_verdict verdict,
	       uint64_t pc)
{
	struct tally_class *class = find_class(tally, name, is_counted);
	bool is_example = (verdict == STEP_WRONG || verdict == STEP_UNSURE_WRONG) &&
			  class->shown < tally->examples && class->last != pc;

	class->verdicts[verdict]++;
	class->shown += is_example;
	class->last = is_example ? pc : class->last;
	return is_example;
}

void tally_print_code(const uint8_t *code, size_t before, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		printf("%s %02x", before && i == before ? " |" : "", code[i]);
	printf("\n");
}

static int compare_names(const void *a, const void *b)
{
	const struct tally_class *one = a, *other = b;

	return strcmp(one->name, other->name);
}

static void print_class(const struct tally_class *class)
{
	const size_t *n = class->verdicts;

	printf("  %-60s %8zu %6zu %6zu/%zu %8zu\n", class->name, n[STEP_RIGHT], n[STEP_WRONG],
	       n[STEP_UNSURE_RIGHT], n[STEP_UNSURE_RIGHT] + n[STEP_UNSURE_WRONG], n[STEP_UNKNOWN]);
}

double tally_print(struct tally *tally, size_t *ret_judged)
{
	struct tally_class sums[2] = {{.name = "all other"}, {.name = "all that counts"}};
	const size_t *counted = sums[1].verdicts;

	qsort(tally->classes, tally->n, sizeof(tally->classes[0]), compare_names);
	printf("  %-60s %8s %6s %8s %8s\n", "code", "right", "wrong", "unsure", "unknown");
	for (size_t i = 0; i < TALLY_CLASSES; i++) {
		const struct tally_class *class = &tally->classes[i];

		if (i < tally->n)
			print_class(class);
		for (size_t j = 0; j < STEP_VERDICTS; j++)
			sums[class->is_counted].verdicts[j] += class->verdicts[j];
	}
	print_class(&sums[0]);
	print_class(&sums[1]);
	*ret_judged = counted[STEP_RIGHT] + counted[STEP_WRONG];
	return *ret_judged ? 100. * (double)counted[STEP_RIGHT] / (double)*ret_judged : 0;
}
