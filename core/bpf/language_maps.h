/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What language unwinders share in BPF, made when the first one is loaded: their counters, and the
 * cells in which each is informed of the processes it is attached to (struct ep_unwinder_host:
 * set_state). Equal contents share a cell: after a fork there are many of them.
 *
 * There are EP_MAX_STATES - 1 cells, and anybody may run more processes than that. So a cell says
 * when a process that has it was last sampled, and whoever gave them out takes back those that were
 * not for longest (ep_language_maps_find_idle). The last EP_SPARE_STATES that are free are for processes
 * that are sampled.
 *
 * A released cell waits for a second, as a program may just be reading it. Loop's thread only,
 * except for ep_language_maps_map_fd.
 */
#ifndef EP_BPF_LANGUAGE_MAPS_H
#define EP_BPF_LANGUAGE_MAPS_H

#include "core/base/util.h"

struct ep_language_maps;

int ep_language_maps_new(struct ep_language_maps **ret_maps);
void ep_language_maps_free(struct ep_language_maps *maps); /* accepts NULL */

/* ep_states and ep_lang_counts: a descriptor, or -ENOENT. */
int ep_language_maps_map_fd(const struct ep_language_maps *maps, const char *name);

#define EP_SPARE_STATES 256

/*
 * Index of a cell that holds `bytes` bytes, with a reference: > 0. `sampled_ns` is CLOCK_MONOTONIC, 0 for a
 * process that was never sampled. -E2BIG: there is none that is free, or free for such a process.
 */
int ep_language_maps_get_state(struct ep_language_maps *maps, const void *state, size_t bytes,
			       uint64_t sampled_ns);
/* A process that has it was sampled. */
void ep_language_maps_touch_state(struct ep_language_maps *maps, uint32_t index, uint64_t sampled_ns);
/*
 * When cells are about to run out: marks EP_SPARE_STATES of them, first those of processes that were never
 * sampled, the oldest first, then those whose last sample is longest ago. True: there are such, and all
 * references to them are to be put now.
 */
bool ep_language_maps_find_idle(struct ep_language_maps *maps);
bool ep_language_maps_is_idle(const struct ep_language_maps *maps, uint32_t index);
/* One reference more; returns the index. */
uint32_t ep_language_maps_share_state(struct ep_language_maps *maps, uint32_t index);
void ep_language_maps_put_state(struct ep_language_maps *maps, uint32_t index); /* 0: nothing */

/* Sum over CPUs of one counter. */
uint64_t ep_language_maps_counter(const struct ep_language_maps *maps, uint32_t index);
size_t ep_language_maps_bytes(const struct ep_language_maps *maps); /* of BPF memory */

#endif
