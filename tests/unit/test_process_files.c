/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping records and the files of them: which are known, which take a look, which are gone. */
#include "tests/kit/test.h"
#include "tests/unit/process_world.h"

#define NOBODY	   65534
#define ADDR	   0x10000

static char own_path[256], copy_path[64], other_path[80];

/* Our own executable, in which this function is. */
static int find_files(void **state)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	assert_true(n > 0);
	own_path[n] = '\0';
	snprintf(copy_path, sizeof(copy_path), "/tmp/test_process_files.%d", (int)getpid());
	snprintf(other_path, sizeof(other_path), "%s.other", copy_path);
	return 0;
}

static int remove_files(void **state)
{
	(void)unlink(copy_path);
	(void)unlink(other_path);
	return 0;
}

static struct world_file make_copy(mode_t mode, uid_t owner)
{
	ep_test_copy(own_path, copy_path, mode);
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

static struct ep_area *map_once(struct world *w, uint64_t addr,
					   const struct world_file *file)
{
	world_map(w, world_now(), prog.pid, addr, file);
	return world_area(w, prog, addr);
}

static void start_mapped(struct world *w, const struct world_file *file)
{
	start(w);
	(void)map_once(w, ADDR, file);
}

/* A copy that a process runs. */
static struct world_file start_copy(struct world *w)
{
	struct world_file file = make_copy(0755, geteuid());

	start_mapped(w, &file);
	return file;
}

#define NEEDS_ROOT()                                                                               \
	do {                                                                                       \
		if (geteuid() != 0)                                                                \
			skip();                                                                    \
	} while (0)

/* --- what is known --------------------------------------------------------------------------- */

static const struct ep_executable *executable_at(struct world *w, struct ep_program program,
						 uint64_t addr)
{
	const struct ep_area *place;

	world_settle(w);
	place = world_area(w, program, addr);
	assert_int_equal(world_state(place), AREA_KNOWN);
	assert_non_null(ep_area_executable(place));
	return ep_area_executable(place);
}

static void assert_asked(struct world *w, uint64_t files)
{
	assert_int_equal(w->processes->files.looks.asked, files);
}

/* One look in its first mount namespace, one in the next: the other program runs in that. */
static void one_look_in_each_namespace(struct world *w, struct world_file file)
{
	const struct ep_executable *executable;

	start(w);
	assert_int_equal(world_state(map_once(w, ADDR, &file)), AREA_ASKED);
	executable = executable_at(w, prog, ADDR);
	assert_int_equal(world_state(map_once(w, 2 * ADDR, &file)), AREA_KNOWN);
	assert_ptr_equal(executable_at(w, prog, 2 * ADDR), executable);
	assert_asked(w, 2); /* the second look comes later */
	w->mount_ns = 2;
	world_exec(w, world_now(), other, "other");
	world_map(w, world_now(), other.pid, ADDR, &file);
	assert_int_equal(world_state(world_area(w, other, ADDR)), AREA_ASKED);
	assert_ptr_equal(executable_at(w, other, ADDR), executable);
	world_map(w, world_now(), other.pid, 2 * ADDR, &file);
	assert_int_equal(world_state(world_area(w, other, 2 * ADDR)), AREA_KNOWN);
	assert_int_equal(ep_executables_stats(w->processes->executables)->analysed, 1);
}

EP_TEST_WITH(file_with_a_build_id, world_open, world_close)
{
	struct world_file file = make_copy(0755, geteuid());

	assert_true(file.build_id_bytes > 0);
	one_look_in_each_namespace(*state, file);
}

EP_TEST_WITH(file_without_a_build_id, world_open, world_close)
{
	one_look_in_each_namespace(*state, without_build_id(make_copy(0755, geteuid())));
}

EP_TEST_WITH(another_users_file, world_open, world_close)
{
	NEEDS_ROOT();
	one_look_in_each_namespace(*state, make_copy(0775, NOBODY));
}

WORLD_TEST(another_generation_takes_a_look)
{
	struct world_file file = without_build_id(make_copy(0755, geteuid()));

	start_mapped(w, &file);
	(void)executable_at(w, prog, ADDR);
	file.generation++;
	assert_int_equal(world_state(map_once(w, 2 * ADDR, &file)), AREA_ASKED);
	world_settle(w);
}

WORLD_TEST(without_a_namespace_each_mapping_takes_a_look)
{
	struct world_file file = make_copy(0755, geteuid());

	w->mount_ns = 0;
	start(w);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(world_state(map_once(w, i * ADDR, &file)), AREA_ASKED);
		(void)executable_at(w, prog, i * ADDR);
	}
	assert_asked(w, 3);
}

