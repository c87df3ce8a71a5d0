/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long each CPU was idle, waiting for disks included, and how long it was busy, from /proc/stat
 * (proc_stat(5)), in the kernel's units of 10 ms. A CPU that is idle without clock ticks of its own
 * also loses those of the sampling clock (core/bpf/missed.h). One that is offline has no line; when it
 * is back it goes on from what it had.
 *
 *	cpu  2255 34 2290 22625563 6290 127 456 0 0 0
 *	cpu0 1132 34 1441 11311718 3675 127 438 0 0 0
 *	     user nice system idle iowait irq softirq ...
 */
#ifndef EP_BPF_IDLE_H
#define EP_BPF_IDLE_H

#include "core/base/vec.h"

struct ep_cpu_time {
	uint64_t idle_ns, busy_ns;
};

/* `idle` is a vector of struct ep_cpu_time by CPU number; zeros for one that is not there. */
void ep_idle_init(struct ep_vec *idle);
int ep_idle_read(struct ep_vec *idle);
/* The text of /proc/stat. 0, -EBADMSG, -ENOMEM; CPUs from EP_MAX_CPUS on are passed over. */
int ep_idle_parse(struct ep_vec *idle, const char *text, size_t bytes);
struct ep_cpu_time ep_idle_get(const struct ep_vec *idle, uint32_t cpu);

#endif
