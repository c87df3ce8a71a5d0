/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping records and the files behind them: which are known, which take a look, which are gone. */
#include "tests/unit/process_world.h"

#define PID(n)	   (0x500000u + (n))
#define NOBODY	   65534
#define ADDR	   0x10000

static const struct ep_program prog = {.pid = PID(1), .image = 1, .start_ns = 1000000000};

static char own_path[256], copy_path[64], other_path[80];

/* Our own executable, in which this function is. */
static int find_files(void **state)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	(void)state;
	assert_true(n > 0);
	own_path[n] = '\0';
	snprintf(copy_path, sizeof(copy_path), "/tmp/test_process_files.%d", (int)getpid());
	snprintf(other_path, sizeof(other_path), "%s.other", copy_path);
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	(void)unlink(copy_path);
	(void)unlink(other_path);
	return 0;
}

static struct world_file make_copy(mode_t mode, uid_t owner)
{
	copy_file(own_path, copy_path, mode);
	assert_int_equal(chown(copy_path, owner, owner), 0);
	return world_file(copy_path);
}

static struct world_file without_build_id(struct world_file file)
{
	file.build_id_bytes = 0;
	return file;
}

static void start(struct world *w)
{
	world_exec(w, world_now(), prog, "prog");
}

static struct ep_place_in_memory *map_once(struct world *w, uint64_t addr,
					   const struct world_file *file)
{
	world_map(w, world_now(), prog.pid, addr, file);
	return world_place(w, prog, addr);
}

#define NEEDS_ROOT()                                                                               \
	do {                                                                                       \
		if (geteuid() != 0)                                                                \
			skip();                                                                    \
	} while (0)

/* --- what is known --------------------------------------------------------------------------- */

static void roots_file_is_known_by_its_build_id(void **state)
{
	struct world *w = *state;
	struct world_file file;
	struct ep_place_in_memory *place;

	NEEDS_ROOT();
	file = make_copy(0755, 0);
	assert_true(file.build_id_bytes > 0);
	world_prepare(w, copy_path);
	start(w);
	place = map_once(w, ADDR, &file);
	assert_int_equal(place->state, EP_PLACE_KNOWN);
	assert_non_null(place->executable);
	assert_int_equal(ep_processes_stats(w->processes).files_asked, 0);
	assert_int_equal(ep_processes_stats(w->processes).mappings_placed, 1);
}

static void roots_file_is_known_by_its_inode(void **state)
{
	struct world *w = *state;
	struct world_file file;
	struct ep_place_in_memory *place;

	NEEDS_ROOT();
	file = without_build_id(make_copy(0755, 0));
	start(w);
	assert_int_equal(map_once(w, ADDR, &file)->state, EP_PLACE_ASKED);
	world_settle(w);
	assert_non_null(world_place(w, prog, ADDR)->executable);
	place = map_once(w, 2 * ADDR, &file);
	assert_int_equal(place->state, EP_PLACE_KNOWN);
	assert_ptr_equal(place->executable, world_place(w, prog, ADDR)->executable);
	assert_int_equal(ep_processes_stats(w->processes).files_asked, 1);
	file.generation++;
	assert_int_equal(map_once(w, 3 * ADDR, &file)->state, EP_PLACE_ASKED);
	world_settle(w);
}

/* Anybody can write libc's build id into a file, and change that one tomorrow. */
static void untrusted_file_takes_a_look_each_time(struct world *w, struct world_file file)
{
	start(w);
	(void)map_once(w, ADDR, &file);
	world_settle(w);
	assert_non_null(world_place(w, prog, ADDR)->executable);
	assert_int_equal(ep_processes_executables_stats(w->processes)->analysed, 1);
	assert_int_equal(map_once(w, 2 * ADDR, &file)->state, EP_PLACE_ASKED);
	world_settle(w);
	assert_ptr_equal(world_place(w, prog, 2 * ADDR)->executable,
			 world_place(w, prog, ADDR)->executable);
	assert_int_equal(ep_processes_executables_stats(w->processes)->analysed, 1);
	assert_int_equal(ep_processes_stats(w->processes).files_asked, 2);
	assert_int_equal(ep_processes_stats(w->processes).files_found, 2);
}

static void another_users_file(void **state)
{
	NEEDS_ROOT();
	untrusted_file_takes_a_look_each_time(*state, make_copy(0755, NOBODY));
}

static void file_a_group_may_write(void **state)
{
	NEEDS_ROOT();
	untrusted_file_takes_a_look_each_time(*state, make_copy(0775, 0));
}

static void another_users_file_without_a_build_id(void **state)
{
	NEEDS_ROOT();
	untrusted_file_takes_a_look_each_time(*state,
					      without_build_id(make_copy(0755, NOBODY)));
}

/* --- what is gone ---------------------------------------------------------------------------- */

