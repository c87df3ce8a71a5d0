/* SPDX-License-Identifier: Apache-2.0 */
/* Places of a process, the rows made of them, and the budget that pays for reading /proc. */
#include "core/base/clock.h"
#include "core/language/internal.h"
#include "core/process/mappings.h"
#include "core/process/process_languages.h"
#include "core/process/rows.h"
#include "tests/kit/test.h"

static struct ep_executable executable(enum ep_executable_state state)
{
	return (struct ep_executable){
		.id = 7,
		.refs = 100,
		.state = state,
		.segments = {{.va = 0x401000, .file_off = 0x1000, .file_bytes = 0x2800}},
		.n_segments = 1,
	};
}

static struct ep_area place(uint64_t start, uint64_t end, struct ep_executable *of)
{
	return (struct ep_area){
		.start = start,
		.end = end,
		.file_off = 0x1000,
		.time_ns = 5,
		.executable = of,
	};
}

static void assert_places(const struct ep_vec *places, const uint64_t (*ranges)[2], size_t n)
{
	assert_int_equal(places->len, n);
	for (size_t i = 0; i < n; i++) {
		const struct ep_area *have =
			ep_vec_at(places, struct ep_area, i);

		assert_int_equal(have->start, ranges[i][0]);
		assert_int_equal(have->end, ranges[i][1]);
	}
}

EP_TEST_RELEASES(ep_vec_fini)

static struct ep_vec *new_places(void)
{
	static struct ep_vec places;

	ep_areas_init(&places);
	ep_test_owns(&places, ep_vec_fini_made);
	return &places;
}

#define PLACES_TEST(name) EP_TEST_OF(name, struct ep_vec *places, new_places())

PLACES_TEST(insert_cuts_what_was_there)
{
	struct ep_executable old = executable(EP_EXECUTABLE_READY), new = old;

	assert_int_equal(ep_areas_insert(places, place(0x1000, 0x3000, &old)), 0);
	assert_int_equal(ep_areas_insert(places, place(0x5000, 0x9000, &old)), 0);
	assert_int_equal(ep_areas_insert(places, place(0x4000, 0x5000, &old)), 0);
	assert_int_equal(ep_areas_insert(places, place(0x2000, 0x6000, &new)), 0);
	assert_places(places, (const uint64_t[][2]){{0x1000, 0x2000}, {0x2000, 0x6000}, {0x6000, 0x9000}}, 3);
	assert_int_equal(ep_vec_at(places, struct ep_area, 2)->file_off, 0x2000);
	assert_int_equal(old.refs, 99); /* the one in the middle went */
	assert_ptr_equal(ep_areas_find(places, 0x5fff)->executable, &new);
	assert_null(ep_areas_find(places, 0x9000));
	ep_areas_clear(places);
	assert_int_equal(old.refs, 97);
	assert_int_equal(new.refs, 99);
}

PLACES_TEST(empty_range_is_refused_and_its_reference_taken)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);

	assert_int_equal(ep_areas_insert(places, place(0x1000, 0x1000, &e)), -EINVAL);
	assert_int_equal(ep_areas_insert(places, place(UINT64_MAX - 5, 3, &e)), -EINVAL);
	assert_int_equal(e.refs, 98);
	assert_int_equal(places->len, 0);
	ep_areas_clear(places);
}

PLACES_TEST(what_was_there_already_changes_nothing)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);
	struct ep_area again = place(0x5000, 0x6000, &e);

	assert_int_equal(ep_areas_insert(places, place(0x5000, 0x6000, &e)), 0);
	again.time_ns = 10;
	assert_int_equal(ep_areas_insert(places, again), EP_AREAS_SAME);
	assert_int_equal(e.refs, 99);
	assert_int_equal(ep_areas_find(places, 0x5000)->time_ns, 10);
	ep_areas_clear(places);
	assert_int_equal(e.refs, 98);
}

