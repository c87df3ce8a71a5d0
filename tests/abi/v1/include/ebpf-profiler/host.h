/* SPDX-License-Identifier: Apache-2.0 */
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

struct ep_options;
struct uv_loop_s;

struct ep_host {
	uint32_t size;
	uint32_t abi_minor;
	const char *version;

	void (*log)(enum ep_host_level level, const char *fmt, ...)
		__attribute__((format(printf, 2, 3)));

	const char *(*option_string)(const struct ep_options *options, const char *name);
	int64_t (*option_int)(const struct ep_options *options, const char *name);
	int (*option_bool)(const struct ep_options *options, const char *name);

	void (*batch_ref)(const struct ep_batch *batch);
	void (*batch_unref)(const struct ep_batch *batch);

	int (*run)(void (*work)(void *arg), void (*after)(void *arg), void *arg);

	struct uv_loop_s *loop;

	int (*want_environment)(const char *name);
};

#endif
