/* SPDX-License-Identifier: Apache-2.0 */
/* What languages say is theirs, in the rows that BPF searches and after them. */
#include "core/process/file_look.h"
#include "core/process/rows.h"
#include "tests/kit/test.h"

/* Rows of two mappings; the second one's pages are not analysed. */
static const struct ep_row plain[] = {
	{.start = 0x10000, .end = 0x20000, .va = 0x1800, .executable = 5, .pages = 100},
	{.start = 0x20000, .end = 0x30000, .va = 0x0, .executable = 6, .pages = EP_PAGES_PENDING},
};

static void free_rows(void *rows)
{
	ep_vec_fini(rows);
	free(rows);
}

static struct ep_vec *new_rows(void)
{
	struct ep_vec *rows = malloc(sizeof(*rows));

	assert_non_null(rows);
	ep_vec_init(rows, sizeof(struct ep_row), 16);
	ep_test_owns(rows, free_rows);
	return rows;
}

/* The rows with what the language of the slot says. */
static struct ep_vec *mark(const struct ep_row *rows, size_t n_rows, const struct ep_range *ranges,
			   size_t n, uint32_t slot)
{
	struct ep_vec from = {(void *)(uintptr_t)rows, n_rows, n_rows, n_rows, sizeof(*rows)},
		      *marked = new_rows();

	assert_int_equal(ep_rows_mark(&from, ranges, n, slot, marked), 0);
	return marked;
}

static const char *pages_text(uint32_t pages)
{
	static char text[16];

	switch (pages) {
	case EP_PAGES_PENDING:
		return "pending";
	case EP_PAGES_DROPPED:
		return "dropped";
	case EP_PAGES_GONE:
		return "gone";
	case EP_PAGES_ABSENT:
		return "absent";
	}
	snprintf(text, sizeof(text), "%u", pages);
	return text;
}

/*
 * Each as "START-END VA EXECUTABLE PAGES", with the slot of its language, and a ! where that is
 * entered.
 */
static void assert_rows(const struct ep_vec *rows, const char *wanted)
{
	char text[2048] = "";
	const struct ep_row *row;
	size_t len = 0;

	ep_vec_each (rows, row) {
		uint32_t slot = EP_ROW_SLOT(row->executable);

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%llx-%llx %llx %u %s",
					(unsigned long long)row->start,
					(unsigned long long)row->end, (unsigned long long)row->va,
					EP_ROW_ID(row->executable), pages_text(row->pages));
		if (slot == EP_ROW_SLOT_ANY)
			len += (size_t)snprintf(text + len, sizeof(text) - len, " any");
		else if (slot)
			len += (size_t)snprintf(text + len, sizeof(text) - len, " %u%s", slot,
						row->executable & EP_ROW_ENTER ? "!" : "");
		len += (size_t)snprintf(text + len, sizeof(text) - len, "\n");
	}
	assert_string_equal(text, wanted);
}

EP_TEST(marked_rows_are_cut_at_the_borders_of_ranges)
{
	const struct ep_range ranges[] = {
		{.start = 0x8000, .end = 0x9000},
		{.start = 0x12000, .end = 0x12800},
		{.start = 0x1f000, .end = 0x21000, .mode = EP_RANGE_ENTER},
	};

	assert_rows(mark(plain, 2, ranges, 3, 9), "8000-9000 8000 0 absent 9\n"
						  "10000-12000 1800 5 100\n"
						  "12000-12800 3800 5 104 9\n"
						  "12800-1f000 4000 5 106\n"
						  "1f000-20000 10800 5 130 9!\n"
						  "20000-21000 0 6 pending 9!\n"
						  "21000-30000 1000 6 pending\n");
}

EP_TEST(what_one_language_has_another_does_not_take)
{
	const struct ep_range first = {.start = 0x10000, .end = 0x11000};
	const struct ep_range second = {.start = 0x10000, .end = 0x12000};
	const struct ep_vec *once = mark(plain, 2, &first, 1, 9);

	assert_rows(mark(once->data, once->len, &second, 1, 11), "10000-11000 1800 5 100 9\n"
								 "11000-12000 2800 5 102 11\n"
								 "12000-20000 3800 5 104\n"
								 "20000-30000 0 6 pending\n");
}

/*
 * A reserved heap: rows of its committed parts, of another's memory, and of none are there or not.
 */
