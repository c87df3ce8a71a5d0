/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of frames as the BPF program pushed them (hotspot_shared.h: enum hotspot_frame).
 *
 *	names.c		frames ──► names
 *	nmethods.c	compiled code: its sections ──► scopes.c
 *	methods.c	a method: text.c, lines.c, smap.c
 *	shared/names	keeps both, bounded
 *
 * Where code was compiled without debug points between its calls (no DebugNonSafepoints), which of
 * the methods that were inlined runs there is a guess: such a name has " [approximate]" after its
 * system name. A frame's outer methods, those that the debug points before and after agree about,
 * are none.
 */
#ifndef HOTSPOT_NAMES_H
#define HOTSPOT_NAMES_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/hotspot/code/stubs.h"
#include "plugins/hotspot/layout.h"

struct hotspot_names; /* of one process: caches, bounded */

#define HOTSPOT_NAMES_MAX_BYTES (512u << 10) /* of what is kept, without the tables to find it */
#define HOTSPOT_NAMES_MAX_LARGE (4u << 20) /* of code that would fill half of that alone */
#define HOTSPOT_NAMES_MAX_HEAP	(HOTSPOT_NAMES_MAX_BYTES + HOTSPOT_NAMES_MAX_LARGE + (64u << 10))

/* layout and stubs stay the caller's; 0, -ENOMEM. */
int hotspot_names_new(const struct memory *memory, const struct hotspot_layout *layout,
		      struct hotspot_names **ret);
void hotspot_names_free(struct hotspot_names *names);
size_t hotspot_names_bytes(const struct hotspot_names *names);

/*
 * As ep_unwinder_ops.symbolize; names go to `add` (ep_unwinder_host.add_name). stubs: the newest
 * that were read, may be NULL.
 */
int hotspot_names_of(struct hotspot_names *names, const struct hotspot_stubs *stubs,
		     const struct ep_raw_frame *frame,
		     int (*add)(struct ep_names *to, const struct ep_name *name),
		     struct ep_names *to);

/* How many approximate names were given since the last call: HOTSPOT_COUNT_APPROXIMATE. */
uint64_t hotspot_names_take_approximate(struct hotspot_names *names);

#endif
