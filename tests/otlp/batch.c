/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "tests/otlp/batch.h"
#include "core/base/util.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define START_NS    1767225600000000000ull
#define DURATION_NS 5000000000ull

const struct test_shape test_shape_small = {
	.processes = 3, .functions = 12, .stacks = 6, .depth = 5, .samples = 20, .events = 2};
const struct test_shape test_shape_379k = {.processes = 40,
					   .functions = 4000,
					   .stacks = 1000,
					   .depth = 30,
					   .samples = 1000,
					   .events = 4,
					   .name_bytes = 24};

static atomic_size_t n_alive;
static _Thread_local uint64_t cpu_ns;

struct owned {
	struct ep_batch batch;
	atomic_uint refs;
	uint32_t n_blocks;
	void *blocks[64];
	uint64_t rng;
	const char **texts;
	uint32_t *lens;
	uint32_t n_strings, cap_strings;
	uint32_t kinds[5];
};

static void *block(struct owned *o, size_t n, size_t size)
{
	void *data = calloc(n + 1, size);

	if (!data || o->n_blocks == EP_LEN(o->blocks))
		abort();
	o->blocks[o->n_blocks++] = data;
	return data;
}

/* splitmix64, Sebastiano Vigna, public domain: https://prng.di.unimi.it/splitmix64.c */
static uint64_t next_random(struct owned *o)
{
	uint64_t z = o->rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static uint32_t below(struct owned *o, uint32_t limit)
{
	return limit ? (uint32_t)(next_random(o) % limit) : 0;
}

__attribute__((format(printf, 2, 3))) static uint32_t add_string(struct owned *o, const char *fmt,
								 ...)
{
	char *text = NULL;
	va_list args;

	assert(o->n_strings < o->cap_strings);
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		abort();
	va_end(args);
	o->texts[o->n_strings] = text;
	o->lens[o->n_strings] = (uint32_t)strlen(text);
	return o->n_strings++;
}

static void make_strings(struct owned *o, const struct test_shape *s)
{
	static const char *const kinds[] = {"native", "kernel", "cpython", "error", "rust"};

	o->cap_strings = 2 * s->functions + 4 * s->processes + 512;
	o->texts = block(o, o->cap_strings, sizeof(*o->texts));
	o->lens = block(o, o->cap_strings, sizeof(*o->lens));
	(void)add_string(o, "%s", "");
	for (size_t i = 0; i < EP_LEN(kinds); i++)
		o->kinds[i] = add_string(o, "%s", kinds[i]);
}

/*
 * Names as programs have them: made of a few hundred words, so that they compress as names do. The
 * number in front of base 16 digits makes each one different.
 */
static uint32_t add_name(struct owned *o, uint32_t i, uint32_t min_bytes)
{
	static const char *const spaces[] = {
		"std::__cxx11::", "net::http::",    "core::slice::sort::",
		"vm::internal::", "app::storage::", ""};
	static const char *const words[] = {
		"Parse",  "Find",  "Insert", "Resize", "Handle", "Visit",  "Buffer", "Request",
		"Stream", "Table", "Index",  "Worker", "Signal", "Module", "Socket", "Cache",
	};
	const char *digits[5];
	uint64_t rest = i + ((uint64_t)o->rng >> 60);

	for (size_t d = 0; d < EP_LEN(digits); d++, rest /= 16)
		digits[d] = words[(rest + 5 * d) % 16];
	return add_string(o, "%s%s%s::%s%s%s(%s)", spaces[i / 7 % EP_LEN(spaces)], digits[4],
			  digits[3], digits[2], digits[1], digits[0],
			  min_bytes > 100  ? "const std::map<std::string, std::vector<long>>&, "
					     "std::function<void (app::storage::Table&)>, "
					     "std::unique_ptr<app::storage::IndexWorker>, unsigned"
			  : min_bytes > 30 ? "const std::string&"
					   : "");
}

static void make_functions(struct owned *o, const struct test_shape *s)
{
	uint32_t *name, *system_name, *file, *line, first_file = o->n_strings;

	name = block(o, s->functions + 1, sizeof(*name));
	system_name = block(o, s->functions + 1, sizeof(*name));
	file = block(o, s->functions + 1, sizeof(*name));
	line = block(o, s->functions + 1, sizeof(*name));
	for (uint32_t i = 0; i < 100; i++)
		(void)add_string(o, "/src/example/module_%u.cc", i);
	for (uint32_t i = 1; i <= s->functions; i++) {
		name[i] = add_name(o, i, s->name_bytes);
		file[i] = i % 3 ? 0 : first_file + i % 100;
		line[i] = i % 3 ? 0 : i;
	}
	o->batch.n_functions = s->functions + 1;
	o->batch.function_name = name;
	o->batch.function_system_name = system_name;
	o->batch.function_file = file;
	o->batch.function_line = line;
}

#define N_MAPPINGS 10 /* 1: kernel, 2: a module, 3 to 8: files, 9: a file equal to 8 */

static void make_mappings(struct owned *o)
{
	uint64_t *start = block(o, N_MAPPINGS, 8), *limit = block(o, N_MAPPINGS, 8);
	uint32_t *path = block(o, N_MAPPINGS, 4), *build_id = block(o, N_MAPPINGS, 4);
	uint32_t *file_id = block(o, N_MAPPINGS, 4), *flags = block(o, N_MAPPINGS, 4);
	uint32_t *go_build_id = block(o, N_MAPPINGS, 4);

	go_build_id[4] = add_string(o, "kPzM2Nn0c1/abc/def/xyz");
	path[1] = add_string(o, "[kernel.kallsyms]");
	build_id[1] = add_string(o, "6f5c2a1b00aa0102030405060708090a0b0c0d0e");
	path[2] = add_string(o, "[nf_tables]");
	for (uint32_t i = 1; i <= 2; i++) {
		flags[i] = EP_MAPPING_KERNEL | EP_MAPPING_HAS_FUNCTIONS;
		start[i] = 1ull << 63;
		limit[i] = UINT64_MAX;
	}
	for (uint32_t i = 3; i < N_MAPPINGS - 1; i++) {
		path[i] = add_string(o, "/usr/lib/libexample%u.so.1", i);
		build_id[i] = add_string(o, "%040x", i * 7);
		file_id[i] = add_string(o, "%032x", i * 13);
		start[i] = 0x1000;
		limit[i] = 0x8000000;
	}
	path[9] = path[8];
	build_id[9] = build_id[8];
	file_id[9] = file_id[8];
	start[9] = start[8];
	limit[9] = limit[8];
	o->batch.n_mappings = N_MAPPINGS;
	o->batch.mapping_start_va = start;
	o->batch.mapping_limit_va = limit;
	o->batch.mapping_file_off = block(o, N_MAPPINGS, 8);
	o->batch.mapping_path = path;
	o->batch.mapping_build_id = build_id;
	o->batch.mapping_file_id = file_id;
	o->batch.mapping_flags = flags;
	o->batch.mapping_go_build_id = go_build_id;
}

/* A location per function: most native; every 16th of another kind, every 10th with an inline. */
struct locations {
	uint64_t *address;
	uint32_t *mapping, *kind, *flags, *line_first;
	uint32_t *function, *line, *column;
	uint32_t n_lines;
};

static void add_line(struct locations *l, uint32_t function, uint32_t line)
{
	l->function[l->n_lines] = function;
	l->line[l->n_lines++] = line;
}

/* Row i, which is as row `of` would be. */
static void make_location(struct owned *o, struct locations *l, uint32_t i, uint32_t of,
			  uint32_t n_functions)
{
	l->mapping[i] = 3 + of % 6;
	l->kind[i] = o->kinds[0];
	l->address[i] = 0x1000 + (uint64_t)of * 0x40;
	l->line_first[i] = l->n_lines;
	if (of % 16 == 1) {
		l->kind[i] = o->kinds[1];
		l->mapping[i] = 1 + of / 16 % 2;
		l->address[i] = 0xffffffff81000000ull + of * 0x40;
	} else if (of % 16 == 2) {
		l->kind[i] = o->kinds[2];
		l->mapping[i] = 0;
	} else if (of % 16 == 3) {
		l->kind[i] = o->kinds[4];
	} else if (of % 16 == 4) {
		l->flags[i] = EP_LOCATION_UNNAMED;
	} else if (of == 6) {
		l->kind[i] = o->kinds[3];
		l->mapping[i] = 0;
		l->flags[i] = EP_LOCATION_ERROR;
	}
	if (of % 10 == 0)
		add_line(l, 1 + of % n_functions, 3);
	add_line(l, 1 + (of - 1) % n_functions, of % 3 ? 0 : of);
}

/* If there are twins, the last half of the rows are those of the first: found by frame pointer. */
static void make_locations(struct owned *o, const struct test_shape *s)
{
	uint32_t n = (s->twins ? 2 : 1) * s->functions + 1;
	struct locations l = {
		.address = block(o, n + 1, 8),
		.mapping = block(o, n + 1, 4),
		.kind = block(o, n + 1, 4),
		.flags = block(o, n + 1, 4),
		.line_first = block(o, n + 1, 4),
		.function = block(o, 2 * n, 4),
		.line = block(o, 2 * n, 4),
		.column = block(o, 2 * n, 4),
	};

	for (uint32_t i = 1; i < n; i++) {
		bool is_twin = i > s->functions;

		make_location(o, &l, i, is_twin ? i - s->functions : i, s->functions);
		l.flags[i] |= is_twin ? EP_LOCATION_POINTER_WALK : 0;
	}
	l.line_first[n] = l.n_lines;
	o->batch.n_locations = n;
	o->batch.location_address = l.address;
	o->batch.location_mapping = l.mapping;
	o->batch.location_kind = l.kind;
	o->batch.location_flags = l.flags;
	o->batch.location_line_first = l.line_first;
	o->batch.n_lines = l.n_lines;
	o->batch.line_function = l.function;
	o->batch.line_line = l.line;
	o->batch.line_column = l.column;
}

/* Stack s calls through functions that are near each other: roots are shared, leaves differ. */
static void make_stacks(struct owned *o, const struct test_shape *s)
{
	uint32_t n = s->stacks + s->twins + 1;
	uint32_t *first = block(o, n + 1, 4);
	uint32_t *location = block(o, (size_t)n * s->depth, 4), used = 0;

	for (uint32_t i = 1; i <= s->stacks; i++) {
		first[i] = used;
		location[used++] = 1 + (i * s->functions / s->stacks + i) % s->functions;
		for (uint32_t j = 1; j < s->depth; j++)
			location[used++] =
				1 + (below(o, 8) + (s->depth - j) * i * 7 / 3) % s->functions;
	}
	for (uint32_t i = 0; i < s->twins; i++) {
		uint32_t of = 1 + i % s->stacks;

		first[s->stacks + 1 + i] = used;
		for (uint32_t j = 0; j < s->depth; j++)
			location[used++] = location[first[of] + j] + s->functions;
	}
	first[n] = used;
	o->batch.n_stacks = n;
	o->batch.stack_location_first = first;
	o->batch.stack_hash = block(o, n, 16);
	o->batch.stack_error = block(o, n, 4);
	o->batch.n_stack_locations = used;
	o->batch.stack_location = location;
}

static void make_processes(struct owned *o, const struct test_shape *s)
{
	uint32_t n = s->processes + 1;
	uint32_t *pid = block(o, n, 4), *comm = block(o, n, 4), *exe = block(o, n, 4);
	uint32_t *container = block(o, n, 4);
	uint64_t *start = block(o, n, 8);

	for (uint32_t i = 1; i < n; i++) {
		pid[i] = 1000 + i;
		start[i] = START_NS - 1000000000ull * i;
		comm[i] = add_string(o, "worker-%u", i);
		exe[i] = add_string(o, "/opt/example/bin/server%u", i);
		container[i] = i % 2 ? add_string(o, "%064x", i) : 0;
	}
	o->batch.n_processes = n;
	o->batch.process_pid = pid;
	o->batch.process_start_ns = start;
	o->batch.process_comm = comm;
	o->batch.process_exe_path = exe;
	o->batch.process_container_id = container;
}

/* Process 1 says who it is in all ways, process 2 by its attributes alone. */
static void make_environments(struct owned *o, const struct test_shape *s)
{
	static const char *const variables[][3] = {
		{"\1", "OTEL_SERVICE_NAME", "shop"},
		{"\1", "OTEL_RESOURCE_ATTRIBUTES", "service.name=other,service.version=1%2e5"},
		{"\1", "REGION", "north"},
		{"\1", "SECRET", "never-sent"},
		{"\2", "OTEL_RESOURCE_ATTRIBUTES",
		 "service.name=cart,bad,deployment.environment.name=prod,x=%ff,host.name=liar,"
		 "process.pid=1"},
	};
	uint32_t n = EP_LEN(variables), at = 0;
	uint32_t *first = block(o, s->processes + 2, 4);
	uint32_t *name = block(o, n, 4), *value = block(o, n, 4);

	for (uint32_t process = 0; process <= s->processes; process++) {
		first[process] = at;
		for (; at < n && variables[at][0][0] == (char)process; at++) {
			name[at] = add_string(o, "%s", variables[at][1]);
			value[at] = add_string(o, "%s", variables[at][2]);
		}
	}
	first[s->processes + 1] = at;
	o->batch.n_process_env = at;
	o->batch.process_env_first = first;
	o->batch.process_env_name = name;
	o->batch.process_env_value = value;
}

/* Each row has a stack, a process and a thread of its own; row 0 is of no known process. */
static void make_samples(struct owned *o, const struct test_shape *s)
{
	uint32_t n = s->samples;
	uint32_t *stack = block(o, n, 4), *process = block(o, n, 4), *tid = block(o, n, 4);
	uint32_t *name = block(o, n, 4), *cpu = block(o, n, 4), *count = block(o, n, 4);
	uint32_t *first = block(o, n + 1, 4), total = s->stacks + s->twins;
	uint64_t *time = block(o, (size_t)n * s->events, 8);

	for (uint32_t i = 0; i < n; i++) {
		process[i] = i ? 1 + i / EP_MAX(total, 1u) % s->processes : 0;
		if (total > s->stacks || n > total)
			process[i] = i ? 1 + i % s->stacks % s->processes : 0;
		else
			process[i] = i ? 1 + i % s->processes : 0;
		stack[i] = 1 + i % total;
		tid[i] = 2000 + i % s->stacks % 7 + 10 * (i / total);
		cpu[i] = i % s->stacks % 4;
		name[i] = o->batch.process_comm[process[i]];
		count[i] = s->events;
		first[i] = i * s->events;
		for (uint32_t j = 0; j < s->events; j++)
			time[first[i] + j] = START_NS + next_random(o) % DURATION_NS;
	}
	first[n] = n * s->events;
	o->batch.n_samples = n;
	o->batch.sample_stack = stack;
	o->batch.sample_process = process;
	o->batch.sample_tid = tid;
	o->batch.sample_thread_name = name;
	o->batch.sample_cpu = cpu;
	o->batch.sample_count = count;
	o->batch.sample_time_first = first;
	o->batch.sample_time_ns = time;
}

struct ep_batch *test_batch_new(const struct test_shape *shape)
{
	struct owned *o = calloc(1, sizeof(*o));
	uint64_t start_ns = ep_clock_thread_cpu_ns();

	if (!o)
		abort();
	o->rng = shape->seed;
	atomic_init(&o->refs, 1);
	atomic_fetch_add(&n_alive, 1);
	make_strings(o, shape);
	make_functions(o, shape);
	make_mappings(o);
	make_locations(o, shape);
	make_stacks(o, shape);
	make_processes(o, shape);
	make_environments(o, shape);
	make_samples(o, shape);
	o->batch.size = sizeof(o->batch);
	o->batch.period_hz = 20;
	o->batch.period_ns = 50000000;
	o->batch.start_ns = START_NS;
	o->batch.duration_ns = DURATION_NS;
	o->batch.host_name = "host.example.com";
	o->batch.sample_type = "cpu";
	o->batch.n_strings = o->n_strings;
	o->batch.string_text = o->texts;
	o->batch.string_bytes = o->lens;
	cpu_ns += ep_clock_thread_cpu_ns() - start_ns;
	return &o->batch;
}

static struct owned *owner_of(const struct ep_batch *batch)
{
	return (struct owned *)EP_CONTAINER(batch, struct owned, batch);
}

void test_batch_ref(const struct ep_batch *batch)
{
	atomic_fetch_add(&owner_of(batch)->refs, 1);
}

static void batch_free(struct owned *o)
{
	for (uint32_t i = 0; i < o->n_strings; i++)
		free((void *)o->texts[i]);
	while (o->n_blocks > 0)
		free(o->blocks[--o->n_blocks]);
	free(o);
	atomic_fetch_sub(&n_alive, 1);
}

void test_batch_unref(const struct ep_batch *batch)
{
	struct owned *o = owner_of(batch);
	uint64_t start_ns = ep_clock_thread_cpu_ns();

	if (atomic_fetch_sub(&o->refs, 1) != 1)
		return;
	batch_free(o);
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

size_t test_batches_alive(void)
{
	return n_alive;
}
