/* SPDX-License-Identifier: Apache-2.0 */
/* Executables of a loop, with a store and no BPF; the languages are a test's own. */
#ifndef EP_TESTS_ROOM_H
#define EP_TESTS_ROOM_H

#include "core/process/executables_internal.h"
#include "core/language/internal.h"
#include "tests/kit/test.h"
#include "tests/unit/heap_chunks.h"

#include <uv.h>

struct room {
	uv_loop_t loop;
	struct ep_rule rules[EP_MAX_RULES];
	struct ep_delta_store *store;
	struct ep_languages languages;
	struct ep_executables *executables;
	unsigned int changes;
};

static inline void count_change(void *arg, struct ep_executable *executable)
{
	struct room *room = arg;

	room->changes++;
}

static inline int room_open(void **state)
{
	struct room *room = calloc(1, sizeof(*room));
	struct ep_delta_store_ops ops = {
		.add_chunk = heap_add_chunk, .remove_chunk = heap_remove_chunk, .rules = room->rules};

	assert_int_equal(uv_loop_init(&room->loop), 0);
	assert_int_equal(ep_delta_store_new(&ops, 16u << 20, &room->store), 0);
	assert_int_equal(ep_executables_new(&room->loop, room->store, &room->languages, count_change,
					    NULL, room, &room->executables),
			 0);
	*state = room;
	return 0;
}

static inline int room_close(void **state)
{
	ep_autofree struct room *room = *state;

	ep_executables_stop(room->executables);
	uv_run(&room->loop, UV_RUN_DEFAULT);
	ep_executables_free(room->executables);
	ep_delta_store_free(room->store);
	assert_int_equal(uv_loop_close(&room->loop), 0);
	return 0;
}

#define ROOM_TEST(name) EP_TEST_ON(name, struct room *room, room_open, room_close)

#endif
