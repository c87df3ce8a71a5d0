/* SPDX-License-Identifier: Apache-2.0 */
/* The front door of the readers, and those of text. */
#include "reports/read/unpack.h"
#include "tests/unit/read_profile.h"

#include <sys/wait.h>

static const char folded[] = "# a comment\n"
			     "main;serve;read_[k] 17\n"
			     "main;serve;outer;inner_[i] 3\r\n"
			     "\n"
			     "main;serve;read_[k] 2\n";

/* --- files --- */

static void init_bytes(struct ep_vec *bytes)
{
	ep_vec_init(bytes, 1, SIZE_MAX / 2);
}

EP_TEST(gzip_is_unfolded)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	struct ep_batch *batch;

	init_bytes(&bytes);
	append_gzip(&bytes, folded, sizeof(folded) - 1);
	batch = batch_of(bytes.data, bytes.len);
	assert_int_equal(weight_in(batch), 22);
}

/* As gzip >> FILE leaves it, or a file that a device padded with zeros. */
EP_TEST(gzip_of_several_members_is_one_file)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	struct ep_batch *batch;

	init_bytes(&bytes);
	append_gzip(&bytes, folded, sizeof(folded) - 1);
	append_gzip(&bytes, folded, sizeof(folded) - 1);
	assert_int_equal(ep_vec_append(&bytes, NULL, 512), 0);
	batch = batch_of(bytes.data, bytes.len);
	assert_int_equal(weight_in(batch), 44);
}

EP_TEST(gzip_that_is_cut_off_or_damaged_is_refused)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;

	init_bytes(&bytes);
	append_gzip(&bytes, folded, sizeof(folded) - 1);
	check_refused(bytes.data, bytes.len - 6, "it was cut off");
	check_refused(bytes.data, 12, "it was cut off");
	check_refused(bytes.data, 2, "it was cut off");
	((uint8_t *)bytes.data)[bytes.len - 6] ^= 1; /* the checksum */
	check_refused(bytes.data, bytes.len, "damaged");
	((uint8_t *)bytes.data)[bytes.len - 6] ^= 1;
	assert_int_equal(ep_vec_append(&bytes, "rest", 4), 0);
	check_refused(bytes.data, bytes.len, "behind its compressed data");
}

/* Zeros, of which a MiB is 4 KiB of gzip. The bound is whoever's who reads: here a small one. */
EP_TEST(a_bomb_is_refused)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes, unpacked;
	const size_t zeros = (size_t)1 << 20, bound = 3 * zeros - 1;
	const char *why = NULL;
	void *data = calloc(1, zeros);
	FILE *file = tmpfile();

	assert_non_null(data);
	assert_non_null(file);
	init_bytes(&bytes);
	for (int i = 0; i < 3; i++)
		append_gzip(&bytes, data, zeros);
	free(data);
	assert_int_equal(fwrite(bytes.data, bytes.len, 1, file), 1);
	rewind(file);
	ep_vec_init(&unpacked, 1, bound);
	assert_int_equal(ep_unpack(fileno(file), &unpacked, &why), -E2BIG);
	assert_string_equal(why, "holds more than 2 GiB");
	assert_true(unpacked.len <= bound && unpacked.cap <= bound);
	fclose(file);
}

/* A hole, so that nothing of it is read. */
EP_TEST(more_than_two_gib_are_refused)
{
	char path[] = "/tmp/test_read_XXXXXX";
	struct ep_batch *batch = NULL;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (2ll << 30) + 1), 0);
	close(fd);
	assert_int_equal(read_path(path, &batch), -E2BIG);
	unlink(path);
	assert_non_null(strstr(read_why, "holds more than 2 GiB"));
}

EP_TEST(what_is_no_profile_is_named)
{
	static const struct {
		const char *bytes, *says;
	} cases[] = {
		{"", "is empty"},
		{"PERFILE2........", "perf script -i"},
		{"\x7f" "ELF....", "is a program"},
		{"{\"meta\": 1}", "is JSON"},
		{"hello, world\n", "no profile that is known"},
		{"\xff\xff\xff\xff", "no profile that is known"},
	};

	for (size_t i = 0; i < EP_LEN(cases); i++)
		check_refused(cases[i].bytes, strlen(cases[i].bytes), cases[i].says);
}

EP_TEST(what_cannot_be_opened_is_named)
{
	struct ep_batch *batch = NULL;

	assert_int_equal(read_path("/nonexistent/x.pb.gz", &batch), -ENOENT);
	assert_string_equal(read_why, "/nonexistent/x.pb.gz: no such file");
	assert_int_equal(read_path("/tmp", &batch), -EISDIR);
	assert_string_equal(read_why, "/tmp: is a directory, not a profile");
}

