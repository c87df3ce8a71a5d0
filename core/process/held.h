/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that need more than BPF knew: those with a copy of their stack, which are walked here, and
 * those with raw addresses, which are placed. Where something is still being found out about their
 * process, or a worker reads code that a walk needs, they wait. Bounded in bytes and in time. When
 * there are too many, the oldest goes of the program that has most of them: one that floods loses its own.
 *
 * Loop's thread only.
 */
#ifndef EP_PROCESS_HELD_H
#define EP_PROCESS_HELD_H

#include "core/process/file_code.h"
#include "core/process/publisher.h"
#include "core/process/table.h"

struct ep_held;
struct ep_walker;

struct ep_held_options {
	const struct ep_table *table;
	struct ep_publisher *publisher; /* for the rows of a process */
	struct ep_file_code_options code; /* its `done` leads to ep_held_retry */
	struct ep_walker *walker;
	size_t max_bytes;
	/* Takes a sample on: as whole as it could be made, without a copy. Borrowed for the call. */
	void (*pass)(void *arg, const void *event, size_t bytes);
	void *arg;
};

struct ep_held_stats {
	uint64_t walked;     /* whole now */
	uint64_t incomplete; /* walked as far as it went */
	uint64_t unknown;    /* of a process nobody knows anything of */
	uint64_t pushed_out; /* had to go before anything was known: too many waited */
	uint64_t dropped;    /* not passed on: malformed, or no memory */
};

int ep_held_new(const struct ep_held_options *options, struct ep_held **ret_held);
void ep_held_free(struct ep_held *held); /* accepts NULL */

/*
 * True when an address of the event's `bytes` has no executable. While files are being analysed the walk through
 * such code went by frame pointers, and seems whole where it met the rest of the stack again.
 */
bool ep_sample_has_raw_code(const struct ep_sample *sample, size_t bytes);
/* Takes an EP_EVENT_TRACE with a copy or raw frames: passes it on at once, or keeps it. */
void ep_held_add(struct ep_held *held, const struct ep_sample *sample, size_t bytes);
/* Something was found out: what can be passed on is. */
void ep_held_retry(struct ep_held *held);
/* Passes on what has waited longer than max_age_ns; 0: all of it. */
void ep_held_expire(struct ep_held *held, uint64_t max_age_ns);
/* A worker reads code for it. */
bool ep_held_busy(const struct ep_held *held);
size_t ep_held_bytes(const struct ep_held *held);
const struct ep_held_stats *ep_held_stats(const struct ep_held *held);

#endif
