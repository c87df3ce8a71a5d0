/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings of a process and who shares them, the rows made of them, and the budget of
 * reading /proc.
 */
#include "core/base/clock.h"
#include "core/language/internal.h"
#include "core/process/loaded.h"
#include "core/process/process_languages.h"
#include "core/process/rows.h"
#include "tests/kit/test.h"
#include "tests/unit/areas.h"

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

static struct ep_area area(uint64_t start, uint64_t end)
{
	return (struct ep_area){.start = start, .end = end, .file_off = 0x1000, .time_ns = 5};
}

static int insert(struct ep_mappings *mappings, uint64_t start, uint64_t end,
		  struct ep_executable *of)
{
	return insert_area(mappings, area(start, end), ep_executable_ref(of));
}

static struct ep_area *find(const struct ep_mappings *mappings, uint64_t addr)
{
	return ep_areas_find(&mappings->areas, addr);
}

static void assert_areas(const struct ep_mappings *mappings, const uint64_t (*ranges)[2], size_t n)
{
	assert_int_equal(mappings->areas.len, n);
	for (size_t i = 0; i < n; i++) {
		const struct ep_area *have = ep_vec_at(&mappings->areas, struct ep_area, i);

		assert_int_equal(have->start, ranges[i][0]);
		assert_int_equal(have->end, ranges[i][1]);
	}
}

static size_t total; /* of all mappings */

static int set_up(void **state)
{
	struct ep_sharer *sharer = calloc(1, sizeof(*sharer));

	total = 0;
	assert_non_null(ep_mappings_own(sharer, &total));
	*state = sharer;
	return 0;
}

static int tear_down(void **state)
{
	ep_autofree struct ep_sharer *sharer = *state;

	/* What it maps is the test's: it has let go of that. */
	assert_null(sharer->mappings);
	assert_int_equal(total, 0);
	return 0;
}

#define MAPPINGS_TEST(name) EP_TEST_ON(name, struct ep_sharer *sharer, set_up, tear_down)

MAPPINGS_TEST(insert_cuts_what_was_there)
{
	struct ep_executable old = executable(EP_EXECUTABLE_READY), new = old;

	assert_int_equal(insert(sharer->mappings, 0x1000, 0x3000, &old), 0);
	assert_int_equal(insert(sharer->mappings, 0x5000, 0x9000, &old), 0);
	assert_int_equal(insert(sharer->mappings, 0x4000, 0x5000, &old), 0);
	assert_int_equal(insert(sharer->mappings, 0x2000, 0x6000, &new), 0);
	assert_areas(sharer->mappings,
		     (const uint64_t[][2]){{0x1000, 0x2000}, {0x2000, 0x6000}, {0x6000, 0x9000}},
		     3);
	assert_int_equal(ep_vec_at(&sharer->mappings->areas, struct ep_area, 2)->file_off, 0x2000);
	assert_int_equal(old.refs, 101); /* for all of its areas */
	assert_ptr_equal(ep_area_executable(find(sharer->mappings, 0x5fff)), &new);
	assert_null(find(sharer->mappings, 0x9000));
	ep_mappings_leave(sharer);
	assert_int_equal(old.refs, 100);
	assert_int_equal(new.refs, 100);
}

MAPPINGS_TEST(empty_range_is_refused_and_its_reference_taken)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);

	assert_int_equal(insert(sharer->mappings, 0x1000, 0x1000, &e), -EINVAL);
	assert_int_equal(insert(sharer->mappings, UINT64_MAX - 5, 3, &e), -EINVAL);
	assert_int_equal(e.refs, 100);
	assert_int_equal(sharer->mappings->areas.len, 0);
	ep_mappings_leave(sharer);
}

MAPPINGS_TEST(what_was_there_already_changes_nothing)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);
	struct ep_area again = area(0x5000, 0x6000);

	assert_int_equal(insert(sharer->mappings, 0x5000, 0x6000, &e), 0);
	again.time_ns = 10;
	assert_int_equal(insert_area(sharer->mappings, again, ep_executable_ref(&e)),
			 EP_AREAS_SAME);
	assert_int_equal(e.refs, 101);
	assert_int_equal(find(sharer->mappings, 0x5000)->time_ns, 10);
	ep_mappings_leave(sharer);
	assert_int_equal(e.refs, 100);
}

/* The kernel may tell of a mapping when a later one is known. */
MAPPINGS_TEST(late_record_does_not_cover_a_newer_one)
{
	struct ep_executable old = executable(EP_EXECUTABLE_READY), new = old;
	struct ep_area late = area(0x1000, 0x9000);

	assert_int_equal(insert(sharer->mappings, 0x5000, 0x6000, &new), 0);
	late.time_ns = 4;
	assert_int_equal(insert_area(sharer->mappings, late, ep_executable_ref(&old)),
			 EP_AREAS_OLDER);
	assert_int_equal(old.refs, 100);
	assert_ptr_equal(ep_area_executable(find(sharer->mappings, 0x5800)), &new);
	assert_null(find(sharer->mappings, 0x1000));
	ep_mappings_leave(sharer);
}