static int drop_and_look(void)
{
	if (ep_read_drop_root() != 0)
		return 1;
	if (setuid(0) == 0 && getuid() != 0)
		return 2;
	if (getuid() == 0 || geteuid() == 0)
		return 3;
	return access("/etc/shadow", R_OK) == 0 ? 4 : 0;
}

/* Skipped without root: nothing is to be given up then. */
EP_TEST(root_is_given_up)
{
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0)
		_exit(drop_and_look());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- folded stacks --- */

EP_TEST(folded_stacks_are_read)
{
	struct ep_batch *batch = batch_of_text(folded);
	uint32_t sample = sample_with_leaf(batch, "read");

	assert_string_equal(batch->sample_type, "samples");
	assert_string_equal(batch->weight_unit, "count");
	assert_int_equal(batch->n_samples, 2);
	assert_int_equal(batch->sample_count[sample], 19);
	assert_int_equal(depth_in(batch, sample), 3);
	assert_string_equal(kind_in(batch, sample, 0), "kernel");
	assert_string_equal(name_in(batch, sample, 2, 0), "main");
	sample = sample_with_leaf(batch, "inner");
	assert_int_equal(depth_in(batch, sample), 3);
	assert_string_equal(name_in(batch, sample, 0, 1), "outer");
}

EP_TEST(folded_frames_may_have_sources)
{
	struct ep_batch *batch = batch_of_text("<module> (/srv/app.py:7);work (lib/w (1).py:12) 5\n"
					       "f (x);g (:3);h (a.rs) 1\n");
	uint32_t sample = sample_with_leaf(batch, "work"), line = line_in(batch, sample, 0, 0);

	assert_string_equal(kind_in(batch, sample, 0), "cpython");
	assert_int_equal(batch->line_line[line], 12);
	assert_string_equal(text_in(batch, batch->function_file[batch->line_function[line]]),
			    "lib/w (1).py");
	sample = sample_with_leaf(batch, "h (a.rs)");
	assert_string_equal(name_in(batch, sample, 1, 0), "g (:3)");
}

EP_TEST(bad_folded_lines_are_named)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"a;b 1\na;b x\n", "line 2: it does not end in a count"},
		{"a;b 1\na;c 99999999999999999999\n", "line 2: its count is larger than any"},
		{"a;b 1 2\na;c 3 4\n", "two counts on each line"},
	};

	for (size_t i = 0; i < EP_LEN(cases); i++)
		check_refused(cases[i].text, strlen(cases[i].text), cases[i].says);
}

/* --- perf script --- */

static const char script[] =
	"# ========\n"
	"# captured on: Thu Jan  1\n"
	"# ========\n"
	"#\n"
	"Web Content 3 1001/1002 [003]    12.500000:     250000 cpu-clock:pppH: \n"
	"\tffffffff81000010 do_read+0x10 ([kernel.kallsyms])\n"
	"\t    7f0000001234 std::map<int, foo (*)(int)>::at(int) const (inlined)\n"
	"\t    7f0000001234 ns::operator()(int)+0x1f (/usr/lib/lib x.so (deleted))\n"
	"\t    7f0000005678 [unknown] (/usr/lib/libc.so.6)\n"
	"\t    7fffff000000 [unknown] ([unknown])\n"
	"\n"
	"  kworker/0:1-ev    17 [000]    12.750000123:     250000 cpu-clock:pppH: \n"
	"\tffffffff81000010 do_read+0x10 ([kernel.kallsyms])\n"
	"\n";

