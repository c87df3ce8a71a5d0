/* SPDX-License-Identifier: Apache-2.0 */
/* Executables that are analysed before anybody maps them. */
#include "core/base/clock.h"
#include "tests/unit/room.h"


/* Where our own code is, as one who reads us would find it. */
static struct ep_mapping own_code(struct ep_maps *maps)
{
	const struct ep_mapping *mapping;

	ep_maps_init(maps, 4096);
	assert_int_equal(ep_maps_read(maps, getpid(), EP_MAPS_EXECUTABLE), 0);
	mapping = ep_maps_find(maps, (uint64_t)(uintptr_t)own_code);
	assert_non_null(mapping);
	return *mapping;
}

static void prepare(struct room *room, const char *path)
{
	struct ep_proc_file file;

	assert_int_equal(ep_proc_open_path(path, &file), 0);
	assert_int_equal(ep_executables_prepare(room->executables, path, &file), 0);
	assert_int_equal(file.fd, -1);
	uv_run(&room->loop, UV_RUN_DEFAULT);
}

ROOM_TEST(test_what_was_prepared_is_ready_when_it_is_mapped)
{
	struct ep_executable *executable;
	struct ep_proc_file seen;
	ep_cleanup(ep_maps_fini) struct ep_maps maps;
	struct ep_mapping mapping = own_code(&maps);

	prepare(room, mapping.path);
	prepare(room, mapping.path);
	assert_int_equal(ep_executables_stats(room->executables)->analysed, 1);
	assert_int_equal(room->changes, 1);
	assert_int_equal(ep_proc_stat_mapping(getpid(), &mapping, &seen), 0);
	executable = ep_executables_get(room->executables, getpid(), &mapping, &seen,
					ep_clock_mono_ns());
	assert_non_null(executable);
	assert_int_equal(executable->state, EP_EXECUTABLE_READY);
	assert_true(executable->file.fd >= 0);
	assert_non_null(executable->text);
	assert_int_equal(executable->refs, 1);
	assert_int_equal(ep_executables_stats(room->executables)->live, 1);
	assert_int_equal(ep_executables_stats(room->executables)->busy, 0);
	ep_executable_unref(executable);
}

/* The only entry there is: ids begin at 1. */
ROOM_TEST(test_it_is_kept_until_its_time_is_over)
{
	struct ep_executable *executable;
	uint64_t now_ns = ep_clock_mono_ns();
	struct ep_maps maps;
	struct ep_mapping mapping = own_code(&maps);

	prepare(room, mapping.path);
	ep_maps_fini(&maps);
	ep_executables_sweep(room->executables, now_ns + 25 * EP_NS_PER_SEC, 20 * EP_NS_PER_SEC);
	executable = ep_executables_find(room->executables, 1);
	assert_non_null(executable);
	assert_true(executable->file.fd >= 0 && executable->text);
	ep_executables_sweep(room->executables, now_ns + 60 * EP_NS_PER_SEC, 20 * EP_NS_PER_SEC);
	assert_int_equal(executable->file.fd, -1); /* its tables stay until memory is wanted */
	ep_executables_trim_idle(room->executables, now_ns + 60 * EP_NS_PER_SEC, UINT64_MAX, 64u << 20);
	assert_non_null(executable->text);
	ep_executables_trim_idle(room->executables, now_ns, UINT64_MAX, 0); /* it is still awaited then */
	assert_non_null(executable->text);
	assert_true(ep_executables_evict_one(room->executables));
	ep_executables_sweep(room->executables, now_ns + 60 * EP_NS_PER_SEC, 20 * EP_NS_PER_SEC);
	assert_null(ep_executables_find(room->executables, 1));
}

/* Whoever changes a file and puts it back: what maps it then maps the first state again. */
ROOM_TEST(test_a_state_that_is_seen_again_is_the_files)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps;
	struct ep_mapping mapping = own_code(&maps);
	struct ep_executable *seen[3];
	uint32_t ids[2];

	for (uint64_t i = 0; i < EP_LEN(seen); i++) {
		struct ep_proc_file file;

		assert_int_equal(ep_proc_stat_mapping(getpid(), &mapping, &file), 0);
		file.ctime_ns += i % 2;
		seen[i] = ep_executables_get(room->executables, getpid(), &mapping, &file, 1000 + i);
		assert_non_null(seen[i]);
		ids[i % 2] = seen[i]->id;
		assert_ptr_equal(ep_executables_find_current(room->executables, ids[0]), seen[i]);
	}
	assert_ptr_equal(seen[2], seen[0]);
	assert_ptr_equal(ep_executables_find_current(room->executables, ids[1]), seen[0]);
	for (size_t i = 0; i < EP_LEN(seen); i++)
		ep_executable_unref(seen[i]);
}

/* Its own states: two files to whoever looks for memory. */
ROOM_TEST(test_tables_that_were_hit_longest_ago_go_first)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps;
	struct ep_mapping mapping = own_code(&maps);
	struct ep_executable *used[2];

	for (uint64_t i = 0; i < EP_LEN(used); i++) {
		struct ep_proc_file file;

		assert_int_equal(ep_proc_stat_mapping(getpid(), &mapping, &file), 0);
		file.view.root_inode += i;
		used[i] = ep_executables_get(room->executables, getpid(), &mapping, &file, 1000);
		uv_run(&room->loop, UV_RUN_DEFAULT);
		assert_non_null(used[i]->text);
	}
	used[0]->hit_ns = 2;
	used[1]->hit_ns = 1;
	assert_true(ep_executables_evict_one(room->executables));
	assert_non_null(used[0]->text);
	assert_null(used[1]->text);
	for (size_t i = 0; i < EP_LEN(used); i++)
		ep_executable_unref(used[i]);
}

ROOM_TEST(test_a_file_that_is_no_program)
{
	char path[] = "/tmp/test_prepare.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	prepare(room, path);
	(void)unlink(path);
	assert_int_equal(ep_executables_stats(room->executables)->failed, 1);
	assert_int_equal(ep_executables_find(room->executables, 1)->state, EP_EXECUTABLE_FAILED);
}

ROOM_TEST(test_nothing_is_begun_after_stop)
{
	struct ep_proc_file file;

	assert_int_equal(ep_proc_open_path("/proc/self/exe", &file), 0);
	ep_executables_stop(room->executables);
	assert_int_equal(ep_executables_prepare(room->executables, "/x", &file), 0);
	assert_int_equal(ep_executables_find(room->executables, 1)->state, EP_EXECUTABLE_FAILED);
	assert_int_equal(file.fd, -1);
	assert_int_equal(ep_executables_stats(room->executables)->busy, 0);
}
