/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the kernel share: its state and its maps. */
#ifndef EP_REPLAY_KERNEL_INTERNAL_H
#define EP_REPLAY_KERNEL_INTERNAL_H

#include "core/base/vec.h"
#include "core/replay/kernel.h"
#include "core/replay/shim/helpers.h"
#include "ebpf-profiler/bpf/record.h"

#include <setjmp.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#define EP_KERNEL_MAX_MAPS 256
/* MAX_TAIL_CALL_CNT, linux/include/linux/bpf.h. */
#define EP_KERNEL_MAX_TAIL_CALLS 33
#define EP_KERNEL_MAX_OBJECTS	 24

struct ep_kernel_map {
	char name[16];
	const char *object; /* borrowed; NULL: shared by all objects */
	uint32_t type;	    /* enum bpf_map_type */
	uint32_t key_bytes, value_bytes, max_entries;
	uint8_t *values;	      /* arrays: all of them, zeroed */
	struct ep_vec entries;	      /* hashes: value, then key */
	struct ep_kernel_map **inner; /* arrays of maps */
};

struct ep_kernel_maps {
	struct ep_kernel_map *maps[EP_KERNEL_MAX_MAPS];
	size_t n;
};

void ep_kernel_maps_fini(struct ep_kernel_maps *maps);
/* Makes those of an object. `object` is borrowed as long as the maps live. */
int ep_kernel_maps_add(struct ep_kernel_maps *maps, const char *object, const void *elf,
		       size_t bytes);
/* By the name an object calls it. */
struct ep_kernel_map *ep_kernel_maps_find(const struct ep_kernel_maps *maps, const char *object,
					  const char *name);

void *ep_kernel_map_lookup(struct ep_kernel_map *map, const void *key);
int ep_kernel_map_update(struct ep_kernel_map *map, const void *key, const void *value,
			 uint64_t flags);
int ep_kernel_map_delete(struct ep_kernel_map *map, const void *key);
int ep_kernel_map_add_inner(struct ep_kernel_map *map, uint32_t index, uint32_t value_bytes,
			    struct ep_kernel_map **ret_inner);
void ep_kernel_map_drop_inner(struct ep_kernel_map *map, uint32_t index);

/* A task_struct of our own: what the programs read of it, where ep_kernel_config says. */
struct ep_kernel_task {
	uint64_t mm, stack, group_leader, start_boottime, signal, thread_pointer, self_exec_id;
	uint32_t flags, tgid, map_count;
	struct pt_regs regs;
};
#define EP_KERNEL_TASK_ADDR 0xffff888000001000ull
#define EP_KERNEL_TEXT_ADDR 0xffffffff81000000ull

struct ep_bytecode;
struct ep_bytecode_program;

struct ep_kernel_object {
	const char *name;
	const struct ep_shim_object *shim; /* or */
	struct ep_bytecode *bytecode;
	uint8_t constants[512]; /* of the shim, written before each run */
	size_t constants_bytes;
};

struct ep_kernel_program { /* run or code, or nothing */
	const struct ep_kernel_object *object;
	int (*run)(struct bpf_perf_event_data *ctx);
	const struct ep_bytecode_program *code;
};

struct ep_kernel_bound { /* a map as a program names it */
	const void *addr;
	struct ep_kernel_map *map;
};

struct ep_kernel {
	ep_kernel_read read_user;
	void *arg;
	struct ep_kernel_maps maps;
	struct ep_kernel_object objects[EP_KERNEL_MAX_OBJECTS];
	size_t n_objects;
	struct ep_kernel_bound bound[EP_KERNEL_MAX_MAPS];
	size_t n_bound;
	struct ep_kernel_program programs[EP_SLOT_COUNT_ALL];
	uint64_t now_ns, step_ns; /* of its clock, which each look at it moves on */
	uint64_t period_ns;	  /* of the sampling clock; 0: not known */
	int32_t kernel_stack; /* addresses that bpf_get_stack gives; negative: its error */
	ep_kernel_keep keep;
	/* of the run */
	jmp_buf next_program;
	struct ep_kernel_program next;
	uint32_t tail_calls;
	ep_kernel_see *see; /* NULL: nobody looks */
	void *see_arg;
	struct bpf_perf_event_data ctx;
	uint32_t task_flags; /* of each task; 0 but in tests */
	struct ep_kernel_task task;
	char comm[EP_REPLAY_COMM_BYTES];
	uint32_t tid;
	struct ep_vec *event;
	char trouble[128];
};

/* The helpers have no argument for it: the kernel whose program runs on this thread. */
extern _Thread_local struct ep_kernel *ep_kernel_current;

/* What a kernel would have refused: reported once, and the run fails. */
void ep_kernel_complain(const char *fmt, ...) EP_PRINTF(1, 2);
/* A helper as bytecode calls it (bytecode.h); arg is the struct ep_kernel_program. */
int ep_kernel_call_helper(void *arg, int32_t id, const uint64_t args[5], uint64_t *ret);

#endif
