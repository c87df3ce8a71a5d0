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

static const struct made_mapping writer_kernel = {.path = "[kernel.kallsyms]", .limit_va = 0x10000,
						   .flags = EP_MAPPING_KERNEL};
static const struct made_mapping writer_program = {
	"/opt/my server", "0123456789abcdef0123456789abcdef01234567", 0x401000, 0x411000, 0x1000};
static const struct made_mapping writer_library = {"/usr/lib/libx.so", NULL, 0x1000, 0x11000, 0x1000};

static const struct ep_profile_header writer_header = {
	.start_ns = WRITER_START_NS, .duration_ns = 1000000000, .period_ns = 10000000, .period_hz = 100,
	.host_name = "host", .sample_type = "cpu", .weight_unit = "nanoseconds",
};

#define WRITER_PROCESS(of_pid, of_comm, of_exe)                                                     \
	(&(const struct made_process){.pid = of_pid, .start_ns = WRITER_START_NS - 1000000000ull, \
				      .comm = of_comm, .exe_path = of_exe})
#define WRITER_TIMES(...) ((const uint64_t[]){__VA_ARGS__})
#define WRITER_MS(ms)	  (WRITER_START_NS + (ms) * 1000000ull)

static const struct made_frame writer_schedule = {
	"kernel", {{"schedule"}}, .address = 0xffffffff81000010, .mapping = &writer_kernel};
static const struct made_frame writer_call = {
	"native", {{"ns::inner(int)", "in.cc", 3, 1, "_ZN2ns5innerEi"}, {"ns::outer()", "out.cc", 9, 7}},
	.address = 0x402000, .mapping = &writer_program};
static const struct made_frame writer_main = {
	"native", {{"main", "out.cc", 20, 18}}, .address = 0x403000, .mapping = &writer_program};
static const struct made_frame writer_handler = {"script", {{"handler\"<b>\\\033[2J 12", "/srv/app.src", 12, 10}}};
static const struct made_frame writer_nameless = {
	"native", {{"libx.so+0x1234"}}, 0x1234, EP_LOCATION_UNNAMED, &writer_library};
static const struct made_frame writer_cut = {"error", {{"[truncated: why]"}}, .flags = EP_LOCATION_ERROR};
static const struct made_frame writer_f = {"native", {{"f"}}, .address = 0x402000, .mapping = &writer_program};

static inline struct ep_profile_builder *begin_batch(void)
{
	struct ep_profile_builder *builder = begin_profile();

	assert_int_equal(ep_profile_add_header(builder, &writer_header), 0);
	return builder;
}

static inline void add_server(struct ep_profile_builder *builder)
{
	const struct made_process *server = WRITER_PROCESS(7, "server", "/opt/my server");

	add_made(builder, &(struct made_sample){server, 8, 1, 1, 9000000, "worker 3", WRITER_TIMES(WRITER_MS(30)),
						{&writer_schedule, &writer_call, &writer_main}});
	add_made(builder, &(struct made_sample){server, 7, 0, 2, 20000001, "server",
						WRITER_TIMES(WRITER_MS(40), WRITER_MS(10)), {&writer_main}});
}

static inline void add_evil(struct ep_profile_builder *builder)
{
	add_made(builder, &(struct made_sample){WRITER_PROCESS(9, "evil;comm\n", ""), 9, 2, 1, 5000000, "#9",
						WRITER_TIMES(WRITER_MS(20)),
						{&writer_handler, &writer_nameless, &writer_cut}});
}

static inline struct ep_batch *writer_batch(void)
{
	struct ep_profile_builder *builder = begin_batch();

	add_server(builder);
	add_evil(builder);
	return finish_profile(builder);
}

/* One stack of a language, once in each of two processes whose paths are not known. */
static inline struct ep_batch *two_processes(const char *kind, uint32_t pid, const char *comm, uint32_t other_pid,
					     const char *other_comm)
{
	struct made_frame frame = writer_f;
	const struct made_sample samples[] = {
		{WRITER_PROCESS(pid, comm, ""), 7, 0, 1, 1, "a", NULL, {&frame}},
		{WRITER_PROCESS(other_pid, other_comm, ""), 7, 1, 1, 2, "b", NULL, {&frame}},
	};

	frame.kind = kind;
	return make_batch(&writer_header, samples, EP_LEN(samples));
}

/* --- what a writer wrote --- */

static inline int write_to_stream(void *arg, const void *data, size_t len)
{
	return fwrite(data, 1, len, arg) == len ? 0 : -EIO;
}

typedef int (*writer)(const struct ep_batch *batch, const char *version, struct ep_sink *sink);

/* *ret_bytes: NULL where it is text. */
static inline char *written_by(writer encode, const struct ep_batch *batch, size_t *ret_bytes)
{
	struct ep_sink sink = {.write = write_to_stream, .arg = ep_test_print()};

	assert_int_equal(encode(batch, "1.0", &sink), 0);
	if (ret_bytes)
		*ret_bytes = (size_t)ftell(sink.arg);
	return ep_test_printed(sink.arg);
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
	const struct made_mapping mapping = {name, name, 0x1000, 0x11000, 0x1000};
	const struct made_frame frame = {name, {{name, name, 3}}, 0x1111, 0, &mapping};
	const struct made_sample sample = {WRITER_PROCESS(1, name, name), 1, 0, 1, 7, name,
					   WRITER_TIMES(WRITER_MS(1)), {&frame}};

	memset(name, filling, sizeof(name) - 1);
	return make_batch(&writer_header, &sample, 1);
}

#endif
