/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_BPF_INTERNAL_MAPS_H
#define EP_BPF_INTERNAL_MAPS_H

#include "ebpf-profiler/bpf/base.h"
#include "ebpf-profiler/bpf/internal/rows.h"

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, EP_SLOT_COUNT);
	__type(key, __u32);
	__type(value, __u32);
} ep_progs SEC(".maps");

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
