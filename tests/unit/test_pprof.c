/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pprof exporter, loaded as a module and driven by the host.
 *
 *	test_pprof DIR [go]
 *
 * DIR holds pprof.so. With `go` the output is read by `go tool pprof`, and the test is skipped
 * (exit 77) where that is missing; without, files and errors are tested.
 */
#include "core/plugin/exporter.h"
#include "ebpf-profiler/frame.h"
#include "tests/unit/profile_batch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <uv.h>
#include <zlib.h>

static const char *module_dir;

/* --- a batch: two processes, kernel and inlined and unnamed frames, one truncated stack --- */

static bool has_periods; /* CPU 0 has one of 9 ms, CPU 1 of 11 ms */

static uint64_t weight_of(uint32_t cpu, uint32_t count)
{
	return count * (!has_periods ? 10000000ull : cpu ? 11000000 : 9000000);
}

static struct ep_batch *new_batch(void)
{
	static const struct ep_profile_header header = {
		.start_ns = 1767225599000000000, .duration_ns = 1000000000, .period_ns = 10000000, .period_hz = 100,
		.host_name = "test host", .sample_type = "cpu", .weight_unit = "nanoseconds"};
	static const struct made_mapping kernel = {
		"[kernel.kallsyms]", NULL, 1ull << 63, UINT64_MAX, 0, EP_MAPPING_KERNEL | EP_MAPPING_HAS_FUNCTIONS};
	static const struct made_mapping program = {
		"/opt/example/server", "0123abcd", 0x1000, 0x9000, 0x1000, EP_MAPPING_HAS_FUNCTIONS};
	static const struct made_mapping stripped = {"/usr/lib/libstripped.so", NULL, 0x1000, 0x9000, 0x1000};
	static const struct made_process server = {77, 7, "server", "/opt/example/server", "c0ffee"};
	static const struct made_process unknown = {77, 8, ""};
	static const struct made_frame schedule = {"kernel", {{"schedule"}}, 0xffffffff81000010, 0, &kernel};
	static const struct made_frame call = {
		"native", {{"ns::inner(int)", "in.cc", 3, 1, "_ZN2ns5innerEi", 5}, {"ns::outer()", "out.cc", 9}},
		0x2000, 0, &program};
	static const struct made_frame root = {"native", {{"main", "out.cc", 20}}, 0x2fff, 0, &program};
	static const struct made_frame nameless = {"native", .address = 0x1234, .mapping = &stripped};
	static const struct made_frame cut = {
		"error", {{"[truncated: process not analysed yet]"}}, .flags = EP_LOCATION_ERROR};
	const struct made_sample samples[] = {
		{&server, 7, 0, 49, weight_of(0, 49), "worker-1", NULL, {&schedule, &call, &root}},
		{&server, 7, 1, 49, weight_of(1, 49), "worker-1", NULL, {&schedule, &call, &root}},
		{&unknown, 8, 0, 2, weight_of(0, 2), "prog", NULL, {&nameless, &cut}, EP_ERROR_NOT_ANALYSED,
		 EP_UNNAMED_MISSING, "process not analysed yet", "frames missing"},
	};

	return make_batch(&header, samples, EP_LEN(samples));
}

/* --- driving the exporter --- */

struct fixture {
	const char *dir, *path; /* of a file in it, which is not there yet */
	struct ep_module *module;
};

static int set_up(void **state)
{
	static struct fixture fx;
	char reason[EP_REASON_BYTES] = "";

	fx.dir = ep_test_directory();
	fx.path = ep_test_path(fx.dir, "out.pb.gz");
	*state = &fx;
	if (ep_module_load(module_dir, "pprof", &fx.module, reason) == 0)
		return 0;
	fprintf(stderr, "%s\n", reason);
	return -1;
}

static int tear_down(void **state)
{
	struct fixture *fx = *state;

	ep_module_unload(fx->module);
	return 0;
}

static int open_with(struct fixture *fx, const struct ep_value *values, size_t n,
		     struct ep_exporter **ret_exporter)
{
	struct ep_option_error error = {0};
	struct ep_options *options = NULL;

	if (ep_options_new("pprof", ep_module_exporter(fx->module)->options, NULL, values, n,
			   &error, &options) < 0)
		fail_msg("%s", error.text);
	return ep_exporter_open(ep_module_plugin(fx->module), fx->module, options, 4,
				ret_exporter);
}

static void nothing(void *arg)
{
}

/* Exports n batches and closes. */
static struct ep_exporter_stats export_batches(struct ep_exporter *exporter, int n)
{
	struct ep_exporter_stats stats;

