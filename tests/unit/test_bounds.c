/* SPDX-License-Identifier: Apache-2.0 */
/* What the analysis of a file may cost, whatever its owner made of it; and when it lets go of it. */
#include "core/base/clock.h"
#include "core/elf/lookup.h"
#include "core/symbol/symtab.h"
#include "core/unwind/table.h"
#include "tests/unit/hostile_elf.h"
#include "tests/unit/room.h"

#define PLENTY ((uint64_t)1 << 40)

/* One file, what it is charged to, and what that was. */
struct paid {
	struct ep_elf *elf;
	struct ep_work work;
	struct ep_memory_budget memory;
};

static void paid_close(void *thing)
{
	struct paid *paid = thing;

	ep_elf_close(paid->elf);
	free(paid);
}

static struct paid *paid_open(const char *path)
{
	struct paid *paid = calloc(1, sizeof(*paid));

	assert_non_null(paid);
	ep_test_owns(paid, paid_close);
	paid->memory.limit = (size_t)1 << 40;
	ep_work_init(&paid->work, PLENTY, 0, NULL, &paid->memory);
	assert_int_equal(ep_elf_open_work(open(path, O_RDONLY | O_CLOEXEC), &paid->work, &paid->elf), 0);
	ep_work_init(&paid->work, PLENTY, 0, NULL, &paid->memory);
	return paid;
}

static uint64_t steps_of(const struct paid *paid)
{
	return PLENTY - paid->work.steps_left - paid->work.ready;
}

EP_TEST(a_chain_through_a_hole_ends)
{
	struct paid *paid = paid_open(hostile_chain()->path);
	struct ep_elf_lookup lookup;
	struct ep_elf_symbol symbol;

	ep_elf_lookup_init(&lookup, paid->elf);
	for (int i = 0; i < 100; i++)
		assert_int_equal(ep_elf_lookup_symbol(&lookup, "_PyRuntime", &symbol), -ENODATA);
	ep_elf_lookup_fini(&lookup);
	assert_true(steps_of(paid) < 100 * 100 * 1000); /* 67 million reads for each, before */
}

/* What is in holes gives no steps: the whole file is worth what a small one is. */
EP_TEST(holes_give_no_steps)
{
	struct paid *paid = paid_open(hostile_chain()->path);

	if (ep_elf_stored_bytes(paid->elf) == ep_elf_file_bytes(paid->elf))
		skip(); /* no holes here */
	assert_true(ep_elf_steps(paid->elf) < 100 * 1000 * 1000);
}

static struct paid *open_sparse(const char *name, uint32_t type, uint64_t bytes)
{
	struct hostile_elf *made = hostile_new(HOSTILE_HOLE + bytes + 4096);

	hostile_add(made, name, type, HOSTILE_HOLE, bytes);
	if (!hostile_end(made))
		skip();
	return paid_open(made->path);
}

EP_TEST(a_hole_is_not_read_as_unwind_tables)
{
	struct paid *paid = open_sparse(".eh_frame", SHT_PROGBITS, 200u << 20);
	struct ep_unwind_table *table = NULL;

	assert_int_equal(ep_unwind_table_build(paid->elf, NULL, &table), 0);
	assert_int_equal(table->stats.sources, 0);
	ep_unwind_table_free(table);
	assert_true(paid->memory.peak < 1u << 20);
	assert_int_equal(paid->memory.used, paid->elf ? atomic_load(&paid->memory.used) : 0);
}

EP_TEST(a_hole_is_not_read_as_a_section)
{
	struct paid *paid = open_sparse(".data", SHT_PROGBITS, 16u << 20);
	struct ep_elf_bytes bytes = {0};
	struct ep_elf_section section;

	assert_int_equal(ep_elf_find_section(paid->elf, ".data", &section), 0);
	assert_true(ep_elf_has_hole(paid->elf, section.file_off, section.bytes));
	assert_int_equal(ep_elf_read_section(paid->elf, &section, &bytes), -EBADMSG);
	assert_int_equal(ep_elf_find_section(paid->elf, ".shstrtab", &section), 0);
	assert_int_equal(ep_elf_read_section(paid->elf, &section, &bytes), 0);
	ep_elf_bytes_fini(&bytes);
}

EP_TEST(a_section_that_is_too_long_is_not_read)
{
	struct paid *paid = open_sparse(".data", SHT_PROGBITS, EP_ELF_MAX_SECTION + 1);
	struct ep_elf_bytes bytes = {0};
	struct ep_elf_section section;

	assert_int_equal(ep_elf_find_section(paid->elf, ".data", &section), 0);
	assert_int_equal(ep_elf_read_section(paid->elf, &section, &bytes), -E2BIG);
}

