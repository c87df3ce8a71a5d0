/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which code of the kernel was at an address, and when; and that stacks of one hash are
 * distinguished by it.
 */
#include "core/trace/kernel_code.h"
#include "tests/kit/test.h"
#include "tests/unit/trace_store.h"

#define MS    1000000ull
#define ADDR  0xffffffffc0001000ull
#define PAGE  0x100ull
#define PIECE 1u /* as the lowest bits of an id say */
#define AFTER 2u
#define ERA   3u

EP_TEST_RELEASES(ep_kernel_code_free)

static struct ep_kernel_code *new_code(void)
{
	struct ep_kernel_code *code = NULL;

	assert_int_equal(ep_kernel_code_new(&code), 0);
	ep_test_owns(code, ep_kernel_code_free_made);
	return code;
}

static void tell(struct ep_kernel_code *code, uint64_t time_ns, uint64_t addr, const char *name, bool is_gone)
{
	const struct ep_kernel_change change = {
		.time_ns = time_ns,
		.addr = addr,
		.bytes = PAGE,
		.is_gone = is_gone,
		.name = name,
		.module = "bpf",
	};

	ep_kernel_code_change(code, &change);
}

static void comes(struct ep_kernel_code *code, uint64_t time_ns, uint64_t addr, const char *name)
{
	tell(code, time_ns, addr, name, false);
}

static void goes(struct ep_kernel_code *code, uint64_t time_ns, uint64_t addr, const char *name)
{
	tell(code, time_ns, addr, name, true);
}

/* "" for what is left to a snapshot. */
static const char *name_at(const struct ep_kernel_code *code, uint64_t addr, uint64_t time_ns)
{
	struct ep_kernel_source source;

	assert_int_equal(ep_kernel_code_source(code, addr, ep_kernel_code_at(code, addr, time_ns), &source), 0);
	return source.name ? source.name : "";
}

static uint32_t kind_at(const struct ep_kernel_code *code, uint64_t addr, uint64_t time_ns)
{
	return ep_kernel_code_at(code, addr, time_ns) & 3;
}

#define CODE_TEST(name) EP_TEST_OF(name, struct ep_kernel_code *code, new_code())

CODE_TEST(nothing_is_told_of_a_kernel_that_stays)
{
	assert_false(ep_kernel_code_has_changed(code));
	assert_int_equal(ep_kernel_code_at(code, ADDR, 1), 0);
	assert_string_equal(name_at(code, ADDR, 1), "");
}

CODE_TEST(a_piece_has_a_beginning_and_an_end_in_space_and_time)
{
	comes(code, 100 * MS, ADDR, "one");
	assert_int_equal(ep_kernel_code_at(code, ADDR, 99 * MS), 0);
	assert_string_equal(name_at(code, ADDR, 100 * MS), "one");
	assert_string_equal(name_at(code, ADDR + PAGE - 1, 200 * MS), "one");
	assert_int_equal(ep_kernel_code_at(code, ADDR - 1, 200 * MS), 0);
	assert_int_equal(ep_kernel_code_at(code, ADDR + PAGE, 200 * MS), 0);
	goes(code, 300 * MS, ADDR, "one");
	assert_string_equal(name_at(code, ADDR, 300 * MS), "one");
	/* It may still run on another CPU. */
	assert_string_equal(name_at(code, ADDR, 300 * MS + MS / 2), "one");
	assert_int_equal(kind_at(code, ADDR, 302 * MS), AFTER);
}

CODE_TEST(what_takes_its_place_has_its_own_name)
{
	uint32_t one, two;

	comes(code, 100 * MS, ADDR, "one");
	goes(code, 200 * MS, ADDR, "one");
	comes(code, 200 * MS + 1, ADDR + 0x10, "two");
	one = ep_kernel_code_at(code, ADDR + 0x20, 150 * MS);
	two = ep_kernel_code_at(code, ADDR + 0x20, 250 * MS);
	assert_int_not_equal(one, two);
	assert_string_equal(name_at(code, ADDR + 0x20, 150 * MS), "one");
	assert_string_equal(name_at(code, ADDR + 0x20, 250 * MS), "two");
	/* Not there any more, and nothing is known of what is. */
	assert_int_equal(kind_at(code, ADDR, 250 * MS), AFTER);
}

