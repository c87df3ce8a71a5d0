/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helpers after <bpf/bpf_helpers.h> of this directory, and how a BPF source that was compiled
 * for user space presents itself. Results are those of bpf-helpers(7). Included by the BPF sources:
 * no header of the C library.
 */
#ifndef EP_REPLAY_SHIM_HELPERS_H
#define EP_REPLAY_SHIM_HELPERS_H

#include <linux/types.h>

struct bpf_perf_event_data;

void *ep_shim_map_lookup(const char *object, const char *name, const void *map, const void *key);
long ep_shim_map_update(const char *object, const char *name, const void *map, const void *key,
			const void *value, __u64 flags);
long ep_shim_map_delete(const char *object, const char *name, const void *map, const void *key);
/* Comes back only when it fails. */
long ep_shim_tail_call(const char *object, const char *name, void *ctx, __u32 slot);
long ep_shim_ringbuf_output(const char *object, const char *name, const void *data, __u64 bytes,
			    __u64 flags);
__u64 ep_shim_ringbuf_query(__u64 what);

long ep_shim_read_user(void *to, __u32 bytes, const void *from);
long ep_shim_read_user_str(void *to, __u32 bytes, const void *from);
long ep_shim_read_kernel(void *to, __u32 bytes, const void *from);

__u64 ep_shim_pid_tgid(void);
long ep_shim_comm(void *to, __u32 bytes);
__u64 ep_shim_task(void);
__u64 ep_shim_task_pt_regs(__u64 task);
long ep_shim_kernel_stack(void *to, __u32 bytes, __u64 flags);

struct ep_shim_program {
	const char *name;
	int (*run)(struct bpf_perf_event_data *ctx);
};

/* One BPF source. Its constants (struct ep_config or ep_self) are written before it runs. */
struct ep_shim_object {
	const char *name; /* "core", or the language's */
	volatile const void *constants;
	__u32 constants_bytes;
	__u32 n_programs;
	struct ep_shim_program programs[4];
};

/* core, then the languages that were built; ends with NULL. */
extern const struct ep_shim_object *const ep_shim_objects[];

#endif
