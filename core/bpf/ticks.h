/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ticks of each CPU found, as BPF counted them (ep_counters): each run of the entry
 * program counts as one of sampled, filtered or idle.
 */
#ifndef EP_BPF_TICKS_H
#define EP_BPF_TICKS_H

#include "core/bpf/missed.h"

struct ep_tick_reader;

/* Of the map ep_counters, whose descriptor stays the caller's. 0 or a negative errno. */
int ep_tick_reader_new(int counters_fd, struct ep_tick_reader **ret_reader);
void ep_tick_reader_free(struct ep_tick_reader *reader); /* accepts NULL */

/* Reads the counters of all CPUs. 0 or a negative errno: what was read before stays. */
int ep_tick_reader_read(struct ep_tick_reader *reader);
/* What was read of a CPU last. */
struct ep_ticks ep_tick_reader_get(const struct ep_tick_reader *reader, uint32_t cpu);

#endif
