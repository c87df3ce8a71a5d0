/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int push(struct ep_vec *rows, struct ep_row row)
{
	struct ep_row *slot;

	if (rows->len == rows->max)
		return -E2BIG;
	slot = ep_vec_push(rows);
	if (!slot)
		return -ENOMEM;
	*slot = row;
	return 0;
}

/* What an executable without tables in the store says to a sample. */
static uint32_t no_pages(const struct ep_executable *executable)
{
	if (executable->state == EP_EXECUTABLE_PENDING ||
	    (executable->state == EP_EXECUTABLE_READY && executable->in_parts))
		return EP_PAGES_PENDING;
	if (executable->state == EP_EXECUTABLE_EVICTED)
		return EP_PAGES_DROPPED;
	return EP_PAGES_ABSENT;
}

/* The part of [va, end) that a segment's page entries cover, as a row; false when there is none. */
static bool cut_row(const struct ep_delta_store_segment *segment, uint64_t va, uint64_t end,
		    struct ep_row *row)
{
	uint64_t first = EP_MAX(va, segment->va);
	uint64_t last = EP_MIN(end, segment->va + (uint64_t)segment->n_pages * EP_PAGE_BYTES);

	if (first >= last)
		return false;
	row->start += first - va;
	row->end = row->start + (last - first);
	row->va = first;
	row->pages = segment->pages +
		     2 * (uint32_t)((first >> EP_PAGE_SHIFT) - (segment->va >> EP_PAGE_SHIFT));
	return true;
}

/* [va, end) of a mapping that begins at `first`: it has no tables. */
static int push_bare(struct ep_vec *rows, const struct ep_area *area, uint64_t first,
		     uint64_t va, uint64_t end)
{
	return push(rows, (struct ep_row){
				  .start = area->start + (va - first),
				  .end = area->start + (end - first),
				  .va = va,
				  .executable = area->use->executable->id,
				  .pages = no_pages(area->use->executable),
			  });
}

/* What lies between tables of some parts is not made yet; else nothing is there. */
static int add_covered(struct ep_vec *rows, const struct ep_area *area, uint64_t first)
{
	const struct ep_executable *executable = area->use->executable;
	const struct ep_delta_store_segment *segments = NULL;
	size_t n = executable->text ? ep_delta_store_text_segments(executable->text, &segments) : 0;
	uint64_t end = first + (area->end - area->start), at = first;
	bool covered = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct ep_row row = {.start = area->start, .executable = executable->id};

		if (!cut_row(&segments[i], first, end, &row))
			continue;
		if (executable->in_parts && row.va > at)
			r = push_bare(rows, area, first, at, row.va);
		if (r == 0)
			r = push(rows, row);
		at = row.va + (row.end - row.start);
		covered = true;
	}
	if (r == 0 && (!covered || (executable->in_parts && at < end)))
		r = push_bare(rows, area, first, at, end);
	return r;
}

static bool is_no_elf(const struct ep_executable *executable)
{
	return executable->state == EP_EXECUTABLE_FAILED && !executable->unopened;
}

/*
 * While nobody knows whether it is an ELF file, languages may say that it is theirs. A JIT's mapping may be another
 * one when a worker comes to open it.
 */
static bool may_be_anonymous(const struct ep_area *area)
{
	const struct ep_executable *executable = ep_area_executable(area);

	if (!executable)
		return !area->use || area->is_memfd;
	return is_no_elf(executable) ||
	       ((executable->state == EP_EXECUTABLE_PENDING || executable->state == EP_EXECUTABLE_FAILED) &&
		ep_is_memfd_path(executable->path));
}