static void sample_of_a_file_that_is_gone_is_not_held(void **state)
{
	struct world *w = *state;
	struct world_file file = make_copy(0755, geteuid());

	assert_int_equal(unlink(copy_path), 0);
	start(w);
	(void)map_once(w, ADDR, &file);
	world_sample_with(w, world_now(), prog, EP_SAMPLE_RAW, 0);
	assert_int_equal(w->passed, 0);
	world_settle(w);
	assert_int_equal(world_place(w, prog, ADDR)->state, EP_PLACE_GONE);
	assert_int_equal(w->passed, 1);
	assert_int_equal(ep_processes_held_bytes(w->processes), 0);
}

static void another_file_under_its_path_is_not_taken(struct world *w, struct world_file file)
{
	start(w);
	(void)map_once(w, ADDR, &file);
	world_settle(w);
	assert_int_equal(world_place(w, prog, ADDR)->state, EP_PLACE_GONE);
	assert_int_equal(ep_processes_stats(w->processes).files_found, 0);
}

static void another_inode_under_its_path(void **state)
{
	struct world_file file = without_build_id(make_copy(0755, geteuid()));

	assert_int_equal(rename(copy_path, other_path), 0);
	copy_file(own_path, copy_path, 0755);
	another_file_under_its_path_is_not_taken(*state, file);
}

static void another_generation_of_its_inode(void **state)
{
	struct world_file file = without_build_id(make_copy(0755, geteuid()));
	unsigned int generation = 0;
	int fd = open(copy_path, O_RDONLY | O_CLOEXEC);

	if (ioctl(fd, FS_IOC_GETVERSION, &generation) < 0)
		skip();
	close(fd);
	file.generation = generation + 1;
	another_file_under_its_path_is_not_taken(*state, file);
}

static void another_build_id_under_its_path(void **state)
{
	struct world_file file = make_copy(0755, geteuid());

	file.build_id[0] ^= 1;
	another_file_under_its_path_is_not_taken(*state, file);
}

/* Whose root is our own, and the mapper is gone. */
static void file_is_found_in_the_parents_root(void **state)
{
	struct world *w = *state;
	struct world_file file = make_copy(0755, geteuid());
	struct ep_program child = {.pid = PID(2), .image = 1, .start_ns = 2000000000};
	pid_t parent = fork();

	if (parent == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that fails */
		pause();
		_exit(0);
	}
	w->processes->options.hears_mappings = true;
	world_exec(w, world_now(), (struct ep_program){.pid = (uint32_t)parent, .image = 1,
						       .start_ns = 1000000000}, "parent");
	world_fork(w, world_now(), (uint32_t)parent, child);
	world_map(w, world_now(), child.pid, ADDR, &file);
	world_exit(w, world_now(), child);
	world_settle(w);
	assert_non_null(world_place(w, child, ADDR)->executable);
	assert_string_equal(world_place(w, child, ADDR)->executable->path, copy_path);
	snprintf(file.path, sizeof(file.path), "/proc/%d/root", (int)parent);
	assert_string_equal(world_place(w, child, ADDR)->executable->root, file.path);
	(void)kill(parent, SIGKILL);
	(void)waitpid(parent, NULL, 0);
}

/* --- whose answer it is ---------------------------------------------------------------------- */

/* All of them were forked while the file was looked at. */
static void children_and_theirs_get_the_answer(void **state)
{
	struct world *w = *state;
	struct world_file file = make_copy(0755, geteuid());
	struct ep_program child = {.pid = PID(2), .image = 1, .start_ns = 2000000000};
	struct ep_program grandchild = {.pid = PID(3), .image = 1, .start_ns = 3000000000};

	start(w);
	(void)map_once(w, ADDR, &file);
	world_fork(w, world_now(), prog.pid, child);
	world_fork(w, world_now(), child.pid, grandchild);
	world_exit(w, world_now(), child);
	world_sample_with(w, world_now(), grandchild, EP_SAMPLE_RAW, 0);
	world_sample_with(w, world_now(), child, EP_SAMPLE_RAW, 0);
	assert_int_equal(w->passed, 0);
	world_settle(w);
	assert_non_null(world_place(w, grandchild, ADDR)->executable);
	assert_non_null(world_place(w, child, ADDR)->executable);
	assert_true(ep_process_is_settled(world_process(w, grandchild)));
	assert_int_equal(w->passed, 2);
}

/* What it asks for itself is not answered by what its parent asks. */
static void child_that_executed_something_waits_for_its_own(void **state)
{
	struct world *w = *state;
	struct world_file file = make_copy(0755, geteuid());
	struct ep_program child = {.pid = PID(2), .image = 1, .start_ns = 2000000000};
	struct ep_program tool = {.pid = PID(2), .image = 2, .start_ns = 2000000000};
	struct ep_process *process;

	start(w);
	(void)map_once(w, ADDR, &file);
	world_fork(w, world_now(), prog.pid, child);
	world_turn(w); /* the parent's question is on its way */
	world_exec(w, world_now(), tool, "tool");
	world_map(w, world_now(), tool.pid, 7 * ADDR, &file);
	process = world_process(w, tool);
	while (world_place(w, prog, ADDR)->state == EP_PLACE_ASKED && process->is_asking)
		uv_run(&w->loop, UV_RUN_ONCE);
	assert_int_equal(process->is_asking,
			 world_place(w, tool, 7 * ADDR)->state == EP_PLACE_ASKED);
	world_settle(w);
	assert_non_null(world_place(w, tool, 7 * ADDR)->executable);
	assert_non_null(world_place(w, child, ADDR)->executable);
}

