/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells, taken in and handed to the parts that it is for: the records of the BPF ring and of the
 * side-band rings in order of time (core/bpf/order.h), what was lost of them, the ring that only wakes us, and that
 * modules came or went.
 *
 *	samples, births, deaths, mappings, losses ──► core/process
 *	kept memory			          ──► the instance of its language
 *	code of the kernel			  ──► core/trace/kernel_code.h
 *
 * When to look is for core/agent/watch.h. Loop's thread only.
 */
#ifndef EP_AGENT_KERNEL_RECORDS_H
#define EP_AGENT_KERNEL_RECORDS_H

#include "core/base/util.h"

struct ep_bpf;
struct ep_events;
struct ep_kernel_code;
struct ep_kernel_records;
struct ep_languages;
struct ep_order_stats;
struct ep_processes;

struct ep_kernel_records_options {
	struct ep_bpf *bpf;	  /* borrowed, as all of these */
	struct ep_events *events;
	struct ep_kernel_code *kernel_code;
	struct ep_languages *languages;
	struct ep_processes *processes;
	uint64_t since_ns; /* before the events opened: changes from then on are reported */
};

/* 0, -ENOMEM, or what the rings reported. */
int ep_kernel_records_new(const struct ep_kernel_records_options *options,
			  struct ep_kernel_records **ret_records);
void ep_kernel_records_free(struct ep_kernel_records *records); /* accepts NULL */

/* Hands over all that was reported until now, and ends a turn of the processes. */
void ep_kernel_records_drain(struct ep_kernel_records *records);
/* Hands over what still waits, whatever its time: the end of sampling. */
void ep_kernel_records_flush(struct ep_kernel_records *records);
/* Births and deaths that did not fit into the ring are looked for: twice a second. */
void ep_kernel_records_look_for_lost(struct ep_kernel_records *records);

/* Some are too recent to be handed over, so that the next drain has something to do. */
bool ep_kernel_records_are_waiting(const struct ep_kernel_records *records);
/* Did BPF count new processes since the drain before the last one? */
bool ep_kernel_records_had_births(const struct ep_kernel_records *records);
size_t ep_kernel_records_bytes(const struct ep_kernel_records *records); /* of the heap */
void ep_kernel_records_get_stats(const struct ep_kernel_records *records, struct ep_order_stats *ret_stats);

/* For poll: the ring, and the one that only wakes us. */
int ep_kernel_records_fd(const struct ep_kernel_records *records);
int ep_kernel_records_wakes_fd(const struct ep_kernel_records *records);
size_t ep_kernel_records_ring_bytes(const struct ep_kernel_records *records);

#endif