int ep_rows_add(struct ep_vec *rows, const struct ep_area *area, uint32_t anonymous)
{
	const struct ep_executable *executable = ep_area_executable(area);
	struct ep_row raw = {.start = area->start, .end = area->end, .pages = EP_PAGES_ABSENT};
	uint64_t va;

	if (may_be_anonymous(area))
		raw.executable = anonymous;
	if (ep_area_is_looked_for(area))
		raw.pages = EP_PAGES_PENDING;
	else if (ep_area_is_gone(area))
		raw.pages = EP_PAGES_GONE;
	if (!executable || is_no_elf(executable))
		return push(rows, raw);
	if (ep_executable_find_va(executable, area->file_off, &va) < 0) {
		if (executable->state == EP_EXECUTABLE_PENDING)
			raw.pages = EP_PAGES_PENDING;
		return push(rows, raw);
	}
	return add_covered(rows, area, va);
}

/*
 * As push, but one row with what is before it where both are a language's and no file's: memory in a
 * reserved heap is committed piece by piece, and BPF need not be informed of each.
 */
static int push_merged(struct ep_vec *marked, struct ep_row row)
{
	struct ep_row *last = marked->len ? (struct ep_row *)marked->data + marked->len - 1 : NULL;

	if (!last || last->end != row.start || last->executable != row.executable ||
	    EP_ROW_ID(row.executable) || last->pages != row.pages)
		return push(marked, row);
	last->end = row.end;
	return 0;
}

/* [start, end) of a row, with what a range says of it. */
static int push_part(struct ep_vec *marked, struct ep_row row, uint64_t start, uint64_t end,
		     uint32_t owner)
{
	uint64_t va = row.va + (start - row.start);

	if (row.pages > EP_PAGES_LAST)
		row.pages += 2 * (uint32_t)((va >> EP_PAGE_SHIFT) - (row.va >> EP_PAGE_SHIFT));
	row.va = va;
	row.start = start;
	row.end = end;
	if (!owner)
		return push(marked, row);
	row.executable = (row.executable & EP_ROW_MAX_ID) | owner;
	return push_merged(marked, row);
}

static uint32_t owner_of(const struct ep_range *range, uint32_t slot)
{
	return slot << EP_ROW_SLOT_SHIFT | (range->mode == EP_RANGE_ENTER ? EP_ROW_ENTER : 0);
}

/* By another language; for anonymous code exact ranges go before. */
static bool is_taken(const struct ep_row *row)
{
	uint32_t slot = EP_ROW_SLOT(row->executable);

	return slot != 0 && slot != EP_ROW_SLOT_ANY;
}

/* [va, end) of an executable is code that a language is to unwind: in each mapping of it. */
struct entered {
	uint32_t executable, owner;
	uint64_t va, end;
};

#define MAX_ENTERED 16

/* A language's ranges against rows, both from low addresses to high ones. */
struct marking {
	const struct ep_range *ranges;
	size_t n, first; /* those before the first end below what is left */
	uint32_t slot;
	struct ep_vec *marked;
	struct entered entered[MAX_ENTERED];
	size_t n_entered;
};

/* Of a second mapping of the same, nothing is new. */
static void note_entered(struct marking *marking, const struct ep_row *row, uint64_t start, uint64_t end)
{
	struct entered entered = {
		.executable = EP_ROW_ID(row->executable),
		.owner = marking->slot << EP_ROW_SLOT_SHIFT | EP_ROW_ENTER,
		.va = row->va + (start - row->start),
		.end = row->va + (end - row->start),
	};
	size_t n = marking->n_entered;
	const struct entered *last = n > 0 ? &marking->entered[n - 1] : NULL;

	if (n < MAX_ENTERED && (!last || last->executable != entered.executable ||
				last->end <= entered.va))
		marking->entered[marking->n_entered++] = entered;
}

/* What is another language's in this mapping is not to be taken from it in the next one. */
static void find_entered(struct marking *marking, const struct ep_vec *rows)
{
	const struct ep_row *row;
	size_t first = 0;

	ep_vec_each(rows, row) {
		while (first < marking->n && marking->ranges[first].end <= row->start)
			first++;
		if (!EP_ROW_ID(row->executable) || is_taken(row))
			continue;
		for (size_t i = first; i < marking->n && marking->ranges[i].start < row->end; i++) {
			const struct ep_range *range = &marking->ranges[i];

			if (range->mode == EP_RANGE_ENTER)
				note_entered(marking, row, EP_MAX(range->start, row->start),
					     EP_MIN(range->end, row->end));
		}
	}
}

