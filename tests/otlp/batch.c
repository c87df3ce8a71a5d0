/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/otlp/batch.h"
#include "core/base/clock.h"
#include "core/profile/builder.h"
#include "core/profile/batch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_NS    1767225600000000000ull
#define DURATION_NS 5000000000ull
#define PERIOD_NS   50000000ull

const struct test_shape test_shape_small = {
	.processes = 3, .functions = 12, .stacks = 6, .depth = 5, .samples = 20, .events = 2};
const struct test_shape test_shape_379k = {.processes = 40,
					   .functions = 4000,
					   .stacks = 1000,
					   .depth = 30,
					   .samples = 1000,
					   .events = 4,
					   .name_bytes = 24};

static atomic_size_t n_references;
static _Thread_local uint64_t cpu_ns;

/* Functions, mappings, locations and processes have the rows 1, 2, 3, .. in the order of their
 * making. */
struct maker {
	struct ep_profile_builder *builder;
	const struct test_shape *shape;
	uint64_t rng;
	uint32_t *stacks, *comms; /* rows, by number */
};

static void check(int r)
{
	if (r < 0)
		abort();
}

static uint32_t *new_rows(uint32_t n)
{
	uint32_t *rows = calloc(n, sizeof(*rows));

	if (!rows)
		abort();
	return rows;
}