/* The kernel may tell of a mapping when a later one is known. */
PLACES_TEST(late_record_does_not_cover_a_newer_one)
{
	struct ep_executable old = executable(EP_EXECUTABLE_READY), new = old;
	struct ep_area late = place(0x1000, 0x9000, &old);

	assert_int_equal(ep_areas_insert(places, place(0x5000, 0x6000, &new)), 0);
	late.time_ns = 4;
	assert_int_equal(ep_areas_insert(places, late), EP_AREAS_OLDER);
	assert_int_equal(old.refs, 99);
	assert_ptr_equal(ep_areas_find(places, 0x5800)->executable, &new);
	assert_null(ep_areas_find(places, 0x1000));
	ep_areas_clear(places);
}

PLACES_TEST(place_in_the_middle_leaves_both_ends)
{
	struct ep_executable old = executable(EP_EXECUTABLE_READY), new = old;

	assert_int_equal(ep_areas_insert(places, place(0x1000, 0x9000, &old)), 0);
	assert_int_equal(ep_areas_insert(places, place(0x4000, 0x5000, &new)), 0);
	assert_places(places, (const uint64_t[][2]){{0x1000, 0x4000}, {0x4000, 0x5000}, {0x5000, 0x9000}}, 3);
	assert_int_equal(ep_areas_find(places, 0x8fff)->file_off, 0x5000);
	assert_int_equal(old.refs, 101); /* it has two places now */
	ep_areas_clear(places);
	assert_int_equal(old.refs, 99);
	assert_int_equal(new.refs, 99);
}

PLACES_TEST(a_region_begins_where_what_touches_it_does)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);
	static const uint64_t rows[][2] = {
		/* address, region */
		{0x0fff, 0}, {0x1000, 0x1000}, {0x2fff, 0x1000}, {0x3000, 0x1000}, {0x3fff, 0x1000},
		{0x4000, 0x4000}, {0x4fff, 0x4000}, {0x5000, 0x5000}, {0x6000, 0}, {0x7000, 0x7000},
		{0x8000, 0x8000}, {0x9000, 0},
	};

	assert_int_equal(ep_areas_region(places, 0x1000), 0);
	assert_int_equal(ep_areas_insert(places, place(0x1000, 0x2000, NULL)), 0);
	assert_int_equal(ep_areas_insert(places, place(0x2000, 0x3000, NULL)), 0);
	assert_int_equal(ep_areas_insert(places, place(0x3000, 0x4000, NULL)), 0);
	assert_int_equal(ep_areas_insert(places, place(0x4000, 0x5000, &e)), 0);
	assert_int_equal(ep_areas_insert(places, place(0x5000, 0x6000, NULL)), 0);
	assert_int_equal(ep_areas_insert(places, place(0x7000, 0x8000, NULL)), 0);
	assert_int_equal(ep_areas_insert(places, place(0x8000, 0x9000, NULL)), 0);
	ep_areas_find(places, 0x8000)->state = EP_AREA_GONE;
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		if (ep_areas_region(places, rows[i][0]) != rows[i][1])
			fail_msg("0x%" PRIx64 ": 0x%" PRIx64, rows[i][0], ep_areas_region(places, rows[i][0]));
	}
	ep_areas_clear(places);
}

/* As many pieces of one file as a process may map: what each address costs has a bound. */
PLACES_TEST(a_region_of_many_pieces_is_cut)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);

	e.refs = 10000;
	for (uint64_t i = 0; i < 3000; i++)
		assert_int_equal(ep_areas_insert(places, place(0x100000 + i * 0x1000, 0x101000 + i * 0x1000, &e)), 0);
	assert_int_equal(ep_areas_region(places, 0x100000 + 1024 * 0x1000), 0x100000);
	assert_int_equal(ep_areas_region(places, 0x100000 + 2999 * 0x1000), 0x100000 + (2999 - 1024) * 0x1000);
	ep_areas_clear(places);
}

