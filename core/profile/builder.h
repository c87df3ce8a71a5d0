/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a batch (include/ebpf-profiler/batch.h) of rows that come one by one: from an interval of
 * samples, from a file that is read, or from other batches, of which some samples are wanted or several
 * are to be one. Equal rows are one row, so what two files have in common is there once. A row has a
 * number as soon as it is added, and rows refer to each other by these numbers; row 0 of every table
 * but samples is "none" and is there from the start.
 *
 *	interval ─────────┐
 *	file ──► reader ──┼──► builder ──► batch ──► exporters, report, diff
 *	batch ──► filter ─┘
 *
 * Whatever is added is hostile: numbers of rows are checked (-EBADMSG), text is made valid UTF-8 without NUL,
 * and every table has a maximum (-E2BIG). An error sticks: later calls return it, so a reader may look once
 * at the end. One thread.
 */
#ifndef EP_PROFILE_BUILDER_H
#define EP_PROFILE_BUILDER_H

#include "core/base/util.h"
#include "core/profile/batch.h"

struct ep_profile_builder;

/* Numbers are rows of strings unless the name says otherwise; columns as in batch.h. */
struct ep_profile_function {
	uint32_t name, system_name, file, line;
};

struct ep_profile_mapping {
	uint64_t start_va, limit_va, file_off;
	uint32_t path, build_id, go_build_id, file_id;
	uint32_t flags; /* enum ep_mapping_flag */
};

struct ep_profile_line {
	uint32_t function; /* row of functions, not 0 */
	uint32_t line, column;
};

struct ep_profile_location {
	uint64_t address;
	uint32_t mapping; /* row of mappings */
	uint32_t kind;
	uint32_t flags;	  /* enum ep_location_flag */
	uint32_t unnamed; /* enum ep_unnamed */
	uint32_t n_lines;
	uint32_t pad;
	const struct ep_profile_line *lines; /* innermost first; borrowed for the call */
};

struct ep_profile_stack {
	uint32_t error, error_text;
	uint32_t unnamed, unnamed_text; /* 0: the first of its locations that has no name says it */
	uint32_t n_locations;
	uint32_t pad;
	const uint32_t *locations; /* leaf first; borrowed for the call */
	const uint8_t *hash;	   /* 16 bytes, or NULL: made of what the stack says */
};

struct ep_profile_process {
	uint64_t start_ns;
	uint32_t pid, image, comm, exe_path, container_id, user, cgroup;
	uint32_t n_env;
	const uint32_t (*env)[2]; /* name, value; borrowed for the call */
};

/* Samples of equal stack, process, thread and CPU are one row: counts, weights and times add up. */
struct ep_profile_sample {
	uint32_t stack, process, tid, thread_name, cpu; /* rows of stacks and processes; string; number */
	uint64_t count;
	uint64_t weight;	  /* in the unit of the header */
	uint32_t n_times;	  /* count, or 0 where the input has no times */
	const uint64_t *times_ns; /* wall clock; borrowed for the call */
};

/* What several inputs say of themselves is joined: the earliest start, the latest end, losses added up. */
struct ep_profile_header {
	uint64_t start_ns, duration_ns; /* 0, 0: not known */
	uint64_t period_ns;
	uint32_t period_hz;
	uint64_t lost_samples, due_samples;
	uint64_t agent_cpu_ns, bpf_ns; /* 0: not known, as in the batch; these two add up as well */
	uint32_t n_cpus;	       /* that were sampled: the most of any input */
	const char *host_name;	 /* NULL or "": not known */
	const char *title;	 /* likewise; batch.h */
	const char *sample_type; /* "cpu"; of others' profiles also "alloc_space", "samples" */
	const char *weight_unit; /* "nanoseconds", "count", "bytes" */
};

/* 0 or -ENOMEM. */
int ep_profile_builder_new(struct ep_profile_builder **ret_builder);
void ep_profile_builder_free(struct ep_profile_builder *builder); /* accepts NULL */
static inline void ep_profile_builder_freep(struct ep_profile_builder **builder)
{
	ep_profile_builder_free(*builder);
}

/* Each: 0 and the row, or -EBADMSG, -E2BIG, -ENOMEM; then *ret_row is 0. */
int ep_profile_add_string(struct ep_profile_builder *builder, const char *text, size_t bytes, uint32_t *ret_row);
int ep_profile_add_function(struct ep_profile_builder *builder, const struct ep_profile_function *function,
			    uint32_t *ret_row);
int ep_profile_add_mapping(struct ep_profile_builder *builder, const struct ep_profile_mapping *mapping,
			   uint32_t *ret_row);
/* Flags of a mapping that was added, 0: none; what was like it before is another row from then on. */
void ep_profile_mark_mapping(struct ep_profile_builder *builder, uint32_t mapping, uint32_t flags);
int ep_profile_add_location(struct ep_profile_builder *builder, const struct ep_profile_location *location,
			    uint32_t *ret_row);
int ep_profile_add_stack(struct ep_profile_builder *builder, const struct ep_profile_stack *stack, uint32_t *ret_row);
int ep_profile_add_process(struct ep_profile_builder *builder, const struct ep_profile_process *process,
			   uint32_t *ret_row);
int ep_profile_add_sample(struct ep_profile_builder *builder, const struct ep_profile_sample *sample);
/* Once for each input. -EINVAL: its sample type or unit differs from that of the input before. */
int ep_profile_add_header(struct ep_profile_builder *builder, const struct ep_profile_header *header);

/* Part of a batch, and not all of it: whether these samples are wanted, and the stack they have then. */
struct ep_profile_choice {
	void *arg;
	/*
	 * How many of the samples of `row` are wanted. Their times are written to `times_ns`, which
	 * has space for all of them; a batch without times has none. NULL: all.
	 */
	uint32_t (*sample)(void *arg, const struct ep_batch *batch, uint32_t row, uint64_t *times_ns);
	/*
	 * The locations of a stack that stay, in their order, written to `ret`, which has space for
	 * all of them. How many; 0 hides the stack's samples. NULL: all.
	 */
	uint32_t (*stack)(void *arg, const struct ep_batch *batch, uint32_t stack, uint32_t *ret);
};

/* Adds a batch with its header. choice: NULL is all of it. Only what a sample refers to is taken. */
int ep_profile_add_batch(struct ep_profile_builder *builder, const struct ep_batch *batch,
			 const struct ep_profile_choice *choice);

/* A batch with one reference (core/profile/batch.h) of all that was added. 0, the error that sticks, or -ENOMEM. The
 * builder can only be freed then. */
int ep_profile_finish(struct ep_profile_builder *builder, struct ep_batch **ret_batch);

#endif
