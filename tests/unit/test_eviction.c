/* SPDX-License-Identifier: Apache-2.0 */
/* Whose tables go, of several executables that have some: ourselves, and libraries that we map. */
#include "core/base/clock.h"
#include "tests/unit/room.h"

#include <fcntl.h>
#include <sys/resource.h>

/* The first ones with tables, each of another file, with a reference. */
static void map_files(struct room *room, struct ep_executable **ret, size_t n)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps;
	const struct ep_mapping *mapping;
	struct ep_proc_file file;
	size_t found = 0;

	ep_maps_init(&maps, 4096);
	assert_int_equal(ep_maps_read(&maps, getpid(), EP_MAPS_EXECUTABLE), 0);
	ep_vec_each (&maps.mappings, mapping) {
		if (found == n || mapping->kind != EP_MAPPING_FILE ||
		    ep_proc_stat_mapping(getpid(), mapping, &file) < 0)
			continue;
		ret[found] = ep_executables_get(room->executables, getpid(), mapping, &file, 1000);
		uv_run(&room->loop, UV_RUN_DEFAULT);
		if (ret[found]->text && ret[found]->refs == 1)
			found++;
		else
			ep_executable_unref(ret[found]);
	}
	assert_int_equal(found, n);
}

#define AGE_NS (100 * EP_NS_PER_SEC)

ROOM_TEST(tables_that_are_idle_for_long_go_together)
{
	static const uint64_t idle_ns[] = {AGE_NS, AGE_NS / 10, AGE_NS * 2 / 3};
	struct ep_executable *all[EP_LEN(idle_ns)];
	uint64_t now_ns = ep_clock_mono_ns() + 2 * AGE_NS;
	size_t bytes = 0, young_bytes;

	map_files(room, all, EP_LEN(all));
	for (size_t i = 0; i < EP_LEN(all); i++) {
		bytes += ep_delta_store_text_bytes(all[i]->text);
		ep_executable_unref(all[i]);
		all[i]->idle_since_ns = now_ns - idle_ns[i];
	}
	young_bytes = ep_delta_store_text_bytes(all[1]->text);
	ep_executables_trim_idle(room->executables, now_ns, UINT64_MAX, bytes);
	assert_int_equal(ep_executables_stats(room->executables)->evicted, 0);
	ep_executables_trim_idle(room->executables, now_ns, UINT64_MAX, young_bytes);
	assert_null(all[0]->text);
	assert_non_null(all[1]->text);
	assert_null(all[2]->text);
	ep_executables_trim_idle(room->executables, now_ns, UINT64_MAX, 0);
	assert_int_equal(ep_executables_stats(room->executables)->evicted, EP_LEN(all));
}

/* However little memory they take: programs that do not come back leave nothing. */
ROOM_TEST(tables_that_nobody_has_mapped_for_minutes_go)
{
	struct ep_executable *all[3];
	uint64_t now_ns = ep_clock_mono_ns() + 2 * AGE_NS;

	map_files(room, all, EP_LEN(all));
	for (size_t i = 0; i < 2; i++) {
		ep_executable_unref(all[i]);
		all[i]->idle_since_ns = now_ns - AGE_NS + i;
	}
	ep_executables_trim_idle(room->executables, now_ns, AGE_NS, SIZE_MAX);
	assert_null(all[0]->text);
	assert_non_null(all[1]->text);
	assert_non_null(all[2]->text);
	assert_int_equal(ep_executables_stats(room->executables)->aged, 1);
	assert_int_equal(ep_executables_stats(room->executables)->evicted, 0);
	ep_executable_unref(all[2]);
}

/* The other one's would go for nothing. */
ROOM_TEST(tables_stay_when_there_is_no_descriptor_for_the_file_of_others)
{
	struct ep_executable *all[2], *cold, *wanted;
	struct rlimit limit, few;
	int free_fd;

	map_files(room, all, EP_LEN(all));
	cold = all[0];
	wanted = all[1];
	cold->hit_ns = 2;
	wanted->hit_ns = 1;
	assert_true(ep_executables_evict_one(room->executables));
	assert_int_equal(wanted->state, EP_EXECUTABLE_EVICTED);
	cold->hit_ns = 1;
	wanted->hit_ns = ep_clock_mono_ns() + 3600 * EP_NS_PER_SEC;
	wanted->retry_ns = 0;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	free_fd = fcntl(wanted->file.fd, F_DUPFD_CLOEXEC, 0); /* the lowest one */
	assert_true(free_fd >= 0);
	assert_int_equal(close(free_fd), 0);
	few = (struct rlimit){(rlim_t)free_fd, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	ep_executables_restore_one(room->executables, ep_clock_mono_ns());
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_non_null(cold->text);
	wanted->retry_ns = 0;
	ep_executables_restore_one(room->executables, ep_clock_mono_ns());
	uv_run(&room->loop, UV_RUN_DEFAULT);
	assert_null(cold->text);
	assert_non_null(wanted->text);
	ep_executable_unref(cold);
	ep_executable_unref(wanted);
}

int main(void)
{
	return ep_test_run(NULL, NULL);
}