PLACES_TEST(anonymous_places_are_bounded)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);

	assert_int_equal(ep_areas_insert(places, place(0x7008000, 0x7009000, &e)), 0);
	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t start = 0x100000 + i * 0x10000;

		assert_int_equal(ep_areas_insert(places, place(start, start + 0x1000, NULL)), 0);
		ep_areas_coarsen(places);
		assert_true(places->len <= 1026);
	}
	assert_ptr_equal(ep_areas_find(places, 0x7008fff)->executable, &e);
	assert_non_null(ep_areas_find(places, 0x100000));
	assert_non_null(ep_areas_find(places, 0x100000 + 4999 * 0x10000));
	ep_areas_clear(places);
}

/* A process that maps and maps: its places are not all moved to new memory for each. */
PLACES_TEST(memory_grows_by_more_than_it_needs)
{
	size_t cap = 0, grown = 0;

	for (uint64_t i = 1; i <= 1000; i++) {
		assert_int_equal(ep_areas_insert(places,
						  place(i << 16, (i << 16) + 0x1000, NULL)), 0);
		grown += places->cap != cap;
		cap = places->cap;
	}
	assert_true(grown < 50);
	ep_areas_clear(places);
}

EP_TEST(copies_have_their_own_references)
{
	struct ep_executable e = executable(EP_EXECUTABLE_PENDING);
	struct ep_vec parent, child;
	size_t last = 5; /* of places it had once */

	ep_areas_init(&parent);
	ep_areas_init(&child);
	assert_int_equal(ep_areas_insert(&parent, place(0x1000, 0x2000, &e)), 0);
	assert_int_equal(ep_areas_copy(&child, &parent), 0);
	assert_int_equal(e.refs, 101);
	assert_true(ep_areas_are_pending(&child, &last));
	assert_ptr_equal(ep_areas_find(&child, 0x1000)->executable, &e);
	ep_areas_clear(&parent);
	ep_areas_clear(&child);
	assert_int_equal(e.refs, 99);
}

/* The one where it was found is asked first, and all others when it is done. */
PLACES_TEST(pending_until_the_last_one_is_done)
{
	struct ep_executable all[3];
	size_t last = 0;

	for (size_t i = 0; i < EP_LEN(all); i++) {
		uint64_t start = (i + 1) * 0x10000;

		all[i] = executable(EP_EXECUTABLE_PENDING);
		assert_int_equal(ep_areas_insert(places,
						  place(start, start + 0x1000, &all[i])), 0);
	}
	for (size_t i = 0; i < EP_LEN(all); i++) {
		assert_true(ep_areas_are_pending(places, &last));
		assert_int_equal(last, i);
		all[i].state = EP_EXECUTABLE_READY;
	}
	assert_false(ep_areas_are_pending(places, &last));
	all[0].state = EP_EXECUTABLE_PENDING;
	assert_true(ep_areas_are_pending(places, &last));
	assert_int_equal(last, 0);
	ep_areas_clear(places);
}

EP_TEST(rows_say_what_is_known_of_the_executable)
{
	static const struct {
		const char *label;
		enum ep_executable_state state;
		uint64_t file_off;
		uint32_t id, pages;
		uint64_t va;
	} rows[] = {
		{"ready, no tables", EP_EXECUTABLE_READY, 0x1000, 7, EP_PAGES_ABSENT, 0x401000},
		{"second page", EP_EXECUTABLE_READY, 0x2000, 7, EP_PAGES_ABSENT, 0x402000},
		{"evicted", EP_EXECUTABLE_EVICTED, 0x1000, 7, EP_PAGES_DROPPED, 0x401000},
		{"not code of the file", EP_EXECUTABLE_READY, 0x8000, 0, EP_PAGES_ABSENT, 0},
		{"last page is rounded up", EP_EXECUTABLE_READY, 0x3000, 7, EP_PAGES_ABSENT, 0x403000},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_executable e = executable(rows[i].state);
		struct ep_area at = place(0x7f0000, 0x7f1000, &e);
		const struct ep_row *row;
		ep_cleanup(ep_vec_fini) struct ep_vec made;

		at.file_off = rows[i].file_off;
		ep_vec_init(&made, sizeof(struct ep_row), EP_MAX_ROWS);
		assert_int_equal(ep_rows_add(&made, &at, 0), 0);
		row = made.data;
		if (made.len != 1 || row->executable != rows[i].id || row->pages != rows[i].pages ||
		    row->va != rows[i].va || row->start != 0x7f0000 || row->end != 0x7f1000)
			fail_msg("%s", rows[i].label);
	}
}

