/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of files as they are kept, over the files of test_elf_samples.sh (first argument: their directory). */
#include "core/base/clock.h"
#include "core/symbol/native.h"
#include "core/trace/lines.h"
#include "tests/unit/elf_samples.h"

#include <pthread.h>

EP_TEST_ARGUMENTS("SAMPLES_DIRECTORY")

struct opener {
	const char *path;
	int error; /* or 0 */
	int opened;
};

static int opener_open(void *arg)
{
	struct opener *opener = arg;
	int fd;

	__atomic_add_fetch(&opener->opened, 1, __ATOMIC_RELAXED);
	if (opener->error)
		return opener->error;
	fd = open(opener->path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

EP_TEST_RELEASES(ep_native_symbols_free)

static struct ep_native_symbols *new_symbols(size_t max_bytes)
{
	struct ep_native_symbols *symbols = NULL;

	assert_int_equal(ep_native_symbols_new(max_bytes, &symbols), 0);
	ep_test_owns(symbols, ep_native_symbols_free_made);
	return symbols;
}

/* A path that outlives the next sample_path. */
static const char *own_path(const char *name)
{
	char *path = strdup(sample_path(name));

	assert_non_null(path);
	ep_test_owns(path, free);
	return path;
}

static struct ep_native_file native_file(uint64_t key, struct opener *opener)
{
	return (struct ep_native_file){
		.key = key, .open = opener_open, .arg = opener, .root = "", .path = opener->path};
}

/* `lines` are the caller's to finish. */
static int resolve(struct ep_native_symbols *symbols, const struct ep_native_file *file,
		   const uint64_t *vas, size_t n, struct ep_lines *lines)
{
	int r = ep_lines_init(lines, n);

	return r < 0 ? r : ep_native_symbols_resolve(symbols, file, vas, n, lines);
}

/* The one line of frame i, whose strings are of `lines`; zero when it has none. */
static struct ep_frame_line line_of(const struct ep_lines *lines, size_t i)
{
	struct ep_frame_line line[EP_FRAME_MAX_LINES];

	if (i >= ep_lines_frames(lines) || ep_lines_get(lines, i, line) != 1)
		return (struct ep_frame_line){0};
	return line[0];
}

/* Asks for the function at va, which is to be of this name. */
static bool is_named(struct ep_native_symbols *symbols, const struct ep_native_file *file,
		     uint64_t va, const char *name)
{
	ep_cleanup(ep_lines_fini) struct ep_lines lines;
	bool is = resolve(symbols, file, &va, 1, &lines) == 0 && line_of(&lines, 0).function &&
		  strcmp(line_of(&lines, 0).function, name) == 0;

	return is;
}

/* Asks for nothing: the table is built, or used. */
static void touch(struct ep_native_symbols *symbols, const struct ep_native_file *file)
{
	struct ep_lines lines;

	assert_int_equal(resolve(symbols, file, NULL, 0, &lines), 0);
}

EP_TEST(cache_builds_once)
{
	struct opener opener = {.path = own_path("full")};
	struct ep_native_file file = native_file(1, &opener);
	uint64_t vas[] = {nm_address("full.nm", "sample_known") + 1, 1,
			  nm_address("full.nm", "sample_public")};
	struct ep_native_symbols *symbols = new_symbols(1 << 20);
	struct ep_lines lines;

	for (int round = 0; round < 3; round++) {
		assert_int_equal(resolve(symbols, &file, vas, 3, &lines), 0);
		assert_int_equal(ep_lines_frames(&lines), 3);
		assert_string_equal(line_of(&lines, 0).function, "sample_known");
		assert_null(line_of(&lines, 0).system_name);
		assert_int_equal(line_of(&lines, 0).start_va, vas[0] - 1);
		assert_null(line_of(&lines, 1).function);
		assert_string_equal(line_of(&lines, 2).function, "sample_public");
		ep_lines_fini(&lines);
	}
	assert_int_equal(opener.opened, 1);
	ep_native_symbols_forget(symbols, 1);
	ep_native_symbols_forget(symbols, 1);
	touch(symbols, &file);
	assert_int_equal(opener.opened, 2);
}

/* One question about more addresses than a list has lines for, and a second about the others. */
EP_TEST(what_does_not_fit_is_left_for_another_list)
{
	struct opener opener = {.path = own_path("full")};
	struct ep_native_file file = native_file(1, &opener);
	uint64_t known = nm_address("full.nm", "sample_known");
	size_t n = 300000, done;
	ep_autofree uint64_t *vas = calloc(n, sizeof(*vas));
	struct ep_native_symbols *symbols = new_symbols(1 << 20);
	struct ep_lines lines;

	assert_non_null(vas);
	for (size_t i = 0; i < n; i++)
		vas[i] = known;
	assert_int_equal(resolve(symbols, &file, vas, n, &lines), 0);
	done = ep_lines_frames(&lines);
	assert_in_range(done, 1, n - 1);
	assert_string_equal(line_of(&lines, done - 1).function, "sample_known");
	ep_lines_fini(&lines);
	assert_int_equal(resolve(symbols, &file, vas + done, n - done, &lines), 0);
	assert_int_equal(ep_lines_frames(&lines), n - done);
	assert_string_equal(line_of(&lines, n - done - 1).function, "sample_known");
	ep_lines_fini(&lines);
}

EP_TEST(cache_remembers_what_has_no_symbols)
{
	struct opener opener = {.path = own_path("full.nm")}; /* not even ELF */
	struct ep_native_file file = native_file(7, &opener);
	struct ep_native_symbols *symbols = new_symbols(1 << 20);
	struct ep_lines lines;
	uint64_t va = 0x1000;

	for (int round = 0; round < 3; round++) {
		assert_int_equal(resolve(symbols, &file, &va, 1, &lines), 0);
		assert_int_equal(ep_lines_frames(&lines), 1);
		assert_null(line_of(&lines, 0).function);
		ep_lines_fini(&lines);
	}
	assert_int_equal(opener.opened, 1);
}

EP_TEST(cache_tries_again_after_a_failed_open)
{
	struct opener opener = {.path = own_path("full"), .error = -ESRCH};
	struct ep_native_file file = native_file(7, &opener);
	struct ep_native_symbols *symbols = new_symbols(1 << 20);
	struct ep_lines lines;
	uint64_t va = nm_address("full.nm", "main");

	assert_int_equal(resolve(symbols, &file, &va, 1, &lines), -ESRCH);
	assert_int_equal(ep_lines_frames(&lines), 0);
	ep_lines_fini(&lines);
	opener.error = 0;
	assert_true(is_named(symbols, &file, va, "main"));
}

EP_TEST(cache_drops_what_was_not_asked_for_a_while)
{
	struct opener openers[2] = {{.path = own_path("full")}, {.path = own_path("full")}};
	struct ep_native_file old = native_file(1, &openers[0]), young = native_file(2, &openers[1]);
	struct ep_native_symbols *symbols = new_symbols(1 << 20);
	uint64_t between_ns;
	size_t bytes;

	touch(symbols, &old);
	bytes = ep_native_symbols_bytes(symbols);
	touch(symbols, &young);
	touch(symbols, &old);
	between_ns = ep_clock_mono_ns();
	while (ep_clock_mono_ns() == between_ns)
		;
	touch(symbols, &young);
	ep_native_symbols_drop_unused(symbols, between_ns + 1);
	assert_int_equal(ep_native_symbols_bytes(symbols), bytes);
	touch(symbols, &young);
	touch(symbols, &old);
	assert_int_equal(openers[0].opened, 2);
	assert_int_equal(openers[1].opened, 1);
	ep_native_symbols_drop_unused(symbols, UINT64_MAX);
	touch(symbols, &young);
	assert_int_equal(openers[1].opened, 2);
}

EP_TEST(cache_drops_the_least_recently_used)
{
	struct opener openers[4];
	/* a table of `full` is some 600 bytes: two fit, three do not */
	struct ep_native_symbols *symbols = new_symbols(1800);
	uint64_t va = nm_address("full.nm", "main");
	const char *path = own_path("full");
	size_t empty = ep_native_symbols_bytes(symbols);

	for (uint64_t key = 0; key < 4; key++) {
		struct ep_native_file file = native_file(key, &openers[key]);

		openers[key] = (struct opener){.path = path};
		file.path = path;
		assert_true(is_named(symbols, &file, va, "main"));
		/* key 0 stays the most recently used but one */
		file = native_file(0, &openers[0]);
		touch(symbols, &file);
	}
	assert_int_equal(openers[0].opened, 1);
	for (uint64_t key = 1; key < 3; key++) {
		struct ep_native_file file = native_file(key, &openers[key]);

		touch(symbols, &file);
		assert_int_equal(openers[key].opened, 2);
	}
	assert_true(ep_native_symbols_bytes(symbols) < empty + 1800 + 1024);
}

struct crowd {
	struct ep_native_symbols *symbols;
	struct opener *openers;
	uint64_t va;
	int wrong;
};

static void *crowd_run(void *arg)
{
	struct crowd *crowd = arg;

	for (uint64_t i = 0; i < 400; i++) {
		struct ep_native_file file = native_file(i % 5, &crowd->openers[i % 5]);

		if (!is_named(crowd->symbols, &file, crowd->va, "main"))
			__atomic_add_fetch(&crowd->wrong, 1, __ATOMIC_RELAXED);
		if (i % 17 == 0)
			ep_native_symbols_forget(crowd->symbols, i % 5);
	}
	return NULL;
}

EP_TEST(cache_serves_many_threads)
{
	const char *path = own_path("full");
	struct opener openers[5];
	struct crowd crowd = {.openers = openers, .va = nm_address("full.nm", "main")};
	pthread_t threads[4];

	for (size_t i = 0; i < EP_LEN(openers); i++)
		openers[i] = (struct opener){.path = path};
	crowd.symbols = new_symbols(2500);
	for (size_t i = 0; i < EP_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, &crowd), 0);
	for (size_t i = 0; i < EP_LEN(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(crowd.wrong, 0);
}

EP_TEST(cache_finds_the_debug_file)
{
	const char *root = own_path("root"), *path = own_path("root/bin/stripped");
	struct opener opener = {.path = path};
	struct ep_native_file file = native_file(1, &opener);
	struct ep_native_symbols *symbols = new_symbols(1 << 20);
	uint64_t va = nm_address("full.nm", "sample_compare");

	file.root = root;
	file.path = "/bin/stripped";
	assert_true(is_named(symbols, &file, va, "sample_compare"));
}
