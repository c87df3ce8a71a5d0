/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/rows.h"

#include <errno.h>

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
	if (executable->state == EP_EXECUTABLE_PENDING)
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

static int add_covered(struct ep_vec *rows, const struct ep_place_in_memory *place, uint64_t va)
{
	const struct ep_executable *executable = place->executable;
	const struct ep_delta_store_segment *segments = NULL;
	size_t n = executable->text ? ep_delta_store_text_segments(executable->text, &segments) : 0;
	uint64_t end = va + (place->end - place->start);
	struct ep_row row;
	bool covered = false;

	for (size_t i = 0; i < n; i++) {
		int r;

		row = (struct ep_row){.start = place->start, .executable = executable->id};
		if (!cut_row(&segments[i], va, end, &row))
			continue;
		r = push(rows, row);
		if (r < 0)
			return r;
		covered = true;
	}
	if (covered)
		return 0;
	return push(rows, (struct ep_row){
				  .start = place->start,
				  .end = place->end,
				  .va = va,
				  .executable = executable->id,
				  .pages = no_pages(executable),
			  });
}

/* The same where not even the file is known. */
static uint32_t no_file_pages(enum ep_place_state state)
{
	if (state == EP_PLACE_ASKED)
		return EP_PAGES_PENDING;
	return state == EP_PLACE_GONE ? EP_PAGES_GONE : EP_PAGES_ABSENT;
}

int ep_rows_add(struct ep_vec *rows, const struct ep_place_in_memory *place)
{
	struct ep_row raw = {.start = place->start, .end = place->end, .pages = EP_PAGES_ABSENT};
	uint64_t va;

	if (!place->executable) {
		raw.pages = no_file_pages(place->state);
		return push(rows, raw);
	}
	if (ep_executable_find_va(place->executable, place->file_off, &va) < 0) {
		if (place->executable->state == EP_EXECUTABLE_PENDING)
			raw.pages = EP_PAGES_PENDING;
		return push(rows, raw);
	}
	return add_covered(rows, place, va);
}

/* The part of a row from `start` on. */
static struct ep_row row_from(struct ep_row row, uint64_t start)
{
	uint64_t va = row.va + (start - row.start);

	if (row.pages > EP_PAGES_LAST)
		row.pages += 2 * (uint32_t)((va >> EP_PAGE_SHIFT) - (row.va >> EP_PAGE_SHIFT));
	row.start = start;
	row.va = va;
	return row;
}

/* [start, end) of a row, with what a range says of it. */
static int push_part(struct ep_vec *marked, struct ep_row row, uint64_t start, uint64_t end,
		     uint32_t owner)
{
	row = row_from(row, start);
	row.end = end;
	row.executable |= owner;
	return push(marked, row);
}

static int mark_row(struct ep_vec *marked, const struct ep_row *row, const struct ep_range *ranges,
		    size_t n, uint32_t slot)
{
	uint64_t at = row->start;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n && ranges[i].start < row->end; i++) {
		uint64_t start = EP_MAX(ranges[i].start, at), end = EP_MIN(ranges[i].end, row->end);
		uint32_t owner = slot << EP_ROW_SLOT_SHIFT |
				 (ranges[i].mode == EP_RANGE_ENTER ? EP_ROW_ENTER : 0);

		if (start >= end)
			continue;
		if (at < start)
			r = push_part(marked, *row, at, start, 0);
		if (r == 0)
			r = push_part(marked, *row, start, end, owner);
		at = end;
	}
	if (r == 0 && at < row->end)
		r = push_part(marked, *row, at, row->end, 0);
	return r;
}

int ep_rows_mark(const struct ep_vec *rows, const struct ep_range *ranges, size_t n, uint32_t slot,
		 struct ep_vec *marked)
{
	const struct ep_row *row;
	size_t first = 0;

	ep_vec_each(rows, row) {
		int r;

		while (first < n && ranges[first].end <= row->start)
			first++;
		r = EP_ROW_SLOT(row->executable)
			    ? push(marked, *row)
			    : mark_row(marked, row, ranges + first, n - first, slot);
		if (r < 0)
			return r;
	}
	return 0;
}
