/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the descriptors of all languages say in the same words. A language has its texts (`errors`,
 * `counters`), and names what its functions and objects are called after:
 *
 *	DESCRIPTOR_FUNCTIONS(toy);		in toy.h
 *
 *	DESCRIPTOR_UNWINDER(toy, 64);		in toy.c
 *	DESCRIPTOR_KEEPER(toy);
 *
 *	static const struct ep_unwinder_ops ops = {
 *		DESCRIPTOR_OPS(toy),
 *		.keeper = &keeper,
 *	};
 *	DESCRIPTOR_PLUGIN(toy);
 */
#ifndef SHARED_DESCRIPTOR_H
#define SHARED_DESCRIPTOR_H

#include "ebpf-profiler/plugin.h"
#include "ebpf-profiler/unwinder.h"

/* The functions of a language, of which it has the first five at least: its header declares
 * them. */
#define DESCRIPTOR_FUNCTIONS(prefix_)                                                              \
	int prefix_##_probe(const struct ep_unwinder_host *host, const struct ep_file *file,       \
			    void **ret_executable);                                                \
	void prefix_##_unload(void *executable);                                                   \
	int prefix_##_attach(void *executable, struct ep_target *target, void **ret_instance);     \
	int prefix_##_symbolize(void *instance, const struct ep_raw_frame *frame,                  \
				struct ep_names *names);                                           \
	void prefix_##_detach(void *instance);                                                     \
	int prefix_##_describe(void *executable, const struct ep_file *file,                       \
			       struct ep_description *description);                                \
	int prefix_##_refresh(void *instance);                                                     \
	int prefix_##_advise(void *instance,                                                       \
			     void (*say)(void *arg, const char *found, const char *fix), void *arg)

/* NAME_unwind.bpf.c, as NAME_bpf.inc.h has it; with its flags, where there are any. */
#define DESCRIPTOR_UNWINDER(name_, frames_, ...)                                                   \
	static const struct ep_bpf_image bpf = {                                                   \
		.size = sizeof(bpf),                                                               \
		.max_frames_per_run = (frames_),                                                   \
		.object = name_##_bpf_object,                                                      \
		.object_bytes = sizeof(name_##_bpf_object),                                        \
		.program = #name_ "_unwind",                                                       \
		__VA_ARGS__}

/* NAME_keep.bpf.c, as NAME_keep_bpf.inc.h has it. */
#define DESCRIPTOR_KEEPER(name_, ...)                                                              \
	static const struct ep_bpf_image keeper = {                                                \
		.size = sizeof(keeper),                                                            \
		.object = name_##_keep_bpf_object,                                                 \
		.object_bytes = sizeof(name_##_keep_bpf_object),                                   \
		.program = #name_ "_keep",                                                         \
		__VA_ARGS__}

/* What each language has; `prefix_` begins the names of its functions. */
#define DESCRIPTOR_OPS(prefix_)                                                                    \
	.size = sizeof(ops), .errors = errors, .counters = counters, .bpf = &bpf,                  \
	.probe = prefix_##_probe, .attach = prefix_##_attach, .symbolize = prefix_##_symbolize,    \
	.detach = prefix_##_detach, .unload = prefix_##_unload

#define DESCRIPTOR_PLUGIN(name_)                                                                   \
	EP_PLUGIN_DEFINE = {                                                                       \
		.size = sizeof(struct ep_plugin),                                                  \
		.abi_major = EP_ABI_MAJOR,                                                         \
		.abi_minor = EP_ABI_MINOR,                                                         \
		.kind = EP_PLUGIN_UNWINDER,                                                        \
		.name = #name_,                                                                    \
		.version = "1.0",                                                                  \
		.unwinder = &ops,                                                                  \
	}

#endif
