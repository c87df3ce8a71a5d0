/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of unwinder plugins: what is of the opaque structs of
 * ebpf-profiler/unwinder.h, and the table of services that leads there. An ELF file and a process
 * are seen through tables of functions, so that the same plugin works on a live process
 * (core/plugin/elf_file.h, core/agent), on a recorded one (core/replay), and in unit tests.
 */
#ifndef EP_PLUGIN_UNWINDER_H
#define EP_PLUGIN_UNWINDER_H

#include "core/base/util.h"
#include "ebpf-profiler/plugin.h"

#include <sys/types.h>

/* Members and errors as those of struct ep_unwinder_host. */
struct ep_file_ops {
	int (*symbol)(void *arg, const char *name, struct ep_symbol *ret);
	int (*symbols)(void *arg, const char *prefix,
		       int (*visit)(void *arg, const char *name, const struct ep_symbol *symbol),
		       void *visit_arg);
	int (*section)(void *arg, const char *name, struct ep_symbol *ret);
	int (*read)(void *arg, uint64_t va, void *buf, size_t bytes);
	int (*function)(void *arg, uint64_t va, struct ep_symbol *ret);
	int (*named)(void *arg, const char *name, struct ep_symbol *ret);
};

struct ep_file {
	const struct ep_file_ops *ops;
	void *arg;
	const char *path; /* borrowed */
	uint16_t machine; /* EM_X86_64, ... */
};

struct ep_target_ops {
	int (*read)(void *arg, uint64_t addr, void *buf, size_t bytes);
	int (*mappings)(void *arg,
			int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			void *visit_arg);
	int (*file)(void *arg, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes); /* NULL: none */
	int (*tls_variable)(void *arg, uint64_t tls_off, struct ep_tls *ret);
	int (*tls_key)(void *arg, uint32_t key, struct ep_tls *ret);
	int (*set_state)(void *arg, const void *state, size_t bytes);
	int (*set_ranges)(void *arg, const struct ep_range *ranges, size_t n);
	void (*count)(void *arg, uint32_t counter, uint64_t n);
};

struct ep_target {
	const struct ep_target_ops *ops;
	void *arg;
	pid_t pid;
	uint64_t bias;
};

struct ep_names {
	int (*add)(void *arg, const struct ep_name *name);
	void *arg;
};

static inline bool ep_bpf_image_resumes(const struct ep_bpf_image *image)
{
	return EP_HAS(image, flags) && image->flags & EP_BPF_RESUMES;
}

/* After ep_host_init. */
const struct ep_unwinder_host *ep_unwinder_host_get(void);

/* Checks the operations of a descriptor; as ep_plugin_check. */
int ep_unwinder_check(const struct ep_plugin *plugin, char reason[512]);

#endif
