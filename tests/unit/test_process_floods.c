/* SPDX-License-Identifier: Apache-2.0 */
/* A process that changes its mappings faster than they can be followed, and its neighbours. */
#include "tests/unit/process_world.h"

#define OWN_ADDR ((uint64_t)(uintptr_t)world_new)

static void start(struct world *w, struct ep_program program)
{
	world_exec(w, world_now(), program, "prog");
	world_map_anonymous(w, world_now(), program.pid, 0x10000, 0x1000);
}

static void flood(struct world *w, struct ep_program program)
{
	ep_processes_on_flood(w->processes, (pid_t)program.pid, world_now());
}

static uint64_t reads(const struct world *w)
{
	return w->processes->reads.stats.reads;
}

WORLD_TEST(who_floods_is_doubted_alone)
{
	start(w, prog);
	start(w, other);
	world_publish(w);
	flood(w, prog);
	world_turn(w);
	assert_null(world_proc(w, prog.pid));
	assert_int_equal(ep_process_areas(world_live(w, prog.pid))->len, 0);
	assert_non_null(world_proc(w, other.pid));
	assert_int_equal(ep_process_areas(world_live(w, other.pid))->len, 1);
	flood(w, (struct ep_program){.pid = PID(3)}); /* nobody knows it */
}

WORLD_TEST(what_is_older_than_the_flood_is_not_believed)
{
	uint64_t before_ns = world_now();

	start(w, prog);
	flood(w, prog);
	world_map_anonymous(w, before_ns, prog.pid, 0x20000, 0x1000);
	world_map_anonymous(w, world_now(), prog.pid, 0x30000, 0x1000);
	assert_int_equal(ep_process_areas(world_live(w, prog.pid))->len, 0);
}

/* It is read once, in vain, and its next samples do not wait: they say why. */
WORLD_TEST(while_it_floods_it_is_read_ever_less_often)
{
	struct ep_program child = world_child();

	world_exec(w, world_now(), child, "child");
	flood(w, child);
	world_sample_with(w, world_now(), child, EP_SAMPLE_UNKNOWN_PROCESS | EP_SAMPLE_RAW, 0);
	assert_int_equal(w->passed, 0);
	world_live(w, child.pid)->read.next_retry_ns = UINT64_MAX; /* however slow the machine is */
	for (int i = 0; i < 5000 && world_live(w, child.pid)->state != EP_PROCESS_READING; i++) {
		world_turn(w);
		usleep(1000);
	}
	/* Whenever the worker begins, it is before that. */
	ep_processes_on_flood(w->processes, (pid_t)child.pid, UINT64_MAX);
	world_settle(w);
	assert_int_equal(reads(w), 1);
	assert_int_equal(world_live(w, child.pid)->state, EP_PROCESS_NEW);
	assert_int_equal(ep_process_areas(world_live(w, child.pid))->len, 0);
	assert_int_equal(w->passed, 1);
	world_sample_with(w, world_now(), child, EP_SAMPLE_UNKNOWN_PROCESS | EP_SAMPLE_RAW, 0);
	assert_int_equal(w->passed, 2);
	/* Nor does a loss of others change that. */
	ep_processes_on_lost(w->processes);
	assert_int_equal(world_live(w, child.pid)->read.next_retry_ns, UINT64_MAX);
	/* When it is over it is as any other. */
	world_live(w, child.pid)->trust.doubted_ns = world_now();
	world_live(w, child.pid)->read.next_retry_ns = 0;
	world_sample_with(w, world_now(), child, EP_SAMPLE_UNKNOWN_PROCESS | EP_SAMPLE_RAW, 0);
	world_settle(w);
	assert_int_equal(reads(w), 2);
	assert_int_equal(world_live(w, child.pid)->state, EP_PROCESS_KNOWN);
	assert_false(world_live(w, child.pid)->trust.floods);
	assert_non_null(world_area(w, child, OWN_ADDR));
	assert_int_equal(w->passed, 3);
}

/* BPF says of who is not known that he is not analysed yet. */
WORLD_TEST(samples_of_a_flood_say_so)
{
	struct {
		struct ep_sample sample;
		uint64_t words[4];
	} event = {.sample = {.event = {.type = EP_EVENT_TRACE, .time_ns = world_now()},
			      .start_ns = prog.start_ns, .pid = prog.pid, .tid = prog.pid, .image = prog.image,
			      .hash = 1, .n_words = 4, .n_frames = 2, .error = EP_ERROR_NOT_ANALYSED,
			      .flags = EP_SAMPLE_UNKNOWN_PROCESS | EP_SAMPLE_RAW},
		   .words = {EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, 0), 0x1234,
			     EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1, EP_ERROR_NOT_ANALYSED), 0x1234}};

	start(w, prog);
	flood(w, prog);
	world_live(w, prog.pid)->read.next_retry_ns = UINT64_MAX;
	ep_processes_on_sample(w->processes, &event.sample, sizeof(event));
	assert_int_equal(w->passed, 1);
	assert_int_equal(w->last.error, EP_ERROR_UNSTEADY);
	assert_int_not_equal(w->last.hash, 1);
	assert_int_equal(w->last_words[2], EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1, EP_ERROR_UNSTEADY));
}

