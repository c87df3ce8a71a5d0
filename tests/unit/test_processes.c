/* SPDX-License-Identifier: Apache-2.0 */
/* The process manager: records in, descriptions, places and what is published to BPF out. */
#include "tests/unit/process_world.h"

#define MS EP_NS_PER_MS

static const struct ep_program shell = {.pid = PID(1), .image = 1, .start_ns = 1000 * MS};
static const struct ep_program child = {.pid = PID(2), .image = 1, .start_ns = 2000 * MS};
static const struct ep_program tool = {.pid = PID(2), .image = 2, .start_ns = 2000 * MS};

/* A shell that is known, with its program, at this time. */
static void start_shell(struct world *w, uint64_t time_ns)
{
	world_exec(w, time_ns, shell, "sh");
	world_map_anonymous(w, time_ns, shell.pid, 0x1000, 0x1000);
	world_turn(w);
}

/* A shell at t that forks at once; t. */
static uint64_t fork_shell(struct world *w, uint64_t t)
{
	start_shell(w, t);
	world_fork(w, t + 1, shell.pid, child);
	return t;
}

static void map_named(struct world *w, uint64_t time_ns, uint32_t pid, uint64_t addr,
		      const char *name)
{
	struct ep_mapping_event event = {.pid = (pid_t)pid, .time_ns = time_ns, .addr = addr,
					 .bytes = 0x1000, .name = name};

	ep_processes_on_mapping(w->processes, &event);
}

/* --- one life -------------------------------------------------------------------------------- */

WORLD_TEST(a_life_in_order)
{
	uint64_t t = fork_shell(w, world_now());

	assert_described(w, child, "sh", "");
	world_exec(w, t + 2, tool, "tool");
	map_named(w, t + 3, tool.pid, 0x1000, "/nowhere/tool");
	map_named(w, t + 4, tool.pid, 0x8000, "/nowhere/ld.so");
	world_sample(w, t + 5, tool);
	assert_int_equal(w->passed, 1);
	assert_int_equal(w->last.image, tool.image);
	assert_described(w, tool, "tool", "/nowhere/tool");
	assert_described(w, child, "sh", "");
	assert_described(w, shell, "sh", "");
	world_settle(w);
	world_exit(w, t + 6, tool);
	assert_described(w, tool, "tool", "/nowhere/tool");
	assert_null(world_live(w, tool.pid));
}

WORLD_TEST(names_stay_for_a_while_if_it_was_sampled)
{
	uint64_t t = fork_shell(w, world_now() - 5 * EP_NS_PER_SEC);

	world_exec(w, t + 2, tool, "tool");
	map_named(w, t + 3, tool.pid, 0x1000, "/nowhere/tool");
	world_sample(w, t + 4, tool);
	world_exit(w, t + 5, tool);
	world_settle(w);
	ep_processes_sweep(w->processes, KEEP_NS);
	assert_described(w, tool, "tool", "/nowhere/tool");
	assert_int_equal(ep_process_areas(world_process(w, tool))->len, 0);
	assert_null(ep_processes_identity(w->processes, child));
	ep_processes_sweep(w->processes, 4 * EP_NS_PER_SEC);
	assert_null(ep_processes_identity(w->processes, tool));
	assert_int_equal(w->processes->table.n_ended, 0);
}

WORLD_TEST(nothing_is_let_go_before_it_was_all_heard_of)
{
	uint64_t t = world_now() - 5 * EP_NS_PER_SEC;

	start_shell(w, t);
	world_exit(w, t + 1, shell);
	w->processes->known_until_ns = t + 2;
	ep_processes_sweep(w->processes, KEEP_NS);
	assert_non_null(world_process(w, shell));
}

/* --- across an exec -------------------------------------------------------------------------- */

WORLD_TEST(late_sample_is_the_old_images)
{
	uint64_t t = fork_shell(w, world_now());

	world_exec(w, t + 3, tool, "tool");
	world_sample(w, t + 2, child);
	assert_true(world_process(w, child)->sampled);
	assert_false(world_process(w, tool)->sampled);
	assert_ptr_equal(world_live(w, tool.pid), world_process(w, tool));
}

WORLD_TEST(early_sample_gets_its_name_with_the_exec)
{
	uint64_t t = fork_shell(w, world_now());

	world_sample(w, t + 3, tool);
	assert_int_equal(world_live(w, tool.pid)->program.image, tool.image);
	world_exec(w, t + 2, tool, "tool");
	map_named(w, t + 4, tool.pid, 0x1000, "/nowhere/tool");
	assert_described(w, tool, "tool", "/nowhere/tool");
	assert_described(w, child, "sh", "");
	assert_non_null(world_area(w, child, 0x1000));
}

