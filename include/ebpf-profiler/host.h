/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services of the host, as a table that a plugin gets with its first call and may keep. All of
 * them are called on the loop's thread unless stated otherwise; `log` may be called on any.
 */
#ifndef EP_HOST_H
#define EP_HOST_H

#include "ebpf-profiler/abi.h"
#include "ebpf-profiler/batch.h"

enum ep_host_level {
	EP_HOST_ERROR = 0,
	EP_HOST_WARN = 1,
	EP_HOST_INFO = 2,
	EP_HOST_DEBUG = 3,
};

struct ep_options; /* the plugin's part of the configuration, already checked against its specs */
struct uv_loop_s;

struct ep_host {
	uint32_t size;
	uint32_t abi_minor;
	const char *version; /* of the profiler */

	void (*log)(enum ep_host_level level, const char *fmt, ...)
		__attribute__((format(printf, 2, 3)));

	/* Options by name: what the configuration says, else the spec's default. Borrowed. */
	const char *(*option_string)(const struct ep_options *options, const char *name);
	int64_t (*option_int)(const struct ep_options *options, const char *name);
	int (*option_bool)(const struct ep_options *options, const char *name);

	void (*batch_ref)(const struct ep_batch *batch);
	void (*batch_unref)(const struct ep_batch *batch); /* any thread */

	/*
	 * Runs work(arg) on a worker thread, then after(arg) on the loop's. 0 or a negative errno
	 * (neither will run). Plugins start no threads of their own.
	 */
	int (*run)(void (*work)(void *arg), void (*after)(void *arg), void *arg);

	struct uv_loop_s *loop; /* for timers and sockets: libuv's default ABI, version 1 */

	/*
	 * Asks for a variable of every process's environment (struct ep_batch: process_env_first).
	 * From an exporter's open. 0, -EINVAL (no name of a variable), -E2BIG (64 of them), -ENOMEM.
	 */
	int (*want_environment)(const char *name);
};

#endif
