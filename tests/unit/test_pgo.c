/* SPDX-License-Identifier: Apache-2.0 */
/* What `go tool pprof` and `go build -pgo` make of it is tested by tests/live/test_pgo.py. */
#include "exporters/pgo/encode.h"
#include "tests/unit/writer_batch.h"

static void add_program(struct ep_profile_builder *builder, uint32_t pid, const char *comm, const char *exe)
{
	static const struct made_frame call = {
		"go", {{"main.inner[...]", "/src/in.go", 3, 1, "main.inner[go.shape.int]"},
		       {"main.outer", "/src/out.go", 9, 7}},
		.address = 0x402000, .mapping = &writer_program};
	static const struct made_frame sys = {
		"kernel", {{"syscall"}}, .address = 0xffffffff81000010, .mapping = &writer_kernel};
	const struct made_process *process = WRITER_PROCESS(pid, comm, exe);

	add_made(builder, &(struct made_sample){process, pid, 0, 1, 10000000, comm, NULL, {&sys, &call}});
	add_made(builder, &(struct made_sample){process, pid + 1, 1, 2, 20000000, "secret", NULL, {&call}});
}

static bool contains(const char *text, size_t bytes, const char *part)
{
	return memmem(text, bytes, part, strlen(part)) != NULL;
}

EP_TEST(the_program_is_in_it_and_nothing_else)
{
	static const char *const in[] = {"main.inner[go.shape.int]", "main.outer", "/src/in.go", "/opt/my server",
					 "ebpf-profiler 1.0"};
	static const char *const out[] = {"syscall", "main.inner[...]", "secret", "evil", "handler", "host"};
	struct ep_profile_builder *builder = begin_batch();
	size_t bytes;
	char *text;

	add_evil(builder);
	add_program(builder, 20, "app", "/opt/my server");
	add_program(builder, 30, "app2", "/opt/my server");
	text = written_by(pgo_encode, finish_profile(builder), &bytes);
	for (size_t i = 0; i < EP_LEN(in); i++)
		assert_true(contains(text, bytes, in[i]));
	for (size_t i = 0; i < EP_LEN(out); i++)
		assert_false(contains(text, bytes, out[i]));
	/* values of a stack, packed, of both processes */
	assert_true(contains(text, bytes, "\x12\x05\x02\x80\xda\xc4\x09")); /* 2, 20000000 */
	assert_true(contains(text, bytes, "\x12\x05\x04\x80\xb4\x89\x13")); /* 4, 40000000 */
}

static int encode(struct ep_batch *batch, char *why)
{
	struct ep_sink sink = {.write = fail_at_once};
	int r = pgo_encode(batch, "1.0", &sink);

	memcpy(why, sink.why, sizeof(sink.why));
	return r;
}

EP_TEST(several_programs_are_refused_by_name)
{
	char why[EP_SINK_WHY_BYTES];
	struct ep_profile_builder *builder = begin_batch();

	add_program(builder, 20, "app", "/opt/my server");
	add_program(builder, 30, "other", "/opt/other");
	assert_int_equal(encode(finish_profile(builder), why), -EINVAL);
	assert_string_equal(why, "2 Go programs were sampled: app (50.0 %), other (50.0 %); such a profile is of "
				 "one: choose it, with -p PID or --comm NAME");
}

EP_TEST(programs_without_a_path_are_told_by_their_names)
{
	char why[EP_SINK_WHY_BYTES];

	assert_int_equal(encode(two_processes("go", 7, "app", 8, "app"), why), -ENOSPC); /* of the sink */
	assert_int_equal(encode(two_processes("go", 7, "app", 8, "other"), why), -EINVAL);
}

EP_TEST(without_a_program_it_is_said)
{
	char why[EP_SINK_WHY_BYTES];

	assert_int_equal(encode(writer_batch(), why), -ENODATA);
	assert_non_null(strstr(why, "no Go program was sampled"));
}

EP_TEST(an_error_of_the_sink_is_returned)
{
	char why[EP_SINK_WHY_BYTES];
	struct ep_profile_builder *builder = begin_batch();

	add_program(builder, 20, "app", "/opt/my server");
	assert_int_equal(encode(finish_profile(builder), why), -ENOSPC);
}