/* --- whose it is ----------------------------------------------------------------------------- */

/*
 * An exec tells its user, and the number of its cgroup, of which a read of somebody has reported
 * the path.
 */
WORLD_TEST(exec_tells_whose_it_is)
{
	uint64_t t = world_now();
	const struct ep_identity *identity;

	ep_cgroup_paths_learn(&w->processes->cgroup_paths, 76, "/other");
	ep_cgroup_paths_learn(&w->processes->cgroup_paths, 77, "/system.slice/x.service");
	fork_shell(w, t);
	w->user = 33;
	w->cgroup = 77;
	world_exec(w, t + 2, tool, "tool");
	map_named(w, t + 3, tool.pid, 0x1000, "/nowhere/tool");
	identity = ep_processes_identity(w->processes, tool);
	assert_int_equal(identity->user, 33);
	assert_string_equal(identity->cgroup_path, "/system.slice/x.service");
	assert_string_equal(identity->exe_path, "/nowhere/tool");
	identity = ep_processes_identity(w->processes, child);
	assert_int_equal(identity->user, 0);
	assert_string_equal(identity->cgroup_path, "");
	w->cgroup = 5;
	world_exec(w, t + 4, shell, "again");
	assert_string_equal(ep_processes_identity(w->processes, shell)->cgroup_path, "");
}

/* What a child is forked from may have been root, and the child took other rights since: it is looked at itself. */
WORLD_TEST(forked_child_that_is_sampled_is_read_itself)
{
	uint64_t t = world_now();
	struct ep_process *process;

	start_shell(w, t);
	process = world_process(w, shell);
	ep_process_take_identity(process, ep_identity_new(&(struct ep_identity){
						  .comm = "sh", .exe_path = "/bin/sh", .was_read = true}));
	process->read.is_identified = true;
	world_fork(w, t + 1, shell.pid, child);
	world_sample(w, t + 2, shell);
	world_sample(w, t + 2, child);
	assert_false(process->read.identity_only);
	assert_true(world_process(w, child)->read.identity_only);
}

/* One that was there before us: nobody knew its image, so the sample seemed to be of what we knew. */
WORLD_TEST(exec_after_its_sample_renames_what_was_scanned)
{
	struct ep_program any = {.pid = PID(2), .image = EP_IMAGE_ANY, .start_ns = 2000 * MS};
	uint64_t t = world_now();
	struct ep_process *process = ep_processes_add(w->processes, any, 0);

	ep_process_take_identity(process, ep_identity_new(&(struct ep_identity){
						  .comm = "old", .exe_path = "/old", .was_read = true}));
	process->state = EP_PROCESS_KNOWN;
	world_map_anonymous(w, t, PID(2), 0x1000, 0x1000);
	world_sample(w, t + 3, tool);
	world_exec(w, t + 2, tool, "tool");
	map_named(w, t + 4, tool.pid, 0x8000, "/nowhere/tool");
	assert_described(w, tool, "tool", "/nowhere/tool");
	assert_null(world_area(w, tool, 0x1000));
}

/* The record of the exec between them is missing. */
WORLD_TEST(exit_of_an_image_nobody_told_of)
{
	uint64_t t = fork_shell(w, world_now());

	world_exit(w, t + 2, tool);
	assert_null(world_live(w, child.pid));
	assert_int_equal(world_process(w, child)->ended_ns, t + 2);
}

/* --- reads of /proc -------------------------------------------------------------------------- */

static void exhaust_reads(struct world *w, uint32_t per_second)
{
	struct ep_reads *reads = &w->processes->reads;

	reads->rate = ep_rate_per_second(per_second, 1);
	reads->budget = (struct ep_bucket){0};
	assert_true(ep_bucket_take(&reads->budget, reads->rate, world_now()));
}

static void sample_unknown_address(struct world *w, struct ep_program program)
{
	world_sample_with(w, world_now(), program, EP_SAMPLE_UNKNOWN_ADDRESS | EP_SAMPLE_RAW, 0);
}

