/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace store: takes sample events off the ring and files them into the current interval.
 *
 * BPF sends a trace with its frames once in an epoch and by hash afterwards. The agent ends an
 * interval so: bump the epoch, drain the ring, ep_store_seal. A hash sent just before the bump may
 * then be known of the previous interval only, so the store keeps that one; a hash found in
 * neither becomes a stack of one error frame (EP_ERROR_LOST), so that CPU time never vanishes.
 *
 * What an interval has not used for some minutes goes from the frame table: a machine on which programs
 * come and go keeps the names of those that run.
 *
 * No program takes more than its share of frames, names and traces (core/trace/quotas.h). A stack
 * whose next frame would be more than that ends in EP_ERROR_SHARE, and where its trace would be, that
 * is all of it.
 *
 * Loop's thread only. Input is hostile: every event is checked before it is used.
 */
#ifndef EP_TRACE_STORE_H
#define EP_TRACE_STORE_H

#include "core/trace/frames.h"
#include "core/trace/interval.h"

struct ep_kernel_code;
struct ep_store;

struct ep_store_limits {
	uint32_t max_frames;	   /* distinct frames before the table is replaced */
	size_t max_string_bytes;   /* of their names */
	size_t max_line_bytes;	   /* of what has these names: 32 each, one for each inlined function */
	size_t max_interval_bytes; /* one interval; two exist while one is being written out */
};
#define EP_STORE_DEFAULT_LIMITS                                                                    \
	(struct ep_store_limits)                                                                   \
	{                                                                                          \
		.max_frames = 128 * 1024, .max_string_bytes = 8 << 20, .max_line_bytes = 16 << 20, \
		.max_interval_bytes = 8 << 20                                                      \
	}

struct ep_store_counters {
	uint64_t samples;     /* taken in, with a row */
	uint64_t traces;      /* came with frames */
	uint64_t known;	      /* came as a hash */
	uint64_t copied;      /* hash known of the previous interval only */
	uint64_t unknown;     /* hash known of none: error frame instead of a stack */
	uint64_t malformed;   /* events refused */
	uint64_t replaced;    /* traces whose kernel code is another one since they were seen */
	uint64_t collisions;  /* equal hash, different stacks: kept apart */
	uint64_t over_limit;  /* samples lost: the interval was full */
	uint64_t frames_full; /* stacks lost: the frame table was full */
	uint64_t over_share;  /* stacks cut or lost: their process had its share of frames or traces */
	uint64_t names_over_share; /* names that were left out: the same of names; of tables before this one */
	uint64_t resets;      /* times the frame table was replaced */
	uint64_t renewals;    /* of these by one that has what is still used */
};

/* `start_ns`: CLOCK_MONOTONIC, where the first interval begins. 0, -ENOMEM. */
int ep_store_new(const struct ep_store_limits *limits, uint64_t start_ns,
		 struct ep_store **ret_store);
/*
 * The same, for another that takes the same samples in intervals of its own: both add to one table of frames, so that
 * a frame is kept and named once. The limits are the same but for the interval's. NULL: as ep_store_new.
 */
int ep_store_new_beside(struct ep_store *other, const struct ep_store_limits *limits, uint64_t start_ns,
			struct ep_store **ret_store);
void ep_store_free(struct ep_store *store);
/* Which code lay at addresses of the kernel, for samples from now on; borrowed. Without it, always the same. */
void ep_store_set_kernel_code(struct ep_store *store, const struct ep_kernel_code *code);

/*
 * One EP_EVENT_TRACE or EP_EVENT_KNOWN as it lies on the ring, `bytes` long. 0, -EBADMSG when it
 * is malformed, -E2BIG when a limit was hit (counted as lost), -ENOMEM. KNOWN: about 50 ns.
 */
int ep_store_add(struct ep_store *store, const void *event, size_t bytes);
/* Samples the kernel dropped in the current interval. */
void ep_store_add_lost(struct ep_store *store, uint64_t samples);
/* Those that were due in it, see ep_interval_add_due. */
void ep_store_add_due(struct ep_store *store, uint64_t samples);
/* Sampling begins now: the current interval does, too, if it has no samples yet. */
void ep_store_begin(struct ep_store *store, uint64_t now_ns);
/* What the current interval has until now; borrowed until the interval ends. */
const struct ep_interval *ep_store_current(const struct ep_store *store);

/*
 * Ends the current interval and begins the next. 0 and a reference (gives) to the finished one, or
 * -ENOMEM: the current interval goes on.
 */
int ep_store_seal(struct ep_store *store, uint64_t now_ns, struct ep_interval **ret_interval);

/*
 * Once a second or so: what the interval before this one held is given back when no sample of it can come any more and
 * its batch has been made. Its table of frames may be one that was replaced.
 */
void ep_store_rest(struct ep_store *store, uint64_t now_ns);

/* The table frames are added to now, for eager resolvers; borrowed until the interval ends. */
struct ep_frames *ep_store_frames(struct ep_store *store);
const struct ep_store_counters *ep_store_counters(const struct ep_store *store);
/* Heap in use: both intervals and their frame tables, of which one that stores share counts in one of them. */
size_t ep_store_bytes(const struct ep_store *store);
size_t ep_store_frames_bytes(const struct ep_store *store); /* of it in frame tables */

#endif
