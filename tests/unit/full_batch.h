/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch with everything that a batch can say: all flags, all columns, all kinds of frames, inlined lines with
 * columns, errors and gaps, an environment, a process that is not known. Link profile_dep.
 */
#ifndef EP_TESTS_FULL_BATCH_H
#define EP_TESTS_FULL_BATCH_H

#include "ebpf-profiler/frame.h"
#include "tests/unit/profile_batch.h"

struct full_batch {
	bool with_times, odd_weights; /* weights that are no multiple of the count */
	const char *unit, *type;      /* NULL: nanoseconds, cpu */
	uint32_t periods;	      /* different ones; 0: one */
	uint32_t long_sample;	      /* events of the first one */
	uint32_t samples;	      /* rows; 0: 400 */
	uint64_t later_ns;	      /* all times are so much later */
};

static inline uint32_t full_function(struct ep_profile_builder *b, const char *name, const char *file, uint32_t line)
{
	struct ep_profile_function function = {
		.name = string_of(b, name), .file = string_of(b, file), .line = line};
	char system_name[80];
	uint32_t row;

	snprintf(system_name, sizeof(system_name), "_Z%s", name);
	function.system_name = string_of(b, system_name);
	assert_int_equal(ep_profile_add_function(b, &function, &row), 0);
	return row;
}

static inline uint32_t full_location(struct ep_profile_builder *b, uint32_t i, uint32_t n_mappings)
{
	static const char *const kinds[] = {"native", "kernel", "error", "gap", "toy", "", "unknown", "abort-marker"};
	struct ep_profile_line lines[7];
	struct ep_profile_location location = {
		.address = i % 3 ? 0x1000 + i : UINT64_MAX - i,
		.mapping = i % n_mappings,
		.kind = string_of(b, kinds[i % EP_LEN(kinds)]),
		.flags = i % 16,
		.unnamed = i % EP_UNNAMED_COUNT,
		.n_lines = 1 + i % EP_LEN(lines),
		.lines = lines,
	};
	char name[64];
	uint32_t row;

	for (uint32_t j = 0; j < location.n_lines; j++) {
		snprintf(name, sizeof(name), "libx.so+0x%x", i + j);
		lines[j] = (struct ep_profile_line){
			.function = full_function(b, name, i % 2 ? "src/ünïcode.c" : "", i % 4 ? 100 + i : 0),
			.line = i % 5 ? 200 + j : 0,
			.column = i % 6 ? 0 : 1 + j,
		};
	}
	assert_int_equal(ep_profile_add_location(b, &location, &row), 0);
	return row;
}

static inline uint32_t full_mappings(struct ep_profile_builder *b)
{
	const struct ep_profile_mapping mappings[] = {
		{.start_va = 0x1000, .limit_va = 0x9000, .file_off = 0x2000, .path = string_of(b, "/usr/lib/libx.so"),
		 .build_id = string_of(b, "c0ffee"), .go_build_id = string_of(b, "go/id"),
		 .file_id = string_of(b, "00112233445566778899aabbccddeeff"), .flags = EP_MAPPING_HAS_FUNCTIONS},
		{.start_va = 0xffffffff80000000, .limit_va = UINT64_MAX, .path = string_of(b, "[kernel.kallsyms]"),
		 .build_id = string_of(b, "beef"), .flags = EP_MAPPING_KERNEL | EP_MAPPING_HAS_FUNCTIONS},
		{.start_va = 0x5000, .limit_va = 0x5000, .path = string_of(b, "/no/range")},
		{.start_va = 0x7000, .limit_va = 0x6000, .path = string_of(b, "/backwards")},
		{.limit_va = 0x6000},
		{.path = string_of(b, "[vdso]"), .flags = EP_MAPPING_KERNEL},
	};

	for (uint32_t i = 0; i < EP_LEN(mappings); i++) {
		uint32_t row;

		assert_int_equal(ep_profile_add_mapping(b, &mappings[i], &row), 0);
		assert_int_equal(row, i + 1);
	}
	return EP_LEN(mappings) + 1;
}

