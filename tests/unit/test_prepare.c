/* SPDX-License-Identifier: Apache-2.0 */
/* Executables that are analysed before anybody maps them. */
#include "core/base/clock.h"
#include "core/process/executables.h"
#include "tests/kit/test.h"
#include "tests/unit/heap_chunks.h"

#include <fcntl.h>
#include <uv.h>

static void count_change(void *arg, struct ep_executable *executable)
{
	unsigned int *changes = arg;

	(*changes)++;
}

struct room {
	uv_loop_t loop;
	struct ep_rule rules[EP_MAX_RULES];
	struct ep_delta_store *store;
	struct ep_executables *executables;
	unsigned int changes;
};

static int open_room(void **state)
{
	struct room *room = calloc(1, sizeof(*room));
	struct ep_delta_store_ops ops = {
		.add_chunk = heap_add_chunk,
		.remove_chunk = heap_remove_chunk,
		.rules = room->rules,
	};

	assert_int_equal(uv_loop_init(&room->loop), 0);
	assert_int_equal(ep_delta_store_new(&ops, 16u << 20, &room->store), 0);
	assert_int_equal(ep_executables_new(&room->loop, room->store, NULL, count_change, NULL,
					    &room->changes, &room->executables),
			 0);
	*state = room;
	return 0;
}

static int close_room(void **state)
{
	ep_autofree struct room *room = *state;

	ep_executables_stop(room->executables);
	uv_run(&room->loop, UV_RUN_DEFAULT);
	ep_executables_free(room->executables);
	ep_delta_store_free(room->store);
	assert_int_equal(uv_loop_close(&room->loop), 0);
	return 0;
}

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

EP_TEST_WITH(test_what_was_prepared_is_ready_when_it_is_mapped, open_room, close_room)
{
	struct room *room = *state;
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
EP_TEST_WITH(test_it_is_kept_until_its_time_is_over, open_room, close_room)
{
	struct room *room = *state;
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
	ep_executables_trim_idle(room->executables, now_ns + 60 * EP_NS_PER_SEC, 64u << 20);
	assert_non_null(executable->text);
	ep_executables_trim_idle(room->executables, now_ns, 0); /* it is still awaited then */
	assert_non_null(executable->text);
	assert_true(ep_executables_evict_one(room->executables));
	ep_executables_sweep(room->executables, now_ns + 60 * EP_NS_PER_SEC, 20 * EP_NS_PER_SEC);
	assert_null(ep_executables_find(room->executables, 1));
}

EP_TEST_WITH(test_a_file_that_is_no_program, open_room, close_room)
{
	struct room *room = *state;
	char path[] = "/tmp/test_prepare.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	prepare(room, path);
	(void)unlink(path);
	assert_int_equal(ep_executables_stats(room->executables)->failed, 1);
	assert_int_equal(ep_executables_find(room->executables, 1)->state, EP_EXECUTABLE_FAILED);
}

EP_TEST_WITH(test_nothing_is_begun_after_stop, open_room, close_room)
{
	struct room *room = *state;
	struct ep_proc_file file;

	assert_int_equal(ep_proc_open_path("/proc/self/exe", &file), 0);
	ep_executables_stop(room->executables);
	assert_int_equal(ep_executables_prepare(room->executables, "/x", &file), 0);
	assert_int_equal(ep_executables_find(room->executables, 1)->state, EP_EXECUTABLE_FAILED);
	assert_int_equal(file.fd, -1);
	assert_int_equal(ep_executables_stats(room->executables)->busy, 0);
}