WORLD_TEST(look_is_believed_for_a_second)
{
	struct world_file file = start_copy(w);

	(void)executable_at(w, prog, ADDR);
	for (uint64_t i = 2; i <= 100; i++)
		assert_int_equal(world_state(map_once(w, i * ADDR, &file)), AREA_KNOWN);
	assert_asked(w, 2);
	world_map(w, world_now() + EP_FILE_FRESH_NS, prog.pid, 101 * ADDR, &file);
	assert_int_equal(world_state(world_area(w, prog, 101 * ADDR)), AREA_ASKED);
	world_settle(w);
}

WORLD_TEST(look_that_fails_leaves_what_a_build_id_tells)
{
	struct world_file file = start_copy(w);
	const struct ep_executable *executable;

	executable = executable_at(w, prog, ADDR);
	assert_int_equal(unlink(copy_path), 0);
	world_map(w, world_now() + EP_FILE_FRESH_NS, prog.pid, 2 * ADDR, &file);
	world_exit(w, world_now() + 2 * EP_FILE_FRESH_NS, prog);
	assert_ptr_equal(executable_at(w, prog, 2 * ADDR), executable);
}

/* --- what is another ------------------------------------------------------------------------- */

/* Other code, with the build id and the rules that our own file has. */
static void change_code(const char *path)
{
	char *bytes;
	ep_autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	/* The end of a section that nobody reads here: .comment and what follows it. */
	bytes[st.st_size - 1] ^= 1;
	munmap(bytes, (size_t)st.st_size);
}

/* A container's root has made a library that has libc's build id, at libc's path. */
WORLD_TEST(other_code_with_its_build_id)
{
	struct world_file file = make_copy(0755, geteuid()), evil;
	const struct ep_executable *executable, *found;

	ep_test_copy(own_path, other_path, 0755);
	change_code(other_path);
	evil = world_file(other_path);
	assert_memory_equal(evil.build_id, file.build_id, file.build_id_bytes);
	world_prepare(w, copy_path);
	start_mapped(w, &file);
	executable = executable_at(w, prog, ADDR);
	assert_string_equal(executable->path, copy_path);
	w->mount_ns = 2;
	world_exec(w, world_now(), other, "other");
	world_map(w, world_now(), other.pid, ADDR, &evil);
	assert_int_equal(world_state(world_area(w, other, ADDR)), AREA_ASKED);
	found = executable_at(w, other, ADDR);
	assert_string_equal(found->path, other_path);
	assert_string_equal(found->build_id, executable->build_id);
	/* Whoever comes last, each has its own. */
	(void)map_once(w, 2 * ADDR, &file);
	assert_ptr_equal(executable_at(w, prog, 2 * ADDR), executable);
	assert_ptr_equal(executable_at(w, prog, ADDR), executable);
}

static struct ep_program next_program(struct world *w, uint64_t time_ns)
{
	struct ep_program program = {.pid = PID(10), .image = 1, .start_ns = 3000000000};

	world_exec(w, time_ns, program, "next");
	return program;
}

/* As `cp` does: the inode stays. */
static void overwrite(const char *path)
{
	static const char text[] = "no program";
	ep_autoclose int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text)), sizeof(text));
}

