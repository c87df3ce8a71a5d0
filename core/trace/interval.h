/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was sampled in one interval: traces, sample rows, processes. The store (store.h) fills
 * one and gives it away when it is finished; from then on it does not change.
 *
 *	event ──hash, process──► trace ──► frame ids (frames.h), leaf first: kernel, user, error
 *	                           └─tid, cpu, comm──► row: count ──► times
 *
 * Two traces are one only if process and all frame ids are equal; the 64-bit hash only finds them.
 * Bounded in bytes: a sample that does not fit is counted, see ep_interval_lost. The traces of one
 * program have a share of these (core/trace/quotas.h); what its samples need beside their traces is
 * bounded by the CPU time it uses, as everybody's is.
 * Reference counted, loop's thread only.
 */
#ifndef EP_TRACE_INTERVAL_H
#define EP_TRACE_INTERVAL_H

#include "bpf/shared.h"
#include "core/base/util.h"
#include "core/trace/frames.h"
#include "core/trace/program.h"

struct ep_interval;

struct ep_trace {
	uint64_t hash; /* as BPF made it; 0: the stack was lost */
	uint32_t process;
	uint32_t frame_first; /* into ep_interval_frame_ids */
	uint16_t n_frames;
	uint8_t error; /* enum ep_error */
	uint8_t pad;
	uint32_t last_row; /* hit last: usually hit again */
};

struct ep_sample_row {
	char comm[EP_COMM_BYTES]; /* of the thread; not always terminated */
	uint32_t trace;
	uint32_t tid;
	uint32_t cpu;
	uint32_t count;
};

/* Outcomes of ep_interval_add_known. */
#define EP_INTERVAL_UNKNOWN 1

int ep_interval_new(struct ep_frames *frames, size_t max_bytes, uint64_t start_ns,
		    struct ep_interval **ret_interval);
struct ep_interval *ep_interval_ref(struct ep_interval *interval);
void ep_interval_unref(struct ep_interval *interval); /* accepts NULL */
/*
 * Makes an interval that nobody else refers to a new, empty one that keeps its memory. 0, or
 * -EBUSY: it is still in use.
 */
int ep_interval_reset(struct ep_interval *interval, struct ep_frames *frames, uint64_t start_ns);

/*
 * Counts a sample of a trace this interval has. 0, EP_INTERVAL_UNKNOWN when it has not, -E2BIG,
 * -ENOMEM. No allocation when row and capacity exist.
 */
int ep_interval_add_known(struct ep_interval *interval, const struct ep_sample *sample);
/*
 * Counts a sample and its trace, given as frame ids of this interval's table. 0, -EDQUOT when the
 * program has its share of traces, -E2BIG, -ENOMEM. A trace of equal hash and other frames is kept
 * apart; ret_collision says so. One of hash 0 stands for what is lost, and needs no share.
 */
int ep_interval_add_trace(struct ep_interval *interval, const struct ep_sample *sample,
			  const uint32_t *frame_ids, size_t n_frames, uint8_t error,
			  bool *ret_collision);
/* For a sample that could not be added: it has no row, but it is known that it is missing. */
void ep_interval_add_lost(struct ep_interval *interval, uint64_t samples);
/* Ticks of the sampling clocks, those of idle CPUs and lost ones among them: batch.h, due_samples. */
void ep_interval_add_due(struct ep_interval *interval, uint64_t samples);
/* Of one without a sample yet: it begins later than it was made. */
void ep_interval_begin(struct ep_interval *interval, uint64_t start_ns);
void ep_interval_seal(struct ep_interval *interval, uint64_t end_ns);

struct ep_frames *ep_interval_frames(const struct ep_interval *interval); /* borrowed */
/* Says of all its frames that they are used. */
void ep_interval_use_frames(const struct ep_interval *interval);
/* True when all frames of a finished interval have the names they will get. Amortized O(1). */
bool ep_interval_is_named(const struct ep_interval *interval);
/* The trace of a hash and program: its id, 0 when absent. */
uint32_t ep_interval_find(const struct ep_interval *interval, uint64_t hash,
			  struct ep_program program);
/* A trace of this program was refused since it has its share. */
bool ep_interval_is_over_share(const struct ep_interval *interval, struct ep_program program);
size_t ep_interval_bytes(const struct ep_interval *interval);
uint64_t ep_interval_start_ns(const struct ep_interval *interval); /* CLOCK_MONOTONIC */
uint64_t ep_interval_end_ns(const struct ep_interval *interval);
uint64_t ep_interval_lost(const struct ep_interval *interval);
uint64_t ep_interval_due(const struct ep_interval *interval);
uint64_t ep_interval_samples(const struct ep_interval *interval); /* sum of all counts */
uint64_t ep_interval_complete(const struct ep_interval *interval); /* of these, without an error */

/* Tables: ids are 1 .. count for traces and processes, 0 .. count - 1 for rows and times. */
size_t ep_interval_n_traces(const struct ep_interval *interval);
size_t ep_interval_n_rows(const struct ep_interval *interval);
size_t ep_interval_n_processes(const struct ep_interval *interval);
size_t ep_interval_n_times(const struct ep_interval *interval);
const struct ep_trace *ep_interval_trace(const struct ep_interval *interval, uint32_t id);
const struct ep_sample_row *ep_interval_row(const struct ep_interval *interval, uint32_t row);
const struct ep_program *ep_interval_process(const struct ep_interval *interval, uint32_t id);
const uint32_t *ep_interval_frame_ids(const struct ep_interval *interval,
				      const struct ep_trace *trace);
/* The nth sample that came in: its time (CLOCK_MONOTONIC) and row. */
void ep_interval_time(const struct ep_interval *interval, size_t n, uint64_t *ret_time_ns,
		      uint32_t *ret_row);

#endif
