/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds names for frames: kernel frames from a picture of kallsyms, native ones on workers, an
 * executable at a time. A sample never waits for a name; a batch does, for a while.
 *
 * Loop's thread only.
 */
#ifndef EP_AGENT_NAMER_H
#define EP_AGENT_NAMER_H

#include "core/base/util.h"

struct ep_frames;
struct ep_namer;
struct ep_processes;
struct uv_loop_s;

struct ep_namer_options {
	struct uv_loop_s *loop;
	struct ep_processes *processes;
	bool native, kernel; /* look for names of these at all */
	size_t max_bytes;    /* of cached native symbol tables */
	void (*progress)(void *arg); /* some frames got their names */
	void *arg;
};

int ep_namer_new(const struct ep_namer_options *options, struct ep_namer **ret_namer);
void ep_namer_free(struct ep_namer *namer); /* no job may be under way: see ep_namer_busy */

/* Starts looking for all frames that wait for a name. */
void ep_namer_run(struct ep_namer *namer, struct ep_frames *frames);
size_t ep_namer_busy(const struct ep_namer *namer);
size_t ep_namer_bytes(const struct ep_namer *namer);
/* Hex GNU build id of the running kernel, "" when unknown. */
const char *ep_namer_kernel_build_id(const struct ep_namer *namer);

#endif
