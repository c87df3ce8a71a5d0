/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the program of a language is loaded: a short one first, then a longer one in its place, with
 * the same maps. The kernel loads unwinder_program.bpf.c: without privileges this is a skip.
 */
#include "core/bpf/unwinder_program.h"
#include "core/bpf/language_maps.h"
#include "core/bpf/programs.h"
#include "core/bpf/ring.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "unwinder_program.inc.h"

#define SKIP	 77
#define SLOT	 EP_SLOT_FIRST_DYNAMIC
#define MAX_MAPS 16

static struct ep_bpf_options core = {.ring_bytes = 1 << 16, .max_processes = 64};
static struct ep_bpf *bpf;
static struct ep_language_maps *maps;
static struct ep_bpf_image image;
static char reason[512];
static const struct ep_unwinder_program_options options = {
	.name = "test", .image = &image, .slot = SLOT, .first_error = EP_ERROR_FIRST_DYNAMIC};

static void describe_image(uint32_t max_frames_per_run)
{
	image = (struct ep_bpf_image){
		.size = sizeof(image),
		.max_frames_per_run = max_frames_per_run,
		.object = unwinder_program_object,
		.object_bytes = sizeof(unwinder_program_object),
		.program = "unwind",
	};
}

static struct ep_unwinder_program *load(uint32_t max_frames_per_run)
{
	struct ep_unwinder_program *program = NULL;

	describe_image(max_frames_per_run);
	assert_int_equal(ep_unwinder_program_load(bpf, maps, &options, &program, reason), 0);
	return program;
}

static int lengthen(struct ep_unwinder_program *program)
{
	return ep_unwinder_program_lengthen(program, bpf, maps, &options, reason);
}

/* Of the program in the slot, 0: the slot is empty. */
static uint32_t program_in_slot(void)
{
	uint32_t slot = SLOT, id = 0;

	return bpf_map_lookup_elem(ep_bpf_map_fd(bpf, "ep_progs"), &slot, &id) == 0 ? id : 0;
}

/* Ids of the maps of the program in the slot, but for what it is given of itself. */
static size_t maps_in_slot(uint32_t ids[MAX_MAPS], bool *ret_has_own)
{
	struct bpf_prog_info info = {.nr_map_ids = MAX_MAPS, .map_ids = (uintptr_t)ids};
	uint32_t bytes = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(program_in_slot());
	size_t n = 0;

	assert_true(fd >= 0);
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &bytes), 0);
	close(fd);
	for (uint32_t i = 0; i < info.nr_map_ids; i++) {
		struct bpf_map_info map = {0};

		bytes = sizeof(map);
		fd = bpf_map_get_fd_by_id(ids[i]);
		assert_true(fd >= 0 && bpf_obj_get_info_by_fd(fd, &map, &bytes) == 0);
		close(fd);
		*ret_has_own |= strcmp(map.name, "ep_scratch") == 0;
		if (!strstr(map.name, ".rodata"))
			ids[n++] = ids[i];
	}
	return n;
}

/* --- tests --------------------------------------------------------------------------------------- */

EP_TEST(a_part_of_the_frames_is_loaded_first)
{
	static const struct {
		uint32_t most, first;
		bool is_short;
	} rows[] = {
		{0, 1, false}, {1, 1, false}, {16, 16, false}, {24, 4, true}, {48, 8, true},
		{600, 50, true}, /* of 100, that are refused */
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_unwinder_program *program = load(rows[i].most);

		assert_int_equal(ep_unwinder_program_frames_per_run(program), rows[i].first);
		assert_int_equal(ep_unwinder_program_is_short(program), rows[i].is_short);
		ep_unwinder_program_free(program);
		assert_int_equal(program_in_slot(), 0);
	}
}

EP_TEST(a_longer_one_takes_its_slot_and_its_maps)
{
	struct ep_unwinder_program *program = load(48);
	uint32_t before = program_in_slot(), old[MAX_MAPS], new[MAX_MAPS];
	bool has_own = false;
	size_t n = maps_in_slot(old, &has_own);

	assert_true(before != 0 && has_own);
	assert_int_equal(lengthen(program), 0);
	assert_false(ep_unwinder_program_is_short(program));
	assert_int_equal(ep_unwinder_program_frames_per_run(program), 48);
	assert_true(program_in_slot() != 0 && program_in_slot() != before);
	assert_int_equal(maps_in_slot(new, &has_own), n);
	assert_memory_equal(old, new, n * sizeof(*old));
	ep_unwinder_program_free(program);
	assert_int_equal(program_in_slot(), 0);
}

EP_TEST(one_that_is_refused_is_halved)
{
	struct ep_unwinder_program *program = load(96);

	assert_int_equal(lengthen(program), 0);
	assert_int_equal(ep_unwinder_program_frames_per_run(program), 48);
	ep_unwinder_program_free(program);
}

EP_TEST(the_short_one_stays_where_none_is_longer)
{
	struct ep_unwinder_program *program = load(240);
	uint32_t before = program_in_slot();

	assert_int_equal(ep_unwinder_program_frames_per_run(program), 40);
	image.max_frames_per_run = 150; /* and 75; 37 are less than there are */
	assert_true(lengthen(program) < 0);
	assert_true(strlen(reason) > 0);
	assert_false(ep_unwinder_program_is_short(program));
	assert_int_equal(ep_unwinder_program_frames_per_run(program), 40);
	assert_int_equal(program_in_slot(), before);
	ep_unwinder_program_free(program);
}

