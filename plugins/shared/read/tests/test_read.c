/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/shared/check.h"
#include "plugins/shared/read/file.h"
#include "plugins/shared/read/memory.h"
#include "plugins/shared/release.h"
#include "plugins/shared/search.h"

#include "core/base/util.h"
#include "tests/kit/test.h"

#define START 0x10000u
#define BYTES 0x2000u /* two pages, and nothing after them */

struct world {
	uint8_t bytes[BYTES];
	uint64_t end_read; /* the end of the last read that was possible */
	uint32_t n_reads;
};

static int read_world(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct world *world = arg;

	world->n_reads++;
	if (!ep_in_bounds(addr - START, bytes, BYTES))
		return -EFAULT;
	memcpy(buf, world->bytes + (addr - START), bytes);
	world->end_read = addr + bytes;
	return 0;
}

EP_TEST(head_ends_where_memory_does)
{
	struct world world = {.bytes = {[BYTES - 2] = 7, [BYTES - 1] = 9}};
	const struct memory memory = {read_world, &world};
	uint8_t head[16];
	size_t got = 0;

	assert_int_equal(memory_read_head(&memory, START + BYTES - 16, head, 16, &got), 0);
	assert_int_equal(got, 16);
	assert_int_equal(world.n_reads, 1);
	memset(head, 0xff, sizeof(head));
	assert_int_equal(memory_read_head(&memory, START + BYTES - 2, head, 16, &got), 0);
	assert_int_equal(got, 2);
	assert_int_equal(head[0], 7);
	assert_int_equal(head[1], 9);
	for (size_t i = 2; i < sizeof(head); i++)
		assert_int_equal(head[i], 0);
	assert_int_equal(memory_read_head(&memory, START + BYTES, head, 16, &got), -EFAULT);
}

EP_TEST(string_is_read_up_to_its_page)
{
	struct world world = {0};
	const struct memory memory = {read_world, &world};
	char buf[64];

	memcpy(world.bytes + 0x1000 - 3, "abcdef", 7);
	assert_int_equal(
		memory_read_string(&memory, START + 0x1000 - 3, buf, sizeof(buf), MEMORY_PAGE), 0);
	assert_string_equal(buf, "abcdef");
	memcpy(world.bytes + BYTES - 4, "end", 4);
	assert_int_equal(
		memory_read_string(&memory, START + BYTES - 4, buf, sizeof(buf), MEMORY_PAGE), 0);
	assert_string_equal(buf, "end");
	assert_int_equal(world.end_read, START + BYTES);
	world.bytes[64] = 0;
	assert_int_equal(memory_read_string(&memory, START + 60, buf, sizeof(buf), 64), 0);
	assert_int_equal(world.end_read, START + 64);
}

EP_TEST(string_is_cut)
{
	struct world world = {0};
	const struct memory memory = {read_world, &world};
	char buf[5];

	memset(world.bytes, 'x', sizeof(world.bytes));
	assert_int_equal(memory_read_string(&memory, START, buf, sizeof(buf), MEMORY_PAGE), 0);
	assert_string_equal(buf, "xxxx");
	assert_int_equal(world.end_read, START + 4);
	assert_int_equal(
		memory_read_string(&memory, START + BYTES - 3, buf, sizeof(buf), MEMORY_PAGE),
		-EFAULT);
}

EP_TEST(what_is_not_there_is_a_frame_that_is_gone)
{
	assert_int_equal(memory_frame_gone(-EFAULT), EP_FRAME_GONE);
	assert_int_equal(memory_frame_gone(-EBADMSG), EP_FRAME_GONE);
	assert_int_equal(memory_frame_gone(-ESRCH), -ESRCH);
	assert_int_equal(memory_frame_gone(0), 0);
}

EP_TEST(search_finds_the_first_that_is_not_before)
{
	static const uint32_t sorted[] = {2, 4, 4, 4, 9};

	for (size_t n = 0; n <= EP_LEN(sorted); n++) {
		for (uint32_t wanted = 0; wanted < 12; wanted++) {
			size_t first = 0;

			while (first < n && sorted[first] < wanted)
				first++;
			assert_int_equal(search_sorted(n, i, sorted[i] < wanted), first);
		}
	}
}

#define LONG_BYTES (2 * (size_t)EP_MAX_FILE_READ + 3)

static int read_file(const struct ep_file *file, uint64_t va, void *buf, size_t bytes)
{
	if (bytes > EP_MAX_FILE_READ || !ep_in_bounds(va - START, bytes, LONG_BYTES))
		return -EFAULT;
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)buf)[i] = (uint8_t)((va + i) % 251);
	return 0;
}