/*
 * [start, end) of a row is in no range: it may be another mapping of what is in one. A runtime may map its code
 * again at any time, and runs it at once.
 */
static int push_rest(struct marking *marking, const struct ep_row *row, uint64_t start, uint64_t end)
{
	uint64_t bias = row->start - row->va;
	int r = 0;

	for (size_t i = 0; r == 0 && i < marking->n_entered; i++) {
		const struct entered *entered = &marking->entered[i];
		uint64_t va = EP_MAX(entered->va, start - bias), va_end = EP_MIN(entered->end, end - bias);

		if (entered->executable != EP_ROW_ID(row->executable) || va >= va_end)
			continue;
		if (start < va + bias)
			r = push_part(marking->marked, *row, start, va + bias, 0);
		if (r == 0)
			r = push_part(marking->marked, *row, va + bias, va_end + bias, entered->owner);
		start = va_end + bias;
	}
	return r == 0 && start < end ? push_part(marking->marked, *row, start, end, 0) : r;
}

static int mark_row(struct marking *marking, const struct ep_row *row)
{
	uint64_t at = row->start;
	int r = 0;

	for (size_t i = marking->first; r == 0 && i < marking->n; i++) {
		const struct ep_range *range = &marking->ranges[i];
		uint64_t start = EP_MAX(range->start, at), end = EP_MIN(range->end, row->end);

		if (range->start >= row->end)
			break;
		if (start >= end)
			continue;
		if (at < start)
			r = push_rest(marking, row, at, start);
		if (r == 0)
			r = push_part(marking->marked, *row, start, end,
				      owner_of(range, marking->slot));
		at = end;
	}
	if (r == 0 && at < row->end)
		r = push_rest(marking, row, at, row->end);
	return r;
}

/* What is not mapped, or not known to be: [start, end) between two rows. */
static int fill_gap(struct marking *marking, uint64_t start, uint64_t end)
{
	int r = 0;

	for (size_t i = marking->first; r == 0 && i < marking->n; i++) {
		const struct ep_range *range = &marking->ranges[i];
		struct ep_row row = {.start = EP_MAX(range->start, start),
				     .end = EP_MIN(range->end, end),
				     .executable = owner_of(range, marking->slot),
				     .pages = EP_PAGES_ABSENT};

		if (range->start >= end)
			break;
		if (row.start >= row.end)
			continue;
		row.va = row.start;
		start = row.end;
		r = push_merged(marking->marked, row);
	}
	return r;
}

static void pass_ranges(struct marking *marking, uint64_t addr)
{
	while (marking->first < marking->n && marking->ranges[marking->first].end <= addr)
		marking->first++;
}

int ep_rows_mark(const struct ep_vec *rows, const struct ep_range *ranges, size_t n, uint32_t slot,
		 struct ep_vec *marked)
{
	struct marking marking = {.ranges = ranges, .n = n, .slot = slot, .marked = marked};
	const struct ep_row *row;
	uint64_t at = 0;

	find_entered(&marking, rows);
	ep_vec_each(rows, row) {
		int r = fill_gap(&marking, at, row->start);

		pass_ranges(&marking, row->start);
		if (r == 0)
			r = is_taken(row) ? push(marked, *row) : mark_row(&marking, row);
		if (r < 0)
			return r;
		at = row->end;
		pass_ranges(&marking, at);
	}
	return fill_gap(&marking, at, UINT64_MAX);
}