/* splitmix64, Sebastiano Vigna, public domain: https://prng.di.unimi.it/splitmix64.c */
static uint64_t next_random(struct maker *m)
{
	uint64_t z = m->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

__attribute__((format(printf, 2, 3))) static uint32_t add_string(struct maker *m,
								 const char *format, ...)
{
	char text[512];
	va_list args;
	uint32_t row;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	check(ep_profile_add_string(m->builder, text, strlen(text), &row));
	return row;
}

/*
 * Names as programs have them: made of a few hundred words, so that they compress as names do. The
 * number before base 16 digits makes each one different.
 */
static uint32_t add_name(struct maker *m, uint32_t i)
{
	static const char *const spaces[] = {
		"std::__cxx11::", "net::http::",    "core::slice::sort::",
		"vm::internal::", "app::storage::", ""};
	static const char *const words[] = {
		"Parse",  "Find",  "Insert", "Resize", "Handle", "Visit",  "Buffer", "Request",
		"Stream", "Table", "Index",  "Worker", "Signal", "Module", "Socket", "Cache",
	};
	const char *digits[5], *arguments = "";
	uint64_t rest = i + ((uint64_t)m->rng >> 60);

	for (size_t d = 0; d < EP_LEN(digits); d++, rest /= 16)
		digits[d] = words[(rest + 5 * d) % 16];
	if (m->shape->name_bytes > 100)
		arguments = "const std::map<std::string, std::vector<long>>&, "
			    "std::function<void (app::storage::Table&)>, "
			    "std::unique_ptr<app::storage::IndexWorker>, unsigned";
	else if (m->shape->name_bytes > 30)
		arguments = "const std::string&";
	return add_string(m, "%s%s%s::%s%s%s(%s)", spaces[i / 7 % EP_LEN(spaces)], digits[4],
			  digits[3], digits[2], digits[1], digits[0], arguments);
}

static void make_functions(struct maker *m)
{
	for (uint32_t i = 1; i <= m->shape->functions; i++) {
		struct ep_profile_function function = {.name = add_name(m, i)};
		uint32_t row;

		if (i % 3 == 0) {
			function.file = add_string(m, "/src/example/module_%u.cc", i % 100);
			function.line = i;
		}
		check(ep_profile_add_function(m->builder, &function, &row));
		assert(row == i);
	}
}

/* 1: kernel, 2: a module, 3 to 8: files. */
static void make_mappings(struct maker *m)
{
	for (uint32_t i = 1; i <= 8; i++) {
		bool is_kernel = i <= 2;
		struct ep_profile_mapping mapping = {
			.start_va = is_kernel ? 1ull << 63 : 0x1000,
			.limit_va = is_kernel ? UINT64_MAX : 0x8000000,
			.flags = is_kernel ? EP_MAPPING_KERNEL | EP_MAPPING_HAS_FUNCTIONS : 0,
		};
		uint32_t row;

		if (i == 1) {
			mapping.path = add_string(m, "[kernel.kallsyms]");
			mapping.build_id =
				add_string(m, "6f5c2a1b00aa0102030405060708090a0b0c0d0e");
		} else if (i == 2) {
			mapping.path = add_string(m, "[nf_tables]");
		} else {
			mapping.path = add_string(m, "/usr/lib/libexample%u.so.1", i);
			mapping.build_id = add_string(m, "%040x", i * 7);
			mapping.file_id = add_string(m, "%032x", i * 13);
			mapping.go_build_id = i == 4 ? add_string(m, "kPzM2Nn0c1/abc/def/xyz") : 0;
		}
		check(ep_profile_add_mapping(m->builder, &mapping, &row));
		assert(row == i);
	}
}

/* Most are native; every 16th is of another kind, every 10th has an inlined function. */
static struct ep_profile_location location_of(struct maker *m, uint32_t i)
{
	struct ep_profile_location location = {
		.address = 0x1000 + (uint64_t)i * 0x40,
		.mapping = 3 + i % 6,
		.kind = add_string(m, "native"),
	};

	if (i % 16 == 1) {
		location.kind = add_string(m, "kernel");
		location.mapping = 1 + i / 16 % 2;
		location.address = 0xffffffff81000000ull + i * 0x40;
	} else if (i % 16 == 2) {
		location.kind = add_string(m, "cpython");
		location.mapping = 0;
	} else if (i % 16 == 3) {
		location.kind = add_string(m, "rust");
	} else if (i % 16 == 4) {
		location.flags = EP_LOCATION_UNNAMED;
	} else if (i == 6) {
		location.kind = add_string(m, "error");
		location.mapping = 0;
		location.flags = EP_LOCATION_ERROR;
	}
	return location;
}

/* One for each function; if there are twins, as many more, found by frame pointer. */
static void make_locations(struct maker *m)
{
	uint32_t n = m->shape->functions, row;

	for (uint32_t at = 1; at <= (m->shape->twins ? 2 * n : n); at++) {
		uint32_t i = at > n ? at - n : at;
		struct ep_profile_location location = location_of(m, i);
		struct ep_profile_line lines[] = {
			{.function = 1 + i % n, .line = 3},
			{.function = i, .line = i % 3 ? 0 : i},
		};

		location.flags |= at > n ? EP_LOCATION_POINTER_WALK : 0;
		location.n_lines = i % 10 == 0 ? 2 : 1;
		location.lines = lines + EP_LEN(lines) - location.n_lines;
		check(ep_profile_add_location(m->builder, &location, &row));
		assert(row == at);
	}
}

/* Stack i calls through functions that are near each other: roots are shared, leaves differ. */
static void make_stacks(struct maker *m)
{
	const struct test_shape *s = m->shape;
	uint32_t n = s->stacks, *locations = new_rows(n * s->depth);

	m->stacks = new_rows(n + s->twins);
	for (uint32_t i = 0; i < n + s->twins; i++) {
		uint32_t *list = locations + i % n * s->depth;
		struct ep_profile_stack stack = {.n_locations = s->depth, .locations = list};

		for (uint32_t j = 0; j < s->depth; j++) {
			uint64_t far = (uint64_t)(s->depth - j) * (i + 1) * 7 / 3;

			if (i >= n) /* the list of stack i - n is still there */
				list[j] += s->functions;
			else if (j == 0)
				list[j] = 1 + ((i + 1) * s->functions / n + i + 1) % s->functions;
			else
				list[j] = 1 + (uint32_t)((next_random(m) % 8 + far) % s->functions);
		}
		check(ep_profile_add_stack(m->builder, &stack, &m->stacks[i]));
	}
	free(locations);
}

/* Process 1 says who it is in all ways, process 2 by its attributes alone. */
static void make_processes(struct maker *m)
{
	const uint32_t attributes = add_string(m, "OTEL_RESOURCE_ATTRIBUTES");
	const uint32_t env[][2] = {
		{add_string(m, "OTEL_SERVICE_NAME"), add_string(m, "shop")},
		{attributes, add_string(m, "service.name=other,service.version=1%%2e5")},
		{add_string(m, "REGION"), add_string(m, "north")},
		{add_string(m, "SECRET"), add_string(m, "never-sent")},
		{attributes,
		 add_string(m, "service.name=cart,bad,deployment.environment.name=prod,x=%%ff,"
			       "host.name=liar,process.pid=1")},
	};

	m->comms = new_rows(m->shape->processes + 1);
	for (uint32_t i = 1; i <= m->shape->processes; i++) {
		struct ep_profile_process process = {
			.pid = 1000 + i,
			.start_ns = START_NS - 1000000000ull * i,
			.comm = add_string(m, "worker-%u", i),
			.exe_path = add_string(m, "/opt/example/bin/server%u", i),
			.container_id = i % 2 ? add_string(m, "%064x", i) : 0,
			.n_env = i == 1	  ? 4
				 : i == 2 ? 1
					  : 0,
			.env = i == 1 ? env : env + 4,
		};
		uint32_t row;

		check(ep_profile_add_process(m->builder, &process, &row));
		assert(row == i);
		m->comms[i] = process.comm;
	}
}

/* Each row has a stack, a process and a thread of its own; row 0 is of no known process. */
static void make_samples(struct maker *m)
{
	const struct test_shape *s = m->shape;
	uint32_t total = s->stacks + s->twins;
	bool is_by_stack = s->twins > 0 || s->samples > total; /* equal stacks are of one process */
	uint64_t *times = calloc(s->events + 1, sizeof(*times));

	if (!times)
		abort();
	for (uint32_t i = 0; i < s->samples; i++) {
		uint32_t process = i ? 1 + (is_by_stack ? i % s->stacks : i) % s->processes : 0;
		struct ep_profile_sample sample = {
			.stack = m->stacks[i % total],
			.process = process,
			.tid = 2000 + i % s->stacks % 7 + 10 * (i / total),
			.cpu = i % s->stacks % 4,
			.thread_name = m->comms[process],
			.count = s->events,
			.weight = s->events * PERIOD_NS,
			.n_times = s->events,
			.times_ns = times,
		};

		for (uint32_t j = 0; j < s->events; j++)
			times[j] = START_NS + next_random(m) % DURATION_NS;
		check(ep_profile_add_sample(m->builder, &sample));
	}
	free(times);
}

struct ep_batch *test_batch_new(const struct test_shape *shape)
{
	const struct ep_profile_header header = {
		.start_ns = START_NS,
		.duration_ns = DURATION_NS,
		.period_ns = PERIOD_NS,
		.period_hz = 20,
		.host_name = "host.example.com",
		.sample_type = "cpu",
		.weight_unit = "nanoseconds",
	};
	struct maker m = {.shape = shape, .rng = shape->seed};
	uint64_t start_ns = ep_clock_thread_cpu_ns();
	struct ep_batch *batch = NULL;

	check(ep_profile_builder_new(&m.builder));
	make_functions(&m);
	make_mappings(&m);
	make_locations(&m);
	make_stacks(&m);
	make_processes(&m);
	make_samples(&m);
	check(ep_profile_add_header(m.builder, &header));
	check(ep_profile_finish(m.builder, &batch));
	ep_profile_builder_free(m.builder);
	free(m.stacks);
	free(m.comms);
	n_references++;
	cpu_ns += ep_clock_thread_cpu_ns() - start_ns;
	return batch;
}

void test_batch_ref(const struct ep_batch *batch)
{
	n_references++;
	ep_batch_ref(batch);
}

void test_batch_unref(const struct ep_batch *batch)
{
	uint64_t start_ns = ep_clock_thread_cpu_ns();

	n_references--;
	ep_batch_unref(batch);
	cpu_ns += ep_clock_thread_cpu_ns() - start_ns;
}

uint64_t test_batch_events(const struct ep_batch *batch)
{
	return batch->sample_time_first[batch->n_samples];
}

uint64_t test_batch_cpu_ns(void)
{
	return cpu_ns;
}

size_t test_batch_references(void)
{
	return n_references;
}
