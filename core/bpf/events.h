/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perf events, one set for each CPU that is online: the sampling clock, which runs the entry
 * program, and a side-band ring that tells of new executable mappings.
 */
#ifndef EP_BPF_EVENTS_H
#define EP_BPF_EVENTS_H

#include "core/base/util.h"

#include <sys/types.h>

struct ep_counts;
struct ep_cpus;
struct ep_events;
struct ep_sideband_set;

struct ep_events_options {
	uint32_t freq_hz;
	int program_fd;	/* the entry program */
	const struct ep_counts *counts; /* where it counts its runs, by CPU; NULL: missed ticks stay unknown */
	uint32_t n_counts;
	bool sideband;	/* open the side-band rings */
	const struct ep_cpus *cpus; /* whose clocks are opened; NULL: all. Borrowed while they are open */
};

/*
 * A new executable mapping, or code made executable. Strings are borrowed for the call. The kernel
 * tells either a build id or which file it is, by device and inode; for memory without a file
 * ("//anon", "[vdso]") neither. The device is that of the file system the pages come from: on
 * overlayfs and btrfs stat() of the path may name another one.
 */
struct ep_mapping_event {
	pid_t pid;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t addr, bytes, file_off;
	const uint8_t *build_id; /* NULL: the kernel does not tell, or the file has none */
	size_t build_id_bytes;
	bool has_inode; /* the next four are reported */
	uint32_t device_major, device_minor;
	uint64_t inode, inode_generation;
	const char *name; /* of the mapped file */
};
/*
 * Code of the kernel that came or went: BPF programs, trampolines of BPF and ftrace, slots of kprobes; not modules.
 * The name is borrowed for the call.
 */
struct ep_ksymbol_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t addr, bytes;
	bool is_gone;
	const char *name;
	const char *module; /* as /proc/kallsyms has it in brackets: lives for ever */
};
typedef void (*ep_mapping_visit)(void *arg, const struct ep_mapping_event *event);

/*
 * Opens the events on every CPU that is online, not running yet. 0, -EACCES or -EPERM, or what
 * perf_event_open reported. A machine without permission for side-band records does without them.
 */
int ep_events_open(const struct ep_events_options *options, struct ep_events **ret_events);
void ep_events_close(struct ep_events *events);

int ep_events_start(struct ep_events *events);
void ep_events_stop(struct ep_events *events);

/*
 * CPU time that one sample of a CPU stands for: the period of its clock, fixed for ever. The mean
 * is that of the CPUs sampled now.
 */
uint64_t ep_events_period_ns(const struct ep_events *events, uint32_t cpu);
uint64_t ep_events_mean_period_ns(const struct ep_events *events);

/*
 * Looks for ticks that never came, see core/bpf/missed.h. Sums since the start: of all CPUs, those
 * that went included. Interrupts each CPU: every few seconds, at the end of an interval, and, to
 * have it exactly, after the stop.
 */
struct ep_events_missed {
	uint64_t ticks;
	uint64_t samples; /* that these would have been, as far as one can tell */
};
struct ep_events_missed ep_events_count_missed(struct ep_events *events);

/*
 * Follows CPU hot-plug: opens (and starts) events on CPUs that came, closes those of CPUs that
 * went. Number of CPUs sampled now, or -errno.
 */
int ep_events_sync_cpus(struct ep_events *events);
/*
 * The same for who calls it once a second: looks when the kernel reported CPUs that came or went,
 * and at each fifth call in any case.
 */
int ep_events_follow_cpus(struct ep_events *events);
/*
 * Whether the kernel reported that one of its modules came or went since this was last asked. One
 * system call.
 */
bool ep_events_take_modules(struct ep_events *events);

/* A descriptor for poll: readable when a side-band ring has records; -1 without them. */
int ep_events_poll_fd(const struct ep_events *events);
/* The side-band rings, for core/bpf/order.h; NULL without them. */
struct ep_sideband_set *ep_events_sidebands(const struct ep_events *events);

#endif