/* It was there before we were: only a snapshot had its name until then. */
CODE_TEST(a_piece_of_before_the_start_that_goes_is_known_from_its_end)
{
	goes(code, 200 * MS, ADDR, "old");
	assert_string_equal(name_at(code, ADDR, 150 * MS), "old");
	assert_int_equal(kind_at(code, ADDR, 250 * MS), AFTER);
	assert_true(ep_kernel_code_may_name(code, ADDR, ADDR + 5));
	comes(code, 300 * MS, ADDR, "new");
	assert_false(ep_kernel_code_may_name(code, ADDR, ADDR + 5));
	assert_string_equal(name_at(code, ADDR, 150 * MS), "old");
	assert_string_equal(name_at(code, ADDR, 300 * MS), "new");
}

CODE_TEST(what_was_there_at_the_start_has_its_name_from_a_picture_and_an_end)
{
	ep_kernel_code_add_old(code, ADDR, PAGE);
	ep_kernel_code_add_old(code, ADDR + 5, PAGE); /* cannot be */
	assert_false(ep_kernel_code_has_changed(code));
	assert_true(ep_kernel_code_may_name(code, ADDR, ADDR + PAGE - 1));
	assert_false(ep_kernel_code_may_name(code, ADDR, ADDR + PAGE)); /* a filter of seccomp */
	comes(code, 100 * MS, ADDR + 0x1000, "other");
	assert_int_equal(ep_kernel_code_at(code, ADDR + 5, 150 * MS), 0);
	assert_true(ep_kernel_code_may_name(code, ADDR, ADDR + 5));
	goes(code, 200 * MS, ADDR, "old");
	assert_string_equal(name_at(code, ADDR + 5, 150 * MS), "old");
	assert_int_equal(kind_at(code, ADDR + 5, 250 * MS), AFTER);
	/* Reported by a list that was made before, but came later. */
	ep_kernel_code_add_old(code, ADDR, PAGE);
	ep_kernel_code_add_old(code, ADDR + 0x1000, PAGE);
	assert_int_equal(kind_at(code, ADDR + 5, 250 * MS), AFTER);
	assert_string_equal(name_at(code, ADDR + 0x1000, 150 * MS), "other");
}

CODE_TEST(what_takes_the_place_of_old_code_ends_it)
{
	ep_kernel_code_add_old(code, ADDR, PAGE);
	comes(code, 100 * MS, ADDR, "old"); /* once more: its end was not reported */
	assert_int_equal(ep_kernel_code_at(code, ADDR, 50 * MS), 0);
	assert_string_equal(name_at(code, ADDR, 150 * MS), "old");
	goes(code, 200 * MS, ADDR, "old");
	assert_int_equal(kind_at(code, ADDR, 250 * MS), AFTER);
}

CODE_TEST(a_picture_of_what_came_after_must_be_younger)
{
	struct ep_kernel_source source;
	uint32_t id;

	comes(code, 100 * MS, ADDR, "one");
	goes(code, 200 * MS, ADDR, "one");
	id = ep_kernel_code_at(code, ADDR, 400 * MS);
	assert_int_equal(ep_kernel_code_source(code, ADDR, id, &source), 0);
	assert_null(source.name);
	assert_int_equal(source.since_ns, 200 * MS);
	assert_false(source.is_unsure);
}

/* When a ring is replaced, two of them tell the same for a while (core/bpf/sideband_set.h). */
CODE_TEST(what_is_told_twice_is_one)
{
	uint32_t id;

	comes(code, 100 * MS, ADDR, "one");
	id = ep_kernel_code_at(code, ADDR, 150 * MS);
	comes(code, 100 * MS + 5, ADDR, "one");
	assert_int_equal(ep_kernel_code_at(code, ADDR, 150 * MS), id);
	goes(code, 200 * MS, ADDR, "one");
	goes(code, 200 * MS + 5, ADDR, "one");
	assert_int_equal(ep_kernel_code_at(code, ADDR, 150 * MS), id);
	/* The same program, loaded again. */
	comes(code, 300 * MS, ADDR, "one");
	assert_int_not_equal(ep_kernel_code_at(code, ADDR, 350 * MS), id);
	assert_string_equal(name_at(code, ADDR, 350 * MS), "one");
}

