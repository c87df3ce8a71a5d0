/* SPDX-License-Identifier: Apache-2.0 */
/* What the manager does where something is short: records, space, time, and what /proc can tell. */
#include "core/process/executables_internal.h"
#include "core/unwind/delta_store_internal.h"
#include "core/unwind/table.h"
#include "tests/unit/process_world.h"
#include "tests/unit/runtime.h"

static void start(struct world *w, struct ep_program program, uint32_t places)
{
	world_exec(w, world_now(), program, "prog");
	for (uint32_t i = 1; i <= places; i++)
		world_map_anonymous(w, world_now(), program.pid, i * 0x10000ull, 0x1000);
}

#define OWN_ADDR ((uint64_t)(uintptr_t)start)

/* --- records that were lost ------------------------------------------------------------------ */

WORLD_TEST(loss_is_followed_by_a_read)
{
	struct ep_program child = world_known_child(w);

	assert_non_null(world_proc(w, child.pid));
	ep_processes_on_lost(w->processes);
	world_turn(w);
	assert_null(world_proc(w, child.pid));
	assert_null(world_live(w, child.pid)->published.rows);
	assert_int_equal(ep_process_areas(world_live(w, child.pid))->len, 0);
	world_sample_with(w, world_now(), child, EP_SAMPLE_UNKNOWN_PROCESS | EP_SAMPLE_RAW, 0);
	assert_int_equal(w->passed, 0);
	world_settle(w);
	assert_int_equal(w->processes->reads.stats.reads, 1);
	assert_int_equal(w->passed, 1);
	assert_non_null(ep_area_executable(world_area(w, child, OWN_ADDR)));
	assert_null(world_area(w, child, 0x10000));
	world_publish(w);
	assert_non_null(world_proc(w, child.pid));
}

/* A record of what it mapped may be among them, and nobody can be asked. */
WORLD_TEST(ended_ones_are_trusted_no_more_than_others)
{
	start(w, prog, 1);
	start(w, other, 1);
	world_exit(w, world_now(), prog);
	ep_table_move(world_process(w, prog), &w->processes->table.recent,
		      &w->processes->table.lingering);
	world_exit(w, world_now(), other);
	ep_processes_on_lost(w->processes);
	assert_int_equal(ep_process_areas(world_process(w, prog))->len, 0);
	assert_int_equal(ep_process_areas(world_process(w, other))->len, 0);
	assert_true(ep_process_is_unknown(world_process(w, prog)));
	world_sample_with(w, world_now(), other, EP_SAMPLE_RAW, 0);
	assert_int_equal(w->passed, 1);
}

WORLD_TEST(read_that_began_before_a_loss_is_done_again)
{
	struct ep_program child = world_child();

	world_sample_with(w, world_now(), child, EP_SAMPLE_UNKNOWN_PROCESS | EP_SAMPLE_RAW, 0);
	/* On a busy machine the reads before it have used up their time for now. */
	for (int i = 0; i < 2000 && world_live(w, child.pid)->state != EP_PROCESS_READING; i++) {
		world_turn(w);
		usleep(1000);
	}
	assert_int_equal(world_live(w, child.pid)->state, EP_PROCESS_READING);
	usleep(250000); /* the worker has read it, also on a busy machine */
	ep_processes_on_lost(w->processes);
	world_settle(w);
	assert_int_equal(w->processes->reads.stats.reads, 2);
	assert_int_equal(world_live(w, child.pid)->state, EP_PROCESS_KNOWN);
	assert_int_equal(w->passed, 1);
}

/* What it was before an exec is not what it is. */
WORLD_TEST(read_of_the_old_image_is_not_the_new_ones)
{
	struct ep_program child = world_child(), tool = child;
	struct ep_process *process;

	child.image = EP_IMAGE_ANY;
	tool.image = 8;
	process = ep_processes_add(w->processes, child, 0);
	ep_reads_enqueue(&w->processes->reads, process, 0);
	world_turn(w);
	usleep(250000);
	world_exec(w, world_now(), tool, "tool");
	world_live(w, tool.pid)->state = EP_PROCESS_NEW;
	ep_reads_enqueue(&w->processes->reads, world_live(w, tool.pid), 10 * EP_NS_PER_MS);
	world_live(w, tool.pid)->read.due_ns = 0;
	ep_reads_run(&w->processes->reads);
	assert_int_equal(world_live(w, tool.pid)->state, EP_PROCESS_READING);
	world_settle(w);
	assert_int_equal(w->processes->reads.stats.reads, 2);
	assert_true(world_area(w, tool, OWN_ADDR)->time_ns > world_live(w, tool.pid)->born_ns);
}

