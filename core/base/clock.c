/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * EP_NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t ep_clock_mono_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t ep_clock_cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t ep_clock_thread_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
