/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/pgo/programs.h"
#include "core/base/util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 3 /* programs that the error names */

uint32_t pgo_find_kind(const struct ep_batch *batch)
{
	for (uint32_t i = 1; i < batch->n_strings; i++) {
		if (strcmp(batch->string_text[i], PGO_KIND) == 0)
			return i;
	}
	return 0;
}

bool pgo_is_of(const struct ep_batch *batch, uint32_t stack, uint32_t kind)
{
	for (uint32_t at = batch->stack_location_first[stack]; at < batch->stack_location_first[stack + 1]; at++) {
		if (batch->location_kind[batch->stack_location[at]] == kind)
			return true;
	}
	return false;
}

/* By the path, or, of one that was gone before that was read, by the name. */
bool pgo_is_same(const struct ep_batch *batch, uint32_t process, uint32_t other)
{
	uint32_t path = batch->process_exe_path[process];

	if (path != batch->process_exe_path[other])
		return false;
	return path || batch->process_comm[process] == batch->process_comm[other];
}

struct program {
	uint32_t process; /* the first of it */
	uint64_t weight;
};

static int by_weight(const void *left, const void *right)
{
	const struct program *a = left, *b = right;

	return a->weight > b->weight ? -1 : a->weight < b->weight;
}

/* Gathers processes of one executable at the front. How many executables. */
static size_t gather(const struct ep_batch *batch, struct program *programs, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		size_t to = 0;

		while (to < kept && !pgo_is_same(batch, programs[to].process, programs[i].process))
			to++;
		if (to == kept)
			programs[kept++] = programs[i];
		else
			programs[to].weight += programs[i].weight;
	}
	return kept;
}

static void name_all(const struct ep_batch *batch, const struct program *programs, size_t n, char *why, size_t len)
{
	uint64_t total = 0;
	size_t used;

	for (size_t i = 0; i < n; i++)
		total += programs[i].weight;
	used = (size_t)snprintf(why, len, "%zu Go programs were sampled:", n);
	for (size_t i = 0; i < n && i < SHOWN && used < len; i++)
		used += (size_t)snprintf(why + used, len - used, "%s %.24s (%.1f %%)", i ? "," : "",
					 batch->string_text[batch->process_comm[programs[i].process]],
					 100.0 * (double)programs[i].weight / (double)EP_MAX(total, 1u));
	if (used < len)
		(void)snprintf(why + used, len - used, "%s; such a profile is of one: choose it, with -p PID or "
						       "--comm NAME", n > SHOWN ? ", .." : "");
}

int pgo_find_program(const struct ep_batch *batch, uint32_t kind, uint32_t *ret_process, char *why, size_t len)
{
	ep_autofree uint64_t *weights = calloc((size_t)batch->n_processes + 1, sizeof(*weights));
	ep_autofree struct program *programs = calloc((size_t)batch->n_processes + 1, sizeof(*programs));
	size_t n = 0;

	if (!weights || !programs)
		return -ENOMEM;
	for (uint32_t i = 0; i < batch->n_samples && kind; i++) {
		if (pgo_is_of(batch, batch->sample_stack[i], kind))
			weights[batch->sample_process[i]] += ep_batch_weight_ns(batch, i);
	}
	for (uint32_t i = 0; i < batch->n_processes; i++) {
		if (weights[i])
			programs[n++] = (struct program){.process = i, .weight = weights[i]};
	}
	n = gather(batch, programs, n);
	if (n == 1) {
		*ret_process = programs[0].process;
		return 0;
	}
	if (n == 0) {
		snprintf(why, len, "no Go program was sampled: record one that is busy, built with Go 1.20 or newer");
		return -ENODATA;
	}
	qsort(programs, n, sizeof(*programs), by_weight);
	name_all(batch, programs, n, why, len);
	return -EINVAL;
}