EP_TEST(long_reads_are_made_of_pieces)
{
	const struct ep_unwinder_host host = {.size = sizeof(host), .file_read = read_file};
	ep_autofree uint8_t *bytes = malloc(LONG_BYTES);

	assert_non_null(bytes);
	assert_int_equal(file_read_long(&host, NULL, START, bytes, LONG_BYTES), 0);
	for (size_t i = 0; i < LONG_BYTES; i++) {
		if (bytes[i] != (START + i) % 251)
			fail_msg("byte %zu", i);
	}
	assert_int_equal(file_read_long(&host, NULL, START + 1, bytes, LONG_BYTES), -EFAULT);
	assert_int_equal(file_read_long(&host, NULL, START, bytes, 0), 0);
}

static int find_section(const struct ep_file *file, const char *name, struct ep_symbol *ret)
{
	*ret = (struct ep_symbol){.va = START, .bytes = LONG_BYTES};
	return strcmp(name, ".text") == 0 ? 0 : -ENODATA;
}

struct scan {
	uint64_t wanted; /* of two bytes: has it been in one piece? */
	uint32_t n_pieces, n_found;
};

static int visit(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct scan *scan = arg;

	scan->n_pieces++;
	scan->n_found += ep_in_bounds(scan->wanted - va, 2, len);
	assert_int_equal(bytes[len - 1], (va + len - 1) % 251);
	return 0;
}

EP_TEST(a_scan_sees_what_lies_across_pieces)
{
	const struct ep_unwinder_host host = {
		.size = sizeof(host), .file_read = read_file, .file_section = find_section};
	struct scan scan = {.wanted = START + EP_MAX_FILE_READ - 1};

	assert_int_equal(file_scan(&host, NULL, ".text", 1, visit, &scan), 0);
	assert_int_equal(scan.n_found, 1);
	assert_int_equal(scan.n_pieces, 3);
	assert_int_equal(file_scan(&host, NULL, ".other", 1, visit, &scan), 0);
	assert_int_equal(scan.n_pieces, 3);
}

/* --- probes ----------------------------------------------------------------------------------- */

struct executable {
	const struct ep_unwinder_host *host;
	uint64_t words[3];
};

static int outcome; /* of look_at_file */

static int look_at_file(void *executable, const struct ep_file *file)
{
	struct executable *exe = executable;

	assert_non_null(exe->host);
	assert_null(file);
	for (size_t i = 0; i < EP_LEN(exe->words); i++)
		assert_int_equal(exe->words[i], 0);
	return outcome;
}

/* What is not given is freed: the sanitizer tells. */
EP_TEST(executable_is_given_where_the_file_is_of_use)
{
	static const struct {
		int outcome;
		bool is_given;
	} rows[] = {{0, true},		{EP_CODE_ONLY, true}, {EP_NOT_MINE, false},
		    {EP_LAUNCHER, false}, {-ENOTSUP, false}};
	const struct ep_unwinder_host host = {.size = sizeof(host)};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct executable *exe = NULL;

		outcome = rows[i].outcome;
		assert_int_equal(file_probe(&host, NULL, sizeof(*exe), look_at_file, (void **)&exe),
				 rows[i].outcome);
		assert_true((exe != NULL) == rows[i].is_given);
		if (exe)
			assert_ptr_equal(exe->host, &host);
		free(exe);
	}
}

static const char *described;

static int describe_symbol(struct ep_description *description, const struct ep_symbol *symbol,
			   const char *name)
{
	assert_ptr_equal(description, &outcome);
	assert_int_equal(symbol->va, 7);
	described = name;
	return -E2BIG;
}

EP_TEST(name_goes_into_the_description)
{
	const struct ep_unwinder_host host = {.size = sizeof(host), .add_symbol = describe_symbol};
	struct file_description names = {&host, (struct ep_description *)&outcome};
	const struct ep_symbol symbol = {.va = 7};

	assert_int_equal(file_add_symbol(&names, &symbol, "f"), -E2BIG);
	assert_string_equal(described, "f");
}

/* --- releases, checks ------------------------------------------------------------------------- */

EP_TEST(row_is_the_last_that_is_not_newer)
{
	static const struct {
		uint32_t release, value;
	} rows[] = {{703, 1}, {800, 2}, {804, 3}};
	static const uint32_t expected[][2] = {{0, 1},   {702, 1}, {703, 1}, {704, 1},
					       {800, 2}, {803, 2}, {804, 3}, {999, 3}};

	for (size_t i = 0; i < EP_LEN(expected); i++)
		assert_int_equal(release_row(rows, expected[i][0])->value, expected[i][1]);
}

/* Each word and each place of a word counts, zeros as well. */
EP_TEST(check_is_of_all_words_in_their_order)
{
	const uint64_t start = check_mix(1, 5);

	assert_int_not_equal(check_mix(start, 6), check_mix(check_mix(1, 6), 5));
	assert_int_not_equal(check_mix(start, 0), start);
	for (uint32_t bit = 0; bit < 64; bit++)
		assert_int_not_equal(check_mix(start, 1ull << bit), check_mix(start, 0));
}