/* What it has mapped without a record is found out late, not never. */
WORLD_TEST(a_read_beyond_the_budget_is_deferred)
{
	const struct ep_reads_stats *stats = &w->processes->reads.stats;
	struct ep_program process = world_known_child(w);
	uint64_t end_ns = world_now() + 10 * EP_NS_PER_SEC;

	exhaust_reads(w, 50);
	sample_unknown_address(w, process);
	assert_int_equal(stats->deferred, 1);
	assert_int_equal(world_live(w, process.pid)->state, EP_PROCESS_KNOWN);
	while (stats->reads == 0 && world_now() < end_ns) /* nothing else wakes the loop */
		uv_run(&w->loop, UV_RUN_ONCE);
	assert_int_equal(stats->reads, 1);
	assert_non_null(world_area(w, process, (uintptr_t)world_new));
}

WORLD_TEST(deferred_reads_come_in_order_of_their_requests)
{
	struct ep_program first = world_known_child(w), second = world_known_child(w), ended = world_known_child(w);

	exhaust_reads(w, 1);
	sample_unknown_address(w, ended);
	sample_unknown_address(w, first);
	sample_unknown_address(w, second);
	assert_int_equal(w->processes->reads.stats.deferred, 3);
	world_exit(w, world_now(), ended);
	w->processes->reads.budget = (struct ep_bucket){0};
	ep_reads_run(&w->processes->reads);
	assert_int_equal(world_live(w, first.pid)->state, EP_PROCESS_READING);
	assert_int_equal(world_live(w, second.pid)->state, EP_PROCESS_KNOWN);
	/* A new request does not overtake the second one. */
	w->processes->reads.budget = (struct ep_bucket){0};
	sample_unknown_address(w, world_known_child(w));
	assert_int_equal(w->processes->reads.stats.deferred, 4);
	ep_reads_run(&w->processes->reads);
	assert_int_equal(world_live(w, second.pid)->state, EP_PROCESS_READING);
}

/* --- pids that are used again ---------------------------------------------------------------- */

WORLD_TEST(pid_is_used_again_without_an_exit)
{
	struct ep_program second = {.pid = child.pid, .image = 1, .start_ns = 9000 * MS};
	uint64_t t = fork_shell(w, world_now());

	world_exec(w, t + 2, tool, "tool");
	map_named(w, t + 3, tool.pid, 0x9000, "/nowhere/tool");
	world_fork(w, t + 4, shell.pid, second);
	assert_ptr_equal(world_live(w, second.pid), world_process(w, second));
	assert_int_equal(world_process(w, tool)->ended_ns, t + 4);
	assert_described(w, second, "sh", "");
	assert_null(world_area(w, second, 0x9000));
	assert_non_null(world_area(w, tool, 0x9000));
	world_sample(w, t + 3, tool);
	assert_false(world_process(w, second)->sampled);
	world_settle(w);
}

WORLD_TEST(exit_of_the_one_before_ends_nobody)
{
	struct ep_program second = {.pid = child.pid, .image = 1, .start_ns = 9000 * MS};
	uint64_t t = fork_shell(w, world_now());

	world_fork(w, t + 4, shell.pid, second);
	world_exit(w, t + 3, child);
	assert_ptr_equal(world_live(w, second.pid), world_process(w, second));
}

/*
 * A filter ends a program when it executes what is not wanted; renamed, the same is wanted again. BPF says of it that it
 * is unknown, and never says so of a process that exits.
 */
WORLD_TEST(what_comes_back_after_its_exit_is_known)
{
	uint64_t t = fork_shell(w, world_now());

	world_exit(w, t + 2, child);
	world_sample(w, t + 3, tool); /* in its exit, for all we know */
	assert_null(world_live(w, tool.pid));
	world_sample_with(w, t + 1, tool, EP_SAMPLE_UNKNOWN_PROCESS, 0); /* late */
	assert_null(world_live(w, tool.pid));
	world_sample_with(w, t + 4, tool, EP_SAMPLE_UNKNOWN_PROCESS, 0);
	assert_non_null(world_live(w, tool.pid));
	assert_ptr_equal(world_live(w, tool.pid), world_process(w, tool));
	world_exit(w, t + 5, tool);
	assert_null(world_live(w, tool.pid));
	world_settle(w);
}

/* --- forked children and BPF's rows ---------------------------------------------------------- */

