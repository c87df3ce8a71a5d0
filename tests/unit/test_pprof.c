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
#include "core/trace/batch.h"
#include "tests/unit/trace_events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <uv.h>
#include <zlib.h>

#include <cmocka.h>

static const char *module_dir;

/* --- a batch: two processes, kernel and inlined and unnamed frames, one truncated stack --- */

static int find_executable(void *arg, uint32_t id, struct ep_batch_executable *ret)
{
	(void)arg;
	*ret = (struct ep_batch_executable){
		.path = id == 5 ? "/opt/example/server" : "/usr/lib/libstripped.so",
		.build_id = id == 5 ? "0123abcd" : NULL,
		.n_segments = 1,
		.segments = {{0x1000, 0x9000, 0x1000}},
	};
	return 0;
}

static int find_process(void *arg, struct ep_program program, struct ep_batch_process *ret)
{
	(void)arg;
	if (program.pid == 8)
		return -ESRCH;
	ret->comm = "server";
	ret->exe_path = "/opt/example/server";
	ret->container_id = "c0ffee";
	return 0;
}

static bool has_periods; /* CPU 0 has one of 9 ms, CPU 1 of 11 ms */

static uint64_t period_of(void *arg, uint32_t cpu)
{
	(void)arg;
	return !has_periods ? 0 : cpu ? 11000000 : 9000000;
}

static const struct ep_batch_source source = {
	.executable = find_executable,
	.process = find_process,
	.host_name = "test host",
	.period_hz = 100,
	.cpu_period = period_of,
};

static void name_frames(struct ep_frames *frames)
{
	static const struct ep_frame_line lines[] = {
		{.function = "ns::inner(int)",
		 .system_name = "_ZN2ns5innerEi",
		 .file = "in.cc",
		 .line = 3,
		 .column = 5,
		 .start_line = 1},
		{.function = "ns::outer()", .file = "out.cc", .line = 9},
	};
	static const struct ep_frame_line kernel = {.function = "schedule"};
	static const struct ep_frame_line entry = {
		.function = "main", .file = "out.cc", .line = 20};
	uint32_t cursor = 0, id;

	while ((id = ep_frames_next_pending(frames, &cursor)) != 0) {
		struct ep_frame frame;

		ep_frames_get(frames, id, &frame);
		if (frame.kind == EP_FRAME_KERNEL)
			ep_frames_resolve(frames, id, &kernel, 1, NULL);
		else if (frame.aux == 5 && frame.words[0] == 0x2000)
			ep_frames_resolve(frames, id, lines, 2, NULL);
		else if (frame.aux == 5)
			ep_frames_resolve(frames, id, &entry, 1, NULL);
		else
			ep_frames_resolve(frames, id, NULL, 0, NULL);
	}
}

static void add_server(struct ep_store *store)
{
	static struct event event;

	event_init(&event, EP_EVENT_TRACE, 1, 7);
	memcpy(event.sample.comm, "worker-1", 9);
	event_kernel(&event, 0xffffffff81000010);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x2000);
	event_user(&event, EP_FRAME_NATIVE, EP_FRAME_RETURN_ADDRESS, 5, 0x3000);
	for (int i = 0; i < 98; i++) {
		event.sample.event.cpu = i % 2;
		assert_int_equal(event_add(store, &event), 0);
	}
}

static void add_other(struct ep_store *store)
{
	static struct event event;

	event_init(&event, EP_EVENT_TRACE, 2, 8);
	event_user(&event, EP_FRAME_NATIVE, 0, 6, 0x1234);
	event_user(&event, EP_FRAME_ERROR, 0, EP_ERROR_NOT_ANALYSED, 0);
	assert_int_equal(event_add(store, &event), 0);
	assert_int_equal(event_add(store, &event), 0);
}

static struct ep_batch *new_batch(void)
{
	struct ep_store_limits limits = EP_STORE_DEFAULT_LIMITS;
	struct ep_interval *interval;
	struct ep_batch *batch;
	struct ep_store *store;

	assert_int_equal(ep_store_new(&limits, 1767225599000000000ull, &store), 0);
	add_server(store);
	add_other(store);
	name_frames(ep_store_frames(store));
	assert_int_equal(ep_store_seal(store, 1767225600000000000ull, &interval), 0);
	assert_int_equal(ep_batch_build(interval, &source, &batch), 0);
	ep_interval_unref(interval);
	ep_store_free(store);
	return batch;
}

/* --- driving the exporter --- */

struct fixture {
	char dir[64];
	struct ep_module *module;
};

static int set_up(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));
	char reason[EP_REASON_BYTES] = "";

	if (!fx)
		return -1;
	snprintf(fx->dir, sizeof(fx->dir), "/tmp/ep-pprof-XXXXXX");
	if (!mkdtemp(fx->dir) || ep_module_load(module_dir, "pprof", &fx->module, reason) < 0) {
		fprintf(stderr, "%s\n", reason);
		return -1;
	}
	*state = fx;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fx = *state;
	char command[128];

	ep_module_unload(fx->module);
	snprintf(command, sizeof(command), "rm -rf '%s'", fx->dir);
	free(fx);
	return system(command);
}