WORLD_TEST(vanished_ones_are_ended)
{
	struct ep_program own = {.pid = (uint32_t)getpid(), .image = 1, .start_ns = 1};

	start(w, own, 1);
	for (uint32_t i = 1; i <= 3000; i++)
		start(w, (struct ep_program){.pid = PID(i), .image = 1, .start_ns = 1}, 1);
	world_turn(w);
	ep_processes_on_lost(w->processes);
	for (int i = 0; i < 20; i++)
		ep_processes_sweep(w->processes, KEEP_NS);
	assert_int_equal(w->processes->table.live.len, 1);
	assert_non_null(world_live(w, own.pid));
}

/* --- what /proc cannot tell either ----------------------------------------------------------- */

/* Before it is time to ask again, however slow the machine is. */
static void unknown_sample(struct world *w, struct ep_program program)
{
	world_live(w, program.pid)->read.next_retry_ns = UINT64_MAX;
	world_sample_with(w, world_now(), program, EP_SAMPLE_UNKNOWN_ADDRESS | EP_SAMPLE_RAW, 0);
}

WORLD_TEST(copies_stop_until_something_is_mapped)
{
	struct ep_program child = world_child();

	world_sample(w, world_now(), child);
	world_settle(w);
	world_publish(w);
	assert_int_equal(world_proc(w, child.pid)->flags, 0);
	unknown_sample(w, child);
	world_publish(w);
	assert_int_equal(world_proc(w, child.pid)->flags, EP_PROC_FINAL);
	world_map_anonymous(w, world_now(), child.pid, 0x10000, 0x1000);
	world_publish(w);
	assert_int_equal(world_proc(w, child.pid)->flags, 0);
}

WORLD_TEST(one_that_stays_unknown_is_read_ever_less_often)
{
	struct ep_program child = world_child();
	uint64_t time_ns = 0, wait_ns = 0;

	for (uint64_t expected_ns = 50 * EP_NS_PER_MS; wait_ns < 30 * EP_NS_PER_SEC; expected_ns *= 2) {
		time_ns = EP_MAX(time_ns + wait_ns, world_now());
		world_sample_with(w, time_ns, child, EP_SAMPLE_UNKNOWN_ADDRESS | EP_SAMPLE_RAW, 0);
		wait_ns = world_live(w, child.pid)->read.next_retry_ns - time_ns;
		assert_int_equal(wait_ns, EP_MIN(expected_ns, 30 * EP_NS_PER_SEC));
		world_settle(w);
		world_publish(w);
	}
	assert_int_equal(w->processes->reads.stats.reads, 11);
}

WORLD_TEST(child_of_a_final_one_is_final)
{
	start(w, prog, 1);
	world_live(w, prog.pid)->is_final = true;
	world_publish(w);
	world_fork(w, world_now(), prog.pid, other);
	world_publish(w);
	assert_int_equal(world_proc(w, other.pid)->flags, EP_PROC_FINAL);
	world_map_anonymous(w, world_now(), other.pid, 0x90000, 0x1000);
	world_publish(w);
	assert_int_equal(world_proc(w, other.pid)->flags, 0);
}

/* Whole stacks are sent with their frames each time until it is known who of them runs a language. */
WORLD_TEST(bpf_is_told_that_a_language_is_attached_to)
{
	struct ep_program child = world_known_child(w);
	struct ep_process *process = world_live(w, child.pid);
	struct ep_range range = {.start = 0x1000, .end = 0x2000, .mode = EP_RANGE_MARK};

	runtime_add(process, EP_ATTACHMENT_ATTACHED, true);
	ep_processes_mark(w->processes, process);
	world_publish(w);
	assert_int_equal(world_proc(w, child.pid)->flags, EP_PROC_AWAITS);
	assert_int_equal(process->languages.told_ns, 0);
	runtime_attach(&range);
	ep_processes_mark(w->processes, process);
	world_publish(w);
	assert_int_equal(world_proc(w, child.pid)->flags, EP_PROC_MARKS);
	assert_int_not_equal(process->languages.told_ns, 0);
	/* One that is refused is as if it had claimed nothing. */
	runtime_add(process, EP_ATTACHMENT_REFUSED, true);
	ep_processes_mark(w->processes, process);
	world_publish(w);
	assert_int_equal(world_proc(w, child.pid)->flags, 0);
	process->languages.n = 0;
}

