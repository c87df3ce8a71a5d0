/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for frames of executables' files: a job for some frames of one executable, which opens its file, or finds it
 * again, and asks core/symbol/native.h. Which frames and when is for core/agent/namer.h.
 *
 * Loop's thread only.
 */
#ifndef EP_AGENT_NATIVE_NAMES_H
#define EP_AGENT_NATIVE_NAMES_H

#include "core/base/util.h"

struct ep_frames;
struct ep_memory_budget;
struct ep_native_names;
struct ep_processes;
struct ep_vec;
struct uv_loop_s;

struct ep_native_names_options {
	struct uv_loop_s *loop;
	struct ep_processes *processes;
	size_t max_bytes; /* of cached symbol tables */
	struct ep_memory_budget *memory; /* of what is read for them; NULL: as much as there is */
	size_t *name_jobs; /* under way, of all who look for names */
	void (*progress)(void *arg); /* some frames got their names */
	void *arg;
};

int ep_native_names_new(const struct ep_native_names_options *options, struct ep_native_names **ret_names);
void ep_native_names_free(struct ep_native_names *names); /* accepts NULL; no job may be under way */
/* Names are all that is still looked for: more jobs at once. */
void ep_native_names_drain(struct ep_native_names *names);
/* Jobs end soon. */
void ep_native_names_stop(struct ep_native_names *names);

/*
 * Starts a job for frames (uint32_t) of one executable. 0, -ENODATA when it is not known any more, -EBUSY when all
 * workers for names are, -errno.
 */
int ep_native_names_start(struct ep_native_names *names, struct ep_frames *frames, uint32_t executable,
			  const struct ep_vec *ids);
/* Nobody maps the executable any more, and all its frames were asked for. */
/* Symbol tables that were not asked for some minutes go. */
void ep_native_names_sweep(struct ep_native_names *names, uint64_t now_ns);
void ep_native_names_let_go(struct ep_native_names *names, uint32_t executable);

size_t ep_native_names_busy(const struct ep_native_names *names); /* jobs under way */
size_t ep_native_names_bytes(const struct ep_native_names *names); /* of cached symbol tables */

#endif
