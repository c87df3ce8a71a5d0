/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything the kernel tells, in order of time: the records of the BPF ring (samples, fork, exec,
 * exit) and of all side-band rings (mappings, code of the kernel). A sample can only be understood by who knows what
 * happened before it, and the rings know nothing of each other.
 *
 * A drain reads CLOCK_MONOTONIC, then what all rings have, and hands over every record up to that
 * time, oldest first. What is younger is copied and waits for the next drain, so that the rings are
 * empty after every drain. At equal times: fork, exec, mapping, sample, exit. A sample comes after
 * what it must be seen with, so after the birth and the new image and the mapping; and before the
 * exit, since who is sampled is still there. The image is there before anything is mapped into it.
 *
 * What is promised:
 *  1. Within a drain, and from one to the next, times ascend, but for late records. A record's
 *     time is taken before it is written, and a virtual CPU can be stolen for milliseconds in
 *     between: such a record arrives when others of its time were handed over already. It comes in
 *     the next drain, with its own time; whoever handles records applies them by time. They are
 *     counted. A record that is being written is known to be missing: younger ones wait up to 10 ms
 *     for it.
 *  2. A loss of side-band records is reported before everything younger than what was lost, mostly
 *     earlier (core/bpf/sideband.h has when it is known). So is a ring whose contents cannot be
 *     true.
 *  3. No record is copied but the few that wait or lie across the end of a side-band ring. No
 *     memory is allocated but when CPUs come. All is bounded: when there are more records than
 *     the index has space for, they are handled in several rounds, each up to the time that all
 *     rings are known to; and when more must wait than there is space for, the oldest do not.
 * 4. What a process writes beyond what anybody could follow (core/bpf/floods.h) is skipped, and
 * reported like a loss of
 * that process alone. Where most of a ring that lost records is of processes that have many in it,
 * they are reported,
 *     and that others may have lost something.
 *  5. After a ring of side-band records was replaced (core/bpf/sideband_set.h) a mapping may
 *     be reported twice, with two times.
 */
#ifndef EP_BPF_ORDER_H
#define EP_BPF_ORDER_H

#include "bpf/shared.h"
#include "core/base/util.h"

struct ep_ksymbol_event;
struct ep_mapping_event;
struct ep_order;
struct ep_ring;
struct ep_sideband_set;

/* What they are given is borrowed for the call. They must not drain. */
struct ep_order_ops {
	void (*event)(void *arg, const struct ep_event *event, size_t bytes);
	void (*mapping)(void *arg, const struct ep_mapping_event *event);
	void (*lost)(void *arg, uint64_t records);
	void (*ksymbol)(void *arg, const struct ep_ksymbol_event *event); /* NULL: nobody needs it */
	/* Mappings of this process were skipped or lost. NULL: nothing is skipped, and each loss is anybody's. */
	void (*flooded)(void *arg, uint32_t pid, uint64_t now_ns);
	/* Records were lost in a ring that those filled of whom flooded() was called: few are of others. */
	void (*crowded)(void *arg, uint64_t records);
};

struct ep_order_options {
	struct ep_ring *ring;		  /* borrowed */
	struct ep_sideband_set *sidebands; /* borrowed; NULL: none */
	const struct ep_order_ops *ops;	  /* borrowed */
	void *arg;
	size_t max_records; /* in the index: of the ring, and of all side-band rings; 0: 4096 */
	size_t max_waiting_bytes; /* 0: 128 KiB */
};

struct ep_order_stats {
	uint64_t records;
	uint64_t late;	      /* older than one that was handed over before */
	uint64_t late_max_ns; /* the largest lateness */
	uint64_t lost;	      /* as reported by ops->lost */
	uint64_t crowded;     /* as reported by ops->crowded */
	uint64_t skipped;     /* of processes that flood */
	uint64_t waited;      /* copied, since they were younger than their drain */
	uint64_t rounds;      /* one in each drain, unless there was no space */
};

int ep_order_new(const struct ep_order_options *options, struct ep_order **ret_order);
void ep_order_free(struct ep_order *order); /* accepts NULL */

/*
 * Returns the time up to which everything is known: the clock as it was read, or a little less when
 * a record is being written. Late records apart.
 */
uint64_t ep_order_drain(struct ep_order *order);
/* The same with another clock, for tests. */
uint64_t ep_order_drain_to(struct ep_order *order, uint64_t now_ns);
/* Everything that is there, whatever its time: the end of a session. */
void ep_order_flush(struct ep_order *order);

/* Records that wait for the next drain: nobody is woken for them. */
size_t ep_order_waiting(const struct ep_order *order);
size_t ep_order_bytes(const struct ep_order *order); /* of the heap */
void ep_order_get_stats(const struct ep_order *order, struct ep_order_stats *ret_stats);

#endif