/* ---- of real ones: this very program ---- */

static int build(struct paid *paid)
{
	struct ep_unwind_table *table = NULL;
	int r = ep_unwind_table_build(paid->elf, NULL, &table);

	ep_unwind_table_free(table);
	return r;
}

static int read_names(struct paid *paid)
{
	struct ep_symtab *symtab = NULL;
	int r = ep_symtab_build(paid->elf, NULL, &symtab);

	ep_symtab_free(symtab);
	return r;
}

static int (*const reads[])(struct paid *paid) = {build, read_names};

EP_TEST_EACH(memory_that_was_taken_is_given_back, size_t, i, EP_LEN(reads))
{
	struct paid *paid = paid_open("/proc/self/exe");
	size_t kept = paid->memory.used; /* its headers */

	assert_int_equal(reads[i](paid), 0);
	assert_true(paid->memory.peak > kept);
	assert_int_equal(paid->memory.used, kept);
}

/* Whatever the limit is, it holds, and what was taken comes back. */
EP_TEST_EACH(memory_stays_below_its_limit, size_t, i, EP_LEN(reads))
{
	struct paid *paid = paid_open("/proc/self/exe");
	size_t kept = paid->memory.used, most, refused = 0;

	assert_int_equal(reads[i](paid), 0);
	most = paid->memory.peak;
	for (size_t part = 0; part < 16; part++) {
		int r;

		paid->memory.limit = kept + (most - kept) * part / 16;
		paid->memory.peak = kept;
		r = reads[i](paid);
		refused += r == -EAGAIN || r == -E2BIG;
		assert_true(r == 0 || r == -ENODATA || r == -EAGAIN || r == -E2BIG);
		assert_true(paid->memory.peak <= paid->memory.limit);
		assert_int_equal(paid->memory.used, kept);
	}
	assert_true(refused > 0);
}

EP_TEST_EACH(what_has_no_steps_left_ends, size_t, i, EP_LEN(reads))
{
	struct paid *paid = paid_open("/proc/self/exe");
	size_t kept = paid->memory.used;
	uint64_t all;

	assert_int_equal(reads[i](paid), 0);
	all = steps_of(paid);
	for (uint64_t part = 0; part < 16; part++) {
		ep_work_init(&paid->work, all * part / 17, 0, NULL, &paid->memory);
		assert_int_equal(reads[i](paid), -ETIME);
		assert_int_equal(paid->memory.used, kept);
	}
	ep_work_init(&paid->work, all, 0, NULL, &paid->memory);
	assert_int_equal(reads[i](paid), 0);
}

EP_TEST_EACH(what_is_stopped_ends, size_t, i, EP_LEN(reads))
{
	struct paid *paid = paid_open("/proc/self/exe");
	atomic_bool stopped = true;

	ep_work_init(&paid->work, PLENTY, 0, &stopped, &paid->memory);
	assert_int_equal(reads[i](paid), -ECANCELED);
}

/* ---- executables ---- */

static struct ep_executable *get_by(struct room *room, pid_t pid, const char *path)
{
	struct ep_mapping mapping = {.kind = EP_MAPPING_FILE, .path = path};
	struct ep_executable *executable;
	struct ep_proc_file file;

	assert_int_equal(ep_proc_open_path(path, &file), 0);
	executable = ep_executables_get(room->executables, pid, &mapping, &file, ep_clock_mono_ns());
	assert_non_null(executable);
	return executable;
}

static struct ep_executable *get(struct room *room, const char *path)
{
	return get_by(room, getpid(), path);
}

ROOM_TEST(what_finds_no_memory_beside_others_runs_alone)
{
	struct ep_memory_budget memory = {.limit = 64u << 20, .used = (64u << 20) - 8192};
	struct ep_executable *executable;

	ep_executables_set_memory(room->executables, &memory);
	executable = get(room, "/proc/self/exe");
	uv_run(&room->loop, UV_RUN_DEFAULT);
	assert_int_equal(ep_executables_stats(room->executables)->put_off, 1);
	assert_int_equal(ep_executables_stats(room->executables)->over_limit, 1);
	assert_int_equal(executable->state, EP_EXECUTABLE_EVICTED); /* to be tried again */
	assert_int_equal(memory.used, (64u << 20) - 8192);
	assert_true(executable->file.fd >= 0);
	ep_executable_unref(executable);
}

