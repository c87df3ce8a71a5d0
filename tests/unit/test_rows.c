/* SPDX-License-Identifier: Apache-2.0 */
/* What languages say is theirs, in the rows that BPF searches and behind them. */
#include "core/process/places.h"
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
static struct ep_vec *mark(const struct ep_row *rows, size_t n_rows, const struct ep_range *ranges, size_t n,
			   uint32_t slot)
{
	struct ep_vec from = {(void *)(uintptr_t)rows, n_rows, n_rows, n_rows, sizeof(*rows)}, *marked = new_rows();

	assert_int_equal(ep_rows_mark(&from, ranges, n, slot, marked), 0);
	return marked;
}

EP_TEST(marked_rows_are_cut_at_the_borders_of_ranges)
{
	const struct ep_range ranges[] = {
		{.start = 0x8000, .end = 0x9000},
		{.start = 0x12000, .end = 0x12800},
		{.start = 0x1f000, .end = 0x21000, .mode = EP_RANGE_ENTER},
	};
	const struct ep_vec *marked = mark(plain, 2, ranges, 3, 9);
	const struct ep_row *row = marked->data;

	assert_int_equal(marked->len, 7);
	assert_int_equal(row[0].start, 0x8000);
	row++;
	assert_int_equal(row[0].start, 0x10000);
	assert_int_equal(row[0].end, 0x12000);
	assert_int_equal(row[0].executable, 5);
	assert_int_equal(row[1].start, 0x12000);
	assert_int_equal(row[1].end, 0x12800);
	assert_int_equal(row[1].va, 0x3800);
	assert_int_equal(row[1].pages, 100 + 2 * 2);
	assert_int_equal(EP_ROW_ID(row[1].executable), 5);
	assert_int_equal(EP_ROW_SLOT(row[1].executable), 9);
	assert_false(row[1].executable & EP_ROW_ENTER);
	assert_int_equal(row[2].va, 0x4000);
	assert_int_equal(row[2].pages, 100 + 2 * 3);
	assert_int_equal(row[3].end, 0x20000);
	assert_true(row[3].executable & EP_ROW_ENTER);
	assert_int_equal(row[4].start, 0x20000);
	assert_int_equal(row[4].end, 0x21000);
	assert_int_equal(row[4].pages, EP_PAGES_PENDING);
	assert_int_equal(row[5].executable, 6);
	assert_int_equal(row[5].end, 0x30000);
}

EP_TEST(what_one_language_has_another_does_not_take)
{
	const struct ep_range first = {.start = 0x10000, .end = 0x11000};
	const struct ep_range second = {.start = 0x10000, .end = 0x12000};
	const struct ep_vec *once = mark(plain, 2, &first, 1, 9);
	const struct ep_vec *twice = mark(once->data, once->len, &second, 1, 11);
	const struct ep_row *row = twice->data;

	assert_int_equal(EP_ROW_SLOT(row[0].executable), 9);
	assert_int_equal(EP_ROW_SLOT(row[1].executable), 11);
	assert_int_equal(row[1].end, 0x12000);
}

/* A reserved heap: rows of its committed parts, of another's memory, and of none are there or not. */
EP_TEST(exact_ranges_need_no_mapping)
{
	static const struct ep_row committed[] = {
		{.start = 0x12000, .end = 0x13000, .pages = EP_PAGES_ABSENT},
		{.start = 0x15000, .end = 0x16000, .executable = 5, .pages = 100},
		{.start = 0x18000, .end = 0x22000, .pages = EP_PAGES_ABSENT},
	};
	const struct ep_range range = {.start = 0x10000, .end = 0x20000, .mode = EP_RANGE_ENTER};
	const uint32_t owner = 9u << EP_ROW_SLOT_SHIFT | EP_ROW_ENTER;

	for (uint32_t n = 0; n <= 3; n++) {
		const struct ep_vec *marked = mark(committed, n, &range, 1, 9);
		const struct ep_row *row = marked->data;

		assert_int_equal(marked->len, n < 2 ? 1 : n == 2 ? 3 : 4);
		assert_int_equal(row[0].start, 0x10000);
		assert_int_equal(row[0].executable, owner);
		/* What is committed with no file is one with what is not. */
		assert_int_equal(row[0].end, n < 2 ? 0x20000 : 0x15000);
		if (n >= 2) {
			assert_int_equal(row[1].executable, owner | 5);
			assert_int_equal(row[2].end, 0x20000);
		}
		if (n == 3)
			assert_int_equal(row[3].executable, 0);
	}
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
	const uint32_t owner = 9u << EP_ROW_SLOT_SHIFT | EP_ROW_ENTER | 5;
	const struct {
		uint64_t start, end, va;
		uint32_t executable;
	} wanted[] = {
		{0x10000, 0x10400, 0x1800, 9u << EP_ROW_SLOT_SHIFT | 5},
		{0x10400, 0x10800, 0x1c00, 5},
		{0x10800, 0x11000, 0x2000, owner},
		{0x20000, 0x21000, 0x1000, 5},
		{0x21000, 0x21800, 0x2000, owner},
		{0x21800, 0x24000, 0x2800, 5},
		{0x30000, 0x34000, 0x1000, 6},
		{0x40000, 0x40400, 0x2400, owner},
		{0x40400, 0x41000, 0x2800, 5},
	};
	const struct ep_vec *marked = mark(mapped, 4, ranges, 2, 9);
	const struct ep_row *row = marked->data;

	assert_int_equal(marked->len, EP_LEN(wanted));
	for (size_t i = 0; i < EP_LEN(wanted); i++) {
		assert_int_equal(row[i].start, wanted[i].start);
		assert_int_equal(row[i].end, wanted[i].end);
		assert_int_equal(row[i].va, wanted[i].va);
		assert_int_equal(row[i].executable, wanted[i].executable);
	}
	assert_int_equal(row[4].pages, 200 + 2 * 1);
}

