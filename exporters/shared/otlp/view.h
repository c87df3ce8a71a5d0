/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the encoder reads of a batch that not every host provides: columns that were added to struct
 * ep_batch after 1.0. A column that is missing is NULL, and what it would say is left out.
 *
 * Columns this exporter could use and struct ep_batch does not have yet (batch.h, at its end):
 *
 *   mapping_load_address   uint64, per mapping: of the kernel and its modules, where the image
 * starts in memory; 0 elsewhere. Kernel addresses then leave the machine relative to it. Without it
 * they are made so by kernel.c n_events, event_type (string, per event: "cpu", "off-cpu", "probe"),
 * sample_event (row of events, per sample), sample_value (uint64, per time) several event types in
 * one batch; the value is ns for "off-cpu"
 */
#ifndef OTLP_VIEW_H
#define OTLP_VIEW_H

#include "ebpf-profiler/batch.h"

struct otlp_view {
	const uint32_t *mapping_go_build_id;
	const uint64_t *mapping_load_address;
	const uint32_t *process_env_first, *process_env_name, *process_env_value;
	/* Of stacks that are not fully named: why; both or none. */
	const uint32_t *stack_unnamed, *stack_unnamed_text;
	const uint32_t *location_unnamed, *stack_error_text, *process_image;
	uint64_t due_samples, agent_cpu_ns, bpf_ns;
	uint32_t n_cpus;
	const char *weight_unit, *title; /* never NULL */
	uint32_t n_events;
	const uint32_t *event_type;
	const uint32_t *sample_event;
	const uint64_t *sample_value; /* beside batch->sample_time_ns */
};

/* The interval, widened to what was sampled: a late sample must not lie outside of it. */
void otlp_view_window(const struct ep_batch *batch, uint64_t *ret_start_ns, uint64_t *ret_end_ns);

void otlp_view_of(const struct ep_batch *batch, struct otlp_view *ret_view);

#endif