MAPPINGS_TEST(area_in_the_middle_leaves_both_ends)
{
	struct ep_executable old = executable(EP_EXECUTABLE_READY), new = old;

	assert_int_equal(insert(sharer->mappings, 0x1000, 0x9000, &old), 0);
	assert_int_equal(insert(sharer->mappings, 0x4000, 0x5000, &new), 0);
	assert_areas(sharer->mappings,
		     (const uint64_t[][2]){{0x1000, 0x4000}, {0x4000, 0x5000}, {0x5000, 0x9000}},
		     3);
	assert_int_equal(find(sharer->mappings, 0x8fff)->file_off, 0x5000);
	assert_int_equal(find(sharer->mappings, 0x8fff)->use->refs, 2); /* it has two areas now */
	ep_mappings_leave(sharer);
	assert_int_equal(old.refs, 100);
	assert_int_equal(new.refs, 100);
}

MAPPINGS_TEST(a_region_begins_where_what_touches_it_does)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);
	static const uint64_t rows[][2] = {
		/* address, region */
		{0x0fff, 0}, {0x1000, 0x1000}, {0x2fff, 0x1000}, {0x3000, 0x1000}, {0x3fff, 0x1000},
		{0x4000, 0x4000}, {0x4fff, 0x4000}, {0x5000, 0x5000}, {0x6000, 0}, {0x7000, 0x7000},
		{0x8000, 0x8000}, {0x9000, 0},
	};

	assert_int_equal(ep_areas_region(&sharer->mappings->areas, 0x1000), 0);
	assert_int_equal(insert(sharer->mappings, 0x1000, 0x2000, NULL), 0);
	assert_int_equal(insert(sharer->mappings, 0x2000, 0x3000, NULL), 0);
	assert_int_equal(insert(sharer->mappings, 0x3000, 0x4000, NULL), 0);
	assert_int_equal(insert(sharer->mappings, 0x4000, 0x5000, &e), 0);
	assert_int_equal(insert(sharer->mappings, 0x5000, 0x6000, NULL), 0);
	assert_int_equal(insert(sharer->mappings, 0x7000, 0x8000, NULL), 0);
	assert_int_equal(insert(sharer->mappings, 0x8000, 0x9000, NULL), 0);
	find(sharer->mappings, 0x8000)->use = ep_file_use_get(sharer->mappings, NULL);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		if (ep_areas_region(&sharer->mappings->areas, rows[i][0]) != rows[i][1])
			fail_msg("0x%" PRIx64 ": 0x%" PRIx64, rows[i][0],
				 ep_areas_region(&sharer->mappings->areas, rows[i][0]));
	}
	ep_mappings_leave(sharer);
}

/* As many pieces of one file as a process may map: what each address costs has a bound. */
MAPPINGS_TEST(a_region_of_many_pieces_is_cut)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);

	e.refs = 10000;
	for (uint64_t i = 0; i < 3000; i++)
		assert_int_equal(
			insert(sharer->mappings, 0x100000 + i * 0x1000, 0x101000 + i * 0x1000, &e),
			0);
	assert_int_equal(ep_areas_region(&sharer->mappings->areas, 0x100000 + 1024 * 0x1000),
			 0x100000);
	assert_int_equal(ep_areas_region(&sharer->mappings->areas, 0x100000 + 2999 * 0x1000),
			 0x100000 + (2999 - 1024) * 0x1000);
	ep_mappings_leave(sharer);
}

MAPPINGS_TEST(anonymous_areas_are_bounded)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);

	assert_int_equal(insert(sharer->mappings, 0x7008000, 0x7009000, &e), 0);
	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t start = 0x100000 + i * 0x10000;

		assert_int_equal(insert(sharer->mappings, start, start + 0x1000, NULL), 0);
		ep_mappings_coarsen(sharer->mappings);
		assert_true(sharer->mappings->areas.len <= 1026);
	}
	assert_ptr_equal(ep_area_executable(find(sharer->mappings, 0x7008fff)), &e);
	assert_non_null(find(sharer->mappings, 0x100000));
	assert_non_null(find(sharer->mappings, 0x100000 + 4999 * 0x10000));
	ep_mappings_leave(sharer);
}

