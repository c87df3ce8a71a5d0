/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What language unwinders share in BPF, made when the first one is loaded: their counters, and the
 * cells in which each is told of the processes it is attached to (struct ep_unwinder_host:
 * set_state). Equal contents share a cell: after a fork there are many of them.
 *
 * A released cell rests for a second, as a program may just be reading it. Loop's thread only,
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

/* Index of a cell that holds `bytes` bytes, with a reference: > 0. Or -E2BIG. */
int ep_language_maps_get_state(struct ep_language_maps *maps, const void *state, size_t bytes);
/* One reference more; returns the index. */
uint32_t ep_language_maps_share_state(struct ep_language_maps *maps, uint32_t index);
void ep_language_maps_put_state(struct ep_language_maps *maps, uint32_t index); /* 0: nothing */

/* Sum over CPUs of one counter. */
uint64_t ep_language_maps_counter(const struct ep_language_maps *maps, uint32_t index);
size_t ep_language_maps_bytes(const struct ep_language_maps *maps); /* of BPF memory */

#endif