EP_TEST(perf_script_is_read)
{
	struct ep_batch *batch = batch_of_text(script);
	uint32_t sample = 0, process = batch->sample_process[0];

	assert_int_equal(batch->n_samples, 2);
	assert_string_equal(batch->sample_type, "cpu");
	assert_string_equal(batch->weight_unit, "nanoseconds");
	assert_int_equal(batch->period_ns, 250000);
	assert_int_equal(weight_in(batch), 500000);
	assert_int_equal(batch->start_ns, 12500000000);
	assert_int_equal(batch->duration_ns, 250000123);
	assert_int_equal(batch->process_pid[process], 1001);
	assert_int_equal(batch->sample_tid[0], 1002);
	assert_int_equal(batch->sample_cpu[0], 3);
	assert_int_equal(batch->sample_time_ns[batch->sample_time_first[0]], 12500000000);
	assert_string_equal(text_in(batch, batch->sample_thread_name[0]), "Web Content 3");
	assert_int_equal(depth_in(batch, sample), 4);
	assert_string_equal(name_in(batch, sample, 0, 0), "do_read");
	assert_string_equal(kind_in(batch, sample, 0), "kernel");
	assert_string_equal(name_in(batch, sample, 1, 0),
			    "std::map<int, foo (*)(int)>::at(int) const");
	assert_string_equal(name_in(batch, sample, 1, 1), "ns::operator()(int)");
	assert_string_equal(kind_in(batch, sample, 1), "native");
	assert_string_equal(text_in(batch, batch->mapping_path[batch->location_mapping[location_in(
						   batch, sample, 1)]]),
			    "/usr/lib/lib x.so (deleted)");
	assert_string_equal(name_in(batch, sample, 2, 0), "libc.so.6+0x7f0000005678");
	assert_string_equal(name_in(batch, sample, 3, 0), "0x7fffff000000");
	assert_string_equal(text_in(batch, batch->sample_thread_name[1]), "kworker/0:1-ev");
	assert_string_equal(text_in(batch, batch->process_comm[batch->sample_process[1]]),
			    "kworker/0:1-ev");
}

/* perf record without -g: a sample is a line; and events that count no time. */
EP_TEST(perf_script_without_stacks_is_read)
{
	struct ep_batch *batch = batch_of_text(
		"prog  7  5.000001:  1000 cycles:u:  4007f0 main+0x4 (/usr/bin/prog)\n"
		"prog  7  5.000002:  3000 cpu_core/cycles/u:  4007f0 main+0x4 (/usr/bin/prog)\n");

	assert_string_equal(batch->sample_type, "cycles");
	assert_string_equal(batch->weight_unit, "count");
	assert_int_equal(batch->n_samples, 1);
	assert_int_equal(batch->sample_count[0], 2);
	assert_int_equal(weight_in(batch), 4000);
	assert_string_equal(name_in(batch, 0, 0, 0), "main");
}

/* As exporters/perf writes frames of a language, and stacks that end early. */
EP_TEST(frames_of_languages_have_their_source)
{
	struct ep_batch *batch = batch_of_text(
		"prog 7/7 [000] 5.000000001: 100 cpu-clock: \n"
		"\t               0 handle (/srv/app.py:12)\n"
		"\t               0 [gap: stack memory unreadable] ([unknown])\n"
		"\t               0 [truncated: out of tail calls] ([unknown])\n"
		"\n");
	uint32_t stack = batch->sample_stack[0], line = line_in(batch, 0, 0, 0);

	assert_string_equal(kind_in(batch, 0, 0), "cpython");
	assert_int_equal(batch->line_line[line], 12);
	assert_string_equal(kind_in(batch, 0, 1), "gap");
	assert_string_equal(kind_in(batch, 0, 2), "error");
	assert_int_equal(batch->stack_error[stack], 10);
	assert_string_equal(text_in(batch, batch->stack_error_text[stack]), "out of tail calls");
	assert_string_equal(text_in(batch, batch->stack_unnamed_text[stack]), "frames missing");
}

EP_TEST(a_stack_that_ends_early_is_one_stack)
{
	struct ep_batch *batch = batch_of_text("prog 7/7 [000] 5.000000001: 100 cpu-clock: \n"
					       "\t               0 [truncated: out of tail calls] ([unknown])\n"
					       "\n"
					       "prog 7/7 [000] 5.000000002: 100 cpu-clock: \n"
					       "\t          4007f0 main (/usr/bin/prog)\n"
					       "\n");
	uint32_t stack = batch->sample_stack[sample_with_leaf(batch, "main")];

	assert_int_equal(batch->stack_error[stack], 0);
	assert_int_equal(batch->stack_unnamed[stack], 0);
}

EP_TEST(bad_perf_scripts_are_named)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"a 1 5.0: 1 cycles: \n\t 12 f (x)\n\na 1 5.1: 1 faults: \n\t 12 f (x)\n\n",
		 "several events, cycles and faults"},
		{"a 1 5.0: 1 cycles: \n\t 12 f (", "was cut off"},
		{"a 1 5.0: 1 cycles: \n\t 12 f (x)\n\nwhat\n", "line 4: it is neither"},
	};

	for (size_t i = 0; i < EP_LEN(cases); i++)
		check_refused(cases[i].text, strlen(cases[i].text), cases[i].says);
}