WORLD_TEST(file_that_is_overwritten_is_another)
{
	struct world_file file = without_build_id(make_copy(0755, geteuid()));
	const struct ep_executable *executable;
	struct ep_program next;
	uint64_t later_ns;

	start_mapped(w, &file);
	executable = executable_at(w, prog, ADDR);
	assert_non_null(executable->text);
	overwrite(copy_path);
	later_ns = world_now() + EP_FILE_FRESH_NS;
	next = next_program(w, later_ns);
	world_map(w, later_ns, next.pid, ADDR, &file);
	assert_ptr_not_equal(executable_at(w, next, ADDR), executable);
	assert_null(executable_at(w, next, ADDR)->text);
	/* It is one inode: who mapped it before maps that, too. */
	assert_ptr_equal(executable_at(w, prog, ADDR), executable_at(w, next, ADDR));
}

/* Within the second it is trusted; the look at its end finds out. */
WORLD_TEST(look_that_follows_corrects_what_was_believed)
{
	struct world_file file = without_build_id(make_copy(0755, geteuid()));
	const struct ep_executable *executable;
	struct ep_program next;
	uint64_t end_ns;

	start_mapped(w, &file);
	executable = executable_at(w, prog, ADDR);
	end_ns = world_now() + EP_FILE_FRESH_NS + EP_NS_PER_SEC / 10;
	overwrite(copy_path);
	next = next_program(w, world_now());
	world_map(w, world_now(), next.pid, ADDR, &file);
	assert_ptr_equal(executable_at(w, next, ADDR), executable);
	while (ep_area_executable(world_area(w, next, ADDR)) == executable && world_now() < end_ns)
		uv_run(&w->loop, UV_RUN_ONCE);
	assert_ptr_not_equal(executable_at(w, next, ADDR), executable);
}

/* Two roots in one namespace: a look in one of them says nothing of the other. */
WORLD_TEST(hint_that_is_contested_is_believed_no_more)
{
	struct world_file file = start_copy(w);
	const struct ep_executable *executable, *found;
	struct ep_program next;
	uint64_t later_ns;

	executable = executable_at(w, prog, ADDR);
	ep_test_copy(own_path, other_path, 0755);
	change_code(other_path);
	assert_int_equal(rename(other_path, copy_path), 0);
	later_ns = world_now() + EP_FILE_FRESH_NS;
	next = next_program(w, later_ns);
	world_map(w, later_ns, next.pid, ADDR, &file);
	found = executable_at(w, next, ADDR);
	assert_ptr_not_equal(found, executable);
	assert_ptr_equal(executable_at(w, prog, ADDR), executable);
	for (uint64_t i = 2; i <= 4; i++) {
		world_map(w, later_ns, next.pid, i * ADDR, &file);
		assert_int_equal(world_state(world_area(w, next, i * ADDR)), AREA_ASKED);
		assert_ptr_equal(executable_at(w, next, i * ADDR), found);
	}
}

WORLD_TEST(equal_files_share_their_tables)
{
	struct world_file file = make_copy(0755, geteuid()), twin;
	const struct ep_delta_store_segment *a, *b;
	size_t used;

	ep_test_copy(own_path, other_path, 0755);
	twin = world_file(other_path);
	start_mapped(w, &file);
	assert_int_equal(ep_delta_store_text_segments(executable_at(w, prog, ADDR)->text, &a), 1);
	used = ep_delta_store_used_bytes(w->store);
	(void)map_once(w, 2 * ADDR, &twin);
	assert_int_equal(ep_delta_store_text_segments(executable_at(w, prog, 2 * ADDR)->text, &b),
			 1);
	assert_ptr_not_equal(executable_at(w, prog, ADDR), executable_at(w, prog, 2 * ADDR));
	assert_int_equal(a->pages, b->pages);
	assert_true(ep_delta_store_used_bytes(w->store) < used + 4096);
}

