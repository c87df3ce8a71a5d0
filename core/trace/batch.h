/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a batch (include/ebpf-profiler/batch.h) of a finished interval and the names its frames
 * have by now: rows are added to a builder (core/profile/builder.h), as readers add those of files.
 * Building reads the frame table, so it belongs to the loop's thread (tests/bench/bench_trace.c
 * says what it costs).
 *
 * A frame without a name gets a made-up function: "libx.so+0x1234" (file name, ELF virtual address
 * where its function begins if that is known, so that one function is one, else its own
 * address), "0x7f12..." where no file is known, "[kernel]+0xffffffff..." in the kernel,
 * "[truncated: ...]" for an error frame, "[toy: unknown function]" for a language's.
 */
#ifndef EP_TRACE_BATCH_H
#define EP_TRACE_BATCH_H

#include "core/base/util.h"
#include "core/profile/batch.h"
#include "core/trace/interval.h"

#define EP_EXECUTABLE_MAX_SEGMENTS 4

/* Strings of both structs are borrowed for the call and may be NULL. */
struct ep_batch_executable {
	const char *path;
	const char *build_id; /* GNU build id in hex */
	const char *file_id;  /* file id in hex */
	const char *go_build_id;
	uint32_t n_segments;  /* executable ones; page-aligned */
	struct {
		uint64_t start_va, limit_va, file_off;
	} segments[EP_EXECUTABLE_MAX_SEGMENTS];
};

struct ep_batch_process {
	const char *comm; /* of the main thread */
	const char *exe_path;
	const char *container_id;
	const char *user, *cgroup;
	const char *environment; /* "NAME=value" with its NUL, one after the other */
	size_t environment_bytes;
};

/* Where a batch gets what the store does not know. */
struct ep_batch_source {
	void *arg;
	/* 0, or a negative errno when it is not known (any more); `ret` is zeroed before. */
	int (*executable)(void *arg, uint32_t id, struct ep_batch_executable *ret);
	int (*process)(void *arg, struct ep_program program, struct ep_batch_process *ret);

	const char *kernel_build_id; /* hex, may be NULL */
	const char *host_name;
	const char *title; /* may be NULL */
	uint32_t period_hz;
	uint64_t period_ns; /* mean of the CPUs'; 0: 1 / period_hz */
	/* CPU time that a sample of this CPU stands for. NULL, or 0 as its result: period_ns. */
	uint64_t (*cpu_period)(void *arg, uint32_t cpu);
	uint64_t agent_cpu_ns, bpf_ns; /* what the interval cost; 0: not known */
	uint32_t n_cpus;	       /* that are sampled */
	int64_t mono_to_wall_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	int64_t boot_to_wall_ns; /* CLOCK_REALTIME - CLOCK_BOOTTIME */
};

/* 0 and a batch with one reference (gives), -E2BIG, -ENOMEM. */
int ep_batch_build(const struct ep_interval *interval, const struct ep_batch_source *source,
		   struct ep_batch **ret_batch);

/* The offsets of source, as of now. */
void ep_batch_read_clocks(int64_t *ret_mono_to_wall_ns, int64_t *ret_boot_to_wall_ns);

#endif