EP_TEST(exact_ranges_need_no_mapping)
{
	static const struct ep_row committed[] = {
		{.start = 0x12000, .end = 0x13000, .pages = EP_PAGES_ABSENT},
		{.start = 0x15000, .end = 0x16000, .executable = 5, .pages = 100},
		{.start = 0x18000, .end = 0x22000, .pages = EP_PAGES_ABSENT},
	};
	const struct ep_range range = {.start = 0x10000, .end = 0x20000, .mode = EP_RANGE_ENTER};

	/* What is committed with no file is one with what is not. */
	assert_rows(mark(committed, 0, &range, 1, 9), "10000-20000 10000 0 absent 9!\n");
	assert_rows(mark(committed, 1, &range, 1, 9), "10000-20000 10000 0 absent 9!\n");
	assert_rows(mark(committed, 2, &range, 1, 9), "10000-15000 10000 0 absent 9!\n"
						      "15000-16000 0 5 100 9!\n"
						      "16000-20000 16000 0 absent 9!\n");
	assert_rows(mark(committed, 3, &range, 1, 9), "10000-15000 10000 0 absent 9!\n"
						      "15000-16000 0 5 100 9!\n"
						      "16000-20000 16000 0 absent 9!\n"
						      "20000-22000 8000 0 absent\n");
}

/* Of rows 0, 1 and 3 the file is the same one; 0x2000 to 0x2800 of it is entered in the first. */
EP_TEST(code_is_entered_in_each_mapping_of_its_file)
{
	static const struct ep_row mapped[] = {
		{.start = 0x10000, .end = 0x11000, .va = 0x1800, .executable = 5, .pages = 100},
		{.start = 0x20000, .end = 0x24000, .va = 0x1000, .executable = 5, .pages = 200},
		{.start = 0x30000, .end = 0x34000, .va = 0x1000, .executable = 6, .pages = 300},
		{.start = 0x40000, .end = 0x41000, .va = 0x2400, .executable = 5, .pages = 400},
	};
	const struct ep_range ranges[] = {
		{.start = 0x10000, .end = 0x10400},
		{.start = 0x10800, .end = 0x11000, .mode = EP_RANGE_ENTER},
	};

	assert_rows(mark(mapped, 4, ranges, 2, 9), "10000-10400 1800 5 100 9\n"
						   "10400-10800 1c00 5 100\n"
						   "10800-11000 2000 5 102 9!\n"
						   "20000-21000 1000 5 200\n"
						   "21000-21800 2000 5 202 9!\n"
						   "21800-24000 2800 5 202\n"
						   "30000-34000 1000 6 300\n"
						   "40000-40400 2400 5 400 9!\n"
						   "40400-41000 2800 5 400\n");
}

/*
 * The second one's range is around what the first one has, which enters some of it and marks some.
 */
EP_TEST(code_of_two_languages_stays_with_the_first_in_each_mapping)
{
	static const struct ep_row mapped[] = {
		{.start = 0x10000, .end = 0x14000, .va = 0x1000, .executable = 5, .pages = 100},
		{.start = 0x20000, .end = 0x24000, .va = 0x1000, .executable = 5, .pages = 100},
	};
	const struct ep_range first[] = {
		{.start = 0x11000, .end = 0x12000, .mode = EP_RANGE_ENTER},
		{.start = 0x12000, .end = 0x13000},
	};
	const struct ep_range second = {.start = 0x10800, .end = 0x13800, .mode = EP_RANGE_ENTER};
	const struct ep_vec *once = mark(mapped, 2, first, 2, 9);

	assert_rows(mark(once->data, once->len, &second, 1, 11), "10000-10800 1000 5 100\n"
								 "10800-11000 1800 5 100 11!\n"
								 "11000-12000 2000 5 102 9!\n"
								 "12000-13000 3000 5 104 9\n"
								 "13000-13800 4000 5 106 11!\n"
								 "13800-14000 4800 5 106\n"
								 "20000-20800 1000 5 100\n"
								 "20800-21000 1800 5 100 11!\n"
								 "21000-22000 2000 5 102 9!\n"
								 "22000-23000 3000 5 104\n"
								 "23000-23800 4000 5 106 11!\n"
								 "23800-24000 4800 5 106\n");
}

