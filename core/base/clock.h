/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, all in nanoseconds. Samples carry CLOCK_MONOTONIC (bpf_ktime_get_ns). */
#ifndef EP_BASE_CLOCK_H
#define EP_BASE_CLOCK_H

#include <stdint.h>

#define EP_NS_PER_SEC 1000000000ULL
#define EP_NS_PER_MS  1000000ULL

uint64_t ep_clock_mono_ns(void);
/* CPU time of this process, user and system, all threads. */
uint64_t ep_clock_cpu_ns(void);
/* The same of this thread alone. */
uint64_t ep_clock_thread_cpu_ns(void);

#endif