int ep_rows_add_codes(struct ep_vec *entries, const struct ep_language_view *languages, size_t n)
{
	struct ep_code_index index = {0};
	size_t at = entries->len;
	int r = n > 0 ? ep_vec_append(entries, &index, 1) : 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		index.of[i].first = (uint32_t)entries->len;
		index.of[i].n = (uint32_t)languages[i].n_ranges;
		if (languages[i].n_ranges > 0)
			r = ep_vec_append(entries, languages[i].ranges, languages[i].n_ranges);
	}
	if (r < 0)
		entries->len = at;
	else if (n > 0)
		memcpy((struct ep_row *)entries->data + at, &index, sizeof(index));
	return r;
}

/* --- all of a process ------------------------------------------------------------------------ */

void ep_row_set_init(struct ep_row_set *set)
{
	ep_vec_init(&set->rows, sizeof(struct ep_row), EP_MAX_ROWS);
	ep_vec_init(&set->scratch, sizeof(struct ep_row), EP_MAX_ROWS);
	ep_vec_init(&set->entries, sizeof(struct ep_row), EP_CHUNK_BYTES / EP_ENTRY_BYTES);
}

void ep_row_set_fini(struct ep_row_set *set)
{
	ep_vec_fini(&set->rows);
	ep_vec_fini(&set->scratch);
	ep_vec_fini(&set->entries);
}

bool ep_row_set_make(struct ep_row_set *set, const struct ep_vec *areas,
		     const struct ep_language_view *languages, size_t n)
{
	const struct ep_area *area;
	uint32_t anonymous = 0;
	bool all = true;

	for (size_t i = 0; i < n; i++)
		anonymous |= languages[i].anonymous ? EP_ROW_ANONYMOUS : 0;
	set->rows.len = 0;
	ep_vec_each (areas, area) {
		all = ep_rows_add(&set->rows, area, anonymous) == 0;
		if (!all)
			break;
	}
	for (size_t i = 0; i < n; i++) {
		const struct ep_language_view *view = &languages[i];
		struct ep_vec unmarked = set->rows;

		set->scratch.len = 0;
		if (view->n_ranges == 0 || ep_rows_mark(&unmarked, view->ranges, view->n_ranges,
							view->slot, &set->scratch) < 0)
			continue;
		set->rows = set->scratch;
		set->scratch = unmarked;
	}
	return all;
}

void ep_row_set_await(struct ep_row_set *set, uint64_t start, uint64_t end, bool is_moving)
{
	uint32_t anonymous = is_moving ? EP_ROW_ANONYMOUS : 0;
	struct ep_row *row;

	ep_vec_each (&set->rows, row) {
		if (row->start < start || row->end > end || row->pages != EP_PAGES_ABSENT ||
		    (row->executable && row->executable != anonymous))
			continue;
		row->executable = 0;
		row->pages = EP_PAGES_PENDING;
	}
}

const struct ep_vec *ep_row_set_entries(struct ep_row_set *set, const struct ep_language_view *languages,
					size_t n)
{
	struct ep_vec *entries = &set->entries;

	if (n == 0)
		return &set->rows;
	entries->len = 0;
	if (ep_vec_append(entries, set->rows.data, set->rows.len) < 0 ||
	    ep_rows_add_codes(entries, languages, n) < 0)
		return NULL;
	return entries;
}

void ep_language_views_fill_proc(const struct ep_language_view *languages, size_t n, struct ep_proc *proc)
{
	for (size_t i = 0; i < n; i++) {
		const struct ep_language_view *view = &languages[i];

		if (view->anonymous)
			proc->flags |= (uint16_t)(1u << (EP_PROC_TAKERS_SHIFT + i));
		if (view->resumes)
			proc->flags |= (uint16_t)(1u << (EP_PROC_RESUMERS_SHIFT + i));
		for (size_t j = 0; j < view->n_ranges; j++) {
			if (view->ranges[j].mode == EP_RANGE_MARK)
				proc->flags |= EP_PROC_MARKS;
		}
		proc->states[i] = (uint16_t)view->state;
		proc->slots[i] = (uint8_t)view->slot;
	}
}
