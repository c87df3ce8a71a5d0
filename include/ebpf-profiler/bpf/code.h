/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Code of a process as a language's program finds it: mappings (ep_find_row), and the ranges that
 * the language reported are its own (ep_find_code; struct ep_range of ebpf-profiler/unwinder.h).
 */
#ifndef EP_BPF_CODE_H
#define EP_BPF_CODE_H

#include <linux/types.h>

/* An executable mapping of a process, or the part of one that a range cuts out: [start, end). */
struct ep_row {
	__u64 start;
	__u64 end;
	__u64 va;	  /* ELF virtual address of `start` */
	__u32 executable; /* EP_ROW_ID, EP_ROW_SLOT, and the core's own bits */
	__u32 pages;	  /* the core's own: where its unwind rules are */
};

/* Its file's number, for ep_push_native_words; 0: not backed by an ELF file. */
#define EP_ROW_ID_BITS	      26
#define EP_ROW_ID(executable) ((executable) & ((1u << EP_ROW_ID_BITS) - 1))

/* The slot of the language that this code belongs to (ep_self.slot); 0: none. */
#define EP_ROW_SLOT_SHIFT	27
#define EP_ROW_SLOT(executable) ((executable) >> EP_ROW_SLOT_SHIFT)
/* Nobody's slot: code that no file backs, for whoever takes such (EP_RANGE_ANONYMOUS). */
#define EP_ROW_SLOT_ANY 31u

/* The same as struct ep_range. */
struct ep_code {
	__u64 start, end; /* target addresses [start, end) */
	__u32 mode, flags;
	__u64 data; /* the language's own */
};

#define EP_MAX_RANGES 4096 /* of one instance */

#endif