/* A virtual CPU was stolen while it wrote: records count by their times. */
CODE_TEST(an_end_that_comes_late_ends_nothing_younger)
{
	comes(code, 100 * MS, ADDR, "one");
	comes(code, 200 * MS, ADDR, "two");
	goes(code, 190 * MS, ADDR, "one");
	assert_string_equal(name_at(code, ADDR, 150 * MS), "one");
	assert_string_equal(name_at(code, ADDR, 250 * MS), "two");
	goes(code, 300 * MS, ADDR, "two");
	comes(code, 400 * MS, ADDR, "two");
	goes(code, 301 * MS, ADDR, "two");
	assert_string_equal(name_at(code, ADDR, 450 * MS), "two");
}

CODE_TEST(what_is_overlapped_has_ended)
{
	comes(code, 100 * MS, ADDR, "one");
	comes(code, 100 * MS, ADDR + PAGE, "beside");
	comes(code, 200 * MS, ADDR + PAGE - 1, "two");
	assert_string_equal(name_at(code, ADDR, 199 * MS), "one");
	assert_int_equal(kind_at(code, ADDR, 250 * MS), AFTER);
	assert_string_equal(name_at(code, ADDR + PAGE, 250 * MS), "two");
	assert_int_equal(kind_at(code, ADDR + 2 * PAGE - 1, 250 * MS), AFTER);
}

CODE_TEST(modules_that_come_and_go_are_looked_for_in_a_younger_picture)
{
	struct ep_kernel_source source;
	uint32_t before, unsure, after;

	ep_kernel_code_set_own(code, 0xffffffff81000000, 0xffffffff82000000);
	comes(code, 50 * MS, ADDR, "one");
	before = ep_kernel_code_at(code, ADDR + PAGE, 90 * MS);
	ep_kernel_code_doubt(code, 100 * MS, 200 * MS);
	unsure = ep_kernel_code_at(code, ADDR + PAGE, 150 * MS);
	after = ep_kernel_code_at(code, ADDR + PAGE, 200 * MS);
	assert_int_equal(ep_kernel_code_at(code, ADDR + PAGE, 90 * MS), before);
	assert_int_not_equal(before, unsure);
	assert_int_not_equal(unsure, after);
	assert_int_equal(ep_kernel_code_source(code, ADDR + PAGE, unsure, &source), 0);
	assert_true(source.is_unsure);
	assert_int_equal(source.since_ns, 200 * MS);
	assert_int_equal(ep_kernel_code_source(code, ADDR + PAGE, after, &source), 0);
	assert_false(source.is_unsure);
	assert_int_equal(source.since_ns, 200 * MS);
	/* Of the kernel's own text and of what is reported nothing invalidates. */
	assert_int_equal(ep_kernel_code_at(code, 0xffffffff81000010, 150 * MS), 0);
	assert_string_equal(name_at(code, ADDR, 150 * MS), "one");
}

CODE_TEST(after_a_loss_nothing_told_before_is_believed)
{
	comes(code, 100 * MS, ADDR, "one");
	ep_kernel_code_lose(code, 200 * MS, 250 * MS);
	assert_string_equal(name_at(code, ADDR, 199 * MS), "one");
	assert_int_equal(kind_at(code, ADDR, 200 * MS), ERA);
	assert_int_equal(kind_at(code, ADDR, 260 * MS), ERA);
	assert_true(ep_kernel_code_may_name(code, ADDR,
					    ADDR + 5)); /* it may be there: snapshots tell */
	comes(code, 300 * MS, ADDR, "two");
	assert_string_equal(name_at(code, ADDR, 300 * MS), "two");
	/* Modules are not reported by records. */
	assert_int_equal(ep_kernel_code_at(code, ADDR + 0x1000, 260 * MS), 0);
}