/* Objects that a language only describes: any number of them, and its runtime is found all the same. */
EP_TEST(nobody_attaches_to_what_is_only_code)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);
	struct ep_area code = place(0x500000, 0x502000, &e);
	struct ep_process process = {0};
	struct ep_claim claim = {.role = EP_CODE_ONLY};

	assert_false(ep_claim_is_runtime(&claim));
	e.claims[e.n_claims++] = &claim;
	ep_areas_init(&process.places);
	assert_int_equal(ep_vec_append(&process.places, &code, 1), 0);
	/* There is no language that could be attached. */
	assert_false(ep_process_languages_sync(&process, (struct ep_languages *)&process));
	assert_int_equal(process.n_languages, 0);
	ep_vec_fini(&process.places);
}

EP_TEST(rows_have_a_limit)
{
	struct ep_area at = place(0x1000, 0x2000, NULL);
	ep_cleanup(ep_vec_fini) struct ep_vec made;

	ep_vec_init(&made, sizeof(struct ep_row), 2);
	assert_int_equal(ep_rows_add(&made, &at, 0), 0);
	assert_int_equal(ep_rows_add(&made, &at, 0), 0);
	assert_int_equal(ep_rows_add(&made, &at, 0), -E2BIG);
}

/* Code of the file that is mapped once more, for itself. */
EP_TEST(a_copy_of_a_part_has_a_whole)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY), other = e;
	struct ep_area whole = place(0x401000, 0x403800, &e);
	struct ep_area part = place(0x7f0000, 0x7f1000, &e);
	struct ep_area again = place(0x501000, 0x503800, &e);
	struct ep_area past = part, beside = part, of_other = part;

	part.file_off = 0x2000;
	past.file_off = 0x3000;
	beside.file_off = 0x2000;
	beside.start = 0x402000;
	beside.end = 0x403000;
	of_other.executable = &other;
	assert_true(ep_area_is_part(&part, &whole));
	assert_false(ep_area_is_part(&whole, &whole));
	assert_false(ep_area_is_part(&whole, &part));
	assert_false(ep_area_is_part(&again, &whole)); /* loaded twice */
	assert_false(ep_area_is_part(&past, &whole));
	assert_false(ep_area_is_part(&beside, &whole)); /* a part of what is loaded there */
	assert_false(ep_area_is_part(&of_other, &whole));
}

#define MANY 100000u

/* A page of the file, mapped so often as a process may, in front of all of it and behind. */
EP_TEST(many_copies_are_no_more_work_each)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);
	struct ep_area whole = place(0x400000000, 0x400003800, &e);
	struct ep_process process = {0};
	struct ep_claim claim = {0};
	uint64_t began_ns = ep_clock_cpu_ns();

	e.claims[e.n_claims++] = &claim;
	e.refs = MANY + 2;
	whole.file_off = 0; /* what begins there is in no segment: nothing is attached to here */
	ep_areas_init(&process.places);
	for (uint32_t i = 0; i < MANY; i++) {
		uint64_t start = 0x10000 + 0x2000 * (uint64_t)i;
		struct ep_area copy = place(start, start + 0x1000, &e);

		assert_int_equal(ep_vec_append(&process.places, &copy, 1), 0);
		if (i == MANY / 2)
			assert_int_equal(ep_vec_append(&process.places, &whole, 1), 0);
	}
	assert_false(ep_process_languages_sync(&process, (struct ep_languages *)&process));
	assert_int_equal(process.n_languages, 0);
	assert_true(ep_clock_cpu_ns() - began_ns < EP_NS_PER_SEC);
	ep_vec_fini(&process.places);
}