/* The second one's range is around what the first one has, which enters some of it and marks some. */
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
	const uint32_t one = 9u << EP_ROW_SLOT_SHIFT, enter = EP_ROW_ENTER;
	const uint32_t other = 11u << EP_ROW_SLOT_SHIFT | EP_ROW_ENTER;
	const struct {
		uint64_t start, end;
		uint32_t owner;
	} wanted[] = {
		{0x10000, 0x10800, 0}, {0x10800, 0x11000, other}, {0x11000, 0x12000, one | enter},
		{0x12000, 0x13000, one}, {0x13000, 0x13800, other}, {0x13800, 0x14000, 0},
		{0x20000, 0x20800, 0}, {0x20800, 0x21000, other}, {0x21000, 0x22000, one | enter},
		{0x22000, 0x23000, 0}, {0x23000, 0x23800, other}, {0x23800, 0x24000, 0},
	};
	const struct ep_vec *once = mark(mapped, 2, first, 2, 9);
	const struct ep_vec *twice = mark(once->data, once->len, &second, 1, 11);
	const struct ep_row *row = twice->data;

	assert_int_equal(twice->len, EP_LEN(wanted));
	for (size_t i = 0; i < EP_LEN(wanted); i++) {
		assert_int_equal(row[i].start, wanted[i].start);
		assert_int_equal(row[i].end, wanted[i].end);
		assert_int_equal(row[i].executable, wanted[i].owner | 5);
		assert_int_equal(row[i].va, 0x1000 + (row[i].start & 0xffff));
	}
}

EP_TEST(anonymous_code_is_whose_range_it_is_in)
{
	struct ep_executable no_elf = {.id = 7, .refs = 1, .state = EP_EXECUTABLE_FAILED};
	char name[] = "/memfd:code (deleted)", path[] = "/x";
	struct ep_executable memfd = {.id = 8, .path = name}, file = {.id = 9, .path = path};
	struct ep_place_in_memory places[] = {
		{.start = 0x1000, .end = 0x2000},
		{.start = 0x3000, .end = 0x4000, .executable = &no_elf},
		{.start = 0x5000, .end = 0x6000, .state = EP_PLACE_ASKED},
		{.start = 0x7000, .end = 0x8000, .state = EP_PLACE_GONE},
		{.start = 0x8000, .end = 0x9000, .state = EP_PLACE_ASKED, .is_memfd = true},
		{.start = 0x9000, .end = 0xa000, .executable = &memfd},
		{.start = 0xa000, .end = 0xb000, .executable = &file},
	};
	const struct ep_range range = {.start = 0x1800, .end = 0x2000, .mode = EP_RANGE_ENTER};
	struct ep_vec *rows = new_rows(), *marked;
	const struct ep_row *row;

	for (size_t i = 0; i < EP_LEN(places); i++)
		assert_int_equal(ep_rows_add(rows, &places[i], EP_ROW_ANONYMOUS), 0);
	marked = mark(rows->data, rows->len, &range, 1, 9);
	row = marked->data;
	assert_int_equal(marked->len, 8);
	assert_int_equal(row[0].executable, EP_ROW_ANONYMOUS);
	assert_int_equal(EP_ROW_SLOT(row[1].executable), 9);
	assert_int_equal(row[2].executable, EP_ROW_ANONYMOUS);
	assert_int_equal(row[3].executable, 0); /* its file is being looked at */
	assert_int_equal(row[4].executable, 0);
	/* Named memory is a JIT's until it turns out to be a program. */
	assert_int_equal(row[5].executable, EP_ROW_ANONYMOUS);
	assert_int_equal(row[5].pages, EP_PAGES_PENDING);
	assert_int_equal(row[6].executable, EP_ROW_ANONYMOUS);
	assert_int_equal(row[6].pages, EP_PAGES_PENDING);
	assert_int_equal(row[7].executable, 0);
}

EP_TEST(codes_lie_behind_the_rows)
{
	const struct ep_range one[] = {{.start = 1, .end = 2, .data = 77}};
	const struct ep_range two[] = {{.start = 3, .end = 4}, {.start = 5, .end = 6, .data = 88}};
	const struct ep_told languages[] = {
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