/* --- what is gone ---------------------------------------------------------------------------- */

WORLD_TEST(sample_of_a_file_that_is_gone_is_not_held)
{
	struct world_file file = make_copy(0755, geteuid());

	assert_int_equal(unlink(copy_path), 0);
	start_mapped(w, &file);
	world_sample_with(w, world_now(), prog, EP_SAMPLE_RAW, 0);
	assert_int_equal(w->passed, 0);
	world_settle(w);
	assert_int_equal(world_state(world_area(w, prog, ADDR)), AREA_GONE);
	assert_int_equal(w->passed, 1);
	assert_int_equal(ep_held_bytes(w->processes->held), 0);
}

static void another_file_under_its_path_is_not_taken(struct world *w, struct world_file file)
{
	start_mapped(w, &file);
	world_settle(w);
	assert_int_equal(world_state(world_area(w, prog, ADDR)), AREA_GONE);
	assert_int_equal(w->processes->files.looks.found, 0);
}

EP_TEST_WITH(another_inode_under_its_path, world_open, world_close)
{
	struct world_file file = without_build_id(make_copy(0755, geteuid()));

	assert_int_equal(rename(copy_path, other_path), 0);
	ep_test_copy(own_path, copy_path, 0755);
	another_file_under_its_path_is_not_taken(*state, file);
}

EP_TEST_WITH(another_generation_of_its_inode, world_open, world_close)
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

EP_TEST_WITH(another_build_id_under_its_path, world_open, world_close)
{
	struct world_file file = make_copy(0755, geteuid());

	file.build_id[0] ^= 1;
	another_file_under_its_path_is_not_taken(*state, file);
}

/* It is mapped, and after that it is modified: `seconds` from now. */
static void map_and_write(struct world *w, time_t seconds)
{
	struct world_file file = make_copy(0755, geteuid());
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	uint64_t time_ns = world_now();

	world_exec(w, time_ns, prog, "prog");
	clock_gettime(CLOCK_REALTIME, &times[1]);
	times[1].tv_sec += seconds;
	assert_int_equal(utimensat(AT_FDCWD, copy_path, times, 0), 0);
	world_map(w, time_ns, prog.pid, ADDR, &file);
	world_settle(w);
}

/* cp keeps the inode, and may write a file of the same build id. */
WORLD_TEST(a_file_that_was_written_since_is_not_taken)
{
	map_and_write(w, 0);
	assert_int_equal(world_state(world_area(w, prog, ADDR)), AREA_GONE);
}

WORLD_TEST(a_file_of_the_future_is_taken)
{
	map_and_write(w, 3600);
	assert_int_equal(world_state(world_area(w, prog, ADDR)), AREA_KNOWN);
}

/* The second one, of a file that its parent had under that path, is gone. */
static const struct ep_executable *map_in_a_child(struct world *w, struct ep_program parent)
{
	struct world_file file = make_copy(0755, geteuid());

	w->processes->options.hears_mappings = true;
	world_exec(w, world_now(), parent, "parent");
	world_fork(w, world_now(), parent.pid, other);
	world_map(w, world_now(), other.pid, ADDR, &file);
	world_exit(w, world_now(), other);
	world_settle(w);
	return ep_area_executable(world_area(w, other, ADDR));
}

/* Whose root is our own, and the mapper is gone. */
WORLD_TEST(file_is_found_in_the_parents_root)
{
	struct ep_program parent = world_child();
	const struct ep_executable *executable = map_in_a_child(w, parent);

	assert_non_null(executable);
	assert_string_equal(executable->path, copy_path);
	assert_int_equal(executable->pid, parent.pid);
}

/* --- who counts ------------------------------------------------------------------------------ */

/* The parent's pid is another process's by now: nothing is looked for in its root. */
WORLD_TEST(pid_that_came_again_is_nobodys_parent)
{
	struct ep_program parent = world_child();
	const struct ep_executable *executable;

	parent.start_ns += EP_NS_PER_SEC;
	executable = map_in_a_child(w, parent);
	assert_non_null(executable);
	assert_int_equal(executable->pid, getpid());
}

