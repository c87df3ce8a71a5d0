/* SPDX-License-Identifier: Apache-2.0 */
/* Text of a file in memory of no file: three pages of our own text, the middle one of which is a copy. */
#include "core/process/moved_text.h"
#include "core/proc/maps.h"
#include "tests/unit/process_world.h"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define PAGE 0x1000u

static char own_path[256];
static uint64_t text_off; /* of our own text in its file */
static uint8_t *pages;	  /* the middle one is shared with children */

static int map_pages(void **state)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	struct ep_elf_segment segment;
	int fd;

	assert_true(n > 0);
	own_path[n] = '\0';
	fd = open(own_path, O_RDONLY | O_CLOEXEC);
	pages = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(fd >= 0 && pages != MAP_FAILED);
	assert_int_equal(ep_elf_open_fd(dup(fd), &elf), 0);
	assert_true(ep_elf_exec_segments(elf, &segment, 1) > 0);
	text_off = EP_ALIGN_DOWN(segment.file_off, PAGE);
	for (uint64_t i = 0; i < 3; i++)
		assert_true(mmap(pages + i * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
				 (off_t)(text_off + i * PAGE)) == pages + i * PAGE);
	assert_true(mmap(pages + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		    pages + PAGE);
	close(fd);
	return 0;
}