	for (int i = 0; i < n; i++)
		ep_exporter_submit(exporter, new_batch());
	ep_exporter_flush(exporter, nothing, NULL);
	uv_run(ep_host_get()->loop, UV_RUN_DEFAULT);
	stats = *ep_exporter_stats(exporter);
	ep_exporter_close(exporter);
	return stats;
}

static void write_to(struct fixture *fx, const char *path)
{
	struct ep_value value = {.key = "path", .type = EP_VALUE_STRING, .string = path};
	struct ep_exporter *exporter = NULL;

	assert_int_equal(open_with(fx, &value, 1, &exporter), 0);
	assert_int_equal(export_batches(exporter, 1).exported, 1);
}

static size_t count_files(const char *dir_path, const char *part)
{
	DIR *dir = opendir(dir_path);
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		n += entry->d_name[0] != '.' || entry->d_name[1] == 'p'
			     ? strstr(entry->d_name, part) != NULL
			     : 0;
	closedir(dir);
	return n;
}

/* --- files and errors --- */

#define PPROF "tool pprof -symbolize=none "
#define FIXTURE_TEST(name) EP_TEST_ON(name, struct fixture *fx, set_up, tear_down)

FIXTURE_TEST(file_is_gzip_and_nothing_is_left_behind)
{
	unsigned char magic[2] = {0};
	char bytes[16];
	FILE *file;
	gzFile gz;

	write_to(fx, fx->path);
	file = fopen(fx->path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(magic, 1, 2, file), 2);
	fclose(file);
	assert_int_equal(magic[0], 0x1f);
	assert_int_equal(magic[1], 0x8b);
	gz = gzopen(fx->path, "rb");
	assert_int_equal(gzread(gz, bytes, sizeof(bytes)), sizeof(bytes));
	gzclose(gz);
	assert_int_equal(count_files(fx->dir, ""), 1);
}

