/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of parts of a library: which, and when. argv[1]: a library that is large enough. */
#include "core/process/text_parts.h"
#include "tests/unit/process_world.h"

#include <sys/mman.h>

static const char *library;
static struct ep_elf_segment segment; /* its text */
static uint64_t addr;		      /* where children have that */

static int map_library(void **state)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	int fd = open(library, O_RDONLY | O_CLOEXEC);
	void *memory;

	(void)state;
	assert_int_equal(ep_elf_open(library, &elf), 0);
	assert_int_equal(ep_elf_exec_segments(elf, &segment, 1), 1);
	memory = mmap(NULL, segment.file_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		      (off_t)EP_ALIGN_DOWN(segment.file_off, EP_PAGE_BYTES));
	assert_true(fd >= 0 && memory != MAP_FAILED);
	addr = (uintptr_t)memory;
	close(fd);
	return 0;
}

static struct ep_text_parts parts_of(uint64_t va, uint64_t bytes)
{
	struct ep_elf_segment text = {.va = va, .file_bytes = bytes};
	struct ep_text_parts parts;

	ep_text_parts_init(&parts, &text, 1);
	return parts;
}

EP_TEST(all_of_the_text_is_in_parts)
{
	static const uint64_t sizes[] = {1, 4096, 5 << 20, 118 << 20, 0xffffffffull};

	for (size_t i = 0; i < EP_LEN(sizes); i++) {
		struct ep_text_parts parts = parts_of(0x1234, sizes[i]);

		assert_true(ep_text_parts_are_none(&parts));
		assert_true(ep_text_parts_add(&parts, 0x1234));
		assert_true(ep_text_parts_add(&parts, 0x1234 + sizes[i] - 1));
		assert_false(ep_text_parts_are_none(&parts));
		assert_false(ep_text_parts_add(&parts, 0xfff));
		assert_false(ep_text_parts_add(&parts, 0x1000 + EP_TEXT_PARTS * parts.part_bytes));
	}
}

EP_TEST(stretches_are_runs_of_parts)
{
	struct ep_text_parts parts = parts_of(0x1000, 64 << 20);
	struct ep_unwind_stretch stretches[EP_TEXT_PARTS];
	uint64_t bytes = parts.part_bytes;

	assert_int_equal(ep_text_parts_stretches(&parts, stretches), 0);
	assert_true(ep_text_parts_add(&parts, 0x1000 + 7 * bytes));
	assert_true(ep_text_parts_add(&parts, 0x1000 + 2 * bytes + 5));
	assert_true(ep_text_parts_add(&parts, 0x1000 + 4 * bytes - 1));
	assert_int_equal(ep_text_parts_stretches(&parts, stretches), 2);
	assert_int_equal(stretches[0].start, 0x1000 + 2 * bytes);
	assert_int_equal(stretches[0].end, 0x1000 + 4 * bytes);
	assert_int_equal(stretches[1].start, 0x1000 + 7 * bytes);
	assert_int_equal(stretches[1].end, 0x1000 + 8 * bytes);
}

/* A table has more pages than its stretches: those of the function that begins before one. */
EP_TEST(pages_outside_of_parts_are_cut_away)
{
	struct ep_text_parts parts = parts_of(0x1000, 64 << 20);
	uint32_t pages = (uint32_t)(parts.part_bytes / EP_PAGE_BYTES);
	struct ep_unwind_segment whole = {.va = 0x1000, .n_pages = 16 * pages, .first_page = 3};
	struct ep_unwind_table table = {.segments = &whole, .n_segments = 1};
	struct ep_unwind_segment segments[EP_TEXT_PARTS_MAX_SEGMENTS];

	(void)ep_text_parts_add(&parts, 0x1000 + 2 * parts.part_bytes);
	(void)ep_text_parts_add(&parts, 0x1000 + 3 * parts.part_bytes);
	assert_int_equal(ep_text_parts_cut(&parts, &table, segments), 1);
	assert_int_equal(segments[0].va, 0x1000 + 2 * parts.part_bytes);
	assert_int_equal(segments[0].n_pages, 2 * pages);
	assert_int_equal(segments[0].first_page, 3 + 2 * pages);
}

/* What BPF finds for an address. */
static uint32_t pages_of(struct world *w, struct ep_program program, uint64_t at)
{
	const struct ep_proc *proc = world_proc(w, program.pid);
	const char *chunk = ep_delta_store_chunk(w->store, EP_REF_CHUNK(proc->rows));
	const struct ep_row *row =
		(const struct ep_row *)(chunk + 4 * (size_t)EP_REF_WORD(proc->rows));

	for (size_t i = 0; i < proc->n_rows; i++, row++) {
		if (at >= row->start && at < row->end)
			return row->pages;
	}
	return EP_PAGES_GONE;
}

