/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a program whose exec is reported when a sample of it was seen and it is being read.
 */
#include "tests/kit/test.h"
#include "tests/unit/process_world.h"

/* Ourselves: somebody who can be read. */
static struct ep_program own_program(void)
{
	ep_cleanup(ep_process_info_fini) struct ep_process_info info = {0};

	assert_int_equal(ep_process_read_stat(getpid(), &info), 0);
	return (struct ep_program){
		.pid = (uint32_t)getpid(), .image = 7, .start_ns = info.start_ns};
}

/* /proc says our own name, as that of a task whose exec has not renamed it yet. */
static void tell_exec(struct world *w, struct ep_program own, uint64_t time_ns)
{
	world_exec(w, time_ns, own, "new name");
	world_settle(w);
	assert_described(w, own, "new name", "");
}

EP_TEST_WITH(before_it_is_read, world_open, world_close)
{
	struct ep_program own = own_program();
	uint64_t now_ns = world_now();

	world_sample_with(*state, now_ns, own, EP_SAMPLE_UNKNOWN_PROCESS, 0);
	tell_exec(*state, own, now_ns + 1);
}

EP_TEST_WITH(while_it_is_read, world_open, world_close)
{
	struct world *w = *state;
	struct ep_program own = own_program();
	uint64_t now_ns = world_now();

	world_sample_with(w, now_ns, own, EP_SAMPLE_UNKNOWN_PROCESS, 0);
	world_turn(w);
	assert_int_equal(world_live(w, own.pid)->state, EP_PROCESS_READING);
	tell_exec(w, own, now_ns + 1);
}

EP_TEST_WITH(when_it_was_read, world_open, world_close)
{
	struct world *w = *state;
	struct ep_program own = own_program();
	uint64_t now_ns = world_now();

	world_sample_with(w, now_ns, own, EP_SAMPLE_UNKNOWN_PROCESS, 0);
	world_settle(w);
	assert_int_equal(w->processes->reads.stats.reads, 1);
	tell_exec(w, own, now_ns + 1);
}