/* --- who it is, and what it maps ------------------------------------------------------------- */

WORLD_TEST(known_one_stays_known_while_it_is_identified)
{
	struct ep_program child = world_known_child(w);
	struct ep_process *process = world_live(w, child.pid);

	world_settle(w);
	for (int i = 0; i < 3; i++)
		world_sample(w, world_now(), child);
	for (int reading = 0; reading < 2; reading++) {
		assert_int_equal(process->state, reading ? EP_PROCESS_READING : EP_PROCESS_WAITING);
		assert_true(process->read.identity_only && ep_process_is_settled(process));
		assert_false(ep_process_is_unknown(process));
		process->read.due_ns = 0;
		world_turn(w);
	}
	world_fork(w, world_now(), child.pid, other);
	assert_int_equal(world_live(w, other.pid)->state, EP_PROCESS_KNOWN);
	world_settle(w);
	assert_int_equal(w->processes->reads.stats.reads, 1);
	assert_true(process->identity->was_read);
	assert_non_null(world_area(w, child, 0x10000));
	assert_null(world_area(w, child, OWN_ADDR));
}

/* Unless it came from another namespace, or from a program that nobody has read. */
WORLD_TEST(one_in_a_known_place_is_identified_later)
{
	for (uint64_t i = 0; i < 3; i++) {
		struct ep_program child = world_known_child(w);
		struct ep_process *process = world_live(w, child.pid);
		uint64_t now_ns = ep_clock_mono_ns(), soon_ns = 20 * EP_NS_PER_MS;

		ep_process_take_identity(process, ep_identity_new(&(struct ep_identity){.was_read = i > 0}));
		w->mount_ns = i == 1 ? 2 : 1;
		child.image++;
		world_exec(w, world_now(), child, "tool");
		world_map_anonymous(w, world_now(), child.pid, 0x10000, 0x1000);
		w->mount_ns = 1;
		world_publish(w);
		world_sample(w, world_now(), child);
		process = world_live(w, child.pid);
		assert_int_equal(process->state, EP_PROCESS_WAITING);
		if (i < 2)
			assert_true(process->read.due_ns <= ep_clock_mono_ns() + soon_ns);
		else
			assert_true(process->read.due_ns > now_ns + soon_ns);
		ep_reads_request(&w->processes->reads, process, 0);
		assert_true(process->read.due_ns <= ep_clock_mono_ns());
		world_settle(w);
	}
}

WORLD_TEST(one_that_ends_while_it_is_identified_was_known)
{
	struct ep_program child = world_known_child(w);

	world_sample(w, world_now(), child);
	world_live(w, child.pid)->read.due_ns = 0;
	world_turn(w);
	assert_int_equal(world_live(w, child.pid)->state, EP_PROCESS_READING);
	world_exit(w, world_now(), child);
	assert_false(ep_process_is_unknown(world_process(w, child)));
	world_settle(w);
}

/* Its languages want it, say, when its identity is waited for, or is being read. */
WORLD_TEST(all_is_read_if_that_is_wanted_meanwhile)
{
	for (int reading = 0; reading < 2; reading++) {
		struct ep_program child = world_known_child(w);
		struct ep_process *process = world_live(w, child.pid);

		world_sample(w, world_now(), child);
		process->read.due_ns = 0;
		if (reading)
			world_turn(w);
		assert_true(process->read.identity_only);
		ep_reads_request(&w->processes->reads, process, 0);
		world_sample(w, world_now(), child); /* who it is comes with the rest */
		assert_true(ep_process_is_unknown(process));
		world_settle(w);
		assert_false(ep_process_is_unknown(process));
		assert_non_null(world_area(w, child, OWN_ADDR));
		assert_null(world_area(w, child, 0x10000));
	}
}

