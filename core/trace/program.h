/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What names a program: a process between two of its execs. Process ids are used again, so it takes
 * the start; one process runs several programs, so it takes the image (bpf/shared.h).
 */
#ifndef EP_TRACE_PROGRAM_H
#define EP_TRACE_PROGRAM_H

#include "core/base/map.h"
#include "core/base/util.h"
#include "ebpf-profiler/bpf/record.h"

struct ep_program {
	uint64_t start_ns; /* CLOCK_BOOTTIME */
	uint32_t pid, image;
};

static inline struct ep_program ep_program_of(const struct ep_sample *sample)
{
	return (struct ep_program){
		.start_ns = sample->start_ns, .pid = sample->pid, .image = sample->image};
}

static inline bool ep_program_is_same(struct ep_program a, struct ep_program b)
{
	return a.pid == b.pid && a.image == b.image && a.start_ns == b.start_ns;
}

static inline uint64_t ep_program_hash(struct ep_program program)
{
	return ep_mix64(program.start_ns ^ ep_mix64((uint64_t)program.image << 32 | program.pid));
}

#endif
