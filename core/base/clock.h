/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks, all in nanoseconds. CLOCK_MONOTONIC and CLOCK_BOOTTIME are the kernel's own, by which BPF and perf events stamp
 * what they send, also where the profiler runs in a time namespace (time_namespaces(7)) that has others.
 */
#ifndef EP_BASE_CLOCK_H
#define EP_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define EP_NS_PER_SEC 1000000000ULL
#define EP_NS_PER_MS  1000000ULL

uint64_t ep_clock_mono_ns(void);
uint64_t ep_clock_boot_ns(void);
uint64_t ep_clock_wall_ns(void); /* CLOCK_REALTIME, which has no namespaces */
/* CLOCK_MONOTONIC that has passed since then; 0: nothing has, as it did not begin. */
uint64_t ep_clock_passed_ns(uint64_t since_ns);
/* CPU time of this process, user and system, all threads. */
uint64_t ep_clock_cpu_ns(void);
/* The same of this thread alone. */
uint64_t ep_clock_thread_cpu_ns(void);

/* What our time namespace adds to the kernel's clocks, and to start times in /proc/PID/stat: zeros outside of one. */
struct ep_clock_offsets {
	int64_t mono_ns, boot_ns;
};
struct ep_clock_offsets ep_clock_offsets(void);
/* The text of /proc/PID/timens_offsets (fs/proc/base.c, timens_offsets_show). 0, -EBADMSG. */
int ep_clock_parse_offsets(const char *text, size_t bytes, struct ep_clock_offsets *ret);

#endif
