/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of work for which there was no memory when it was to be given to a worker: it is
 * done later. */
#include "core/plugin/job.h"
#include "core/process/executables_internal.h"
#include "tests/unit/process_world.h"

static bool there_are_none;

int __real_ep_job_run(struct uv_loop_s *loop, void (*work)(void *arg), void (*after)(void *arg),
		      void *arg);
int __wrap_ep_job_run(struct uv_loop_s *loop, void (*work)(void *arg), void (*after)(void *arg),
		      void *arg);
int __wrap_ep_job_run(struct uv_loop_s *loop, void (*work)(void *arg), void (*after)(void *arg),
		      void *arg)
{
	return there_are_none ? -ENOMEM : __real_ep_job_run(loop, work, after, arg);
}

WORLD_TEST(a_file_is_analysed_later)
{
	struct ep_executables *executables = w->processes->executables;
	struct ep_executable *executable;
	struct ep_proc_file file;

	there_are_none = true;
	assert_int_equal(ep_proc_open_path("/proc/self/exe", &file), 0);
	assert_int_equal(ep_executables_prepare(executables, "/proc/self/exe", &file), 0);
	executable = ep_executables_find(executables, 1);
	assert_int_equal(executable->state, EP_EXECUTABLE_PENDING);
	ep_processes_sweep(w->processes, KEEP_NS);
	assert_int_equal(executable->state, EP_EXECUTABLE_PENDING);
	there_are_none = false;
	ep_processes_sweep(w->processes, KEEP_NS); /* a second later */
	world_settle(w);
	assert_int_equal(executable->state, EP_EXECUTABLE_READY);
	assert_int_equal(ep_executables_stats(executables)->failed, 0);
}

WORLD_TEST(room_for_rows_is_made_later)
{
	static const struct ep_row rows[1000];
	struct ep_room *room = &w->processes->room;
	struct ep_row_block *blocks[10000], *block;
	uint32_t n = 0, turn = room->turn;

	there_are_none = true;
	while (n < EP_LEN(blocks) &&
	       (block = ep_room_put(room, rows, EP_LEN(rows), EP_LEN(rows))) != NULL)
		blocks[n++] = block;
	assert_in_range(n, 1, EP_LEN(blocks) - 1);
	there_are_none = false;
	ep_room_retry(room); /* a second later */
	assert_int_equal(room->turn, turn + 1);
	assert_null(ep_room_put(room, rows, EP_LEN(rows), EP_LEN(rows)));
	while (room->state == EP_ROOM_GROWING)
		uv_run(&w->loop, UV_RUN_ONCE);
	assert_int_equal(room->state, EP_ROOM_OPEN);
	block = ep_room_put(room, rows, EP_LEN(rows), EP_LEN(rows));
	assert_non_null(block);
	ep_room_unref(room, block);
	while (n > 0)
		ep_room_unref(room, blocks[--n]);
}

int main(void)
{
	return ep_test_run(NULL, NULL);
}
