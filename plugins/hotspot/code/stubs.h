/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code at fixed places: the template interpreter's codelets, StubRoutines, runtime stubs and the
 * other blobs that are made once. For each piece its name, and for each instruction how a frame
 * there is left (flow.h finds it out from the code itself).
 */
#ifndef HOTSPOT_STUBS_H
#define HOTSPOT_STUBS_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/hotspot/layout.h"
#include "plugins/shared/read/memory.h"

struct hotspot_stubs; /* immutable once read */

/*
 * Reads what is there now. More may come later, for which it is read again: the compilers make
 * theirs when they start. earlier: optional, what was read of this memory before, with the same
 * layout; of code that is still the same, what is known is taken from there; borrowed for the call.
 * symbol_names: optional, names of addresses that the file's symbols hold (variables that point to
 * stubs), sorted by address; borrowed for the call. 0, EP_NOT_YET (no interpreter yet), or a
 * negative errno.
 */
struct hotspot_named_address {
	uint64_t addr;
	const char *name;
};
int hotspot_stubs_read(const struct memory *memory, const struct hotspot_layout *layout,
		       const struct hotspot_named_address *names, size_t n_names,
		       const struct hotspot_stubs *earlier, struct hotspot_stubs **ret);
void hotspot_stubs_free(struct hotspot_stubs *stubs);

/* The piece that holds an address, NULL: none. Valid as long as `stubs`. */
const char *hotspot_stubs_name(const struct hotspot_stubs *stubs, uint64_t addr);

/*
 * Ranges for BPF, ascending and disjoint: data is HOTSPOT_CODE_INTERPRETER or _STUB with its rule
 * (hotspot_shared.h). With what they leave of heaps at most EP_MAX_RANGES. The array is the stubs'.
 */
size_t hotspot_stubs_ranges(const struct hotspot_stubs *stubs, const struct ep_range **ret);

#endif
