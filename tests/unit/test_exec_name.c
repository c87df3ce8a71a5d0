/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a program whose exec is told of when a sample of it was seen and it is being read. */
#include "core/base/clock.h"
#include "core/proc/process.h"
#include "core/process/processes.h"
#include "core/unwind/delta_store.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

static int add_chunk(void *arg, uint32_t index, void **ret_memory)
{
	(void)arg;
	(void)index;
	*ret_memory = calloc(1, EP_CHUNK_BYTES);
	return *ret_memory ? 0 : -ENOMEM;
}

static void remove_chunk(void *arg, uint32_t index, void *memory)
{
	(void)arg;
	(void)index;
	free(memory);
}

static void pass(void *arg, const void *event, size_t bytes)
{
	(void)arg;
	(void)event;
	(void)bytes;
}

static void catch_up(void *arg)
{
	(void)arg;
}

struct world {
	uv_loop_t loop;
	struct ep_rule rules[EP_MAX_RULES];
	struct ep_delta_store *store;
	struct ep_processes *processes;
	struct ep_program program; /* ourselves: somebody who can be read */
};

static int open_world(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct ep_delta_store_ops ops = {
		.add_chunk = add_chunk,
		.remove_chunk = remove_chunk,
		.rules = world->rules,
	};
	struct ep_processes_options options = {
		.loop = &world->loop,
		.rules = world->rules,
		.procs_fd = -1,
		.reads_per_second = 20,
		.max_processes = 16,
		.held_bytes = 65536,
		.hears_mappings = true,
		.pass = pass,
		.catch_up = catch_up,
	};
	struct ep_process_info info = {0};

	assert_int_equal(uv_loop_init(&world->loop), 0);
	assert_int_equal(ep_delta_store_new(&ops, 16u << 20, &world->store), 0);
	options.store = world->store;
	assert_int_equal(ep_processes_new(&options, &world->processes), 0);
	assert_int_equal(ep_process_read_stat(getpid(), &info), 0);
	world->program = (struct ep_program){
		.pid = (uint32_t)getpid(), .image = 7, .start_ns = info.start_ns};
	ep_process_info_fini(&info);
	*state = world;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	ep_processes_stop(world->processes);
	uv_run(&world->loop, UV_RUN_DEFAULT);
	ep_processes_free(world->processes);
	ep_delta_store_free(world->store);
	assert_int_equal(uv_loop_close(&world->loop), 0);
	free(world);
	return 0;
}

static void send_sample(const struct world *world, uint64_t time_ns)
{
	struct ep_sample sample = {
		.event = {.type = EP_EVENT_TRACE, .time_ns = time_ns},
		.start_ns = world->program.start_ns,
		.pid = world->program.pid,
		.tid = world->program.pid,
		.image = world->program.image,
		.flags = EP_SAMPLE_UNKNOWN_PROCESS,
	};

	ep_processes_on_sample(world->processes, &sample, sizeof(sample));
}

static void send_exec(const struct world *world, uint64_t time_ns)
{
	struct ep_process_event event = {
		.event = {.type = EP_EVENT_EXEC, .time_ns = time_ns},
		.start_ns = world->program.start_ns,
		.pid = world->program.pid,
		.image = world->program.image,
		.comm = "new name",
	};

	ep_processes_on_event(world->processes, &event);
}

static void run_until_idle(struct world *world)
{
	for (int i = 0; i < 10000 && ep_processes_busy(world->processes) > 0; i++)
		uv_run(&world->loop, UV_RUN_ONCE);
	assert_int_equal(ep_processes_busy(world->processes), 0);
}

static void assert_name(const struct world *world, const char *name)
{
	struct ep_process_description description;

	assert_int_equal(ep_processes_describe(world->processes, world->program, &description), 0);
	assert_string_equal(description.comm, name);
}

/* /proc says our own name, as that of a task whose exec has not renamed it yet. */
static void before_it_is_read(void **state)
{
	struct world *world = *state;
	uint64_t now_ns = ep_clock_mono_ns();

	send_sample(world, now_ns);
	send_exec(world, now_ns + 1);
	run_until_idle(world);
	assert_name(world, "new name");
}

static void while_it_is_read(void **state)
{
	struct world *world = *state;
	uint64_t now_ns = ep_clock_mono_ns();

	send_sample(world, now_ns);
	ep_processes_end_turn(world->processes, now_ns); /* the read starts */
	assert_true(ep_processes_busy(world->processes) > 0);
	send_exec(world, now_ns + 1);
	run_until_idle(world);
	assert_name(world, "new name");
}

static void when_it_was_read(void **state)
{
	struct world *world = *state;
	uint64_t now_ns = ep_clock_mono_ns();

	send_sample(world, now_ns);
	run_until_idle(world);
	assert_int_equal(ep_processes_stats(world->processes).reads, 1);
	send_exec(world, now_ns + 1);
	run_until_idle(world);
	assert_name(world, "new name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(before_it_is_read, open_world, close_world),
		cmocka_unit_test_setup_teardown(while_it_is_read, open_world, close_world),
		cmocka_unit_test_setup_teardown(when_it_was_read, open_world, close_world),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