/*
 * Nobody whom we can ask is in the namespace in which it was mapped: a file of that build id in
 * ours is not it.
 */
WORLD_TEST(path_in_another_namespace_says_nothing)
{
	struct world_file file = make_copy(0755, geteuid());

	w->mount_inode++;
	start_mapped(w, &file);
	world_settle(w);
	assert_int_equal(world_state(world_area(w, prog, ADDR)), AREA_GONE);
	assert_int_equal(w->processes->files.looks.found, 0);
}

static uint64_t own_addr(void)
{
	return EP_ALIGN_DOWN((uint64_t)(uintptr_t)own_addr, EP_PAGE_BYTES);
}

/*
 * It maps our own executable, and has left the mount namespace in which it was executed, or has
 * not.
 */
static const struct ep_file_entry *map_own(struct world *w, struct ep_program child,
					   struct world_file *ret_file)
{
	struct ep_file_key key = {.mount_ns = 1};
	const struct ep_executable *executable;

	*ret_file = world_file(own_path);
	key.build_id_bytes = (uint32_t)ret_file->build_id_bytes;
	memcpy(key.build_id, ret_file->build_id, ret_file->build_id_bytes);
	world_exec(w, world_now(), child, "child");
	world_map(w, world_now(), child.pid, own_addr(), ret_file);
	executable = executable_at(w, child, own_addr());
	assert_int_equal(executable->pid, child.pid);
	return ep_file_cache_find(&w->processes->files, &key, own_path);
}

static bool can_follow_map_files(void)
{
	struct ep_proc_file file = {.fd = -1};
	bool can = ep_proc_open_range(getpid(), own_addr(), own_addr() + EP_PAGE_BYTES, &file) !=
		   -EPERM;

	ep_proc_file_close(&file);
	return can;
}

WORLD_TEST(process_speaks_for_the_namespace_it_is_in)
{
	const struct ep_file_entry *hint;
	struct world_file file;

	if (!can_follow_map_files())
		skip();
	hint = map_own(w, world_child(), &file);
	assert_non_null(hint);
	assert_int_not_equal(hint->executable, 0);
	start(w);
	assert_int_equal(world_state(map_once(w, ADDR, &file)), AREA_KNOWN);
}

/*
 * A user executed something in ours, made a namespace of his own, and maps what he has bound at
 * libc's path.
 */
WORLD_TEST(process_that_left_its_namespace_is_not_believed_there)
{
	const struct ep_file_entry *hint;
	struct world_file file;

	if (!can_follow_map_files())
		skip();
	w->mount_inode++;
	hint = map_own(w, world_child(), &file);
	w->mount_inode--;
	if (hint)
		assert_int_equal(hint->executable, 0);
	start(w);
	assert_int_equal(world_state(map_once(w, ADDR, &file)), AREA_ASKED);
	assert_int_equal(executable_at(w, prog, ADDR)->pid, getpid());
}

/* One file, seen in two views: what is beside it in one of them does not name it in the other. */
WORLD_TEST(file_is_an_executable_in_each_view)
{
	struct ep_executables *executables = w->processes->executables;
	struct ep_mapping mapping = {.kind = EP_MAPPING_FILE, .path = own_path};
	struct ep_executable *found[4];
	size_t used = 0;

	for (size_t i = 0; i < EP_LEN(found); i++) {
		struct ep_proc_file file;

		assert_int_equal(ep_proc_open_path(own_path, &file), 0);
		if (i % 2)
			file.view = (struct ep_proc_view){
				.root_dev = 1, .root_inode = 2, .mount_ns = 3};
		found[i] = ep_executables_get(executables, getpid(), &mapping, &file, world_now());
		world_settle(w);
		if (i == 0)
			used = ep_delta_store_used_bytes(w->store);
	}
	assert_ptr_equal(found[0], found[2]);
	assert_ptr_equal(found[1], found[3]);
	assert_ptr_not_equal(found[0], found[1]);
	assert_int_equal(found[0]->newer, 0);
	assert_int_equal(found[1]->newer, 0);
	assert_int_equal(ep_executables_stats(executables)->analysed, 2);
	assert_int_equal(ep_delta_store_used_bytes(w->store), used);
	for (size_t i = 0; i < EP_LEN(found); i++)
		ep_executable_unref(found[i]);
}