WORLD_TEST(loss_makes_a_read_of_the_name_one_of_all)
{
	struct ep_program child = world_known_child(w);

	world_sample(w, world_now(), child);
	ep_processes_on_lost(w->processes);
	assert_true(ep_process_is_unknown(world_live(w, child.pid)));
	world_settle(w);
	assert_non_null(world_area(w, child, OWN_ADDR));
}

/* What was heard of one that was never read is not all there is. */
WORLD_TEST(one_that_cannot_be_read_is_what_it_was)
{
	struct ep_process *unknown = ep_processes_add(w->processes, prog, 0), *known;
	struct ep_reads *reads = &w->processes->reads;

	world_map_anonymous(w, world_now(), prog.pid, 0x10000, 0x1000);
	ep_reads_request(reads, unknown, 0);
	ep_reads_drop(reads, unknown);
	assert_int_equal(unknown->state, EP_PROCESS_NEW);
	start(w, other, 0);
	known = world_live(w, other.pid);
	ep_reads_request(reads, known, 0);
	ep_reads_drop(reads, known);
	assert_int_equal(known->state, EP_PROCESS_KNOWN);
	ep_reads_request(reads, unknown, 0);
	ep_reads_request(reads, known, 0);
	world_settle(w); /* there are no such processes */
	assert_int_equal(unknown->state, EP_PROCESS_ENDED);
	assert_true(ep_process_is_unknown(unknown));
	assert_false(ep_process_is_unknown(known));
}

/* --- a process that maps and maps ------------------------------------------------------------ */

/* Each of them changes a table of 5000 rows; written each time that were 1.6 GB. */
WORLD_TEST(one_process_is_written_at_its_own_expense)
{
	struct ep_process *process;
	uint64_t others = 0, start_ns, start_cpu_ns, used_ns;
	uint32_t updates;

	world_prepare(w, "/proc/self/exe");
	world_exec(w, world_now(), prog, "giant");
	process = world_live(w, prog.pid);
	for (uint64_t i = 1; i <= 5000; i++) {
		struct ep_area area = {
			.start = i << 16, .end = (i << 16) + 0x1000, .time_ns = world_now()};

		assert_int_equal(put_area(&process->sharer, &w->processes->n_areas, area,
					  ep_executable_ref(ep_executables_find(
						  w->processes->executables, 1))),
				 0);
	}
	updates = w->updates;
	start_ns = world_now();
	start_cpu_ns = ep_clock_thread_cpu_ns();
	for (uint32_t i = 0; i < 10000; i++) {
		world_map_anonymous(w, world_now(), prog.pid, (1 + i % 5000ull) << 16,
				    0x100 + i / 5000);
		if (i % 100 >= 98) { /* of two turns in a row it has to wait for one */
			struct ep_program small = {.pid = PID(2 + i), .image = 1, .start_ns = 1};

			start(w, small, 1);
			/* The giant's old rows rest. */
			assert_int_equal(ep_delta_store_add_room(w->store, 1u << 16), 0);
			world_turn(w);
			others += world_proc(w, small.pid) != NULL;
		}
	}
	assert_int_equal(others, 200); /* nobody waits for the giant */
	/* It pauses for a multiple of the CPU time that writing takes: who waits for a CPU writes more often. */
	used_ns = ep_clock_thread_cpu_ns() - start_cpu_ns;
	assert_true((w->updates - updates - others) * used_ns < 50 * (world_now() - start_ns));
	assert_true(w->processes->publisher.stats.put_off > 0);
}

static void add_giant(struct world *w, uint32_t pid, uint32_t places)
{
	struct ep_process *process;

	world_exec(w, world_now(), (struct ep_program){.pid = pid, .image = 1, .start_ns = 1}, "big");
	process = world_live(w, pid);
	for (uint64_t i = 1; i <= places; i++) {
		struct ep_area area = {
			.start = i << 16, .end = (i << 16) + 0x1000, .time_ns = world_now()};

		assert_int_equal(put_gone_area(&process->sharer, &w->processes->n_areas, area), 0);
	}
	ep_processes_mark(w->processes, process);
}

