/* SPDX-License-Identifier: Apache-2.0 */
/* How many executables there may be, and those that could not be analysed for want of something of ours. */
#include "core/process/analysis.h"
#include "core/process/executables_internal.h"
#include "tests/unit/process_world.h"

#include <sys/resource.h>

#define ADDR 0x10000

static char own_path[256], paths[3][64];

static int make_files(void **state)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	assert_true(n > 0);
	own_path[n] = '\0';
	for (size_t i = 0; i < EP_LEN(paths); i++) {
		snprintf(paths[i], sizeof(paths[i]), "/tmp/test_executables.%d.%zu", (int)getpid(), i);
		ep_test_copy(own_path, paths[i], 0755);
	}
	return 0;
}

static int remove_files(void **state)
{
	for (size_t i = 0; i < EP_LEN(paths); i++)
		(void)unlink(paths[i]);
	return 0;
}

/* A file of ours that prog maps, when it is known what it is. */
static struct ep_area *map_file(struct world *w, size_t i)
{
	struct world_file file = world_file(paths[i]);

	world_map(w, world_now(), prog.pid, (i + 1) * ADDR, &file);
	world_settle(w);
	return world_area(w, prog, (i + 1) * ADDR);
}

static void unmap_file(struct world *w, size_t i)
{
	world_map_anonymous(w, world_now(), prog.pid, (i + 1) * ADDR, 0x1000);
	world_settle(w);
}

static struct ep_executables *entries_of(struct world *w)
{
	return w->processes->executables;
}

/* --- how many there may be ------------------------------------------------------------------- */

WORLD_TEST(unused_ones_give_way_to_new_ones)
{
	struct ep_executables *entries = entries_of(w);
	uint32_t ids[2];

	world_exec(w, world_now(), prog, "prog");
	for (size_t i = 0; i < EP_LEN(ids); i++)
		ids[i] = ep_area_executable(map_file(w, i))->id;
	unmap_file(w, 0);
	entries->max_entries = entries->by_id.len;
	assert_non_null(ep_area_executable(map_file(w, 2)));
	assert_null(ep_executables_find(entries, ids[0]));
	assert_non_null(ep_executables_find(entries, ids[1]));
	assert_int_equal(ep_executables_stats(entries)->forgotten, 1);
	assert_int_equal(ep_executables_stats(entries)->refused, 0);
}

WORLD_TEST(what_batches_may_name_does_not_give_way)
{
	struct ep_executables *entries = entries_of(w);

	world_exec(w, world_now(), prog, "prog");
	(void)map_file(w, 0);
	unmap_file(w, 0);
	entries->keep_ns = 3600 * EP_NS_PER_SEC;
	entries->max_entries = entries->by_id.len;
	assert_null(ep_area_executable(map_file(w, 1)));
	assert_int_equal(ep_executables_stats(entries)->forgotten, 0);
	assert_int_equal(ep_executables_stats(entries)->refused, 1);
}

/* Its code is a file's that is not known; a language must not take it for what it made itself. */
WORLD_TEST(a_file_without_an_entry_is_no_anonymous_code)
{
	struct ep_program child = world_child();

	world_exec(w, world_now(), prog, "prog");
	(void)map_file(w, 0);
	entries_of(w)->max_entries = entries_of(w)->by_id.len;
	assert_int_equal(world_state(map_file(w, 1)), AREA_GONE);
	/* The same of a process that is read: it maps what we map. */
	world_sample_with(w, world_now(), child, EP_SAMPLE_UNKNOWN_PROCESS | EP_SAMPLE_RAW, 0);
	world_settle(w);
	assert_int_equal(world_state(world_area(w, child, (uintptr_t)world_new)), AREA_GONE);
	assert_true(ep_executables_stats(entries_of(w))->refused > 1);
}

/* --- what we lack for now -------------------------------------------------------------------- */

/* That says nothing of the file. */
WORLD_TEST(a_file_for_which_there_is_no_descriptor_is_asked_again)
{
	struct ep_analysis analysis = {.mapping = {.kind = EP_MAPPING_FILE, .path = paths[0]},
				       .store = w->store};
	struct rlimit limit, few;
	int free_fd;

	assert_int_equal(ep_proc_open_path(paths[0], &analysis.file), 0);
	analysis.expected = analysis.file;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	free_fd = dup(analysis.file.fd); /* the lowest one */
	assert_int_equal(close(free_fd), 0);
	few = (struct rlimit){(rlim_t)free_fd, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	ep_analysis_run(&analysis);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(analysis.result, -EMFILE);
	assert_false(analysis.opened);
}

int main(void)
{
	return ep_test_run(make_files, remove_files);
}