EP_TEST(anonymous_code_is_whose_range_it_is_in)
{
	struct ep_executable no_elf = {.id = 7, .refs = 1, .state = EP_EXECUTABLE_FAILED};
	char name[] = "/memfd:code (deleted)", path[] = "/x";
	struct ep_executable memfd = {.id = 8, .path = name}, file = {.id = 9, .path = path};
	struct ep_executable changed = {.id = 11, .path = name, .state = EP_EXECUTABLE_FAILED, .unopened = true};
	struct ep_elf_segment segment = {.va = 0x400, .file_bytes = 0x1000, .mem_bytes = 0x1000};
	struct ep_executable evicted = {
		.id = 10, .state = EP_EXECUTABLE_EVICTED, .segments = {segment}, .n_segments = 1};
	struct ep_file_look look;
	struct ep_area areas[] = {
		{.start = 0x1000, .end = 0x2000},
		{.start = 0x3000,
		 .end = 0x4000,
		 .use = &(struct ep_file_use){.executable = &no_elf}},
		{.start = 0x5000, .end = 0x6000, .use = &(struct ep_file_use){.look = &look}},
		{.start = 0x7000, .end = 0x8000, .use = &(struct ep_file_use){0}},
		{.start = 0x8000,
		 .end = 0x9000,
		 .use = &(struct ep_file_use){.look = &look},
		 .is_memfd = true},
		{.start = 0x9000,
		 .end = 0xa000,
		 .use = &(struct ep_file_use){.executable = &memfd}},
		{.start = 0xa000, .end = 0xb000, .use = &(struct ep_file_use){.executable = &file}},
		{.start = 0xb000,
		 .end = 0xc000,
		 .use = &(struct ep_file_use){.executable = &evicted}},
		{.start = 0xd000,
		 .end = 0xe000,
		 .use = &(struct ep_file_use){.executable = &changed}},
	};
	const struct ep_range range = {.start = 0x1800, .end = 0x2000, .mode = EP_RANGE_ENTER};
	struct ep_vec *rows = new_rows();

	for (size_t i = 0; i < EP_LEN(areas); i++)
		assert_int_equal(ep_rows_add(rows, &areas[i], EP_ROW_ANONYMOUS), 0);
	/* Named memory is a JIT's until it turns out to be a program. */
	assert_rows(mark(rows->data, rows->len, &range, 1, 9), "1000-1800 0 0 absent any\n"
							       "1800-2000 800 0 absent 9!\n"
							       "3000-4000 0 0 absent any\n"
							       "5000-6000 0 0 pending\n"
							       "7000-8000 0 0 gone\n"
							       "8000-9000 0 0 pending any\n"
							       "9000-a000 0 0 pending any\n"
							       "a000-b000 0 0 pending\n"
							       "b000-c000 400 10 dropped\n"
							       "d000-e000 0 0 absent any\n");
}

EP_TEST(codes_lie_behind_the_rows)
{
	const struct ep_range one[] = {{.start = 1, .end = 2, .data = 77}};
	const struct ep_range two[] = {{.start = 3, .end = 4}, {.start = 5, .end = 6, .data = 88}};
	const struct ep_language_view languages[] = {
		{.ranges = one, .n_ranges = 1}, {.n_ranges = 0}, {.ranges = two, .n_ranges = 2}};
	const struct ep_code_index *index;
	const struct ep_code *entries;
	struct ep_vec *rows = new_rows();

	assert_int_equal(ep_vec_append(rows, plain, 2), 0);
	assert_int_equal(ep_rows_add_codes(rows, NULL, 0), 0);
	assert_int_equal(rows->len, 2);
	assert_int_equal(ep_rows_add_codes(rows, languages, 3), 0);
	assert_int_equal(rows->len, 6);
	entries = rows->data;
	index = (const struct ep_code_index *)&entries[2];
	assert_int_equal(index->of[0].n, 1);
	assert_int_equal(entries[index->of[0].first].data, 77);
	assert_int_equal(index->of[1].n, 0);
	assert_int_equal(index->of[2].n, 2);
	assert_int_equal(entries[index->of[2].first + 1].data, 88);
	rows->max = 7;
	assert_int_equal(ep_rows_add_codes(rows, languages, 3), -E2BIG);
	assert_int_equal(rows->len, 6);
}