static int open_with(struct fixture *fx, const struct ep_value *values, size_t n,
		     struct ep_exporter **ret_exporter)
{
	struct ep_option_error error = {0};
	struct ep_options *options = NULL;

	if (ep_options_new("pprof", ep_module_exporter(fx->module)->options, NULL, values, n,
			   &error, &options) < 0)
		fail_msg("%s", error.text);
	return ep_exporter_open(fx->module, options, 4, ret_exporter);
}

static void nothing(void *arg)
{
	(void)arg;
}

/* Exports n batches and closes. */
static struct ep_exporter_stats export_batches(struct ep_exporter *exporter, int n)
{
	struct ep_exporter_stats stats;

	for (int i = 0; i < n; i++) {
		struct ep_batch *batch = new_batch();

		ep_exporter_submit(exporter, batch);
		ep_batch_unref(batch);
	}
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

static void file_is_gzip_and_nothing_is_left_behind(void **state)
{
	struct fixture *fx = *state;
	unsigned char magic[2] = {0};
	char path[128], bytes[16];
	FILE *file;
	gzFile gz;

	snprintf(path, sizeof(path), "%s/out.pb.gz", fx->dir);
	write_to(fx, path);
	file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(magic, 1, 2, file), 2);
	fclose(file);
	assert_int_equal(magic[0], 0x1f);
	assert_int_equal(magic[1], 0x8b);
	gz = gzopen(path, "rb");
	assert_int_equal(gzread(gz, bytes, sizeof(bytes)), sizeof(bytes));
	gzclose(gz);
	assert_int_equal(count_files(fx->dir, ""), 1);
}