/* --- whose answer it is ---------------------------------------------------------------------- */

/* All of them were forked while the file was looked at. */
WORLD_TEST(children_and_theirs_get_the_answer)
{
	struct ep_program grandchild = {.pid = PID(3), .image = 1, .start_ns = 3000000000};

	(void)start_copy(w);
	world_fork(w, world_now(), prog.pid, other);
	world_fork(w, world_now(), other.pid, grandchild);
	world_exit(w, world_now(), other);
	world_sample_with(w, world_now(), grandchild, EP_SAMPLE_RAW, 0);
	world_sample_with(w, world_now(), other, EP_SAMPLE_RAW, 0);
	assert_int_equal(w->passed, 0);
	world_settle(w);
	assert_non_null(ep_area_executable(world_area(w, grandchild, ADDR)));
	assert_non_null(ep_area_executable(world_area(w, other, ADDR)));
	assert_true(ep_process_is_settled(world_process(w, grandchild)));
	assert_int_equal(w->passed, 2);
}

/* BPF is informed of each of them, whoever asked. */
WORLD_TEST(all_who_share_mappings_are_told)
{
	uint64_t asked_ns;

	(void)start_copy(w);
	world_publish(w);
	world_fork(w, world_now(), prog.pid, other);
	asked_ns = world_now();
	assert_int_equal(world_state(world_area(w, other, ADDR)), AREA_ASKED);
	world_settle(w);
	world_publish(w);
	assert_ptr_equal(world_process(w, prog)->sharer.mappings, world_process(w, other)->sharer.mappings);
	assert_true(world_process(w, prog)->published.at_ns > asked_ns);
	assert_true(world_process(w, other)->published.at_ns > asked_ns);
}

/* What it asks for itself is not answered by what its parent asks. */
WORLD_TEST(child_that_executed_something_waits_for_its_own)
{
	struct world_file file = start_copy(w);
	struct ep_program tool = {.pid = PID(2), .image = 2, .start_ns = 2000000000};
	struct ep_process *process;

	world_fork(w, world_now(), prog.pid, other);
	world_turn(w); /* the parent's question is on its way */
	world_exec(w, world_now(), tool, "tool");
	world_map(w, world_now(), tool.pid, 7 * ADDR, &file);
	process = world_process(w, tool);
	while (world_state(world_area(w, prog, ADDR)) == AREA_ASKED &&
	       ep_process_is_looking(process))
		uv_run(&w->loop, UV_RUN_ONCE);
	assert_int_equal(ep_process_is_looking(process),
			 world_state(world_area(w, tool, 7 * ADDR)) == AREA_ASKED);
	world_settle(w);
	assert_non_null(ep_area_executable(world_area(w, tool, 7 * ADDR)));
	assert_non_null(ep_area_executable(world_area(w, other, ADDR)));
}

WORLD_TEST(place_that_is_cut_gets_its_answer)
{
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
	assert_null(ep_area_executable(world_area(w, prog, ADDR)));
	assert_non_null(ep_area_executable(world_area(w, prog, ADDR + 0x1000)));
	assert_non_null(ep_area_executable(world_area(w, prog, ADDR + 0x2000)));
	assert_int_equal(world_state(world_area(w, prog, ADDR + 0x2000)), AREA_KNOWN);
	assert_true(ep_process_is_settled(world_process(w, prog)));
}