/* Samples that are walked here have its rows made as well: that is none more. */
WORLD_TEST(what_is_cut_counts_once_it_is_told)
{
	add_giant(w, prog.pid, EP_MAX_ROWS + 1);
	world_publish(w);
	assert_int_equal(world_proc(w, prog.pid)->n_rows, EP_MAX_ROWS);
	for (int i = 0; i < 3; i++)
		(void)ep_publisher_build(&w->processes->publisher, world_live(w, prog.pid));
	assert_int_equal(w->processes->publisher.stats.cut, 1);
}

WORLD_TEST(children_of_a_giant_inherit_until_there_are_too_many)
{
	const uint32_t places = 2000, n = 5;

	w->processes->max_areas = places * n;
	add_giant(w, prog.pid, places);
	world_publish(w);
	for (uint32_t i = 1; i < 2 * n; i++) {
		struct ep_program child = {.pid = PID(10 + i), .image = 1, .start_ns = 2 + i};
		bool inherits = i < n;

		world_fork(w, world_now(), prog.pid, child);
		assert_int_equal(ep_process_areas(world_live(w, child.pid))->len,
				 inherits ? places : 0);
		assert_int_equal(ep_process_is_unknown(world_live(w, child.pid)), !inherits);
		assert_int_equal(world_proc(w, child.pid) != NULL, inherits);
	}
	assert_int_equal(w->processes->stats.disinherited, n);
	world_sample(w, world_now(),
		     (struct ep_program){.pid = PID(10 + n), .image = 1, .start_ns = 2 + n});
	assert_int_equal(world_live(w, PID(10 + n))->state, EP_PROCESS_WAITING);
}

/* Whatever way they go. */
WORLD_TEST(places_are_counted_while_they_are_there)
{
	uint64_t t = world_now() - 5 * EP_NS_PER_SEC;
	struct ep_program child = world_child();

	world_exec(w, t, prog, "prog");
	world_map_anonymous(w, t + 1, prog.pid, 0x10000, 0x1000);
	world_map_anonymous(w, t + 2, prog.pid, 0x20000, 0x1000);
	world_fork(w, t + 3, prog.pid, other);
	world_map_anonymous(w, t + 4, other.pid, 0x30000, 0x1000);
	assert_int_equal(w->processes->n_areas, 5);
	world_exit(w, t + 5, other);
	world_turn(w);
	ep_processes_sweep(w->processes, KEEP_NS);
	assert_int_equal(w->processes->n_areas, 2);
	world_sample(w, world_now(), child);
	world_settle(w);
	assert_int_equal(w->processes->n_areas,
			 2 + ep_process_areas(world_live(w, child.pid))->len);
	ep_processes_on_lost(w->processes);
	assert_int_equal(w->processes->n_areas, 0);
}

/* --- no space --------------------------------------------------------------------------------- */

#define GIANT_PLACES 1100 /* more than a small process has; anonymous ones would become fewer */

static void settle_room(struct world *w)
{
	for (int i = 0; i < 5; i++) {
		world_turn(w);
		while (w->processes->room.state == EP_ROOM_GROWING)
			uv_run(&w->loop, UV_RUN_ONCE);
	}
}

/* The store's two chunks are full of giants; the last one was written, and changes. */
WORLD_TEST(rows_of_a_giant_are_forgotten)
{
	uint32_t n = 0;

	w->may_not_grow = true;
	do
		add_giant(w, PID(++n), GIANT_PLACES * 5);
	while ((settle_room(w), world_proc(w, PID(n))) && n < 100);
	assert_true(n > 2 && n < 100);
	assert_non_null(world_proc(w, PID(1)));
	assert_int_equal(w->processes->room.state, EP_ROOM_FULL);
	world_map_anonymous(w, world_now(), PID(1), 0x7000, 0x1000);
	ep_processes_sweep(w->processes, KEEP_NS); /* a second later */
	while (world_now() < world_live(w, PID(1))->published.rests_until_ns)
		;
	settle_room(w);
	assert_null(world_proc(w, PID(1)));
	assert_null(world_live(w, PID(1))->published.rows);
	assert_false(w->processes->room.small_starved);
}