ROOM_TEST(files_go_with_the_last_who_maps_them)
{
	struct ep_executable *executable = get(room, "/proc/self/exe"), *again;
	uint32_t id = executable->id;

	uv_run(&room->loop, UV_RUN_DEFAULT);
	ep_executables_let_go(room->executables, ep_clock_mono_ns());
	assert_true(executable->file.fd >= 0);
	ep_executable_unref(executable);
	ep_executables_let_go(room->executables, ep_clock_mono_ns());
	assert_int_equal(executable->file.fd, -1);
	assert_non_null(executable->text); /* its tables stay */
	/* Who maps it again brings its file. */
	assert_null(ep_executables_get_current(room->executables, id));
	again = get(room, "/proc/self/exe");
	assert_ptr_equal(again, executable);
	assert_true(executable->file.fd >= 0);
	ep_executable_unref(again);
}

static void note_leaving(void *arg, struct ep_executable *executable)
{
	assert_true(executable->file.fd >= 0);
	++*(unsigned int *)arg;
}

ROOM_TEST(it_is_told_once_that_a_file_goes)
{
	unsigned int left = 0;

	ep_executables_set_leaving(room->executables, note_leaving, &left);
	for (unsigned int i = 1; i <= 2; i++) {
		struct ep_executable *executable = get(room, "/proc/self/exe");

		uv_run(&room->loop, UV_RUN_DEFAULT);
		ep_executable_unref(executable);
		ep_executables_let_go(room->executables, ep_clock_mono_ns());
		ep_executables_let_go(room->executables, ep_clock_mono_ns());
		assert_int_equal(left, i);
	}
}

static struct ep_executable *get_for(struct room *room, pid_t pid)
{
	struct hostile_elf *made = hostile_new(64 << 10);
	struct ep_executable *executable;

	(void)hostile_end(made);
	executable = get_by(room, pid, made->path);
	uv_run(&room->loop, UV_RUN_DEFAULT);
	assert_int_equal(executable->state, EP_EXECUTABLE_READY);
	return executable;
}

static size_t count_open(struct ep_executable *const *executables, size_t n)
{
	size_t open = 0;

	for (size_t i = 0; i < n; i++)
		open += executables[i]->file.fd >= 0;
	return open;
}

/* The first process maps 8 files, the second 4, the third 2. */
ROOM_TEST(one_process_does_not_take_all_descriptors)
{
	struct ep_executable *of[14];
	size_t n = 0;

	ep_executables_set_max_files(room->executables, 8);
	while (n < 8)
		of[n++] = get_for(room, 101);
	assert_int_equal(count_open(of, 8), 4);
	while (n < 12)
		of[n++] = get_for(room, 102);
	assert_int_equal(count_open(of + 8, 4), 4);
	while (n < 14)
		of[n++] = get_for(room, 103);
	assert_int_equal(count_open(of + 12, 2), 2);
	assert_int_equal(count_open(of, 14), 8);
	assert_int_equal(ep_executables_stats(room->executables)->closed, 6);
	while (n > 0)
		ep_executable_unref(of[--n]);
	ep_executables_let_go(room->executables, ep_clock_mono_ns());
	assert_int_equal(room->executables->files.n, 0);
	assert_int_equal(room->executables->files.by_pid.len, 0);
}

/* Three run at once: the fourth has not begun when nobody maps it any more. */
ROOM_TEST(what_nobody_maps_is_not_analysed)
{
	struct ep_executable *executables[4];
	uint64_t later_ns = ep_clock_mono_ns() + 10 * EP_NS_PER_SEC;

	for (size_t i = 0; i < EP_LEN(executables); i++) {
		struct hostile_elf *made = hostile_new(64 << 10);

		(void)hostile_end(made);
		executables[i] = get(room, made->path);
	}
	assert_non_null(executables[3]->waiting);
	ep_executable_unref(executables[3]);
	ep_executables_let_go(room->executables, ep_clock_mono_ns()); /* samples may wait for it */
	assert_int_equal(executables[3]->state, EP_EXECUTABLE_PENDING);
	ep_executables_let_go(room->executables, later_ns);
	assert_int_equal(executables[3]->state, EP_EXECUTABLE_FAILED);
	assert_true(executables[3]->unopened); /* the next one who maps it is asked */
	uv_run(&room->loop, UV_RUN_DEFAULT);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(executables[i]->state, EP_EXECUTABLE_READY);
		ep_executable_unref(executables[i]);
	}
	assert_int_equal(ep_executables_stats(room->executables)->busy, 0);
}