static void existing_file_is_not_replaced_unless_forced(void **state)
{
	struct fixture *fx = *state;
	struct ep_value values[] = {
		{.key = "path", .type = EP_VALUE_STRING},
		{.key = "force", .type = EP_VALUE_BOOL, .boolean = true},
	};
	struct ep_exporter *exporter = NULL;
	char path[128];
	struct stat before, after;

	snprintf(path, sizeof(path), "%s/out.pb.gz", fx->dir);
	values[0].string = path;
	write_to(fx, path);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(open_with(fx, values, 1, &exporter), -EEXIST);
	assert_int_equal(open_with(fx, values, 2, &exporter), 0);
	assert_int_equal(export_batches(exporter, 1).exported, 1);
	assert_int_equal(stat(path, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
}

/* It appears between open and the end of the recording. */
static void file_that_appears_later_is_not_replaced(void **state)
{
	struct fixture *fx = *state;
	struct ep_value value = {.key = "path", .type = EP_VALUE_STRING};
	struct ep_exporter *exporter = NULL;
	struct ep_exporter_stats stats;
	struct stat st;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/out.pb.gz", fx->dir);
	value.string = path;
	assert_int_equal(open_with(fx, &value, 1, &exporter), 0);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("precious", file);
	fclose(file);
	stats = export_batches(exporter, 1);
	assert_int_equal(stats.failed, 1);
	assert_int_equal(stats.last_result, -EEXIST);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(count_files(fx->dir, ""), 1);
}

static void further_batches_of_a_path_get_numbers(void **state)
{
	struct fixture *fx = *state;
	struct ep_value value = {.key = "path", .type = EP_VALUE_STRING};
	struct ep_exporter *exporter = NULL;
	char path[128];

	snprintf(path, sizeof(path), "%s/out.pb.gz", fx->dir);
	value.string = path;
	assert_int_equal(open_with(fx, &value, 1, &exporter), 0);
	assert_int_equal(export_batches(exporter, 3).exported, 3);
	assert_int_equal(count_files(fx->dir, "out.pb.gz"), 1);
	assert_int_equal(count_files(fx->dir, "out-2.pb.gz"), 1);
	assert_int_equal(count_files(fx->dir, "out-3.pb.gz"), 1);
}

static void touch(const char *dir, const char *name)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
}

static void directory_keeps_the_newest_of_our_own(void **state)
{
	static const char *const others[] = {
		"profile-other-20200101-000000.pb.gz",
		"profile-test_host-20200101-000000.pb.gz.bak",
		"profile-test_host-2020-000000.pb.gz",
		"profile-test_host-20200101-000000-.pb.gz",
	};
	struct fixture *fx = *state;
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

static void leftovers_of_a_killed_process_go(void **state)
{
	static const char *const gone = ".profile-test_host-20200101-000000.pb.gz.123-4.tmp";
	static const char *const fresh = ".profile-test_host-20200101-000001.pb.gz.123-4.tmp";
	static const char *const other = ".profile-other-20200101-000000.pb.gz.123-4.tmp";
	struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct fixture *fx = *state;
	struct ep_value value = {.key = "directory", .type = EP_VALUE_STRING, .string = fx->dir};
	struct ep_exporter *exporter = NULL;
	int dir_fd = open(fx->dir, O_RDONLY | O_DIRECTORY);

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
	close(dir_fd);
}

static void bad_targets_are_refused_at_open(void **state)
{
	struct fixture *fx = *state;
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

static void full_disk_fails_and_leaves_nothing(void **state)
{
	struct fixture *fx = *state;
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
	assert_int_equal(system(command), 0);
	value.string = path;
	assert_int_equal(open_with(fx, &value, 1, &exporter), 0);
	stats = export_batches(exporter, 1);
	assert_int_equal(count_files(full, ""), 1);
	snprintf(command, sizeof(command), "umount '%s'", full);
	assert_int_equal(system(command), 0);
	assert_int_equal(stats.failed, 1);
	assert_int_equal(stats.last_result, -ENOSPC);
}

/* --- what the reader of the format says --- */

/* Output of a command, in a buffer that the next call overwrites. */
static const char *output_of(const char *format, const char *path)
{
	static char text[65536];
	char command[512];
	size_t len;
	FILE *pipe;

	snprintf(command, sizeof(command), format, path);
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

static void go_reads_functions_and_values(void **state)
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
	struct fixture *fx = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/out.pb.gz", fx->dir);
	write_to(fx, path);
	expect_all(output_of("go tool pprof -symbolize=none -top %s 2>&1", path), top, EP_LEN(top));
	expect(output_of("go tool pprof -symbolize=none -sample_index=samples -top %s 2>&1", path),
	       "Total samples = 100");
}

static void go_reads_labels_and_comments(void **state)
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
		"ns::inner(int) in.cc:3:5 s=1(_ZN2ns5innerEi)\n             ns::outer() out.cc:9:0 s=0\n",
		"0x2fff", /* a return address, looked up within the call */
	};
	static const char *const comments[] = {
		"ebpf-profiler test",
		"host: test host",
		"stacks: 98.0 % complete, 2.0 % process not analysed yet",
		"samples: 100 at 100 Hz, 0 lost",
	};
	struct fixture *fx = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/out.pb.gz", fx->dir);
	write_to(fx, path);
	expect_all(output_of("go tool pprof -symbolize=none -raw %s 2>&1", path), raw, EP_LEN(raw));
	expect_all(output_of("go tool pprof -symbolize=none -comments %s 2>&1", path), comments,
		   EP_LEN(comments));
}

static void go_filters_by_label(void **state)
{
	static const struct {
		const char *focus, *part;
	} rows[] = {
		{"go tool pprof -symbolize=none -tagfocus=comm=server -top %s 2>&1",
		 "accounting for 980ms, 98.00%"},
		{"go tool pprof -symbolize=none -tagfocus=pid=7 -top %s 2>&1",
		 "accounting for 980ms, 98.00%"},
		{"go tool pprof -symbolize=none -tagfocus=cpu=0 -top %s 2>&1",
		 "accounting for 510ms, 51.00%"},
		{"go tool pprof -symbolize=none -tagfocus=thread_name=worker -traces %s 2>&1",
		 "schedule"},
	};
	struct fixture *fx = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/out.pb.gz", fx->dir);
	write_to(fx, path);
	for (size_t i = 0; i < EP_LEN(rows); i++)
		expect(output_of(rows[i].focus, path), rows[i].part);
}

/* 49 samples of either CPU, and two more on CPU 0. */
static void go_reads_weights(void **state)
{
	static const struct {
		const char *command, *part;
	} rows[] = {
		{"go tool pprof -symbolize=none -top %s 2>&1", "Total samples = 998ms"},
		{"go tool pprof -symbolize=none -sample_index=samples -top %s 2>&1",
		 "Total samples = 100"},
		{"go tool pprof -symbolize=none -tagfocus=cpu=0 -top %s 2>&1",
		 "accounting for 459ms"},
		{"go tool pprof -symbolize=none -tagfocus=cpu=1 -top %s 2>&1",
		 "accounting for 539ms"},
		{"go tool pprof -symbolize=none -comments %s 2>&1",
		 "stacks: 98.2 % complete, 1.8 % process not analysed yet"},
	};
	struct fixture *fx = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/out.pb.gz", fx->dir);
	has_periods = true;
	write_to(fx, path);
	has_periods = false;
	for (size_t i = 0; i < EP_LEN(rows); i++)
		expect(output_of(rows[i].command, path), rows[i].part);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static const struct CMUnitTest file_tests[] = {
	TEST(file_is_gzip_and_nothing_is_left_behind),
	TEST(existing_file_is_not_replaced_unless_forced),
	TEST(file_that_appears_later_is_not_replaced),
	TEST(further_batches_of_a_path_get_numbers),
	TEST(directory_keeps_the_newest_of_our_own),
	TEST(leftovers_of_a_killed_process_go),
	TEST(bad_targets_are_refused_at_open),
	TEST(full_disk_fails_and_leaves_nothing),
};
static const struct CMUnitTest go_tests[] = {
	TEST(go_reads_functions_and_values),
	TEST(go_reads_labels_and_comments),
	TEST(go_reads_weights),
	TEST(go_filters_by_label),
};

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
	r = argc > 2 ? cmocka_run_group_tests_name("pprof_go", go_tests, NULL, NULL)
		     : cmocka_run_group_tests_name("pprof", file_tests, NULL, NULL);
	uv_loop_close(&loop);
	return r;
}