static void fill_copy(void)
{
	int fd = open(own_path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(pread(fd, pages + PAGE, PAGE, (off_t)(text_off + PAGE)), PAGE);
	close(fd);
}

static void map_page(struct world *w, uint32_t pid, uint64_t i)
{
	struct world_file file = world_file(own_path);
	struct ep_mapping_event event = {
		.pid = (pid_t)pid,
		.time_ns = world_now(),
		.addr = (uintptr_t)pages + i * PAGE,
		.bytes = PAGE,
		.file_off = text_off + i * PAGE,
		.has_inode = true,
		.device_major = file.major,
		.device_minor = file.minor,
		.inode = file.inode,
		.inode_generation = file.generation,
		.name = own_path,
	};

	ep_processes_on_mapping(w->processes, &event);
}

static void map_copy(struct world *w, uint32_t pid)
{
	world_map_anonymous(w, world_now(), pid, (uintptr_t)pages + PAGE, PAGE);
	world_settle(w);
}

static struct ep_program start(struct world *w)
{
	struct ep_program child = world_child();

	world_exec(w, world_now(), child, "child");
	map_page(w, child.pid, 0);
	map_page(w, child.pid, 2);
	map_copy(w, child.pid);
	return child;
}

static const struct ep_area *place_of(struct world *w, struct ep_program program, uint64_t i)
{
	return world_area(w, program, (uintptr_t)pages + i * PAGE);
}

WORLD_TEST(a_copy_of_the_text_is_the_file)
{
	struct ep_program child;

	fill_copy();
	child = start(w);
	assert_non_null(ep_area_executable(place_of(w, child, 1)));
	assert_ptr_equal(ep_area_executable(place_of(w, child, 1)),
			 ep_area_executable(place_of(w, child, 0)));
	assert_int_equal(place_of(w, child, 1)->file_off, text_off + PAGE);
	assert_int_equal(w->processes->stats.moved_texts, 1);
}

/* What BPF finds for an address. */
static uint32_t pages_of(struct world *w, struct ep_program program, const uint8_t *at)
{
	const struct ep_proc *proc = world_proc(w, program.pid);
	const char *chunk = ep_delta_store_chunk(w->store, EP_REF_CHUNK(proc->rows));
	const struct ep_row *row = (const struct ep_row *)(chunk + 4 * (size_t)EP_REF_WORD(proc->rows));

	for (size_t i = 0; i < proc->n_rows; i++, row++) {
		if ((uintptr_t)at >= row->start && (uintptr_t)at < row->end)
			return row->pages;
	}
	return EP_PAGES_GONE;
}

/* It is mapped, and filled then; the kernel tells of the change of its protection. */
WORLD_TEST(what_is_filled_later_is_compared_again)
{
	struct ep_program child;

	memset(pages + PAGE, 0, PAGE);
	child = start(w);
	assert_null(ep_area_executable(place_of(w, child, 1)));
	assert_true(place_of(w, child, 1)->is_compared);
	fill_copy();
	map_copy(w, child.pid);
	assert_non_null(ep_area_executable(place_of(w, child, 1)));
}

static struct ep_process *process_of(struct world *w, struct ep_program program)
{
	return ep_table_find_live(&w->processes->table, (pid_t)program.pid);
}

/* Return addresses of frames that are on the stack lead to it: they wait for what it is. */
WORLD_TEST(text_on_its_way_has_no_rules_yet)
{
	struct ep_program child = world_child();

	memset(pages + PAGE, 0, PAGE);
	world_exec(w, world_now(), child, "child");
	map_page(w, child.pid, 0);
	map_page(w, child.pid, 2);
	world_settle(w);
	process_of(w, child)->search.n_images = UINT8_MAX; /* it is not looked at for an image as well */
	world_map_anonymous(w, world_now(), child.pid, (uintptr_t)pages + PAGE, PAGE);
	world_publish(w);
	assert_int_equal(pages_of(w, child, pages + PAGE), EP_PAGES_PENDING);
	assert_false(ep_process_is_settled(process_of(w, child)));
	fill_copy(); /* the kernel tells of nothing where it may be written all the time */
	world_settle(w);
	assert_non_null(ep_area_executable(place_of(w, child, 1)));
	assert_true(ep_process_is_settled(process_of(w, child)));
}

/* As a JIT's memory, which it has taken where a file's text was. */
WORLD_TEST(memory_that_stays_empty_is_waited_for_once)
{
	struct ep_program child;

	memset(pages + PAGE, 0, PAGE);
	child = start(w);
	world_publish(w);
	assert_true(ep_process_is_settled(process_of(w, child)));
	assert_int_equal(pages_of(w, child, pages + PAGE), EP_PAGES_ABSENT);
}

WORLD_TEST(other_bytes_are_no_text)
{
	struct ep_program child;

	fill_copy();
	pages[2 * PAGE - 1]++;
	memset(pages + PAGE, 0, PAGE / 2); /* what is there already is another file's, or none's */
	child = start(w);
	assert_null(ep_area_executable(place_of(w, child, 1)));
	assert_int_equal(world_state(place_of(w, child, 1)), AREA_KNOWN);
	assert_int_equal(w->processes->stats.moved_texts, 0);
}

/* --- code that was described ------------------------------------------------------------------ */

#define CODE_PAGES 17
#define CODE_BYTES (CODE_PAGES * PAGE - 100) /* its last page has other bytes after it */

/*
 * As much of our text as that, at another address; what is after the code in its last page is not
 * copied.
 */
static uint8_t *copy_code(void)
{
	uint8_t *code = mmap(NULL, CODE_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = open(own_path, O_RDONLY | O_CLOEXEC);

	assert_true(code != MAP_FAILED);
	assert_int_equal(pread(fd, code, CODE_BYTES, (off_t)text_off), CODE_BYTES);
	close(fd);
	return code;
}

/* A language has described the code that begins with our text. */
static struct ep_program start_described(struct world *w)
{
	struct ep_program child = world_child();
	struct ep_executable *executable;

	world_exec(w, world_now(), child, "child");
	map_page(w, child.pid, 0);
	world_settle(w);
	executable = ep_area_executable(place_of(w, child, 0));
	assert_non_null(executable);
	assert_int_equal(ep_executable_find_va(executable, text_off, &executable->described_va), 0);
	executable->described_end = executable->described_va + CODE_BYTES;
	return child;
}

static struct ep_area *map_code(struct world *w, struct ep_program child, const uint8_t *code,
					   uint64_t n_pages)
{
	world_map_anonymous(w, world_now(), child.pid, (uintptr_t)code, n_pages * PAGE);
	world_settle(w);
	return world_area(w, child, (uintptr_t)code);
}

WORLD_TEST(a_copy_of_described_code_is_the_files_wherever_it_is)
{
	uint8_t *code = copy_code();
	struct ep_program child = start_described(w);
	const struct ep_area *place = map_code(w, child, code, CODE_PAGES);

	assert_non_null(ep_area_executable(place));
	assert_ptr_equal(ep_area_executable(place), ep_area_executable(place_of(w, child, 0)));
	assert_int_equal(place->file_off, text_off);
	assert_int_equal(w->processes->stats.moved_texts, 1);
	munmap(code, CODE_PAGES * PAGE);
}

WORLD_TEST(what_is_not_all_of_it_is_no_copy)
{
	uint8_t *code = copy_code();
	struct ep_program child = start_described(w);

	assert_null(ep_area_executable(map_code(w, child, code, CODE_PAGES - 1)));
	code[CODE_BYTES - 1]++;
	assert_null(ep_area_executable(map_code(w, child, code, CODE_PAGES)));
	assert_int_equal(w->processes->stats.moved_texts, 0);
	munmap(code, CODE_PAGES * PAGE);
}

WORLD_TEST(little_code_is_looked_for_nowhere)
{
	uint8_t *code = copy_code();
	struct ep_program child = start_described(w);
	struct ep_executable *executable = ep_area_executable(place_of(w, child, 0));

	executable->described_end = executable->described_va + PAGE;
	assert_null(ep_area_executable(map_code(w, child, code, 1)));
	munmap(code, CODE_PAGES * PAGE);
}

/* --- images of no file ----------------------------------------------------------------------- */

#define IMAGE_PAGES 16

/* A copy of the vDSO, which is a whole image. NULL: we have none. */
static uint8_t *make_image(void)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)vdso;
	const Elf64_Phdr *phdrs = (const Elf64_Phdr *)(vdso + (vdso ? header->e_phoff : 0));
	uint8_t *memory = mmap(NULL, IMAGE_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(memory != MAP_FAILED);
	for (size_t i = 0; vdso && i < header->e_phnum; i++) {
		if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_filesz <= IMAGE_PAGES * PAGE)
			memcpy(memory, vdso, phdrs[i].p_filesz);
	}
	return vdso ? memory : NULL;
}

