/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small profile with all that a writer must know about, and its text.
 *
 *	process 7 "server", threads 7 (itself) and 8 "worker 3" on CPU 1
 *		schedule (kernel) < ns::inner(int), inlined at in.cc:3 in ns::outer() out.cc:9 < main
 *		main, 2 samples of 10 ms + 1 ns
 *	process 9 "evil;comm\n" : handler app.src:12 (a language) < libx.so+0x1234, without a name
 *		< [truncated: why]
 */
#ifndef EP_TESTS_WRITER_BATCH_H
#define EP_TESTS_WRITER_BATCH_H

#include "exporters/shared/sink.h"
#include "tests/unit/profile_batch.h"

#define WRITER_START_NS 1700000000000000000ull

struct writer_batch {
	struct ep_profile_builder *builder;
	uint32_t program, library, kernel; /* mappings */
};

static inline uint32_t add_mapping(struct writer_batch *w, const char *path, const char *build_id,
				   uint64_t start, uint32_t flags)
{
	struct ep_profile_mapping mapping = {
		.start_va = start, .limit_va = start + 0x10000, .file_off = start ? 0x1000 : 0,
		.path = string_of(w->builder, path), .build_id = string_of(w->builder, build_id),
		.flags = flags,
	};
	uint32_t row = 0;

	assert_int_equal(ep_profile_add_mapping(w->builder, &mapping, &row), 0);
	return row;
}

struct writer_line {
	const char *name, *system_name, *file;
	uint32_t line, start_line;
};

static inline uint32_t add_location(struct writer_batch *w, const char *kind, uint32_t mapping, uint64_t address,
				    uint32_t flags, const struct writer_line *lines, uint32_t n)
{
	struct ep_profile_location location = {.address = address, .mapping = mapping, .flags = flags,
					       .kind = string_of(w->builder, kind), .n_lines = n};
	struct ep_profile_line rows[4] = {{0}};
	uint32_t row = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct ep_profile_function function = {
			.name = string_of(w->builder, lines[i].name),
			.system_name = string_of(w->builder, lines[i].system_name ? lines[i].system_name : lines[i].name),
			.file = string_of(w->builder, lines[i].file ? lines[i].file : ""),
			.line = lines[i].start_line,
		};

		rows[i].line = lines[i].line;
		assert_int_equal(ep_profile_add_function(w->builder, &function, &rows[i].function), 0);
	}
	location.lines = rows;
	assert_int_equal(ep_profile_add_location(w->builder, &location, &row), 0);
	return row;
}

static inline uint32_t add_process(struct writer_batch *w, uint32_t pid, const char *comm, const char *exe)
{
	struct ep_profile_process process = {.pid = pid, .start_ns = WRITER_START_NS - 1000000000ull,
					     .comm = string_of(w->builder, comm),
					     .exe_path = string_of(w->builder, exe)};
	uint32_t row = 0;

	assert_int_equal(ep_profile_add_process(w->builder, &process, &row), 0);
	return row;
}

static inline void add_samples(struct writer_batch *w, uint32_t stack, uint32_t process, uint32_t tid,
			       const char *thread, uint32_t cpu, uint64_t weight, const uint64_t *times_ms,
			       uint32_t n)
{
	uint64_t times[8];
	struct ep_profile_sample sample = {
		.stack = stack, .process = process, .tid = tid, .cpu = cpu, .count = n, .weight = weight,
		.thread_name = string_of(w->builder, thread), .n_times = times_ms ? n : 0, .times_ns = times,
	};

	for (uint32_t i = 0; i < n && times_ms; i++)
		times[i] = WRITER_START_NS + times_ms[i] * 1000000;
	assert_int_equal(ep_profile_add_sample(w->builder, &sample), 0);
}

static inline void begin_batch(struct writer_batch *w)
{
	struct ep_profile_header header = {
		.start_ns = WRITER_START_NS, .duration_ns = 1000000000, .period_ns = 10000000, .period_hz = 100,
		.host_name = "host", .sample_type = "cpu", .weight_unit = "nanoseconds",
	};

	*w = (struct writer_batch){0};
	assert_int_equal(ep_profile_builder_new(&w->builder), 0);
	assert_int_equal(ep_profile_add_header(w->builder, &header), 0);
	w->kernel = add_mapping(w, "[kernel.kallsyms]", "", 0, EP_MAPPING_KERNEL);
	w->program = add_mapping(w, "/opt/my server", "0123456789abcdef0123456789abcdef01234567", 0x401000, 0);
	w->library = add_mapping(w, "/usr/lib/libx.so", "", 0x1000, 0);
}

static inline struct ep_batch *finish_batch(struct writer_batch *w)
{
	struct ep_batch *batch = NULL;

	assert_int_equal(ep_profile_finish(w->builder, &batch), 0);
	ep_profile_builder_free(w->builder);
	ep_test_owns(batch, release_batch);
	return batch;
}

