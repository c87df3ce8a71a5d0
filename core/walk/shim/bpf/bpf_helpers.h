/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <bpf/bpf_helpers.h> for the native unwinder where it is compiled for user space (core/walk/steps.c).
 * What a step calls is a function of that file; the rest of the sources it comes with is never
 * called, and only has to compile: results of those helpers are failures.
 */
#ifndef EP_WALK_BPF_HELPERS_H
#define EP_WALK_BPF_HELPERS_H

#include <linux/types.h>

/* A page table's or rows' chunk; one of the shared rules. NULL: there is none. */
static void *ep_steps_chunk(__u32 index);
static void *ep_steps_rule(__u32 index);
/* All or nothing; zeros when it fails, as bpf_probe_read_user leaves them. */
static long ep_steps_read(void *to, __u32 bytes, __u64 from);

/* Maps are declarations here, which other objects of the program may have as well. */
#define SEC(name) __attribute__((weak, unused))

/* libbpf:src/bpf_helpers.h: what a map is, as types. */
#define __uint(name, val)  int(*name)[val]
#define __type(name, val)  val *name
#define __array(name, val) val *name[]

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/*
 * Maps are distinguished by how they are written, "&its_name", which the compiler folds. A chunk,
 * the value of an array of maps, is its own only entry.
 */
#define EP_STEPS_IS(map, name) (__builtin_strcmp(map, name) == 0)
#define bpf_map_lookup_elem(map, key)                                                              \
	(EP_STEPS_IS(#map, "&ep_chunks")  ? ep_steps_chunk((__u32) * (key))                        \
	 : EP_STEPS_IS(#map, "&ep_rules") ? ep_steps_rule((__u32) * (key))                         \
	 : EP_STEPS_IS(#map, "chunk")	  ? (void *)(map)                                          \
					  : (void *)0)
#define bpf_probe_read_user(to, bytes, from) ep_steps_read((to), (bytes), (__u64)(from))

static inline long bpf_probe_read_kernel(void *to, __u32 bytes, const void *from)
{
	(void)to, (void)bytes, (void)from;
	return -14; /* EFAULT */
}

#define bpf_tail_call(ctx, map, slot) ((void)(ctx), (void)(slot))
#define bpf_ringbuf_query(map, what)  ((void)(what), 0ull)
#define bpf_get_smp_processor_id() 0u
#define bpf_get_current_task()	      0ull
#define bpf_get_current_task_btf()    0ull
#define bpf_task_pt_regs(task)	      (task)

#endif