static struct ep_program start_image(struct world *w, uint8_t *image)
{
	struct ep_program child = world_child();

	world_exec(w, world_now(), child, "child");
	world_map_anonymous(w, world_now(), child.pid, (uintptr_t)image, PAGE);
	world_settle(w);
	return child;
}

WORLD_TEST(an_image_in_memory_is_an_executable_of_all_who_have_it)
{
	uint8_t *image = make_image();
	struct ep_executable *executable;
	struct ep_program a, b;

	if (!image)
		skip();
	a = start_image(w, image);
	executable = ep_area_executable(world_area(w, a, (uintptr_t)image));
	assert_non_null(executable);
	assert_int_equal(world_area(w, a, (uintptr_t)image)->file_off, 0);
	assert_int_equal(executable->state, EP_EXECUTABLE_READY);
	assert_string_equal(executable->path, "[image]");
	assert_non_null(executable->text);
	b = start_image(w, image);
	assert_ptr_equal(ep_area_executable(world_area(w, b, (uintptr_t)image)), executable);
	assert_int_equal(w->processes->stats.images, 2);
	munmap(image, IMAGE_PAGES * PAGE);
}

/* Until it is known what it is, stacks in it come with their copies, and are walked then. */
WORLD_TEST(code_has_no_rules_yet_while_it_is_looked_at)
{
	uint8_t *image = make_image();
	struct ep_program child = world_child();

	if (!image)
		skip();
	world_exec(w, world_now(), child, "child");
	world_map_anonymous(w, world_now(), child.pid, (uintptr_t)image, PAGE);
	world_turn(w);
	assert_int_equal(pages_of(w, child, image), EP_PAGES_PENDING);
	world_settle(w);
	world_publish(w);
	assert_true(pages_of(w, child, image) > EP_PAGES_LAST);
	/* What is none has no rules, and that is known. */
	image[0] = 0;
	world_map_anonymous(w, world_now(), child.pid, (uintptr_t)image, PAGE);
	world_settle(w);
	world_publish(w);
	assert_int_equal(pages_of(w, child, image), EP_PAGES_ABSENT);
	munmap(image, IMAGE_PAGES * PAGE);
}

/* A loader may fill it when it is mapped. */
WORLD_TEST(an_image_that_is_filled_later_is_seen_when_the_kernel_tells)
{
	uint8_t *image = make_image();
	struct ep_program child;

	if (!image)
		skip();
	image[0] = 0;
	child = start_image(w, image);
	assert_null(ep_area_executable(world_area(w, child, (uintptr_t)image)));
	image[0] = 0x7f;
	world_map_anonymous(w, world_now(), child.pid, (uintptr_t)image, PAGE);
	world_settle(w);
	assert_non_null(ep_area_executable(world_area(w, child, (uintptr_t)image)));
	munmap(image, IMAGE_PAGES * PAGE);
}

/* All of it is executable, as packers may leave it. It is still so when the process is read anew. */
WORLD_TEST(code_of_an_image_is_a_part_of_a_place)
{
	uint8_t *image = make_image();
	struct ep_program child = world_child();
	const struct ep_area *code, *rest;
	struct ep_mappings *mappings;
	struct ep_area again;

	if (!image)
		skip();
	world_exec(w, world_now(), child, "child");
	world_map_anonymous(w, world_now(), child.pid, (uintptr_t)image, IMAGE_PAGES * PAGE);
	world_settle(w);
	code = world_area(w, child, (uintptr_t)image);
	assert_non_null(ep_area_executable(code));
	assert_true(code->end < (uintptr_t)image + IMAGE_PAGES * PAGE);
	rest = world_area(w, child, code->end);
	assert_null(ep_area_executable(rest));
	assert_int_equal(rest->end, (uintptr_t)image + IMAGE_PAGES * PAGE);
	again = *rest;
	again.start = code->start;
	again.is_searched = again.is_compared = false;
	mappings = ep_mappings_new(&w->processes->n_areas);
	assert_int_equal(ep_mappings_insert(mappings, again), 0);
	ep_moved_text_keep(mappings, ep_process_areas(world_process(w, child)));
	assert_int_equal(mappings->areas.len, 2);
	assert_ptr_equal(ep_area_executable(ep_areas_find(&mappings->areas, code->start)),
			 ep_area_executable(code));
	assert_int_equal(ep_areas_find(&mappings->areas, code->start)->end, code->end);
	assert_null(ep_area_executable(ep_areas_find(&mappings->areas, code->end)));
	ep_mappings_free(mappings);
	munmap(image, IMAGE_PAGES * PAGE);
}

