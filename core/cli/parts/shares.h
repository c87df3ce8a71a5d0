/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches added up for people: CPU time by function name, by program, by reason of a broken stack,
 * by reason of a name that is not known.
 * Private to the summary. CPU time is the samples' weight, see docs/sampling.md.
 */
#ifndef EP_CLI_SHARES_H
#define EP_CLI_SHARES_H

#include "core/base/map.h"
#include "core/base/strings.h"
#include "core/base/util.h"
#include "core/base/vec.h"
#include "ebpf-profiler/frame.h"

struct ep_batch;

struct ep_share_function {
	uint64_t self_ns, total_ns; /* as the leaf / anywhere in the stack, once however often */
	uint32_t name;	      /* of names; the index of the row as well */
	uint32_t last_stack;  /* the last stack that counted it, numbered from 1 */
};

#define EP_MAX_ERRORS 256 /* numbers of languages are among them */

struct ep_share_process {
	uint64_t cpu_ns;
	uint32_t pid;
	uint32_t comm, exe_path; /* of names */
};

/* Processes that run the same file; of those whose file is not known, that have the same name. */
struct ep_share_program {
	uint64_t cpu_ns;
	uint32_t pid, n_processes;
	uint32_t comm; /* of names; 0: they have several */
	uint32_t exe_path;
};

/* Why samples are not fully named: "toy: gone before it was named". */
struct ep_share_reason {
	uint64_t ns;
	uint32_t text; /* of names */
};

struct ep_shares {
	struct ep_strings *names;
	struct ep_vec functions; /* struct ep_share_function, by id of names */
	struct ep_vec processes; /* struct ep_share_process */
	struct ep_vec
		programs; /* struct ep_share_program, once ep_shares_sort_programs was called */
	struct ep_vec reasons;	 /* struct ep_share_reason */
	struct ep_map process_index;
	/* by enum ep_error, and those of languages; 0: complete */
	uint64_t error_ns[EP_MAX_ERRORS];
	uint64_t gap_ns; /* of what is complete: frames are missing in the middle */
	uint64_t unverified_ns; /* of those without an error: ep_batch_is_unverified */
	uint64_t named_ns;     /* fully named, see ebpf-profiler/unnamed.h */
	uint64_t no_symbol_ns; /* in code of a file, or of the kernel, that has no symbol for it */
	bool has_names;	       /* the batches say what is named */
	uint64_t samples, lost, due; /* due: of which the lost are a share */
	uint64_t cpu_ns, duration_ns;
	uint32_t period_hz;
	uint32_t n_stacks;
};

int ep_shares_init(struct ep_shares *shares);
void ep_shares_fini(struct ep_shares *shares);
/* 0, or -ENOMEM with the batch added in part. Names beyond a limit count as "[other names]". */
int ep_shares_add(struct ep_shares *shares, const struct ep_batch *batch);

/* Sorts in place, the largest first; rows are not found by id any more. */
void ep_shares_sort_self(struct ep_shares *shares);
void ep_shares_sort_total(struct ep_shares *shares);
/* Adds processes up to programs, and sorts these. 0 or -ENOMEM. */
int ep_shares_sort_programs(struct ep_shares *shares);
void ep_shares_sort_reasons(struct ep_shares *shares);

#endif
