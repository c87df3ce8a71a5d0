/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows of samples go into one Profile: those of one process and one event type, or, with
 * profile_per_cpu, of one period as well.
 *
 * What a sample weighs is the period of its CPU's clock (docs/sampling.md), and a Profile has one
 * period. It is the mean of its samples, so that count times period is the CPU time of the process;
 * of what ran on some of the CPUs only it is so with a Profile for each CPU. That is not the default
 * because receivers work on each Profile by itself: Pyroscope pushes them one after the other (export,
 * grafana/pyroscope pkg/ingester/otlp/ingest_handler.go). Values beside the timestamps would say it
 * too, but not to the receivers there are: devfiler counts timestamps, and Pyroscope refuses more than
 * one value but multiplies samples/count by the Profile's period (convertSampleBack, convert.go there).
 */
#ifndef OTLP_GROUPS_H
#define OTLP_GROUPS_H

#include "exporters/shared/otlp/view.h"

struct otlp_groups {
	uint32_t *order;     /* rows by process, then event, then period, else as in the batch */
	uint32_t *period_of; /* per row: into period_ns */
	uint64_t *period_ns; /* different ones; 0: not known */
	uint32_t n_periods;
};

/* 0 or -ENOMEM; what was made is freed by fini in both cases. */
int otlp_groups_init(struct otlp_groups *groups, const struct ep_batch *batch,
		     const struct otlp_view *view);
void otlp_groups_fini(struct otlp_groups *groups);
/* Sorts rows by their key, below n_keys; rows of one key keep their order. 0 or -ENOMEM. */
int otlp_groups_sort(uint32_t *order, uint32_t n, const uint32_t *key_of, uint32_t n_keys);

#endif
