/* SPDX-License-Identifier: Apache-2.0 */
/* How processes hear that a file which they map was analysed: by a look at the mappings of all. */
#include "tests/unit/process_world.h"

#define OWN_ADDR ((uint64_t)(uintptr_t)world_new)

static struct ep_process *read_child(struct world *w)
{
	struct ep_program child = world_child();

	world_sample_with(w, world_now(), child, EP_SAMPLE_UNKNOWN_PROCESS | EP_SAMPLE_RAW, 0);
	world_settle(w);
	assert_non_null(ep_area_executable(world_area(w, child, OWN_ADDR)));
	world_publish(w);
	return world_live(w, child.pid);
}

/* Another executable of the same process: the C library. */
static struct ep_executable *other_than(struct ep_process *process, const struct ep_executable *one)
{
	const struct ep_area *place;

	ep_vec_each (ep_process_areas(process), place) {
		if (ep_area_executable(place) && ep_area_executable(place) != one)
			return ep_area_executable(place);
	}
	fail();
	return NULL;
}

WORLD_TEST(who_maps_it_hears_of_it)
{
	struct ep_process *process = read_child(w), *second = read_child(w);
	uint64_t spreads = w->processes->stats.spreads;

	w->processes->news_paid_ns = 0;
	ep_processes_on_executable(w->processes, ep_area_executable(ep_areas_find(
							 ep_process_areas(process), OWN_ADDR)));
	assert_true(process->published.is_dirty);
	assert_true(second->published.is_dirty);
	assert_int_equal(w->processes->stats.spreads, spreads + 1);
	assert_true(w->processes->news_paid_ns > 0);
}

/* A million mappings of others, which take longer than there is time for each second. */
WORLD_TEST(news_beyond_the_budget_goes_with_the_next_look)
{
	struct ep_process *process = read_child(w), *second = read_child(w);
	struct ep_executable *own =
		ep_area_executable(ep_areas_find(ep_process_areas(process), OWN_ADDR));
	struct ep_executable *library = other_than(process, own);
	struct ep_area area = *ep_areas_find(ep_process_areas(second), OWN_ADDR);
	uint64_t spreads = w->processes->stats.spreads;

	/* The second one does not map it any more. */
	world_map_anonymous(w, world_now(), second->program.pid, area.start, area.end - area.start);
	world_publish(w);
	w->processes->news_paid_ns = world_now() + 3600 * EP_NS_PER_SEC;
	ep_processes_on_executable(w->processes, library);
	ep_processes_on_executable(w->processes, own);
	world_turn(w);
	assert_int_equal(w->processes->stats.spreads, spreads);
	assert_false(process->published.is_dirty);
	assert_false(second->published.is_dirty);
	w->processes->news_paid_ns = 0;
	ep_processes_spread_news(w->processes);
	assert_int_equal(w->processes->stats.spreads, spreads + 1);
	assert_true(process->published.is_dirty);
	assert_true(second->published.is_dirty); /* it maps the first one */
	/* Once. */
	world_publish(w);
	world_turn(w);
	assert_int_equal(w->processes->stats.spreads, spreads + 1);
}

/* Their memory will be used for something else. */
WORLD_TEST(tables_that_are_dropped_are_no_news_that_waits)
{
	struct ep_process *process = read_child(w);
	struct ep_executable *own =
		ep_area_executable(ep_areas_find(ep_process_areas(process), OWN_ADDR));

	w->processes->news_paid_ns = world_now() + 3600 * EP_NS_PER_SEC;
	own->state = EP_EXECUTABLE_EVICTED;
	ep_processes_on_executable(w->processes, own);
	assert_true(process->published.is_dirty);
	own->state = EP_EXECUTABLE_READY;
}

WORLD_TEST(of_what_nobody_maps_there_is_no_news)
{
	world_prepare(w, "/proc/self/exe");
	assert_true(TAILQ_EMPTY(&w->processes->news));
	assert_int_equal(w->processes->stats.spreads, 0);
}

