/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernel frames: from what the kernel reported of its code (core/trace/kernel_code.h),
 * else from a kallsyms snapshot, which is read by a worker when it is wanted, soon at first, then
 * less and less often.
 *
 * Loop's thread only.
 */
#ifndef EP_AGENT_KERNEL_NAMES_H
#define EP_AGENT_KERNEL_NAMES_H

#include "core/base/util.h"

struct ep_frames;
struct ep_kernel_code;
struct ep_kernel_names;
struct uv_loop_s;

struct ep_kernel_names_options {
	struct uv_loop_s *loop;
	bool wanted;		      /* else no frame gets a name */
	const char *kallsyms;	      /* NULL: /proc/kallsyms */
	struct ep_kernel_code *code;  /* borrowed; NULL: it is always the same */
	void (*progress)(void *arg); /* there is a new snapshot, or there will be none */
	void *arg;
};

/* Begins to read the first snapshot. 0, -ENOMEM. */
int ep_kernel_names_new(const struct ep_kernel_names_options *options, struct ep_kernel_names **ret_names);
void ep_kernel_names_free(struct ep_kernel_names *names); /* accepts NULL; not during a read */

/*
 * Names a frame that was taken at that time. False when it must wait for a snapshot of the symbols
 * that is younger than the frame, or than what came to its address. Where the kernel shows none to
 * us, that is tried again now and then, and nothing waits for it.
 */
bool ep_kernel_names_resolve(struct ep_kernel_names *names, struct ep_frames *frames, uint32_t id,
			     uint64_t seen_ns);
/* A frame waits for a snapshot. A batch that is to be written does so in a hurry. */
void ep_kernel_names_want(struct ep_kernel_names *names, uint64_t now_ns, bool in_a_hurry);
/* Another number than before: it may be there. */
uint64_t ep_kernel_names_turn(const struct ep_kernel_names *names);
/* No frame waits: what is kept for them may go. */
void ep_kernel_names_rest(struct ep_kernel_names *names, uint64_t now_ns);

size_t ep_kernel_names_busy(const struct ep_kernel_names *names); /* snapshots being read */
size_t ep_kernel_names_bytes(const struct ep_kernel_names *names);
/* Hex GNU build id of the running kernel, "" when unknown. */
const char *ep_kernel_names_build_id(const struct ep_kernel_names *names);

#endif
