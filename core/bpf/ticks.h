/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ticks of each CPU found, as BPF counted them (struct ep_counts): each run of the entry
 * program counts as one of sampled, filtered or idle; the ticks that were over when a walk ended, as overrun.
 */
#ifndef EP_BPF_TICKS_H
#define EP_BPF_TICKS_H

#include "bpf/shared.h"
#include "core/bpf/missed.h"

struct ep_tick_reader;

/* Of CPUs 0 .. n - 1; the memory is borrowed, BPF writes it. 0, -ENOMEM. */
int ep_tick_reader_new(const struct ep_counts *counts, uint32_t n, struct ep_tick_reader **ret_reader);
void ep_tick_reader_free(struct ep_tick_reader *reader); /* accepts NULL */

/* Takes what all CPUs have counted by now. */
void ep_tick_reader_read(struct ep_tick_reader *reader);
/* What was taken of a CPU last. */
struct ep_ticks ep_tick_reader_get(const struct ep_tick_reader *reader, uint32_t cpu);

#endif
