/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/perf/encode.h"
#include "tests/unit/writer_batch.h"

EP_TEST(samples_are_in_order_of_time_with_their_periods)
{
	static const char expected[] =
		"# ========\n"
		"# captured on    : Tue Nov 14 22:13:20 2023\n"
		"# header version : 1\n"
		"# hostname : host\n"
		"# perf version : ebpf-profiler 1.0\n"
		"# ========\n"
		"#\n"
		"server       7/7       [000] 1700000000.010000000:   10000000 cpu-clock: \n"
		"\t          403000 main (/opt/my_server)\n"
		"\n"
		"_9       9/9       [002] 1700000000.020000000:    5000000 cpu-clock: \n"
		"\t               0 handler\"<b>\\?[2J 12 (/srv/app.src:12)\n"
		"\t            1234 [unknown] (/usr/lib/libx.so)\n"
		"\t               0 [truncated: why] ([unknown])\n"
		"\n"
		"worker_3       7/8       [001] 1700000000.030000000:    9000000 cpu-clock: \n"
		"\tffffffff81000010 schedule ([kernel.kallsyms])\n"
		"\t          402000 ns::inner(int) (inlined)\n"
		"\t          402000 ns::outer() (/opt/my_server)\n"
		"\t          403000 main (/opt/my_server)\n"
		"\n"
		"server       7/7       [000] 1700000000.040000000:   10000001 cpu-clock: \n"
		"\t          403000 main (/opt/my_server)\n"
		"\n";
	char *text = written_by(perf_encode, writer_batch(), NULL);

	assert_string_equal(text, expected);
}

EP_TEST(hostile_names_stay_within_their_line)
{
	static const char fillings[] = {'\n', '#', '9', ' ', '(', '\033', ')'};

	for (size_t i = 0; i < sizeof(fillings); i++) {
		struct ep_batch *batch = hostile_batch(fillings[i]);
		char *text = written_by(perf_encode, batch, NULL);
		size_t lines = 0;

		for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
			lines++;
		assert_int_equal(lines, 7 + 3); /* the header; sample, frame, empty */
	}
}

EP_TEST(an_error_of_the_sink_is_returned)
{
	check_error_of_sink(perf_encode);
}