/* A process that maps and maps: its areas are not all moved to new memory for each. */
MAPPINGS_TEST(memory_grows_by_more_than_it_needs)
{
	size_t cap = 0, grown = 0;

	for (uint64_t i = 1; i <= 1000; i++) {
		assert_int_equal(insert(sharer->mappings, i << 16, (i << 16) + 0x1000, NULL), 0);
		grown += sharer->mappings->areas.cap != cap;
		cap = sharer->mappings->areas.cap;
	}
	assert_true(grown < 50);
	ep_mappings_leave(sharer);
}

/* --- whose they are -------------------------------------------------------------------------- */

MAPPINGS_TEST(child_shares_until_one_of_both_changes_something)
{
	struct ep_executable e = executable(EP_EXECUTABLE_PENDING);
	struct ep_mappings *shared = sharer->mappings;
	struct ep_sharer child = {0};

	assert_int_equal(insert(shared, 0x1000, 0x2000, &e), 0);
	ep_mappings_join(shared, &child);
	assert_int_equal(total, 2); /* as if each had its own */
	assert_int_equal(e.refs, 101);
	assert_ptr_not_equal(ep_mappings_own(&child, &total), shared);
	assert_ptr_equal(ep_mappings_own(sharer, &total), shared);
	assert_int_equal(total, 2);
	assert_int_equal(e.refs, 102);
	assert_int_equal(insert(child.mappings, 0x5000, 0x6000, NULL), 0);
	assert_int_equal(total, 3);
	assert_int_equal(shared->areas.len, 1);
	assert_true(ep_mappings_are_pending(child.mappings));
	assert_ptr_equal(ep_area_executable(find(child.mappings, 0x1000)), &e);
	ep_mappings_leave(&child);
	assert_int_equal(total, 1);
	assert_int_equal(e.refs, 101);
	ep_mappings_leave(sharer);
}

/* Many areas of a few files lead to as many uses in a copy, and each is in its file's list. */
MAPPINGS_TEST(copy_has_a_use_for_each_file)
{
	struct ep_executable a = executable(EP_EXECUTABLE_READY), b = a;
	struct ep_sharer child = {0};
	const struct ep_file_use *use;
	size_t n = 0;

	for (uint64_t i = 1; i <= 100; i++)
		assert_int_equal(
			insert(sharer->mappings, i << 16, (i << 16) + 0x1000, i <= 50 ? &a : &b),
			0);
	ep_mappings_join(sharer->mappings, &child);
	assert_non_null(ep_mappings_own(&child, &total));
	LIST_FOREACH (use, &a.uses, in_file) {
		assert_int_equal(use->refs, 50);
		n++;
	}
	assert_int_equal(n, 2);
	assert_int_equal(a.refs, 102);
	assert_int_equal(b.refs, 102);
	ep_mappings_leave(&child);
	assert_int_equal(a.refs, 101);
	ep_mappings_leave(sharer);
}

/* A child was copied while a file was looked at: it gets the answer as well. */
MAPPINGS_TEST(copies_wait_for_the_same_look)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);
	struct ep_file_uses waiters = LIST_HEAD_INITIALIZER(waiters);
	struct ep_file_look *look = (struct ep_file_look *)&e; /* any address */
	struct ep_area asked = area(0x1000, 0x2000);
	struct ep_sharer child = {0};
	struct ep_file_use *use;

	asked.use = ep_file_use_get(sharer->mappings, NULL);
	ep_file_use_wait(asked.use, look, &waiters);
	assert_int_equal(ep_mappings_insert(sharer->mappings, asked), 0);
	ep_mappings_join(sharer->mappings, &child);
	assert_non_null(ep_mappings_own(&child, &total));
	assert_int_equal(sharer->mappings->n_looking, 1);
	assert_int_equal(child.mappings->n_looking, 1);
	while ((use = LIST_FIRST(&waiters)) != NULL)
		ep_file_use_set(use, ep_executable_ref(&e));
	assert_int_equal(sharer->mappings->n_looking + child.mappings->n_looking, 0);
	assert_ptr_equal(ep_area_executable(find(child.mappings, 0x1000)), &e);
	assert_ptr_equal(ep_area_executable(find(sharer->mappings, 0x1000)), &e);
	ep_mappings_leave(&child);
	ep_mappings_leave(sharer);
}

/* What was mapped since is not the child's; what it shares stays whole. */
MAPPINGS_TEST(what_is_cut_is_not_cut_for_others)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);
	struct ep_area late = area(0x5000, 0x6000);
	struct ep_sharer child = {0};

	late.time_ns = 9;
	assert_int_equal(insert(sharer->mappings, 0x1000, 0x2000, &e), 0);
	assert_int_equal(insert_area(sharer->mappings, late, NULL), 0);
	ep_mappings_join(sharer->mappings, &child);
	assert_int_equal(ep_mappings_cut_time(&child, 0, 10), 0);
	assert_ptr_equal(child.mappings, sharer->mappings);
	assert_int_equal(ep_mappings_cut_time(&child, 0, 9), 1);
	assert_int_equal(sharer->mappings->areas.len, 2);
	assert_int_equal(child.mappings->areas.len, 1);
	assert_int_equal(ep_mappings_cut_time(&child, 6, UINT64_MAX), 1);
	assert_int_equal(child.mappings->areas.len, 0);
	ep_mappings_leave(&child);
	ep_mappings_leave(sharer);
}

