/* SPDX-License-Identifier: Apache-2.0 */
/* The set of CPUs that are online, as /sys/devices/system/cpu/online lists them ("0-3,5"). */
#ifndef EP_BPF_CPUS_H
#define EP_BPF_CPUS_H

#include "core/base/util.h"

#define EP_MAX_CPUS 8192 /* NR_CPUS of the largest configurations */

struct ep_cpus {
	uint64_t bits[EP_MAX_CPUS / 64];
};

int ep_cpus_read_online(struct ep_cpus *ret_cpus);
/* 0, -EBADMSG. Numbers from EP_MAX_CPUS on are refused. */
int ep_cpus_parse(const char *text, size_t bytes, struct ep_cpus *ret_cpus);

static inline bool ep_cpus_has(const struct ep_cpus *cpus, uint32_t cpu)
{
	return cpu < EP_MAX_CPUS && (cpus->bits[cpu / 64] >> cpu % 64 & 1);
}

#endif
