/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an earlier look found out is true of the same bytes at the same place: pieces and ranges are
 * taken from there, and nothing is decoded. The hash is of all bytes of the code, and of all else
 * that rules and names depend on, so code that another took the place of is never mistaken for it.
 */
#include "plugins/hotspot/code/stubs_internal.h"

#include "core/base/util.h"
#include "plugins/shared/search.h"

#include <errno.h>
#include <stdlib.h>

static int compare_kept(const void *a, const void *b)
{
	const struct hs_kept *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->bytes != right->bytes)
		return left->bytes < right->bytes ? -1 : 1;
	return left->hash < right->hash ? -1 : left->hash > right->hash;
}

void hs_end_kept(struct hotspot_stubs *stubs)
{
	ep_vec_shrink(&stubs->kept);
	if (stubs->kept.len)
		qsort(stubs->kept.data, stubs->kept.len, sizeof(struct hs_kept), compare_kept);
}

static bool is_known(const struct hotspot_stubs *earlier, const struct hs_kept *what)
{
	/* Where there was no space for all rules, some are not what the code says. */
	if (!earlier || !earlier->kept.len || earlier->n_coarse)
		return false;
	return bsearch(what, earlier->kept.data, earlier->kept.len, sizeof(*what), compare_kept);
}

static int take_pieces(struct hotspot_stubs *stubs, const struct hotspot_stubs *earlier,
		       uint64_t start, uint64_t end)
{
	const struct hs_piece *pieces = earlier->pieces;
	size_t at = search_sorted(earlier->n_pieces, i, pieces[i].start < start);
	int r = 0;

	for (size_t i = at; !r && i < earlier->n_pieces && pieces[i].start < end; i++)
		r = hs_add_piece(stubs, pieces[i].start, pieces[i].end,
				 earlier->names + pieces[i].name);
	return r;
}

/* A range may go on into what lies after: see hs_add_range. */
static int take_ranges(struct hotspot_stubs *stubs, const struct hotspot_stubs *earlier,
		       uint64_t start, uint64_t end, uint32_t blob)
{
	const struct ep_range *ranges = earlier->ranges;
	size_t at = search_sorted(earlier->n_ranges, i, ranges[i].end <= start);
	int r = 0;

	for (size_t i = at; !r && i < earlier->n_ranges && ranges[i].start < end; i++)
		r = hs_add_data(stubs, EP_MAX(ranges[i].start, start), EP_MIN(ranges[i].end, end),
				ranges[i].data, blob);
	return r;
}

int hs_take_earlier(struct hotspot_stubs *stubs, const struct hotspot_stubs *earlier,
		    const struct hs_kept *what, uint32_t blob)
{
	uint64_t end = what->start + what->bytes;
	int r;

	if (!is_known(earlier, what))
		return 0;
	r = take_pieces(stubs, earlier, what->start, end);
	if (!r)
		r = take_ranges(stubs, earlier, what->start, end, blob);
	if (!r)
		r = ep_vec_append(&stubs->kept, what, 1);
	return r ? r : 1;
}
