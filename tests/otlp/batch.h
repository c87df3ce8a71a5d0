/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches made of numbers, for tests and measurements of the OTLP exporter: as many processes,
 * functions, stacks and samples as asked for, the same ones for the same shape. Everything is
 * there once in a small one: kernel, native, interpreted and error frames, inlined functions, names
 * that are made up, a process that is not known.
 */
#ifndef OTLP_TEST_BATCH_H
#define OTLP_TEST_BATCH_H

#include "ebpf-profiler/batch.h"

#include <stddef.h>

struct test_shape {
	uint32_t processes, functions, stacks, depth, samples;
	uint32_t events;     /* per sample row */
	uint32_t name_bytes; /* of a function's name, at least */
	uint32_t twins;	     /* stacks that are equal to an earlier one but for a flag */
	uint64_t seed;	     /* names and times differ between seeds */
};

/* What makes a request of nearly 400 kB: 4000 functions and locations, 1000 stacks of 30. */
extern const struct test_shape test_shape_small, test_shape_379k;

/* With one reference; never NULL (aborts). References are counted by the two functions below alone.
 */
struct ep_batch *test_batch_new(const struct test_shape *shape);
void test_batch_ref(const struct ep_batch *batch);
void test_batch_unref(const struct ep_batch *batch);
uint64_t test_batch_events(const struct ep_batch *batch);
size_t test_batch_references(void); /* to all batches together */
uint64_t test_batch_cpu_ns(void);   /* CPU this thread has spent on making and freeing batches */

#endif
