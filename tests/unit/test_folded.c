/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/folded/encode.h"
#include "tests/unit/writer_batch.h"

EP_TEST(stacks_are_lines_with_suffixes_and_cpu_time)
{
	char *text = written_by(folded_encode, writer_batch(), NULL);

	assert_string_equal(text, "server;main;ns::outer();ns::inner(int)_[i];schedule_[k] 9000000\n"
				  "server;main 20000001\n"
				  "evil:comm?;[truncated: why];libx.so+0x1234;handler\"<b>\\?[2J_12_[j] 5000000\n");
}

EP_TEST(equal_stacks_of_two_threads_are_one_line)
{
	static const struct writer_line line = {.name = "f"};
	struct writer_batch w;
	uint32_t stack, process, location;

	begin_batch(&w);
	location = add_location(&w, "native", w.program, 0x402000, 0, &line, 1);
	stack = stack_of(w.builder, &location, 1);
	process = add_process(&w, 7, "server", "");
	add_samples(&w, stack, process, 7, "a", 0, 1, NULL, 1);
	add_samples(&w, stack, process, 8, "b", 1, 2, NULL, 1);
	assert_string_equal(written_by(folded_encode, finish_batch(&w), NULL), "server;f 3\n");
}

EP_TEST(equal_stacks_of_two_programs_are_two_lines)
{
	char *text = written_by(folded_encode, two_processes("native", 7, "server", 8, "shell"), NULL);

	assert_string_equal(text, "server;f 1\nshell;f 2\n");
}

EP_TEST(without_a_program_a_line_begins_with_a_function)
{
	static const struct writer_line line = {.name = "f"};
	struct writer_batch w;
	uint32_t location;

	begin_batch(&w);
	location = add_location(&w, "unknown", 0, 0, 0, &line, 1);
	add_samples(&w, stack_of(w.builder, &location, 1), 0, 0, "", 0, 3, NULL, 1);
	assert_string_equal(written_by(folded_encode, finish_batch(&w), NULL), "f 3\n");
}

EP_TEST(hostile_names_stay_within_their_line)
{
	static const char fillings[] = {'\n', ';', '9', ' ', '"', '\033', '\\'};

	for (size_t i = 0; i < sizeof(fillings); i++) {
		struct ep_batch *batch = hostile_batch(fillings[i]);
		size_t bytes;
		char *text = written_by(folded_encode, batch, &bytes);

		assert_ptr_equal(strchr(text, '\n'), text + bytes - 1);
		assert_ptr_equal(strrchr(text, ';'), strchr(text, ';'));
		assert_string_equal(text + bytes - 3, " 7\n");
	}
}

EP_TEST(an_error_of_the_sink_is_returned)
{
	check_error_of_sink(folded_encode);
}