WORLD_TEST(tables_give_way_to_small_processes)
{
	uint32_t n = 0;

	world_prepare(w, "/proc/self/exe");
	w->may_not_grow = true;
	do
		add_giant(w, PID(++n), GIANT_PLACES);
	while ((settle_room(w), world_proc(w, PID(n))) && n < 200);
	assert_true(n < 200);
	assert_int_equal(ep_executables_stats(w->processes->executables)->evicted, 0);
	for (uint32_t i = 0; i < 400; i++)
		add_giant(w, PID(1000 + i), 64);
	settle_room(w);
	ep_processes_sweep(w->processes, KEEP_NS);
	settle_room(w);
	assert_true(ep_executables_stats(w->processes->executables)->evicted > 0);
	ep_delta_store_collect(w->store); /* so does the session, once a second */
	ep_delta_store_collect(w->store);
	n = w->updates;
	ep_processes_sweep(w->processes, KEEP_NS);
	settle_room(w);
	assert_true(w->updates > n);
}

/* --- who goes first -------------------------------------------------------------------------- */

/* Of a file that is none; the loop does not run here, so that its analysis waits after others. */
static struct ep_executable *wait_for(struct world *w, uint32_t pid, uint64_t bytes)
{
	struct ep_mapping mapping = {.kind = EP_MAPPING_FILE, .path = "/nowhere"};
	struct ep_proc_file file = {
		.dev = 1, .inode = bytes, .ctime_ns = 3, .bytes = bytes, .fd = -1};
	uint64_t start = 0x10000 * bytes;
	struct ep_area area = {.start = start, .end = start + 0x1000, .time_ns = world_now()};
	struct ep_process *process = world_live(w, pid);
	struct ep_executable *executable = ep_executables_get(w->processes->executables, getpid(),
							      &mapping, &file, world_now());

	assert_int_equal(put_area(&process->sharer, &w->processes->n_areas, area, executable), 0);
	ep_processes_mark(w->processes, process);
	return executable;
}

static void assert_first(struct world *w, const struct ep_executable *executable)
{
	assert_non_null(executable->waiting);
	assert_ptr_equal(TAILQ_FIRST(&w->processes->executables->waiting), executable->waiting);
}

/* Thousands of samples may come while thousands of its executables wait. */
WORLD_TEST(samples_hurry_a_process_once)
{
	struct ep_executable *a, *b, *c;

	start(w, prog, 0);
	start(w, other, 0);
	for (uint64_t i = 1; i <= 3; i++)
		assert_null(wait_for(w, prog.pid, i)->waiting); /* a worker is at it */
	a = wait_for(w, prog.pid, 10);
	b = wait_for(w, other.pid, 20);
	assert_first(w, a);
	world_sample_with(w, world_now(), other, 0, sizeof(struct ep_copy));
	assert_first(w, b);
	world_sample_with(w, world_now(), prog, 0, sizeof(struct ep_copy));
	assert_first(w, a);
	world_sample_with(w, world_now(), other, 0, sizeof(struct ep_copy));
	assert_first(w, a);
	c = wait_for(w, other.pid, 30);
	world_sample_with(w, world_now(), other, 0, sizeof(struct ep_copy));
	assert_first(w, c);
	world_settle(w);
	assert_null(a->waiting);
	assert_true(ep_process_is_settled(world_process(w, prog)));
}

/* --- tables that are moved ------------------------------------------------------------------- */

/* Each takes more than half a chunk. */
static struct ep_delta_store_text *put_ballast(struct world *w, uint64_t va)
{
	static uint64_t pages[EP_ROW_MAX_PAGES + 1];
	struct ep_unwind_segment segments[] = {{.va = va, .n_pages = EP_ROW_MAX_PAGES},
					       {.va = va + EP_ROW_MAX_PAGES * (uint64_t)EP_PAGE_BYTES, .n_pages = 1}};
	struct ep_unwind_table table = {
		.segments = segments, .n_segments = 2, .pages = pages, .n_pages = EP_LEN(pages)};
	struct ep_delta_store_text *text = NULL;

	assert_int_equal(ep_delta_store_put_text(w->store, &table, &text), 0);
	return text;
}