/* Floods of records are made by whoever likes to; and so would ids be. */
CODE_TEST(doubts_without_end_give_a_bounded_number_of_ids)
{
	uint32_t module = 0, piece = 0, ids = 0;
	struct ep_kernel_source source;

	comes(code, 1, ADDR, "one");
	for (uint64_t i = 1; i <= 1010; i++) {
		uint64_t now_ns = i * 50 * MS;

		ep_kernel_code_doubt(code, now_ns - 50 * MS, now_ns);
		ep_kernel_code_lose(code, now_ns - 50 * MS, now_ns);
		ids += ep_kernel_code_at(code, ADDR, now_ns) != piece;
		ids += ep_kernel_code_at(code, ADDR + 0x1000, now_ns) != module;
		piece = ep_kernel_code_at(code, ADDR, now_ns);
		module = ep_kernel_code_at(code, ADDR + 0x1000, now_ns);
		assert_int_equal(ep_kernel_code_source(code, ADDR, piece, &source), 0);
		assert_true(source.since_ns == now_ns && !source.name);
	}
	assert_in_range(ids, 32, 2 * (16 + 1 + 5));
	/* What goes on is unsure. */
	assert_true(source.is_unsure);
	/* And after a while each has its own again. */
	ep_kernel_code_doubt(code, 70000 * MS, 70001 * MS);
	assert_int_not_equal(ep_kernel_code_at(code, ADDR + 0x1000, 70001 * MS), module);
}

CODE_TEST(records_that_cannot_be_are_nothing)
{
	struct ep_kernel_change change = {.addr = UINT64_MAX - 5, .bytes = 100, .name = "x", .module = "bpf"};

	ep_kernel_code_change(code, &change);
	change = (struct ep_kernel_change){.addr = ADDR, .bytes = 0, .name = "x", .module = "bpf"};
	ep_kernel_code_change(code, &change);
	assert_false(ep_kernel_code_has_changed(code));
}

CODE_TEST(more_than_fits_is_left_to_pictures)
{
	uint64_t time_ns = 1;

	/* Those that ended go first, without a word that is wrong. */
	for (uint64_t i = 0; i < 17000; i++) {
		uint64_t addr = ADDR + i * PAGE;
		char name[32];

		snprintf(name, sizeof(name), "p%u", (unsigned int)i);
		comes(code, time_ns += 10 * MS, addr, name);
		assert_string_equal(name_at(code, addr, time_ns), name);
		goes(code, time_ns += 10 * MS, addr, name);
	}
	assert_int_equal(kind_at(code, ADDR, 1), 0);
	for (uint64_t i = 0; i < 17000; i++)
		comes(code, time_ns += 10 * MS, ADDR + i * PAGE, "live");
	/* What was there when it was too much may be gone: ask snapshots. */
	assert_int_equal(kind_at(code, ADDR, time_ns), ERA);
	assert_string_equal(name_at(code, ADDR + 16999 * PAGE, time_ns), "live");
}

/* The same against a list of all that was ever reported. */
CODE_TEST(random_comings_and_goings_agree_with_a_list)
{
	static struct {
		uint64_t birth_ns, end_ns, addr;
		char name[16];
	} told[500];
	uint64_t rng = 7;

	for (size_t i = 0; i < EP_LEN(told); i++) {
		uint64_t addr = ADDR + ep_mix64(++rng) % 40 * PAGE, now_ns = (i + 1) * 100 * MS;

		for (size_t k = 0; k < i; k++) {
			if (told[k].addr == addr && told[k].end_ns == UINT64_MAX) {
				told[k].end_ns = now_ns - 50 * MS;
				goes(code, told[k].end_ns, addr, told[k].name);
			}
		}
		told[i].birth_ns = now_ns;
		told[i].end_ns = UINT64_MAX;
		told[i].addr = addr;
		snprintf(told[i].name, sizeof(told[i].name), "p%zu", i);
		comes(code, now_ns, addr, told[i].name);
	}
	for (size_t i = 0; i < EP_LEN(told); i++) {
		assert_string_equal(name_at(code, told[i].addr + 5, told[i].birth_ns), told[i].name);
		if (told[i].end_ns != UINT64_MAX)
			assert_int_equal(kind_at(code, told[i].addr + 5, told[i].end_ns + 10 * MS), AFTER);
	}
}

/* --- in a store ------------------------------------------------------------------------------ */

static struct event event, known;

