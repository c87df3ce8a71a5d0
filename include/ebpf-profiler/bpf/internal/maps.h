/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Not for languages. Maps that the core's programs and those of languages use: each object declares
 * them, and the host puts the real ones in their place.
 */
#ifndef EP_BPF_INTERNAL_MAPS_H
#define EP_BPF_INTERNAL_MAPS_H

#include "ebpf-profiler/bpf/base.h"
#include "ebpf-profiler/bpf/internal/rows.h"

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, EP_SLOT_COUNT_ALL);
	__type(key, __u32);
	__type(value, __u32);
} ep_progs SEC(".maps");

/*
 * What user space writes of processes and executables (rows.h). Outer and inner maps are filled by
 * user space; the inner map is described by sizes alone, since a type would reach BTF as a forward
 * declaration.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, EP_MAX_CHUNKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(max_entries, 1);
		__uint(map_flags, BPF_F_MMAPABLE);
		__uint(key_size, sizeof(__u32));
		__uint(value_size, EP_CHUNK_BYTES);
	});
} ep_chunks SEC(".maps");

#endif
