/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <bpf/bpf_helpers.h> for BPF sources that are compiled for user space: same names, but a helper is
 * a call of the recorded kernel (core/replay/kernel.h). Maps stay declarations: an object knows
 * them by the name they are passed by, so a program must pass `&its_map` itself, not a copy of the
 * address; a value of an array of maps may be passed as it is.
 */
#ifndef EP_SHIM_BPF_HELPERS_H
#define EP_SHIM_BPF_HELPERS_H

#include "core/replay/shim/helpers.h"

/* A name of its own: the C compiler has a .rodata with other attributes. */
#define SEC(name) __attribute__((section("bpf" name), used))

/* libbpf:src/bpf_helpers.h: what a map is, as types. The facts are read from the BPF object. */
#define __uint(name, val)  int(*name)[val]
#define __type(name, val)  val *name
#define __array(name, val) val *name[]

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#ifndef barrier_var
#define barrier_var(var) __asm__ volatile("" : "+r"(var))
#endif

#define bpf_map_lookup_elem(map, key) ep_shim_map_lookup(EP_SHIM_OBJECT, #map, (map), (key))
#define bpf_map_update_elem(map, key, value, flags)                                                \
	ep_shim_map_update(EP_SHIM_OBJECT, #map, (map), (key), (value), (flags))
#define bpf_map_delete_elem(map, key) ep_shim_map_delete(EP_SHIM_OBJECT, #map, (map), (key))
#define bpf_tail_call(ctx, map, slot) ep_shim_tail_call(EP_SHIM_OBJECT, #map, (ctx), (slot))
#define bpf_ringbuf_output(map, data, bytes, flags)                                                \
	ep_shim_ringbuf_output(EP_SHIM_OBJECT, #map, (data), (bytes), (flags))
#define bpf_ringbuf_query(map, what) ep_shim_ringbuf_query((what))

#define bpf_probe_read_user(to, bytes, from)	 ep_shim_read_user((to), (bytes), (from))
#define bpf_probe_read_user_str(to, bytes, from) ep_shim_read_user_str((to), (bytes), (from))
#define bpf_probe_read_kernel(to, bytes, from)	 ep_shim_read_kernel((to), (bytes), (from))
/* Of the programs for births and deaths, which a replay has none of. */
#define bpf_probe_read_kernel_str(to, bytes, from) ep_shim_read_kernel((to), (bytes), (from))
#define bpf_get_current_pid_tgid()		 ep_shim_pid_tgid()
#define bpf_get_current_comm(to, bytes)		 ep_shim_comm((to), (bytes))
#define bpf_get_current_task()			 ep_shim_task()
#define bpf_get_current_task_btf()		 ep_shim_task()
#define bpf_task_pt_regs(task)			 ep_shim_task_pt_regs((task))
#define bpf_get_smp_processor_id()		 0u
#define bpf_ktime_get_ns()			 1ull
#define bpf_ktime_get_boot_ns()			 1ull
#define bpf_get_stack(ctx, to, bytes, flags)	 ep_shim_kernel_stack((to), (bytes), (flags))

#endif