/* A kernel stack whose second frame, a caller, is at ADDR + 0x10. */
static void make_events(uint64_t time_ns)
{
	event_init(&event, EP_EVENT_TRACE, 42, 7);
	event.sample.event.time_ns = time_ns;
	event_kernel(&event, 0xffffffff81000010);
	event_kernel(&event, ADDR + 0x10);
	event_user(&event, EP_FRAME_NATIVE, 0, 5, 0x1000);
	event_init(&known, EP_EVENT_KNOWN, 42, 7);
	known.sample.event.time_ns = time_ns;
}

static void add_known_at(struct ep_store *store, uint64_t time_ns)
{
	known.sample.event.time_ns = time_ns;
	add_event(store, &known);
}

/* The id of the code of the frame at ADDR. */
static uint32_t code_of(const struct ep_interval *interval, uint32_t trace)
{
	const uint32_t *ids = ep_interval_frame_ids(interval, ep_interval_trace(interval, trace));
	struct ep_frame frame;

	ep_frames_get(ep_interval_frames(interval), ids[1], &frame);
	return frame.aux;
}

CODE_TEST(a_trace_known_by_hash_is_another_one_when_its_code_is)
{
	struct ep_store *store = new_store(1, NULL);
	struct ep_interval *interval;

	ep_store_set_kernel_code(store, code);
	comes(code, 10 * MS, ADDR, "one");
	make_events(20 * MS);
	add_event(store, &event);
	add_known_at(store, 30 * MS);
	goes(code, 40 * MS, ADDR, "one");
	comes(code, 50 * MS, ADDR, "two");
	for (uint64_t i = 0; i < 3; i++)
		add_known_at(store, (60 + i) * MS);
	add_known_at(store, 35 * MS); /* one that was held */
	assert_int_equal(ep_store_counters(store)->replaced, 3);
	assert_int_equal(ep_store_counters(store)->collisions, 0);
	interval = seal(store, 100 * MS);
	assert_int_equal(ep_interval_n_traces(interval), 2);
	assert_int_equal(ep_interval_row(interval, 0)->count, 3);
	assert_int_equal(ep_interval_row(interval, 1)->count, 3);
	assert_int_equal(code_of(interval, 1), ep_kernel_code_at(code, ADDR, 20 * MS));
	assert_int_equal(code_of(interval, 2), ep_kernel_code_at(code, ADDR, 60 * MS));
	assert_int_equal(ep_interval_trace(interval, 2)->n_frames, 3);
}

/* A function that ends in a call: its return address is the first byte of the code after it. */
CODE_TEST(a_caller_is_looked_up_before_its_return_address)
{
	struct ep_store *store = new_store(1, NULL);

	ep_store_set_kernel_code(store, code);
	comes(code, 10 * MS, ADDR, "one");
	comes(code, 10 * MS, ADDR + PAGE, "next");
	make_events(20 * MS);
	event.words[1] = ADDR + PAGE;
	add_event(store, &event);
	assert_int_equal(code_of(seal(store, 100 * MS), 1), ep_kernel_code_at(code, ADDR, 20 * MS));
}

CODE_TEST(so_is_one_that_the_interval_before_knew)
{
	struct ep_store *store = new_store(1, NULL);
	struct ep_interval *interval;

	ep_store_set_kernel_code(store, code);
	make_events(20 * MS);
	add_event(store, &event);
	(void)seal(store, 30 * MS);
	goes(code, 40 * MS, ADDR, "one");
	comes(code, 50 * MS, ADDR, "two");
	add_known_at(store, 60 * MS);
	interval = seal(store, 100 * MS);
	assert_int_equal(ep_interval_n_traces(interval), 1);
	assert_int_equal(code_of(interval, 1), ep_kernel_code_at(code, ADDR, 60 * MS));
}

CODE_TEST(without_a_change_a_known_trace_stays_one)
{
	struct ep_store *store = new_store(1, NULL);

	ep_store_set_kernel_code(store, code);
	comes(code, 1 * MS, ADDR + 0x5000, "elsewhere");
	make_events(20 * MS);
	add_event(store, &event);
	add_known_at(store, 30 * MS);
	assert_int_equal(ep_store_counters(store)->replaced, 0);
	assert_int_equal(ep_interval_n_traces(seal(store, 40 * MS)), 1);
}
