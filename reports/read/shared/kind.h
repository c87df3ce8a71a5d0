/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of frames (ep_batch.location_kind) in files that do not tell them: guessed by the name of the source
 * file, of the executable, and of the function.
 */
#ifndef EP_READERS_KIND_H
#define EP_READERS_KIND_H

#include "core/profile/builder.h"

/*
 * A frame as a file has it. Strings may be "" and are not NULL. `address`: of code, 0 when the file has none.
 */
struct ep_read_frame {
	const char *function, *file, *path; /* of the leaf-most line; executable */
	uint64_t address;
};

/* "native", "kernel", "error", "gap", a frame type of a language, or "unknown". */
const char *ep_read_kind(const struct ep_read_frame *frame);
/* enum ep_mapping_flag of an executable: "[kernel.kallsyms]", "[ext4]" and "vmlinux" are the kernel's. */
uint32_t ep_read_mapping_flags(const char *path, uint64_t address);
/*
 * What a name that this program made up says of its frame: sets flags and unnamed. Other names are left alone.
 */
void ep_read_made_up(const char *function, struct ep_profile_location *location);
/*
 * What such a frame says of its stack: why it is incomplete ("[truncated: stack memory unreadable]"), and why
 * it is not fully named. For each such frame, leaf first. 0 or what the builder says.
 */
int ep_read_stack_note(struct ep_profile_builder *builder, const char *function,
		       struct ep_profile_stack *stack);

#endif