EP_TEST(without_descriptors_it_is_tried_again)
{
	struct ep_unwinder_program *program = load(48);
	uint32_t before = program_in_slot();
	struct rlimit old, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(lengthen(program), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(ep_unwinder_program_is_short(program));
	assert_int_equal(program_in_slot(), before);
	assert_int_equal(lengthen(program), 0);
	assert_int_equal(ep_unwinder_program_frames_per_run(program), 48);
	ep_unwinder_program_free(program);
}

static size_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Types, lines, relocations and instructions are the loader's: some 300 KiB for the core's object. */
EP_TEST(of_a_loaded_object_descriptors_are_left)
{
	size_t before = heap_bytes();
	struct ep_bpf *other = NULL;
	struct ep_unwinder_program *program;

	assert_int_equal(ep_bpf_load(&core, &other), 0);
	program = load(48);
	assert_int_equal(lengthen(program), 0);
	assert_true(heap_bytes() < before + (32 << 10));
	assert_true(ep_unwinder_program_instructions(program) > 0);
	assert_true(ep_unwinder_program_verified(program) >= ep_unwinder_program_instructions(program));
	ep_unwinder_program_free(program);
	ep_bpf_free(other);
}

/* As the kernel counts it, to the page. */
static size_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	char line[128];
	size_t kib = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Rss: %zu kB", &kib) == 1)
			break;
	}
	fclose(file);
	assert_true(kib > 0);
	return kib << 10;
}

EP_TEST(a_ring_is_mapped_once)
{
	struct ep_bpf_options large = {.ring_bytes = 4 << 20, .max_processes = 64};
	struct ep_ring *ring = NULL;
	struct ep_bpf *other = NULL;
	size_t before;

	assert_int_equal(ep_bpf_load(&large, &other), 0);
	before = resident_bytes();
	assert_int_equal(ep_ring_open(ep_bpf_map_fd(other, "ep_ring"), &ring), 0);
	assert_true(resident_bytes() < before + (4 << 20) + (256 << 10));
	ep_ring_close(ring);
	ep_bpf_free(other);
}

static uint32_t keeper_in_slot(void)
{
	uint32_t slot = EP_SLOT_FIRST_KEEPER + SLOT, id = 0;

	return bpf_map_lookup_elem(ep_bpf_map_fd(bpf, "ep_progs"), &slot, &id) == 0 ? id : 0;
}

/* Any program will do for one. */
EP_TEST(a_keeper_has_a_slot_of_its_own)
{
	struct ep_unwinder_program_options with = options;
	struct ep_unwinder_program *program = load(48);
	struct ep_bpf_image keeper = image;

	assert_int_equal(ep_unwinder_program_load_keeper(program, bpf, maps, &with, reason), 0);
	assert_int_equal(keeper_in_slot(), 0);
	with.keeper = &keeper;
	assert_int_equal(ep_unwinder_program_load_keeper(program, bpf, maps, &with, reason), 0);
	assert_int_not_equal(keeper_in_slot(), 0);
	assert_int_equal(ep_unwinder_program_verified_keeper(program), ep_unwinder_program_verified(program));
	assert_int_equal(lengthen(program), 0);
	assert_int_not_equal(keeper_in_slot(), 0);
	ep_unwinder_program_free(program);
	assert_int_equal(keeper_in_slot(), 0);
}

EP_TEST(without_its_keeper_a_program_runs)
{
	struct ep_unwinder_program_options with = options;
	struct ep_unwinder_program *program = load(48);
	struct ep_bpf_image keeper = image;

	keeper.program = "nobody";
	with.keeper = &keeper;
	assert_true(ep_unwinder_program_load_keeper(program, bpf, maps, &with, reason) < 0);
	assert_true(strlen(reason) > 0);
	assert_int_equal(keeper_in_slot(), 0);
	assert_int_not_equal(program_in_slot(), 0);
	ep_unwinder_program_free(program);
}

EP_TEST(after_the_end_nothing_is_loaded)
{
	struct ep_unwinder_program *program = load(48), *late = NULL;
	uint32_t before = program_in_slot();
	struct ep_bpf *ended = NULL;

	assert_int_equal(ep_bpf_load(&core, &ended), 0);
	assert_int_equal(ep_bpf_stop_loads(ended), 0);
	assert_int_equal(ep_bpf_lengthen_runs(ended), -ECANCELED);
	assert_int_equal(ep_unwinder_program_load(ended, maps, &options, &late, reason), -ECANCELED);
	assert_null(late);
	assert_int_equal(ep_unwinder_program_lengthen(program, ended, maps, &options, reason), -ECANCELED);
	assert_true(ep_unwinder_program_is_short(program));
	assert_int_equal(program_in_slot(), before);
	ep_unwinder_program_free(program);
	ep_bpf_free(ended);
}

int main(void)
{
	int r = ep_bpf_load(&core, &bpf);

	if (r == -EPERM || r == -EACCES) {
		puts("skip: no privileges for BPF");
		return SKIP;
	}
	if (r == 0)
		r = ep_language_maps_new(&maps);
	if (r == 0)
		r = ep_test_run(NULL, NULL);
	ep_language_maps_free(maps);
	ep_bpf_free(bpf);
	return r != 0;
}
