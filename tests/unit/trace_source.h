/* SPDX-License-Identifier: Apache-2.0 */
/* What batches of tests are made with: one file, one process, a machine's names; and frames of a toy language. */
#ifndef EP_TEST_TRACE_SOURCE_H
#define EP_TEST_TRACE_SOURCE_H

#include "tests/unit/trace_store.h"

#define TOY_SLOT EP_SLOT_FIRST_DYNAMIC
#define TOY	 (EP_FRAME_FIRST_DYNAMIC + TOY_SLOT)

static struct event event; /* the one that a test writes */

static inline int find_executable(void *arg, uint32_t id, struct ep_batch_executable *ret)
{
	if (id != 5)
		return -ENOENT;
	*ret = (struct ep_batch_executable){
		.path = "/usr/lib/libx.so",
		.build_id = "abcd",
		.file_id = "0011",
		.n_segments = 2,
		.segments = {{0x1000, 0x3000, 0x1000}, {0x8000, 0x9000, 0x6000}},
	};
	return 0;
}

static inline int find_process(void *arg, struct ep_program program, struct ep_batch_process *ret)
{
	if (program.pid != 7 || program.start_ns != 77)
		return -ESRCH;
	*ret = (struct ep_batch_process){
		.comm = "bad\xff"
			"comm",
		.exe_path = "/usr/bin/\x1b]0;prog\x07",
		.container_id = "c0ffee",
	};
	return 0;
}

static const struct ep_batch_source source = {
	.executable = find_executable,
	.process = find_process,
	.kernel_build_id = "feed",
	.host_name = "host",
	.period_hz = 20,
	.mono_to_wall_ns = 1000000,
	.boot_to_wall_ns = 2000000,
};

static inline struct ep_batch *finish(struct ep_store *store)
{
	return build_batch(store, 5100, &source);
}

/* Gives frame number n (1 is the first that is pending) the names. */
static inline void resolve(struct ep_store *store, uint32_t nth, const struct ep_frame_line *lines,
		    size_t n_lines, const char *module)
{
	ep_frames_resolve(ep_store_frames(store), EP_ERROR_COUNT - 1 + nth, lines, n_lines, module);
}

#endif