static void place_that_is_cut_gets_its_answer(void **state)
{
	struct world *w = *state;
	struct world_file file = make_copy(0755, geteuid());
	struct ep_mapping_event big = {
		.pid = (pid_t)prog.pid, .time_ns = world_now(), .addr = ADDR, .bytes = 0x3000,
		.build_id = file.build_id, .build_id_bytes = file.build_id_bytes,
		.name = file.path};

	start(w);
	big.time_ns = world_now();
	ep_processes_on_mapping(w->processes, &big);
	world_map_anonymous(w, world_now(), prog.pid, ADDR, 0x1000);
	world_map_anonymous(w, world_now(), prog.pid, ADDR + 0x1800, 0x100);
	world_settle(w);
	assert_null(world_place(w, prog, ADDR)->executable);
	assert_non_null(world_place(w, prog, ADDR + 0x1000)->executable);
	assert_non_null(world_place(w, prog, ADDR + 0x2000)->executable);
	assert_int_equal(world_place(w, prog, ADDR + 0x2000)->state, EP_PLACE_KNOWN);
	assert_true(ep_process_is_settled(world_process(w, prog)));
}

static void place_that_is_gone_is_waited_for_no_more(void **state)
{
	struct world *w = *state;
	struct world_file file = make_copy(0755, geteuid());

	start(w);
	(void)map_once(w, ADDR, &file);
	world_map_anonymous(w, world_now(), prog.pid, ADDR, 0x1000);
	world_settle(w);
	assert_true(ep_process_is_settled(world_process(w, prog)));
	assert_null(world_place(w, prog, ADDR)->executable);
}

static void one_file_mapped_over_and_over_is_one_question(void **state)
{
	struct world *w = *state;
	struct world_file file = make_copy(0755, geteuid());
	struct ep_program child = {.pid = PID(2), .image = 1, .start_ns = 2000000000};

	start(w);
	for (uint64_t i = 1; i <= 5000; i++)
		(void)map_once(w, i * ADDR, &file);
	assert_int_equal(ep_processes_stats(w->processes).files_asked, 1);
	world_fork(w, world_now(), prog.pid, child);
	world_map(w, world_now(), child.pid, 6000 * ADDR, &file);
	assert_int_equal(ep_processes_stats(w->processes).files_asked, 2);
	world_settle(w);
	for (uint64_t i = 1; i <= 5000; i++)
		assert_non_null(world_place(w, prog, i * ADDR)->executable);
	assert_non_null(world_place(w, child, ADDR)->executable);
	assert_non_null(world_place(w, child, 6000 * ADDR)->executable);
	assert_true(ep_process_is_settled(world_process(w, child)));
}

static void more_files_than_may_wait(void **state)
{
	struct world *w = *state;
	struct world_file file = make_copy(0755, geteuid());

	start(w);
	for (uint64_t i = 1; i <= 4100; i++) {
		snprintf(file.path, sizeof(file.path), "%s.%u", copy_path, (unsigned int)i);
		(void)map_once(w, i * ADDR, &file);
	}
	assert_int_equal(world_place(w, prog, ADDR)->state, EP_PLACE_ASKED);
	assert_int_equal(world_place(w, prog, 4100 * ADDR)->state, EP_PLACE_GONE);
	assert_int_equal(ep_processes_stats(w->processes).files_asked, 4096);
	assert_int_equal(ep_processes_stats(w->processes).files_refused, 4);
}

/* Jobs are under way: nothing of them may be left. */
static void stop_while_files_are_looked_at(void **state)
{
	struct world *w = *state;
	struct world_file file = make_copy(0755, geteuid());

	start(w);
	for (uint64_t i = 1; i <= 300; i++)
		(void)map_once(w, i * ADDR, &file);
	world_sample_with(w, world_now(), prog, EP_SAMPLE_RAW, 0);
	world_turn(w);
	assert_true(ep_processes_busy(w->processes) > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_open, world_close)
	const struct CMUnitTest tests[] = {
		TEST(roots_file_is_known_by_its_build_id),
		TEST(roots_file_is_known_by_its_inode),
		TEST(another_users_file),
		TEST(file_a_group_may_write),
		TEST(another_users_file_without_a_build_id),
		TEST(sample_of_a_file_that_is_gone_is_not_held),
		TEST(another_inode_under_its_path),
		TEST(another_generation_of_its_inode),
		TEST(another_build_id_under_its_path),
		TEST(file_is_found_in_the_parents_root),
		TEST(children_and_theirs_get_the_answer),
		TEST(child_that_executed_something_waits_for_its_own),
		TEST(place_that_is_cut_gets_its_answer),
		TEST(place_that_is_gone_is_waited_for_no_more),
		TEST(one_file_mapped_over_and_over_is_one_question),
		TEST(more_files_than_may_wait),
		TEST(stop_while_files_are_looked_at),
	};

	return cmocka_run_group_tests(tests, find_files, remove_files);
}