WORLD_TEST(place_that_is_gone_is_waited_for_no_more)
{

	(void)start_copy(w);
	world_map_anonymous(w, world_now(), prog.pid, ADDR, 0x1000);
	world_settle(w);
	assert_true(ep_process_is_settled(world_process(w, prog)));
	assert_null(ep_area_executable(world_area(w, prog, ADDR)));
}

WORLD_TEST(one_file_mapped_over_and_over_is_one_question)
{
	struct world_file file = make_copy(0755, geteuid());

	start(w);
	for (uint64_t i = 1; i <= 5000; i++)
		(void)map_once(w, i * ADDR, &file);
	assert_int_equal(w->processes->files.looks.asked, 1);
	world_fork(w, world_now(), prog.pid, other);
	world_map(w, world_now(), other.pid, 6000 * ADDR, &file);
	assert_int_equal(w->processes->files.looks.asked, 2);
	world_settle(w);
	for (uint64_t i = 1; i <= 5000; i++)
		assert_non_null(ep_area_executable(world_area(w, prog, i * ADDR)));
	assert_non_null(ep_area_executable(world_area(w, other, ADDR)));
	assert_non_null(ep_area_executable(world_area(w, other, 6000 * ADDR)));
	assert_true(ep_process_is_settled(world_process(w, other)));
}

/* The same process: what it has executed since maps the file in another root, for all we know. */
WORLD_TEST(each_program_asks_for_itself)
{
	struct world_file file = start_copy(w);
	struct ep_program tool = {.pid = prog.pid, .image = prog.image + 1, .start_ns = prog.start_ns};

	world_exec(w, world_now(), tool, "tool");
	world_map(w, world_now(), tool.pid, ADDR, &file);
	assert_asked(w, 2);
	world_settle(w);
	assert_non_null(ep_area_executable(world_area(w, tool, ADDR)));
}

WORLD_TEST(more_files_than_may_wait)
{
	struct world_file file = make_copy(0755, geteuid());

	start(w);
	for (uint64_t i = 1; i <= 4100; i++) {
		snprintf(file.path, sizeof(file.path), "%s.%u", copy_path, (unsigned int)i);
		(void)map_once(w, i * ADDR, &file);
	}
	assert_int_equal(world_state(world_area(w, prog, ADDR)), AREA_ASKED);
	assert_int_equal(world_state(world_area(w, prog, 4100 * ADDR)), AREA_GONE);
	assert_int_equal(w->processes->files.looks.asked, 2048);
	assert_int_equal(w->processes->files.looks.refused, 4100 - 2048);
}

/* Of those that ask for as many as they can each gets half of what is left. */
WORLD_TEST(who_asks_for_many_files_leaves_half_to_others)
{
	struct world_file file = make_copy(0755, geteuid());

	start(w);
	for (uint64_t i = 1; i <= 4100; i++) {
		snprintf(file.path, sizeof(file.path), "%s.%u", copy_path, (unsigned int)i);
		(void)map_once(w, i * ADDR, &file);
	}
	world_exec(w, world_now(), other, "other");
	for (uint64_t i = 1; i <= 1100; i++) {
		snprintf(file.path, sizeof(file.path), "%s.%u", copy_path, (unsigned int)i);
		world_map(w, world_now(), other.pid, i * ADDR, &file);
	}
	assert_int_equal(world_state(world_area(w, other, ADDR)), AREA_ASKED);
	assert_int_equal(w->processes->files.looks.asked, 2048 + 1024);
	/* When they are looked at, there is space again. */
	world_settle(w);
	assert_int_equal(w->processes->files.looks.waiting_by_pid.len, 0);
	assert_int_equal(w->processes->files.looks.n_waiting, 0);
}

/* Jobs are under way: nothing of them may be left. */
WORLD_TEST(stop_while_files_are_looked_at)
{
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
	return ep_test_run(find_files, remove_files);
}
