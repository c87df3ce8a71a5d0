/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which code of the kernel lay at an address, and when: BPF programs, trampolines and modules come
 * and go, and others take their place. A frame of the kernel carries the id of its code (aux of the
 * frame), so that frames at one address whose code was replaced are different frames, and each has
 * its own name.
 *
 *	0	as it was at the start: a kallsyms snapshot names it (core/symbol/kernel.h)
 *	range	the kernel reported where the code range begins and ends and what its name is
 *		(PERF_RECORD_KSYMBOL)
 *	after	a code range was there, and nothing is known since: a snapshot that is younger
 *		names it
 *	era	modules came or went; or records were lost, and code ranges may have: again a
 *		snapshot that is younger
 *
 * The kernel reports nothing of modules but that one came or went. Between the drain before and the
 * one that met the record nobody knows which code was there: names of that time are *unsure*, and
 * count only if both snapshots agree.
 *
 * The kernel's own text stays as it is and always has 0. Ended code ranges are kept for samples
 * that come late. Loop's thread only.
 */
#ifndef EP_TRACE_KERNEL_CODE_H
#define EP_TRACE_KERNEL_CODE_H

#include "core/base/util.h"

struct ep_kernel_code;

/* A record of the kernel. Times are CLOCK_MONOTONIC. */
struct ep_kernel_change {
	uint64_t time_ns;
	uint64_t addr, bytes;
	bool is_gone;	    /* else it came */
	const char *name;   /* copied */
	const char *module; /* as a snapshot has it: "bpf"; lives for ever */
};

int ep_kernel_code_new(struct ep_kernel_code **ret_code); /* 0, -ENOMEM */
void ep_kernel_code_free(struct ep_kernel_code *code);	  /* accepts NULL */

/*
 * Code that was there at the start, of which a snapshot has the name but not the end. To be
 * reported before or after what came and went meanwhile.
 */
void ep_kernel_code_add_old(struct ep_kernel_code *code, uint64_t addr, uint64_t bytes);
/* Records may be reported twice, or late: they count by their times. */
void ep_kernel_code_change(struct ep_kernel_code *code, const struct ep_kernel_change *change);
/* Modules came or went between these times. */
void ep_kernel_code_doubt(struct ep_kernel_code *code, uint64_t from_ns, uint64_t until_ns);
/* Records were lost between these times: no code range is trusted any more. Not for modules. */
void ep_kernel_code_lose(struct ep_kernel_code *code, uint64_t from_ns, uint64_t until_ns);
/* Where the kernel's own text lies, from here on. */
void ep_kernel_code_set_own(struct ep_kernel_code *code, uint64_t start_addr, uint64_t end_addr);

/* The id of the code at an address. A few ns where nothing ever changed. */
uint32_t ep_kernel_code_at(const struct ep_kernel_code *code, uint64_t addr, uint64_t time_ns);
/* Whether anything ever came or went: ids before that are 0. */
bool ep_kernel_code_has_changed(const struct ep_kernel_code *code);

struct ep_kernel_source {
	const char *name, *module; /* NULL: a snapshot has it. Borrowed until the next change */
	uint64_t since_ns;	   /* which began to be read after this */
	bool is_unsure;		   /* if the snapshot before says the same */
};
/* Where the name of a frame comes from. 0, -ENODATA when it is not known any more. */
int ep_kernel_code_source(const struct ep_kernel_code *code, uint64_t addr, uint32_t id,
			  struct ep_kernel_source *ret_source);
/*
 * Whether a symbol of a snapshot may name an address to which it seems to reach: a snapshot does
 * not say where code of BPF ends, and code that nobody tells of may lie after it. Nor does it name
 * what has another id than a code range that begins there and came later than our start.
 */
bool ep_kernel_code_may_name(const struct ep_kernel_code *code, uint64_t start_addr, uint64_t addr);
/* The latest time up to which names are unsure; 0: never. */
uint64_t ep_kernel_code_unsure_until_ns(const struct ep_kernel_code *code);

#endif