FIXTURE_TEST(existing_file_is_not_replaced_unless_forced)
{
	struct ep_value values[] = {
		{.key = "path", .type = EP_VALUE_STRING, .string = fx->path},
		{.key = "force", .type = EP_VALUE_BOOL, .boolean = true},
	};
	struct ep_exporter *exporter = NULL;
	struct stat before, after;

	write_to(fx, fx->path);
	assert_int_equal(stat(fx->path, &before), 0);
	assert_int_equal(open_with(fx, values, 1, &exporter), -EEXIST);
	assert_int_equal(open_with(fx, values, 2, &exporter), 0);
	assert_int_equal(export_batches(exporter, 1).exported, 1);
	assert_int_equal(stat(fx->path, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
}

/* It appears between open and the end of the recording. */
FIXTURE_TEST(file_that_appears_later_is_not_replaced)
{
	struct ep_value value = {.key = "path", .type = EP_VALUE_STRING, .string = fx->path};
	struct ep_exporter *exporter = NULL;
	struct ep_exporter_stats stats;
	struct stat st;

	assert_int_equal(open_with(fx, &value, 1, &exporter), 0);
	ep_test_write(fx->path, "precious");
	stats = export_batches(exporter, 1);
	assert_int_equal(stats.failed, 1);
	assert_int_equal(stats.last_result, -EEXIST);
	assert_int_equal(stat(fx->path, &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(count_files(fx->dir, ""), 1);
}

FIXTURE_TEST(further_batches_of_a_path_get_numbers)
{
	struct ep_value value = {.key = "path", .type = EP_VALUE_STRING, .string = fx->path};
	struct ep_exporter *exporter = NULL;

	assert_int_equal(open_with(fx, &value, 1, &exporter), 0);
	assert_int_equal(export_batches(exporter, 3).exported, 3);
	assert_int_equal(count_files(fx->dir, "out.pb.gz"), 1);
	assert_int_equal(count_files(fx->dir, "out-2.pb.gz"), 1);
	assert_int_equal(count_files(fx->dir, "out-3.pb.gz"), 1);
}

static void touch(const char *dir, const char *name)
{
	ep_test_write(ep_test_path(dir, "%s", name), "");
}

FIXTURE_TEST(directory_keeps_the_newest_of_our_own)
{
	static const char *const others[] = {
		"profile-other-20200101-000000.pb.gz",
		"profile-test_host-20200101-000000.pb.gz.bak",
		"profile-test_host-2020-000000.pb.gz",
		"profile-test_host-20200101-000000-.pb.gz",
	};
	struct ep_value values[] = {
		{.key = "directory", .type = EP_VALUE_STRING, .string = fx->dir},
		{.key = "keep", .type = EP_VALUE_INT, .integer = 3},
	};
	struct ep_exporter *exporter = NULL;

	for (size_t i = 0; i < EP_LEN(others); i++)
		touch(fx->dir, others[i]);
	touch(fx->dir, "profile-test_host-20200101-000000.pb.gz");
	touch(fx->dir, "profile-test_host-20200101-000000-2.pb.gz");
	assert_int_equal(open_with(fx, values, 2, &exporter), 0);
	assert_int_equal(export_batches(exporter, 2).exported, 2);
	assert_int_equal(count_files(fx->dir, "profile-test_host-20251231-235959.pb.gz"), 1);
	assert_int_equal(count_files(fx->dir, "profile-test_host-20251231-235959-2.pb.gz"), 1);
	assert_int_equal(count_files(fx->dir, "profile-test_host-20200101-000000-2.pb.gz"), 1);
	assert_int_equal(count_files(fx->dir, ""), 3 + EP_LEN(others));
}

FIXTURE_TEST(leftovers_of_a_killed_process_go)
{
	static const char *const gone = ".profile-test_host-20200101-000000.pb.gz.123-4.tmp";
	static const char *const fresh = ".profile-test_host-20200101-000001.pb.gz.123-4.tmp";
	static const char *const other = ".profile-other-20200101-000000.pb.gz.123-4.tmp";
	struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct ep_value value = {.key = "directory", .type = EP_VALUE_STRING, .string = fx->dir};
	struct ep_exporter *exporter = NULL;
	ep_autoclose int dir_fd = open(fx->dir, O_RDONLY | O_DIRECTORY);

	touch(fx->dir, gone);
	touch(fx->dir, fresh);
	touch(fx->dir, other);
	assert_int_equal(utimensat(dir_fd, gone, old, 0), 0);
	assert_int_equal(utimensat(dir_fd, other, old, 0), 0);
	assert_int_equal(open_with(fx, &value, 1, &exporter), 0);
	assert_int_equal(export_batches(exporter, 1).exported, 1);
	assert_int_not_equal(faccessat(dir_fd, gone, F_OK, 0), 0);
	assert_int_equal(faccessat(dir_fd, fresh, F_OK, 0), 0);
	assert_int_equal(faccessat(dir_fd, other, F_OK, 0), 0);
}

FIXTURE_TEST(bad_targets_are_refused_at_open)
{
	struct ep_value path = {.key = "path", .type = EP_VALUE_STRING, .string = "/no/such/x"};
	struct ep_value both[] = {
		{.key = "path", .type = EP_VALUE_STRING, .string = "/tmp/x"},
		{.key = "directory", .type = EP_VALUE_STRING, .string = "/tmp"},
	};
	struct ep_exporter *exporter = NULL;

	assert_int_equal(open_with(fx, &path, 1, &exporter), -ENOENT);
	assert_int_equal(open_with(fx, both, 2, &exporter), -EINVAL);
	assert_int_equal(open_with(fx, NULL, 0, &exporter), -EINVAL);
}

FIXTURE_TEST(full_disk_fails_and_leaves_nothing)
{
	struct ep_value value = {.key = "path", .type = EP_VALUE_STRING};
	struct ep_exporter *exporter = NULL;
	char command[160], path[128], full[96];
	struct ep_exporter_stats stats;

	snprintf(full, sizeof(full), "%s/full", fx->dir);
	snprintf(path, sizeof(path), "%s/out.pb.gz", full);
	snprintf(command, sizeof(command), "mount -t tmpfs -o size=4k none '%s' 2>/dev/null", full);
	assert_int_equal(mkdir(full, 0755), 0);
	if (system(command) != 0)
		skip();
	snprintf(command, sizeof(command), "yes | head -c 4096 >'%s/fill'", full);
	value.string = path;
	assert_int_equal(open_with(fx, &value, 1, &exporter), 0);
	assert_int_equal(system(command), 0);
	stats = export_batches(exporter, 1);
	assert_int_equal(count_files(full, ""), 1);
	assert_int_equal(open_with(fx, &value, 1, &exporter), -ENOSPC); /* it says so before there is a batch */
	snprintf(command, sizeof(command), "umount '%s'", full);
	assert_int_equal(system(command), 0);
	assert_int_equal(stats.failed, 1);
	assert_int_equal(stats.last_result, -ENOSPC);
}

/* --- what the reader of the format says --- */

/* Output of a command about a file, in a buffer that the next call overwrites. */
static const char *output_of(const char *program, const char *path)
{
	static char text[65536];
	char command[512];
	size_t len;
	FILE *pipe;

	snprintf(command, sizeof(command), "go %s %s 2>&1", program, path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	len = fread(text, 1, sizeof(text) - 1, pipe);
	text[len] = '\0';
	assert_int_equal(pclose(pipe), 0);
	return text;
}

static void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void expect_all(const char *text, const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect(text, parts[i]);
}

FIXTURE_TEST(go_reads_functions_and_values)
{
	static const char *const top[] = {
		"File: server",
		"Build ID: 0123abcd",
		"Type: cpu",
		"Duration: 1s, Total samples = 1000ms ",
		"980ms 98.00%",
		"schedule",
		"ns::inner(int) (inline)",
		"ns::outer()\n",
		"main",
		"libstripped.so+0x1234",
		"[truncated: process not analysed yet]",
	};

	write_to(fx, fx->path);
	expect_all(output_of(PPROF "-top", fx->path), top, EP_LEN(top));
	expect(output_of(PPROF "-sample_index=samples -top", fx->path),
	       "Total samples = 100");
}

FIXTURE_TEST(go_reads_labels_and_comments)
{
	static const char *const raw[] = {
		"PeriodType: cpu nanoseconds",
		"Period: 10000000",
		"Time: 2025-12-31",
		"samples/count cpu/nanoseconds[dflt]",
		"comm:[server]",
		"thread_name:[worker-1]",
		"container_id:[c0ffee]",
		"comm:[prog]", /* of the process whose name is not known: its thread's */
		"/opt/example/server 0123abcd [FN][FL][LN][IN]",
		"[kernel.kallsyms]  [FN]",
		"/usr/lib/libstripped.so  \n",
		"0x2fff", /* a return address, looked up within the call */
	};
	static const char *const comments[] = {
		"ebpf-profiler test",
		"host: test host",
		"stacks: 98.0 % complete, 2.0 % process not analysed yet",
		"names: 98.0 % fully named, 2.0 % frames missing",
		"symbols: 2.0 % with native code that has none",
		"samples: 100 at 100 Hz, 0 lost (0.00 % of the ticks due)",
	};

	unsigned int minor = 0;

	assert_int_equal(sscanf(output_of("version", ""), "go version go1.%u", &minor), 1);
	write_to(fx, fx->path);
	expect_all(output_of(PPROF "-raw", fx->path), raw, EP_LEN(raw));
	expect(output_of(PPROF "-raw", fx->path),
	       minor >= 22 /* prints columns */ ? "ns::inner(int) in.cc:3:5 s=1(_ZN2ns5innerEi)\n"
						  "             ns::outer() out.cc:9:0 s=0\n"
						: "ns::inner(int) in.cc:3 s=1(_ZN2ns5innerEi)\n"
						  "             ns::outer() out.cc:9 s=0\n");
	expect_all(output_of(PPROF "-comments", fx->path), comments,
		   EP_LEN(comments));
}

static void expect_views(struct fixture *fx, const char *const (*views)[2], size_t n)
{
	write_to(fx, fx->path);
	for (size_t i = 0; i < n; i++)
		expect(output_of(views[i][0], fx->path), views[i][1]);
}

FIXTURE_TEST(go_filters_by_label)
{
	static const char *const views[][2] = {
		{PPROF "-tagfocus=comm=server -top", "accounting for 980ms, 98.00%"},
		{PPROF "-tagfocus=pid=7 -top", "accounting for 980ms, 98.00%"},
		{PPROF "-tagfocus=cpu=0 -top", "accounting for 510ms, 51.00%"},
		{PPROF "-tagfocus=thread_name=worker -traces", "schedule"},
	};

	expect_views(fx, views, EP_LEN(views));
}

/* 49 samples of either CPU, and two more on CPU 0. */
FIXTURE_TEST(go_reads_weights)
{
	static const char *const views[][2] = {
		{PPROF "-top", "Total samples = 998ms"},
		{PPROF "-sample_index=samples -top", "Total samples = 100"},
		{PPROF "-tagfocus=cpu=0 -top", "accounting for 459ms"},
		{PPROF "-tagfocus=cpu=1 -top", "accounting for 539ms"},
		{PPROF "-comments", "stacks: 98.2 % complete, 1.8 % process not analysed yet"},
	};

	has_periods = true;
	expect_views(fx, views, EP_LEN(views));
	has_periods = false;
}

int main(int argc, char **argv)
{
	uv_loop_t loop;
	int r;

	if (argc < 2) {
		fprintf(stderr, "usage: test_pprof DIR [go]\n");
		return 2;
	}
	module_dir = argv[1];
	if (argc > 2 && system("go version >/dev/null 2>&1") != 0) {
		fprintf(stderr, "skipped: no go\n");
		return 77;
	}
	uv_loop_init(&loop);
	ep_host_init(&loop, "test");
	if (argc > 2)
		cmocka_set_test_filter("go_*");
	else
		cmocka_set_skip_filter("go_*");
	r = ep_test_run(NULL, NULL);
	uv_loop_close(&loop);
	return r;
}