static inline uint32_t full_processes(struct ep_profile_builder *b)
{
	const uint32_t env[][2] = {
		{string_of(b, "OTEL_RESOURCE_ATTRIBUTES"), string_of(b, "process.pid=1,host.name=liar,container.id=x")},
		{string_of(b, "EMPTY"), 0},
		{string_of(b, "OTEL_SERVICE_NAME"), string_of(b, "shop")},
	};
	const struct ep_profile_process processes[] = {
		{.start_ns = 1767225600123456789, .pid = 42, .image = 3, .comm = string_of(b, "server"),
		 .exe_path = string_of(b, "/usr/bin/server"), .container_id = string_of(b, "abcdef"),
		 .n_env = EP_LEN(env), .env = env},
		{.start_ns = 1767225600123456789, .pid = 42, .image = 4, .comm = string_of(b, "server")},
		{.pid = 0, .comm = string_of(b, "swapper")},
		{.pid = UINT32_MAX, .exe_path = string_of(b, "/bin/\xf0\x9f\x90\x9d")},
	};

	for (uint32_t i = 0; i < EP_LEN(processes); i++) {
		uint32_t row;

		assert_int_equal(ep_profile_add_process(b, &processes[i], &row), 0);
		assert_int_equal(row, i + 1);
	}
	return EP_LEN(processes) + 1;
}

static inline uint32_t full_stack(struct ep_profile_builder *b, const uint32_t *locations, uint32_t n, uint32_t i)
{
	uint32_t list[40], row;
	struct ep_profile_stack stack = {
		.error = i % 3 == 1 ? 5 : i % 3 == 2 ? EP_ERROR_FIRST_DYNAMIC + i : 0,
		.error_text = i % 3 ? string_of(b, "[toy: stack too deep]") : 0,
		.unnamed = i % EP_UNNAMED_COUNT,
		.unnamed_text = i % EP_UNNAMED_COUNT ? string_of(b, "toy: gone before it was named") : 0,
		.n_locations = i % EP_LEN(list),
		.locations = list,
	};

	for (uint32_t j = 0; j < stack.n_locations; j++)
		list[j] = locations[(i / 2 + j * 7) % n]; /* pairs differ by their facts alone */
	assert_int_equal(ep_profile_add_stack(b, &stack, &row), 0);
	return row;
}

#define FULL_START 1767225600000000000ull

static inline void full_sample(struct ep_profile_builder *b, const struct full_batch *options, uint32_t i,
			       uint32_t stack, uint32_t n_processes)
{
	static const char *const names[] = {"", "worker", "main"};
	uint32_t count = i == 0 && options->long_sample ? options->long_sample : 1 + i % 4;
	uint64_t period = 50000000 + (options->periods ? i % options->periods : 0);
	uint64_t *times = calloc(count, sizeof(*times));
	struct ep_profile_sample sample = {
		.stack = stack,
		.process = i % n_processes,
		.tid = 100 + i,
		.thread_name = string_of(b, names[i % EP_LEN(names)]),
		.cpu = i % 5,
		.count = count,
		.weight = count * period + (options->odd_weights ? i % 3 : 0),
		.n_times = options->with_times ? count : 0,
		.times_ns = times,
	};

	assert_non_null(times);
	for (uint32_t j = 0; j < count; j++) /* some before the interval, some after */
		times[j] = FULL_START - 1000 + options->later_ns + (uint64_t)i * 20000001 + j;
	assert_int_equal(ep_profile_add_sample(b, &sample), 0);
	free(times);
}

/* The test owns it. */
static inline struct ep_batch *full_batch_new(const struct full_batch *options)
{
	const struct ep_profile_header header = {
		.start_ns = FULL_START + options->later_ns,
		.duration_ns = 5000000000,
		.period_ns = 50000123,
		.period_hz = 20,
		.lost_samples = 17,
		.due_samples = 5000,
		.agent_cpu_ns = 123456789,
		.bpf_ns = 987654321,
		.n_cpus = 8,
		.host_name = "host.example.com",
		.title = "server --port 80",
		.sample_type = options->type ? options->type : "cpu",
		.weight_unit = options->unit ? options->unit : "nanoseconds",
	};
	struct ep_profile_builder *b = begin_profile();
	uint32_t locations[60], n_mappings, n_processes;

	assert_int_equal(ep_profile_add_header(b, &header), 0);
	n_mappings = full_mappings(b);
	n_processes = full_processes(b);
	for (uint32_t i = 0; i < EP_LEN(locations); i++)
		locations[i] = full_location(b, i, n_mappings);
	for (uint32_t i = 0; i < (options->samples ? options->samples : 400); i++)
		full_sample(b, options, i, full_stack(b, locations, EP_LEN(locations), i % 97), n_processes);
	return finish_profile(b);
}

#endif
