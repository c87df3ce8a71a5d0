/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What a sample has seen already. Its thread does not run, so what was read in it holds until its
 * end, and is not read again:
 *
 *	scratch		what the steps of a walk leave for each other: EP_SCRATCH_UP_TO
 *	tables		by address; an entry holds for the sample whose number it has
 *	ranges		of the process's code, and the one that was found last
 */
#ifndef EP_SHARED_SEEN_BPF_H
#define EP_SHARED_SEEN_BPF_H

#include "plugins/shared/bpf/step.bpf.h"

/* --- tables ----------------------------------------------------------------------------------- */

/* First fields of an entry. */
struct ep_seen {
	__u64 sequence, key;
};

/* Where an entry is in a table of 2^shift. 2^64 / the golden ratio mixes all bits into the upper
 * ones. */
static __always_inline __u64 ep_seen_slot(__u64 key, __u32 shift)
{
	return (key * 0x9e3779b97f4a7c15ull) >> (64 - shift);
}

/* It was written in this sample, for this key. One branch for a verifier to walk. */
static __always_inline bool ep_is_seen(const struct ep_seen *seen, __u64 sequence, __u64 key)
{
	__u64 differ = (seen->sequence ^ sequence) | (seen->key ^ key);

	EP_OPAQUE(differ);
	return !differ;
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* The ranges that user space gave for this process (set_ranges). */
struct ep_seen_ranges {
	__u64 first, n;	     /* in entries from the first row */
	__u64 low, bytes;    /* all of them are in [low, low + bytes) */
	struct ep_code code; /* the one that was found last */
};

static __always_inline const struct ep_code *ep_range_at(const struct ep_record *rec,
							 const __u8 *chunk, __u64 index)
{
	return ep_entry_at(chunk, rec->walk.core.rows, index);
}

/* Where the ranges are; once in a sample. False: there are none. */
static __always_inline bool ep_ranges_find(struct ep_seen_ranges *ranges,
					   const struct ep_record *rec, const __u8 *chunk)
{
	const struct ep_code_index *index =
		(const void *)ep_range_at(rec, chunk, rec->walk.core.n_rows);

	if (ranges->n)
		return true;
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (rec->walk.core.slots[i] == ep_self.slot) {
			ranges->first = index->of[i].first;
			ranges->n = index->of[i].n;
		}
	}
	EP_MEET();
	ranges->low = ep_range_at(rec, chunk, ranges->first)->start;
	ranges->bytes = ep_range_at(rec, chunk, ranges->first + ranges->n - 1)->end - ranges->low;
	return ranges->n;
}

/* May an address be in a range? A question that costs no search. */
static __always_inline bool ep_ranges_near(const struct ep_seen_ranges *ranges, __u64 addr)
{
	return addr - ranges->low < ranges->bytes;
}

/* Brings the range of an address into `code`. False: none holds it. As ep_find_code, without its
 * look-ups. */
static __always_inline bool ep_ranges_see(struct ep_seen_ranges *ranges,
					  const struct ep_record *rec, const __u8 *chunk,
					  __u64 addr)
{
	struct ep_code *code = &ranges->code;

	if (!ranges->n || addr - code->start < code->end - code->start)
		return ranges->n;
	*code = *(const struct ep_code *)ep_find_entry(chunk, rec->walk.core.rows, ranges->first,
						       ranges->n, addr);
	return addr - code->start < code->end - code->start;
}

#endif
