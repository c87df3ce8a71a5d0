/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records a process: walks and names its stacks once, keeping all that was looked at, and once more
 * from what was kept. The two must be equal, or there is no fixture.
 */
#ifndef EP_REPLAY_CAPTURE_H
#define EP_REPLAY_CAPTURE_H

#include "core/base/vec.h"

#include <sys/types.h>

#define EP_CAPTURE_REASON_BYTES 256

struct ep_plugin;

struct ep_capture_options {
	pid_t pid;
	const char *core;			/* NULL: the process */
	const pid_t *tids;			/* threads that are recorded; all are stopped */
	size_t n_tids;				/* 0: all */
	const struct ep_plugin *const *plugins; /* languages */
	size_t n_plugins;
};

struct ep_capture_result {
	struct ep_vec file; /* the fixture */
	struct ep_vec text; /* its stacks (core/replay/replay.h) */
	size_t n_threads, memory_bytes;
	uint64_t stopped_ns; /* how long the process stood still; 0: a core file */
};

/*
 * 0, or a negative errno with one sentence in `reason` that says what to do. result is embedded
 * by the caller, zeroed, and its own to fini.
 */
int ep_capture_run(const struct ep_capture_options *options, struct ep_capture_result *result,
		   char reason[EP_CAPTURE_REASON_BYTES]);
/* Its stacks as text, and no fixture: `file` stays empty. The process stands still for less time. */
int ep_capture_dump(const struct ep_capture_options *options, struct ep_capture_result *result,
		    char reason[EP_CAPTURE_REASON_BYTES]);
void ep_capture_result_fini(struct ep_capture_result *result);

#endif