/* What BPF would find: in the rows of ep_procs what would be written there now. */
static void assert_rows_are_as_built(struct world *w, struct ep_program program)
{
	const struct ep_proc *proc = world_proc(w, program.pid);
	const struct ep_vec *rows = ep_publisher_build(&w->processes->publisher, world_process(w, program));
	const char *chunk = ep_delta_store_chunk(w->store, EP_REF_CHUNK(proc->rows));

	assert_int_equal(proc->n_rows, rows->len);
	assert_memory_equal(chunk + 4 * (size_t)EP_REF_WORD(proc->rows), rows->data, rows->len * sizeof(struct ep_row));
}

/* The rows that the kernel has, those of a fork's child too, lead to where the tables are now. */
WORLD_TEST(rows_follow_tables_that_are_moved)
{
	struct ep_delta_store_text *ballast[6];
	const struct ep_delta_store_segment *segments;
	struct ep_program child = world_child();
	uint32_t chunk, updates;
	bool has_moved = false, is_given_back = false;

	for (uint64_t i = 0; i < EP_LEN(ballast); i++)
		ballast[i] = put_ballast(w, (i + 1) << 40);
	world_sample(w, world_now(), child);
	world_settle(w);
	world_publish(w);
	assert_true(ep_delta_store_text_segments(
			    ep_area_executable(world_area(w, child, OWN_ADDR))->text, &segments) >
		    0);
	chunk = EP_REF_CHUNK(segments->pages);
	for (size_t i = 0; i < EP_LEN(ballast); i++) {
		(void)ep_delta_store_text_segments(ballast[i], &segments);
		if (EP_REF_CHUNK(segments->pages) == chunk) {
			ep_delta_store_drop_text(w->store, ballast[i]);
			ballast[i] = NULL;
		}
	}
	pthread_mutex_lock(&w->store->lock);
	assert_int_equal(ep_delta_store_empty_chunk(w->store, chunk), 0); /* whichever it would choose */
	pthread_mutex_unlock(&w->store->lock);
	updates = w->updates;
	for (int i = 0; i < 40; i++) {
		w->processes->room.compact_ns = 0;
		/*
		 * What is free goes; there is space, whatever the size of these libraries' tables.
		 */
		assert_int_equal(ep_delta_store_add_room(w->store, EP_CHUNK_WORDS), 0);
		ep_processes_compact(w->processes);
		ep_delta_store_collect(w->store);
		assert_rows_are_as_built(w, child);
		ep_delta_store_text_segments(
			ep_area_executable(world_area(w, child, OWN_ADDR))->text, &segments);
		has_moved |= EP_REF_CHUNK(segments->pages) != chunk; /* and may come to another one of that number */
		is_given_back |= !ep_delta_store_chunk(w->store, chunk);
	}
	assert_true(has_moved);
	assert_true(is_given_back);
	assert_int_equal(w->updates, updates);
	for (size_t i = 0; i < EP_LEN(ballast); i++)
		ep_delta_store_drop_text(w->store, ballast[i]);
}

/* --- states of one file ---------------------------------------------------------------------- */

static struct ep_executable *get(struct world *w, uint64_t bytes)
{
	struct ep_mapping mapping = {.kind = EP_MAPPING_FILE, .path = "/nowhere"};
	struct ep_proc_file file = {.dev = 1, .inode = 2, .ctime_ns = 3, .bytes = bytes, .fd = -1};
	struct ep_executable *executable = ep_executables_get(w->processes->executables, getpid(),
							      &mapping, &file, world_now());

	world_settle(w);
	return executable;
}

/* A file that is written to within a tick of its change time. */
WORLD_TEST(one_state_is_found_when_another_is_forgotten)
{
	struct ep_executables *executables = w->processes->executables;
	struct ep_executable *a = get(w, 10), *b = get(w, 20), *c = get(w, 30);

	ep_executable_unref(a);
	ep_executables_sweep(executables, world_now() + KEEP_NS, 1);
	assert_ptr_equal(get(w, 20), b);
	assert_ptr_equal(get(w, 30), c);
	assert_int_equal(ep_executables_stats(w->processes->executables)->live, 2);
	for (int i = 0; i < 2; i++) {
		ep_executable_unref(b);
		ep_executable_unref(c);
	}
	ep_executables_sweep(executables, world_now() + KEEP_NS, 1);
	assert_int_equal(ep_executables_stats(w->processes->executables)->live, 0);
	ep_executable_unref(get(w, 30));
}
