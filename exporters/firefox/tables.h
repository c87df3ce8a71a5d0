/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows that a processed profile has and a batch has otherwise: nodes of the tree of stacks, functions by
 * library, threads, and which strings there are. Each is found once, then the columns are written from it.
 */
#ifndef FIREFOX_TABLES_H
#define FIREFOX_TABLES_H

#include "core/base/vec.h"
#include "ebpf-profiler/batch.h"
#include "exporters/shared/moments.h"

#define FIREFOX_NONE UINT32_MAX

struct firefox_node {
	uint32_t frame;	 /* row of lines */
	uint32_t prefix; /* FIREFOX_NONE: a root */
};

struct firefox_func {
	uint32_t function; /* row of functions */
	uint32_t mapping;  /* 0: of no library */
};

/* Of code with inlined calls in it. Where it begins nobody knows here: the least address that was met. */
struct firefox_symbol {
	uint32_t func; /* row of funcs */
	uint32_t pad;
	uint64_t address; /* as in location_address */
};

struct firefox_thread {
	uint32_t process, tid;
	uint32_t name;	      /* string */
};

struct firefox_tables {
	const struct ep_batch *batch;
	struct ep_vec nodes;	 /* struct firefox_node */
	uint32_t *node_of_stack; /* FIREFOX_NONE: an empty stack */
	uint32_t *location_of_line;
	struct ep_vec funcs; /* struct firefox_func */
	uint32_t *func_of_line;
	struct ep_vec symbols; /* struct firefox_symbol */
	uint32_t *symbol_of_func; /* FIREFOX_NONE: none */
	struct ep_vec kinds; /* uint32_t: strings of location_kind; their categories are 1, 2, .. */
	uint32_t *row_of_kind; /* by string; FIREFOX_NONE: it is no kind */
	struct ep_vec threads; /* struct firefox_thread */
	uint32_t *thread_of_sample;
	uint32_t *nth_of_pid; /* of a process: those before it with its pid, which had an exec, or were before */
	struct ep_vec sources;	     /* uint32_t: strings that are files of functions */
	uint32_t *source_of_string;  /* FIREFOX_NONE: it is none */
	struct ep_vec strings;	     /* uint32_t: strings of the batch that are in the file */
	uint32_t *number_of_string;  /* in the file; FIREFOX_NONE: it is not in it */
	struct ep_moment *moments;   /* by thread, then time */
	size_t n_moments;
};

/* 0, -ENOMEM, -E2BIG. Fini is to be called in any case. */
int firefox_tables_init(struct firefox_tables *tables, const struct ep_batch *batch);
void firefox_tables_fini(struct firefox_tables *tables);

#endif