int main(void)
{
	return ep_test_run(NULL, NULL);
}

/* Two files are replaced while there is no time for a look at a million mappings: they go with one look. */
WORLD_TEST(what_is_replaced_beyond_the_budget_goes_with_one_look)
{
	struct ep_process *process = read_child(w), *second = read_child(w);
	struct ep_area *place = ep_areas_find(ep_process_areas(process), OWN_ADDR);
	struct ep_executable *own = ep_area_executable(place), *library = other_than(process, own),
			     *third;
	uint64_t replaces = w->processes->stats.replaces;
	uint32_t refs = own->refs;

	w->processes->news_paid_ns = world_now() + 3600 * EP_NS_PER_SEC;
	third = ep_executables_get_vdso(w->processes->executables);
	ep_processes_on_replaced(w->processes, own, library);
	ep_processes_on_replaced(w->processes, library, third);
	world_turn(w);
	assert_int_equal(w->processes->stats.replaces, replaces);
	assert_ptr_equal(ep_area_executable(place), own);
	w->processes->news_paid_ns = 0;
	ep_processes_spread_news(w->processes);
	assert_int_equal(w->processes->stats.replaces, replaces + 1);
	assert_true(w->processes->news_paid_ns > 0);
	assert_ptr_equal(ep_area_executable(place),
			 third); /* as if each had had a look of its own */
	assert_ptr_equal(ep_area_executable(ep_areas_find(ep_process_areas(second), OWN_ADDR)),
			 third);
	assert_true(own->refs < refs);
	assert_true(process->languages.remapped && second->languages.remapped);
	ep_processes_spread_news(w->processes);
	assert_int_equal(w->processes->stats.replaces, replaces + 1);
	ep_executable_unref(third);
}

/* The look ends, and what is mapped is read. */
WORLD_TEST(what_is_replaced_by_what_it_was_is_read_again)
{
	struct ep_process *process = read_child(w);
	struct ep_area *place = ep_areas_find(ep_process_areas(process), OWN_ADDR);
	struct ep_executable *own = ep_area_executable(place), *library = other_than(process, own);

	w->processes->news_paid_ns = world_now() + 3600 * EP_NS_PER_SEC;
	ep_processes_on_replaced(w->processes, own, library);
	ep_processes_on_replaced(w->processes, library, own);
	w->processes->news_paid_ns = 0;
	ep_processes_spread_news(w->processes);
	assert_null(ep_area_executable(place));
	assert_int_equal(world_state(place), AREA_GONE);
}

/* Of one file that is reported to be two others nobody knows which it is. */
WORLD_TEST(what_is_replaced_twice_is_read_again)
{
	struct ep_process *process = read_child(w);
	struct ep_area *place = ep_areas_find(ep_process_areas(process), OWN_ADDR);
	struct ep_executable *own = ep_area_executable(place), *library = other_than(process, own);

	w->processes->news_paid_ns = world_now() + 3600 * EP_NS_PER_SEC;
	ep_processes_on_replaced(w->processes, own, library);
	ep_processes_on_replaced(w->processes, own, NULL);
	w->processes->news_paid_ns = 0;
	ep_processes_spread_news(w->processes);
	assert_null(ep_area_executable(place));
	assert_int_equal(world_state(place), AREA_GONE);
	world_settle(w);
	place = ep_areas_find(ep_process_areas(process), OWN_ADDR);
	assert_true(place && ep_area_executable(place));
}

/* Under sanitizers, which see a leak. */
WORLD_TEST(what_waits_at_the_end_is_let_go)
{
	struct ep_process *process = read_child(w);
	struct ep_executable *own =
		ep_area_executable(ep_areas_find(ep_process_areas(process), OWN_ADDR));

	w->processes->news_paid_ns = world_now() + 3600 * EP_NS_PER_SEC;
	ep_processes_on_replaced(w->processes, own, other_than(process, own));
	assert_int_equal(w->processes->replacements.len, 1);
}