static struct ep_program start(struct world *w)
{
	struct ep_program child = world_child();
	struct world_file file = world_file(library);
	struct ep_mapping_event event = {
		.pid = (pid_t)child.pid,
		.addr = addr,
		.bytes = EP_ALIGN_UP(segment.file_bytes, EP_PAGE_BYTES),
		.file_off = EP_ALIGN_DOWN(segment.file_off, EP_PAGE_BYTES),
		.has_inode = true,
		.device_major = file.major,
		.device_minor = file.minor,
		.inode = file.inode,
		.inode_generation = file.generation,
		.name = library,
	};

	world_exec(w, world_now(), child, "child");
	event.time_ns = world_now();
	ep_processes_on_mapping(w->processes, &event);
	world_settle(w);
	world_publish(w);
	return child;
}

WORLD_TEST(a_part_has_tables_when_a_stack_has_led_there)
{
	struct ep_executable *executable;
	struct ep_program child;
	uint64_t part;

	ep_executables_divide(w->processes->executables);
	child = start(w);
	executable = ep_area_executable(world_area(w, child, addr));
	part = executable->parts.part_bytes;
	assert_true(executable->in_parts && segment.file_bytes > 4 * part);
	assert_null(executable->text);
	assert_int_equal(pages_of(w, child, addr), EP_PAGES_PENDING);
	assert_true(
		ep_process_is_settled(ep_table_find_live(&w->processes->table, (pid_t)child.pid)));

	assert_true(ep_text_parts_want(executable, segment.va + 2 * part));
	assert_false(
		ep_process_is_settled(ep_table_find_live(&w->processes->table, (pid_t)child.pid)));
	assert_true(ep_text_parts_want(executable, segment.va)); /* while that is under way */
	world_settle(w);
	assert_int_equal(executable->state, EP_EXECUTABLE_READY);
	assert_false(ep_text_parts_want(executable, segment.va + 2 * part));
	assert_true(
		ep_text_parts_want(executable, segment.va)); /* it came too late for the first */
	world_settle(w);
	world_publish(w);
	assert_true(pages_of(w, child, addr) > EP_PAGES_LAST);
	assert_true(pages_of(w, child, addr + 2 * part) > EP_PAGES_LAST);
	assert_int_equal(pages_of(w, child, addr + part + part / 2), EP_PAGES_PENDING);
	assert_int_equal(pages_of(w, child, addr + segment.file_bytes - 1), EP_PAGES_PENDING);
}

WORLD_TEST(what_was_dropped_is_wanted_by_nobody)
{
	struct ep_executable *executable;
	struct ep_program child;

	ep_executables_divide(w->processes->executables);
	child = start(w);
	executable = ep_area_executable(world_area(w, child, addr));
	assert_true(ep_text_parts_want(executable, segment.va));
	world_settle(w);
	assert_non_null(executable->text);
	assert_true(ep_executables_evict_one(w->processes->executables));
	assert_null(executable->text);
	assert_true(ep_text_parts_are_none(&executable->parts));
}

/* Whoever goes from part to part does not have all of a CPU for that. */
WORLD_TEST(after_many_parts_there_is_a_pause)
{
	struct ep_executable *executable;
	struct ep_program child;

	ep_executables_divide(w->processes->executables);
	child = start(w);
	executable = ep_area_executable(world_area(w, child, addr));
	executable->parts.n_asked = EP_TEXT_PARTS_BURST - 1;
	assert_true(ep_text_parts_want(executable, segment.va));
	world_settle(w);
	assert_non_null(executable->text);
	assert_false(ep_text_parts_want(executable, segment.va + executable->parts.part_bytes));
	executable->retry_ns = 0;
	assert_true(ep_text_parts_want(executable, segment.va + executable->parts.part_bytes));
	world_settle(w);
}

/* `record`, and what languages run in, have all of it. */
WORLD_TEST(nothing_is_divided_unless_that_was_asked_for)
{
	struct ep_program child = start(w);

	assert_false(ep_area_executable(world_area(w, child, addr))->in_parts);
	assert_true(pages_of(w, child, addr + segment.file_bytes - 1) > EP_PAGES_LAST);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 1;
	library = realpath(argv[1], NULL);
	return ep_test_run(map_library, NULL);
}
