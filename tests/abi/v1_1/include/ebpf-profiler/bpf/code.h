/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Code that a language says is its own (struct ep_range of ebpf-profiler/unwinder.h), as BPF finds
 * it: behind a process's rows, which the core searches, lie the ranges of each of its languages,
 * sorted by address. All of it is in chunks of memory that user space writes; a reference names a
 * 4-byte word of one of them:
 *
 *	ref      31            18 17              0
 *	        |     chunk      |  4-byte word    |
 *
 *	rows ──► row, row, ..., struct ep_code_index, codes of languages[0], of languages[1], ...
 */
#ifndef EP_BPF_CODE_H
#define EP_BPF_CODE_H

#include "ebpf-profiler/bpf/record.h"

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

/* The same as struct ep_range. */
struct ep_code {
	__u64 start, end; /* target addresses [start, end) */
	__u32 mode, flags;
	__u64 data; /* the language's own */
};
_Static_assert(sizeof(struct ep_code) == EP_ENTRY_BYTES, "a code is an entry");

struct ep_code_index {
	struct {
		__u32 first; /* of its codes, in entries from the first row */
		__u32 n;
	} of[EP_MAX_LANGUAGES]; /* in the order of ep_walk.slots */
};
_Static_assert(sizeof(struct ep_code_index) == EP_ENTRY_BYTES, "the index is an entry");

#define EP_MAX_RANGES 4096 /* of one instance */
#define EP_CODE_STEPS 13   /* that are searched: 2^12 */

#endif
