/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of frames as the BPF program pushed them (hotspot_shared.h: enum hotspot_frame).
 */
#ifndef HOTSPOT_NAMES_H
#define HOTSPOT_NAMES_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/hotspot/code/stubs.h"
#include "plugins/hotspot/layout.h"

struct hotspot_names; /* of one process: caches, bounded */

/* layout and stubs stay the caller's; 0, -ENOMEM. */
int hotspot_names_new(const struct hotspot_memory *memory, const struct hotspot_layout *layout,
		      struct hotspot_names **ret);
void hotspot_names_free(struct hotspot_names *names);

/*
 * As ep_unwinder_ops.symbolize; names go to `add` (ep_unwinder_host.add_name). stubs: the newest that
 * were read, may be NULL.
 */
int hotspot_names_of(struct hotspot_names *names, const struct hotspot_stubs *stubs,
		     const struct ep_raw_frame *frame,
		     int (*add)(struct ep_names *to, const struct ep_name *name),
		     struct ep_names *to);

#endif
