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
	const struct made_process *server = WRITER_PROCESS(7, "server", "");
	const struct made_sample samples[] = {
		{server, 7, 0, 1, 1, "a", NULL, {&writer_f}},
		{server, 8, 1, 1, 2, "b", NULL, {&writer_f}},
	};
	struct ep_batch *batch = make_batch(&writer_header, samples, EP_LEN(samples));

	assert_string_equal(written_by(folded_encode, batch, NULL), "server;f 3\n");
}

EP_TEST(equal_stacks_of_two_programs_are_two_lines)
{
	char *text = written_by(folded_encode, two_processes("native", 7, "server", 8, "shell"), NULL);

	assert_string_equal(text, "server;f 1\nshell;f 2\n");
}

EP_TEST(without_a_program_a_line_begins_with_a_function)
{
	static const struct made_frame f = {"unknown", {{"f"}}};
	const struct made_sample sample = {.count = 1, .weight = 3, .stack = {&f}};

	assert_string_equal(written_by(folded_encode, make_batch(&writer_header, &sample, 1), NULL), "f 3\n");
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
