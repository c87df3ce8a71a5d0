/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Not for languages, which find code by functions of ebpf-profiler/bpf/unwinder.h. After a
 * process's rows, which the core searches, lie the ranges of each of its languages, sorted by
 * address. All of it is in chunks of memory that user space writes; a reference names a 4-byte word
 * of one of them:
 *
 *	ref      31            18 17              0
 *	        |     chunk      |  4-byte word    |
 *
 *	rows ──► row, row, ..., struct ep_code_index, codes of languages[0], of languages[1], ...
 */
#ifndef EP_BPF_INTERNAL_ROWS_H
#define EP_BPF_INTERNAL_ROWS_H

#include "ebpf-profiler/bpf/code.h"
#include "ebpf-profiler/bpf/internal/record.h"

#define EP_CHUNK_BYTES (1u << 20)
#define EP_CHUNK_WORDS (EP_CHUNK_BYTES / 4)
#define EP_CHUNK_SHIFT 18
#define EP_MAX_CHUNKS  1024

#define EP_REF(chunk, word) ((__u32)(chunk) << EP_CHUNK_SHIFT | (__u32)(word))
#define EP_REF_CHUNK(ref)   ((__u32)(ref) >> EP_CHUNK_SHIFT)
#define EP_REF_WORD(ref)    ((__u32)(ref) & (EP_CHUNK_WORDS - 1))

/* Rows, index and codes are entries of one size, each at a multiple of it. */
#define EP_ENTRY_BYTES 32u
#define EP_ENTRY_WORDS (EP_ENTRY_BYTES / 4)
_Static_assert(sizeof(struct ep_row) == EP_ENTRY_BYTES, "a row is an entry");
_Static_assert(sizeof(struct ep_code) == EP_ENTRY_BYTES, "a code is an entry");

#define EP_MAX_ROWS 16383 /* of one process: with the codes of four languages a chunk */

/*
 * The upper bits of a row's `executable`: the slot (EP_ROW_SLOT) of the language that this code
 * belongs to, and whether it is the one to unwind it (EP_RANGE_ENTER).
 */
#define EP_ROW_MAX_ID	 ((1u << EP_ROW_ID_BITS) - 1)
#define EP_ROW_ENTER	 (1u << EP_ROW_ID_BITS)
#define EP_ROW_ANONYMOUS (EP_ROW_SLOT_ANY << EP_ROW_SLOT_SHIFT | EP_ROW_ENTER)

struct ep_code_index {
	struct {
		__u32 first; /* of its codes, in entries from the first row */
		__u32 n;
	} of[EP_MAX_LANGUAGES]; /* in the order of ep_walk_core.slots */
};
_Static_assert(sizeof(struct ep_code_index) == EP_ENTRY_BYTES, "the index is an entry");

#define EP_ENTRY_STEPS 15 /* of a search: rows and ranges are below 2^14 */

#endif