WORLD_TEST(child_shares_its_parents_rows)
{
	uint64_t t = world_now();
	size_t used = ep_delta_store_used_bytes(w->store);
	uint32_t ref;

	start_shell(w, t);
	assert_int_equal(world_proc(w, shell.pid)->born_ns, t); /* its exec */
	ref = world_proc(w, shell.pid)->rows;
	world_fork(w, world_now(), shell.pid, child);
	world_turn(w);
	assert_int_equal(world_proc(w, child.pid)->rows, ref);
	assert_ptr_equal(world_live(w, child.pid)->published.rows,
			 world_live(w, shell.pid)->published.rows);
	assert_int_equal(world_live(w, shell.pid)->published.rows->refs, 2);
	world_exit(w, world_now(), shell);
	assert_true(ep_delta_store_used_bytes(w->store) > used);
	world_exit(w, world_now(), child);
	ep_delta_store_collect(w->store);
	ep_delta_store_collect(w->store);
	assert_int_equal(ep_delta_store_used_bytes(w->store), used);
}

WORLD_TEST(child_gets_its_own_if_the_parents_are_newer)
{
	uint64_t t = world_now(), forked_ns;

	start_shell(w, t);
	forked_ns = world_now();
	world_map_anonymous(w, world_now(), shell.pid, 0x9000, 0x1000);
	world_publish(w);
	world_fork(w, forked_ns, shell.pid, child);
	world_publish(w);
	assert_ptr_not_equal(world_live(w, child.pid)->published.rows,
			     world_live(w, shell.pid)->published.rows);
	assert_int_equal(world_proc(w, child.pid)->rows,
			 world_live(w, child.pid)->published.rows->ref);
	assert_int_equal(world_proc(w, shell.pid)->rows,
			 world_live(w, shell.pid)->published.rows->ref);
}

WORLD_TEST(child_told_late_has_what_its_parent_had_then)
{
	uint64_t t = world_now();

	start_shell(w, t);
	world_map_anonymous(w, t + 5, shell.pid, 0x9000, 0x1000);
	world_fork(w, t + 3, shell.pid, child);
	assert_non_null(world_area(w, child, 0x1000));
	assert_null(world_area(w, child, 0x9000));
}

WORLD_TEST(child_is_told_what_its_parent_waits_to_tell)
{
	start_shell(w, world_now());
	world_publish(w);
	world_map_anonymous(w, world_now(), shell.pid, 0x9000, 0x1000);
	world_fork(w, world_now(), shell.pid, child);
	world_publish(w);
	assert_int_equal(world_proc(w, child.pid)->n_rows, 2);
}

/* What BPF copied at the fork are the parent's rows: nobody would keep them for the child. */
WORLD_TEST(child_that_is_refused_has_no_rows)
{
	uint64_t t = world_now();

	w->processes->table.live.max = 1;
	start_shell(w, t);
	world_fork(w, world_now(), shell.pid, child);
	assert_null(world_live(w, child.pid));
	assert_null(world_proc(w, child.pid));
}

WORLD_TEST(exit_before_the_rows_are_written)
{
	uint64_t t = world_now();

	world_exec(w, t, shell, "sh");
	world_map_anonymous(w, t, shell.pid, 0x1000, 0x1000);
	drop_proc(w, shell.pid); /* it is gone already */
	world_turn(w);
	assert_non_null(world_proc(w, shell.pid));
	ep_processes_on_event(w->processes, &(struct ep_process_event){
						    .event = {.type = EP_EVENT_EXIT, .time_ns = t + 1},
						    .start_ns = shell.start_ns,
						    .pid = shell.pid,
						    .image = shell.image});
	assert_null(world_proc(w, shell.pid));
}

WORLD_TEST(what_the_map_refused_is_told_again)
{
	w->refuses = true;
	start_shell(w, world_now());
	world_publish(w);
	assert_null(world_proc(w, shell.pid));
	w->refuses = false;
	ep_publisher_mark(&w->processes->publisher, world_live(w, shell.pid));
	world_publish(w);
	assert_non_null(world_proc(w, shell.pid));
}

/* --- limits ---------------------------------------------------------------------------------- */

WORLD_TEST(more_processes_than_there_may_be)
{
	uint64_t t = world_now();

	w->processes->table.live.max = 2;
	w->processes->options.max_processes = 2;
	start_shell(w, t);
	world_fork(w, t + 1, shell.pid, child);
	assert_int_equal(w->control.no_copies, 0);
	world_fork(w, t + 2, shell.pid, (struct ep_program){.pid = PID(3), .image = 1, .start_ns = 5});
	assert_int_equal(w->processes->stats.refused, 1);
	assert_int_equal(w->control.no_copies, 1);
	world_exit(w, t + 3, child);
	assert_int_equal(w->control.no_copies, 0);
	assert_int_equal(w->processes->table.live.len, 1);
}