static void sample_raw(struct world *w, struct ep_program program, uint64_t time_ns)
{
	world_sample_with(w, time_ns, program, EP_SAMPLE_RAW, 0);
	world_settle(w);
}

/* The kernel tells of nothing if memory is mapped writable and executable from the first. */
WORLD_TEST(an_image_that_is_filled_later_is_seen_when_its_code_is_sampled)
{
	uint64_t now_ns = world_now();
	uint8_t *image = make_image();
	struct ep_program child;

	if (!image)
		skip();
	image[0] = 0;
	child = start_image(w, image);
	image[0] = 0x7f;
	sample_raw(w, child, now_ns);
	sample_raw(w, child, now_ns + 49 * EP_NS_PER_MS);
	assert_null(ep_area_executable(world_area(w, child, (uintptr_t)image)));
	sample_raw(w, child, now_ns + 51 * EP_NS_PER_MS);
	assert_non_null(ep_area_executable(world_area(w, child, (uintptr_t)image)));
	munmap(image, IMAGE_PAGES * PAGE);
}

WORLD_TEST(memory_is_looked_at_once_more_three_times)
{
	uint64_t now_ns = world_now();
	uint8_t *image = make_image();
	struct ep_program child;

	if (!image)
		skip();
	image[0] = 0;
	child = start_image(w, image);
	for (unsigned int i = 0; i < 5; i++)
		sample_raw(w, child, now_ns + i * 20 * EP_NS_PER_SEC);
	assert_int_equal(world_process(w, child)->search.n_looks, 3);
	image[0] = 0x7f;
	sample_raw(w, child, now_ns + 200 * EP_NS_PER_SEC);
	assert_null(ep_area_executable(world_area(w, child, (uintptr_t)image)));
	munmap(image, IMAGE_PAGES * PAGE);
}

/* A JIT has any number of places without a file. */
WORLD_TEST(so_many_places_of_a_program_are_looked_at)
{
	struct ep_program child = world_child();
	unsigned int looked = 0;

	world_exec(w, world_now(), child, "child");
	for (uint64_t i = 1; i <= 40; i++) {
		world_map_anonymous(w, world_now(), child.pid, i * 0x10000, PAGE);
		world_settle(w);
		looked += world_area(w, child, i * 0x10000)->is_searched;
	}
	assert_int_equal(looked, 16);
}

/* --- what is known of them ------------------------------------------------------------------- */

/* What is known of it holds when the process is read. */
WORLD_TEST(places_that_are_read_anew_keep_it)
{
	struct ep_mappings *mappings = ep_mappings_new(&w->processes->n_areas);
	struct ep_area again;
	struct ep_program child;

	fill_copy();
	child = start(w);
	again = *place_of(w, child, 1);
	again.use = NULL;
	again.is_compared = again.is_searched = false;
	again.file_off = 0;
	assert_int_equal(ep_mappings_insert(mappings, again), 0);
	ep_moved_text_keep(mappings, ep_process_areas(world_process(w, child)));
	assert_ptr_equal(ep_area_executable(ep_areas_find(&mappings->areas, again.start)),
			 ep_area_executable(place_of(w, child, 0)));
	ep_mappings_free(mappings);
}

EP_TEST(plugins_see_it_as_the_files)
{
	static const char text[] = "1000-2000 r-xp 00000000 08:01 7 /bin/a\n2000-3000 r-xp 00000000 00:00 0 \n"
				   "3000-4000 r-xp 00002000 08:01 7 /bin/a\n4000-5000 r-xp 00000000 00:00 0 \n"
				   "5000-6000 r-xp 00009000 08:01 7 /bin/a\n6000-7000 r-xp 00000000 00:00 0 \n";
	static const bool moved[] = {false, true, false, false, false, false};
	const struct ep_mapping *file = NULL;
	struct ep_maps maps;

	ep_maps_init(&maps, 10);
	assert_int_equal(ep_maps_parse(&maps, text, strlen(text), EP_MAPS_ALL), 0);
	assert_int_equal(maps.mappings.len, EP_LEN(moved));
	for (size_t i = 0; i < EP_LEN(moved); i++)
		assert_int_equal(ep_maps_find_moved(&maps, ep_vec_at(&maps.mappings, struct ep_mapping, i), &file), moved[i]);
	ep_maps_fini(&maps);
}

int main(void)
{
	return ep_test_run(map_pages, NULL);
}