static inline void add_server(struct writer_batch *w)
{
	static const struct writer_line sched = {.name = "schedule"};
	static const struct writer_line call[] = {
		{"ns::inner(int)", "_ZN2ns5innerEi", "in.cc", 3, 1}, {"ns::outer()", NULL, "out.cc", 9, 7}};
	static const struct writer_line entry = {"main", NULL, "out.cc", 20, 18};
	uint32_t server = add_process(w, 7, "server", "/opt/my server");
	uint32_t locations[] = {
		add_location(w, "kernel", w->kernel, 0xffffffff81000010, 0, &sched, 1),
		add_location(w, "native", w->program, 0x402000, 0, call, 2),
		add_location(w, "native", w->program, 0x403000, 0, &entry, 1),
	};
	uint32_t deep = stack_of(w->builder, locations, 3), flat = stack_of(w->builder, locations + 2, 1);

	add_samples(w, deep, server, 8, "worker 3", 1, 9000000, (const uint64_t[]){30}, 1);
	add_samples(w, flat, server, 7, "server", 0, 20000001, (const uint64_t[]){40, 10}, 2);
}

static inline void add_evil(struct writer_batch *w)
{
	static const struct writer_line lines[] = {
		{"handler\"<b>\\\033[2J 12", NULL, "/srv/app.src", 12, 10},
		{"libx.so+0x1234", NULL, NULL, 0, 0},
		{"[truncated: why]", NULL, NULL, 0, 0},
	};
	uint32_t evil = add_process(w, 9, "evil;comm\n", "");
	uint32_t locations[] = {
		add_location(w, "script", 0, 0, 0, &lines[0], 1),
		add_location(w, "native", w->library, 0x1234, EP_LOCATION_UNNAMED, &lines[1], 1),
		add_location(w, "error", 0, 0, EP_LOCATION_ERROR, &lines[2], 1),
	};

	add_samples(w, stack_of(w->builder, locations, 3), evil, 9, "#9", 2, 5000000,
		    (const uint64_t[]){20}, 1);
}

static inline struct ep_batch *writer_batch(void)
{
	struct writer_batch w;

	begin_batch(&w);
	add_server(&w);
	add_evil(&w);
	return finish_batch(&w);
}

/* One stack of a language, once in each of two processes whose paths are not known. */
static inline struct ep_batch *two_processes(const char *kind, uint32_t pid, const char *comm, uint32_t other_pid,
					     const char *other_comm)
{
	static const struct writer_line line = {.name = "f"};
	struct writer_batch w;
	uint32_t stack, location;

	begin_batch(&w);
	location = add_location(&w, kind, w.program, 0x402000, 0, &line, 1);
	stack = stack_of(w.builder, &location, 1);
	add_samples(&w, stack, add_process(&w, pid, comm, ""), 7, "a", 0, 1, NULL, 1);
	add_samples(&w, stack, add_process(&w, other_pid, other_comm, ""), 7, "b", 1, 2, NULL, 1);
	return finish_batch(&w);
}

/* --- what a writer wrote --- */

struct written {
	FILE *stream;
	char *text;
	size_t bytes;
};

static inline int write_to_stream(void *arg, const void *data, size_t len)
{
	return fwrite(data, 1, len, arg) == len ? 0 : -EIO;
}

typedef int (*writer)(const struct ep_batch *batch, const char *version, struct ep_sink *sink);

/* The test owns it, as it owns the batches above. */
static inline char *written_by(writer encode, const struct ep_batch *batch, size_t *ret_bytes)
{
	struct written written = {0};
	struct ep_sink sink = {.write = write_to_stream};

	written.stream = open_memstream(&written.text, &written.bytes);
	sink.arg = written.stream;
	assert_int_equal(encode(batch, "1.0", &sink), 0);
	fclose(written.stream);
	ep_test_owns(written.text, free);
	if (ret_bytes)
		*ret_bytes = written.bytes;
	return written.text;
}

static inline int fail_at_once(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
	return -ENOSPC;
}

static inline void check_error_of_sink(writer encode)
{
	struct ep_sink sink = {.write = fail_at_once};

	assert_int_equal(encode(writer_batch(), "1.0", &sink), -ENOSPC);
}

/* One name of 16 kB, of what a program may call itself, in each place where there is a name. */
static inline struct ep_batch *hostile_batch(char filling)
{
	static char name[16001];
	struct writer_line line = {.name = name, .file = name, .line = 3};
	struct writer_batch w;
	uint32_t location, process;

	memset(name, filling, sizeof(name) - 1);
	begin_batch(&w);
	location = add_location(&w, name, add_mapping(&w, name, name, 0x1000, 0), 0x1111, 0, &line, 1);
	process = add_process(&w, 1, name, name);
	add_samples(&w, stack_of(w.builder, &location, 1), process, 1, name, 0, 7, (const uint64_t[]){1}, 1);
	return finish_batch(&w);
}

#endif