/* The one where it was found is asked first, and all others when it is done. */
MAPPINGS_TEST(pending_until_the_last_one_is_done)
{
	struct ep_mappings *mappings = sharer->mappings;
	struct ep_executable all[3];

	for (size_t i = 0; i < EP_LEN(all); i++) {
		uint64_t start = (i + 1) * 0x10000;

		all[i] = executable(EP_EXECUTABLE_PENDING);
		assert_int_equal(insert(mappings, start, start + 0x1000, &all[i]), 0);
	}
	for (size_t i = 0; i < EP_LEN(all); i++) {
		assert_true(ep_mappings_are_pending(mappings));
		assert_int_equal(mappings->pending_at, i);
		all[i].state = EP_EXECUTABLE_READY;
	}
	assert_false(ep_mappings_are_pending(mappings));
	all[0].state = EP_EXECUTABLE_PENDING;
	assert_true(ep_mappings_are_pending(mappings));
	assert_int_equal(mappings->pending_at, 0);
	assert_false(ep_mappings_are_pending(NULL));
	ep_mappings_leave(sharer);
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
		struct ep_file_use use = {.executable = &e};
		struct ep_area at = area(0x7f0000, 0x7f1000);
		const struct ep_row *row;
		ep_cleanup(ep_vec_fini) struct ep_vec made;

		at.use = &use;
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
	struct ep_process process = {0};
	struct ep_claim claim = {.role = EP_CODE_ONLY};

	assert_false(ep_claim_is_runtime(&claim));
	e.claims[e.n_claims++] = &claim;
	assert_int_equal(
		put_area(&process.sharer, &total, area(0x500000, 0x502000), ep_executable_ref(&e)),
		0);
	/* There is no language that could be attached. */
	assert_false(ep_process_languages_sync(&process, (struct ep_languages *)&process));
	assert_int_equal(process.languages.n, 0);
	ep_mappings_leave(&process.sharer);
}

EP_TEST(rows_have_a_limit)
{
	struct ep_area at = area(0x1000, 0x2000);
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
	struct ep_file_use use = {.executable = &e}, other_use = {.executable = &other};
	struct ep_area whole = area(0x401000, 0x403800), part = area(0x7f0000, 0x7f1000);
	struct ep_area again = area(0x501000, 0x503800), past, beside, of_other;

	whole.use = part.use = again.use = &use;
	past = beside = of_other = part;
	part.file_off = 0x2000;
	past.file_off = 0x3000;
	beside.file_off = 0x2000;
	beside.start = 0x402000;
	beside.end = 0x403000;
	of_other.use = &other_use;
	assert_true(ep_area_is_part(&part, &whole));
	assert_false(ep_area_is_part(&whole, &whole));
	assert_false(ep_area_is_part(&whole, &part));
	assert_false(ep_area_is_part(&again, &whole)); /* loaded twice */
	assert_false(ep_area_is_part(&past, &whole));
	assert_false(ep_area_is_part(&beside, &whole)); /* a part of what is loaded there */
	assert_false(ep_area_is_part(&of_other, &whole));
}

#define MANY 100000u

/* A page of the file, mapped so often as a process may, before all of it and after. */
EP_TEST(many_copies_are_no_more_work_each)
{
	struct ep_executable e = executable(EP_EXECUTABLE_READY);
	struct ep_area whole = area(0x400000000, 0x400003800);
	struct ep_process process = {0};
	struct ep_claim claim = {0};
	uint64_t began_ns = ep_clock_cpu_ns();

	e.claims[e.n_claims++] = &claim;
	e.refs = MANY + 2;
	whole.file_off = 0; /* what begins there is in no segment: nothing is attached to here */
	for (uint32_t i = 0; i < MANY; i++) {
		uint64_t start = 0x10000 + 0x2000 * (uint64_t)i;

		assert_int_equal(put_area(&process.sharer, &total, area(start, start + 0x1000),
					  ep_executable_ref(&e)),
				 0);
		if (i == MANY / 2)
			assert_int_equal(
				put_area(&process.sharer, &total, whole, ep_executable_ref(&e)), 0);
	}
	assert_false(ep_process_languages_sync(&process, (struct ep_languages *)&process));
	assert_int_equal(process.languages.n, 0);
	assert_true(ep_clock_cpu_ns() - began_ns < EP_NS_PER_SEC);
	ep_mappings_leave(&process.sharer);
}
