/* SPDX-License-Identifier: Apache-2.0 */
/* The second half of building: from candidates, some at one address, to entries. */
#include "core/symbol/aliases.h"
#include "core/symbol/symtab_builder.h"

#include <errno.h>
#include <string.h>

/* ---- sorting: by address, four passes of a byte each, stable ---- */

static void sort_pass(const struct symtab_candidate *from, struct symtab_candidate *to, size_t n,
		      unsigned int shift)
{
	size_t first[257] = {0};

	for (size_t i = 0; i < n; i++)
		first[(from[i].start >> shift & 0xff) + 1]++;
	for (size_t i = 1; i < EP_LEN(first); i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < n; i++)
		to[first[from[i].start >> shift & 0xff]++] = from[i];
}

static int candidates_sort(struct ep_vec *candidates)
{
	size_t n = candidates->len;
	struct symtab_candidate *from = candidates->data, *to;

	to = malloc(n * sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (unsigned int shift = 0; shift < 32; shift += 8) {
		struct symtab_candidate *sorted = to;

		sort_pass(from, to, n, shift);
		to = from;
		from = sorted;
	}
	free(to); /* an even number of passes: the result is where it began */
	return 0;
}

/* ---- choosing ---- */

/* Negative when `a` is the better name for their common address; the order of aliases.h. */
static int candidate_compare(struct symtab_builder *builder, const struct symtab_candidate *a,
			     const struct symtab_candidate *b)
{
	const char *name_a, *name_b;
	size_t len_a, len_b;
	int r;

	if (a->rank != b->rank)
		return (int)a->rank - (int)b->rank;
	len_a = ep_symtab_candidate_name(builder, a, builder->name[0], &name_a);
	len_b = ep_symtab_candidate_name(builder, b, builder->name[1], &name_b);
	r = ep_symbol_compare_names(name_a, len_a, name_b, len_b);
	return r ? r : (a->name_off < b->name_off ? -1 : a->name_off > b->name_off);
}

/* What the entries so far say about the next one. */
struct chooser {
	struct symtab_builder *builder;
	size_t n;	      /* entries written */
	uint64_t covered_end; /* end of the sized function that reaches farthest */
	uint8_t open_flags;   /* of the last entry, when its end is not known yet */
	bool open;
};

static uint64_t range_end(struct symtab_builder *builder, uint32_t start)
{
	const struct symtab_range *range =
		ep_symtab_range_of(builder, builder->symtab->base_va + start);

	return range ? range->end - builder->symtab->base_va : start;
}

/* The last entry had no size: it ends at `next`, or where its section or surroundings do. */
static void close_open(struct chooser *chooser, uint64_t next)
{
	struct symtab_entry *last;
	uint64_t end;

	if (!chooser->open)
		return;
	last = &chooser->builder->symtab->entries[chooser->n - 1];
	end = EP_MIN(next, range_end(chooser->builder, last->start));
	if (last->start < chooser->covered_end)
		end = EP_MIN(end, chooser->covered_end);
	if (chooser->open_flags & CANDIDATE_SPARSE)
		end = EP_MIN(end, (uint64_t)last->start + EP_SYMTAB_SPARSE_BYTES);
	end = EP_MIN(end, (uint64_t)last->start + SYMTAB_MAX_SIZE);
	last->meta |= (uint32_t)(end - last->start);
	chooser->open = false;
}

/* A label counts only where no function is. One without a size ends at a global label only. */
static bool label_is_covered(struct chooser *chooser, const struct symtab_candidate *label)
{
	const struct symtab_entry *last;

	if (label->start < chooser->covered_end)
		return true;
	if (!chooser->open || !(label->flags & CANDIDATE_LOCAL) ||
	    (chooser->open_flags & CANDIDATE_LABEL))
		return false;
	last = &chooser->builder->symtab->entries[chooser->n - 1];
	return label->start < range_end(chooser->builder, last->start);
}

static void entry_write(struct chooser *chooser, const struct symtab_candidate *best, uint32_t size)
{
	struct ep_symtab *symtab = chooser->builder->symtab;
	uint64_t end;

	if ((best->flags & CANDIDATE_LABEL) && label_is_covered(chooser, best))
		return;
	close_open(chooser, best->start);
	end = EP_MIN((uint64_t)best->start + size, range_end(chooser->builder, best->start));
	symtab->entries[chooser->n++] = (struct symtab_entry){
		.start = best->start,
		.meta = SYMTAB_META((uint32_t)(end - best->start), best->source,
				    !!(best->flags & CANDIDATE_PLT)),
		.name_off = best->name_off,
	};
	chooser->open = !size;
	chooser->open_flags = best->flags;
	if (size)
		chooser->covered_end = EP_MAX(chooser->covered_end, end);
}

/* The best of the candidates [i, end), which share an address, with its size or else theirs. */
static void group_choose(struct chooser *chooser, size_t i, size_t end)
{
	const struct symtab_candidate *all = chooser->builder->candidates.data;
	const struct symtab_candidate *best = &all[i];
	uint32_t size = 0;

	for (size_t k = i; k < end; k++) {
		size = EP_MAX(size, all[k].size);
		if (k > i && candidate_compare(chooser->builder, &all[k], best) < 0)
			best = &all[k];
	}
	entry_write(chooser, best, best->size ? best->size : size);
}

static int entries_choose(struct symtab_builder *builder)
{
	struct chooser chooser = {.builder = builder};
	const struct symtab_candidate *all = builder->candidates.data;
	size_t n = builder->candidates.len, end;
	struct symtab_entry *entries = malloc(n * sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	builder->symtab->entries = entries;
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && all[end].start == all[i].start;)
			end++;
		group_choose(&chooser, i, end);
	}
	close_open(&chooser, UINT64_MAX);
	builder->symtab->n_entries = chooser.n;
	entries = realloc(entries, EP_MAX(chooser.n, (size_t)1) * sizeof(*entries));
	if (entries)
		builder->symtab->entries = entries;
	return 0;
}

int ep_symtab_choose(struct symtab_builder *builder)
{
	int r = candidates_sort(&builder->candidates);

	return r < 0 ? r : entries_choose(builder);
}