WORLD_TEST(a_neighbour_is_read_once_more_when_it_is_sampled)
{
	struct ep_program child = world_known_child(w);
	uint64_t check_ns;

	ep_processes_on_crowded(w->processes);
	world_turn(w);
	assert_non_null(world_proc(w, child.pid)); /* what is known holds */
	assert_int_equal(reads(w), 0);
	world_sample(w, world_now(), child);
	assert_int_equal(w->passed, 1);
	world_settle(w);
	assert_int_equal(reads(w), 1);
	assert_null(world_area(w, child, 0x10000));
	assert_non_null(world_area(w, child, OWN_ADDR));
	check_ns = world_live(w, child.pid)->trust.check_ns;
	assert_true(check_ns >= w->processes->crowded_ns + EP_CHECK_NS);
	/* And not with each of a thousand losses. */
	ep_processes_on_crowded(w->processes);
	world_sample(w, check_ns - 1, child);
	assert_int_equal(w->processes->stats.checks, 1);
	world_sample(w, check_ns, child);
	assert_int_equal(w->processes->stats.checks, 2);
	world_settle(w);
	/* Nothing was lost since. */
	world_sample(w, check_ns + 100 * EP_NS_PER_SEC, child);
	assert_int_equal(w->processes->stats.checks, 2);
}

/* --- files that were refused ----------------------------------------------------------------- */

WORLD_TEST(a_file_that_was_refused_is_asked_for_again)
{
	struct ep_program child = world_known_child(w);
	struct ep_process *process = world_live(w, child.pid);
	struct ep_executable *executable;
	uint64_t due_ns;

	ep_reads_request(&w->processes->reads, process, 0);
	world_settle(w);
	assert_int_equal(reads(w), 1);
	assert_int_equal(process->trust.refused_ns, 0);
	executable = ep_area_executable(world_area(w, child, OWN_ADDR));
	assert_int_equal(executable->state, EP_EXECUTABLE_READY);
	/* As if its file system had not answered. */
	executable->state = EP_EXECUTABLE_FAILED;
	executable->unopened = executable->refused = true;
	executable->n_segments = 0;
	executable->retry_ns = process->trust.known_ns + 3600 * EP_NS_PER_SEC;
	ep_processes_on_executable(w->processes, executable);
	due_ns = process->trust.refused_ns;
	assert_int_equal(due_ns, executable->retry_ns);
	world_sample(w, due_ns - 1, child);
	world_settle(w);
	assert_int_equal(reads(w), 1);
	/* Nor when something else has the process read meanwhile. */
	ep_reads_request(&w->processes->reads, process, 0);
	world_settle(w);
	assert_int_equal(reads(w), 2);
	assert_int_equal(executable->state, EP_EXECUTABLE_FAILED);
	assert_int_equal(process->trust.refused_ns, due_ns);
	executable->retry_ns = 0;
	world_sample(w, due_ns, child);
	world_settle(w);
	assert_int_equal(reads(w), 3);
	assert_int_equal(executable->state, EP_EXECUTABLE_READY);
	assert_false(executable->refused);
	assert_int_equal(process->trust.refused_ns, 0);
	world_sample(w, due_ns + 100 * EP_NS_PER_SEC, child);
	world_settle(w);
	assert_int_equal(reads(w), 3);
}

/* All at one time: what it may cost at once is used up. */
WORLD_TEST(records_of_mappings_have_a_price)
{
	uint64_t now_ns;
	uint32_t n = 0;

	start(w, prog);
	start(w, other);
	now_ns = world_now();
	for (; n < 10000000 && !world_live(w, prog.pid)->trust.floods; n++)
		world_map_anonymous(w, now_ns, prog.pid, 0x10000, 0x1000);
	assert_true(world_live(w, prog.pid)->trust.floods);
	assert_true(n >= 100000);
	assert_false(world_live(w, other.pid)->trust.floods);
	assert_int_equal(w->processes->stats.floods, 1);
}

/* 500 ns of a twentieth of a CPU, and 2 s of that at once (docs/bounds.md), also where each is another mapping. */
WORLD_TEST(each_record_is_charged_once)
{
	const uint32_t in_budget = 2000000000 / (20 * 500);
	uint64_t now_ns;
	uint32_t n = 0;

	start(w, prog);
	now_ns = world_now();
	for (; n < 10000000 && !world_live(w, prog.pid)->trust.floods; n++)
		world_map_anonymous(w, now_ns, prog.pid, 0x10000, n % 2 ? 0x1000 : 0x2000);
	assert_in_range(n, in_budget * 9 / 10, in_budget + 1); /* a place or two move with each */
}

/* Each moves all that lie after it. */
WORLD_TEST(mappings_before_many_others_cost_more)
{
	uint64_t now_ns;
	uint32_t n = 0;

	start(w, prog);
	now_ns = world_now();
	for (uint64_t i = 0; i < 20000; i++) { /* of files: anonymous ones would become fewer */
		struct ep_area area = {.start = 0x100000000 + i * 0x10000,
				       .time_ns = now_ns,
				       .end = 0x100001000 + i * 0x10000};

		assert_int_equal(put_gone_area(&world_live(w, prog.pid)->sharer,
					       &w->processes->n_areas, area),
				 0);
	}
	assert_false(world_live(w, prog.pid)->trust.floods);
	for (; n < 10000000 && !world_live(w, prog.pid)->trust.floods; n++)
		world_map_anonymous(w, now_ns, prog.pid, 0x20000000 + n * 0x10000ull, 0x1000);
	assert_true(world_live(w, prog.pid)->trust.floods);
	assert_true(n < 10000);
}
