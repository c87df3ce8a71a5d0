/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CPUs, as /sys/devices/system/cpu/online and .../possible list them ("0-3,5"). */
#ifndef EP_BPF_CPUS_H
#define EP_BPF_CPUS_H

#include "core/base/util.h"

#define EP_MAX_CPUS 8192 /* NR_CPUS of the largest configurations */

struct ep_cpus {
	uint64_t bits[EP_MAX_CPUS / 64];
};

int ep_cpus_read_online(struct ep_cpus *ret_cpus);
/* Those that may ever come online. */
int ep_cpus_read_possible(struct ep_cpus *ret_cpus);
/* 0, -EBADMSG. Numbers from EP_MAX_CPUS on are refused. */
int ep_cpus_parse(const char *text, size_t bytes, struct ep_cpus *ret_cpus);

static inline bool ep_cpus_has(const struct ep_cpus *cpus, uint32_t cpu)
{
	return cpu < EP_MAX_CPUS && (cpus->bits[cpu / 64] >> cpu % 64 & 1);
}

/* How many of the set have a lower number. */
static inline uint32_t ep_cpus_count_below(const struct ep_cpus *cpus, uint32_t cpu)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < EP_MIN(cpu, EP_MAX_CPUS) / 64; i++)
		n += (uint32_t)__builtin_popcountll(cpus->bits[i]);
	if (cpu < EP_MAX_CPUS)
		n += (uint32_t)__builtin_popcountll(cpus->bits[cpu / 64] &
						    ((1ull << cpu % 64) - 1));
	return n;
}

/* One more than the highest number; 0 of an empty set. */
static inline uint32_t ep_cpus_end(const struct ep_cpus *cpus)
{
	uint32_t end = EP_MAX_CPUS;

	while (end > 0 && !ep_cpus_has(cpus, end - 1))
		end--;
	return end;
}

/* The number of entries that a table by CPU number needs; 0 where nobody says. */
uint32_t ep_cpus_possible_end(void);

#endif
