/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text that `record` ends with: how much was sampled, how good the stacks are, where the time
 * went, what it cost, and the next command.
 */
#ifndef EP_CLI_SUMMARY_H
#define EP_CLI_SUMMARY_H

#include "core/base/util.h"

#include <stdio.h>

struct ep_batch;
struct ep_output_format;

struct ep_summary_info {
	const char *const *files; /* that were written; "-" is not reported */
	const struct ep_output_format *const *formats; /* of each; NULL: by their names */
	size_t n_files;
	uint64_t agent_cpu_ns;	  /* this process's CPU time while recording; 0: not known */
	uint64_t wall_ns;	  /* recording time; 0: the sum of the batches' durations */
	uint64_t bpf_ns; /* 0: not measured */
	uint64_t walked;	  /* samples lost while stacks were walked */
	uint32_t n_cpus;	  /* that were sampled; 0: not known */
	bool is_target;		  /* a command or -p: what it did not run it waited */
	unsigned int width;	  /* columns; 0: 100 */
	bool executables;	  /* also those that spoil the most stacks: -v */
	bool color;		  /* bold headings: see ep_summary_style */
};

/* Fills width and color from the stream: a terminal's width, colour only there and without
 * NO_COLOR. */
void ep_summary_style(FILE *out, struct ep_summary_info *info);

/* Prints to `out`. Batches of one recording in order of time. -ENOMEM prints what was possible. */
int ep_summary_print(FILE *out, const struct ep_batch *const *batches, size_t n_batches,
		     const struct ep_summary_info *info);

/*
 * "it ran 0.30 s of 10.0 s, ..": of a target that mostly waited, to `buf` of
 * EP_SUMMARY_WAITED_BYTES; NULL: it did not, or the recording is too short to say it.
 */
#define EP_SUMMARY_WAITED_BYTES 160
const char *ep_summary_waited(uint64_t cpu_ns, uint64_t wall_ns, char *buf);

/* Total of samples in the batches, for the exit status. */
uint64_t ep_summary_samples(const struct ep_batch *const *batches, size_t n_batches);

/* Shares of CPU time in 1/10000, rounded down: 10000 is all of it. */
struct ep_summary_quality {
	uint32_t complete; /* its stacks are */
	uint32_t named;	   /* fully: see ebpf-profiler/unnamed.h */
};

struct ep_summary_quality ep_summary_quality(const struct ep_batch *batch);

#endif
