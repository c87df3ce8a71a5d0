/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/room.h"
#include "bpf/shared.h"
#include "core/base/clock.h"
#include "core/plugin/job.h"
#include "core/unwind/delta_store.h"

/* Kept free, so that nothing new has to wait for a chunk: 256 KiB. */
#define SPARE_WORDS 65536u
/* A process with more rows gets them only if there is space. */
#define SMALL_ROWS 1024
/* Moving tables costs 2 % of a CPU at most. */
#define REST_FACTOR 50

void ep_room_init(struct ep_room *room, struct uv_loop_s *loop, struct ep_delta_store *store,
		  void (*changed)(void *arg), void *arg)
{
	*room = (struct ep_room){
		.loop = loop,
		.store = store,
		.turn = 1,
		.changed = changed,
		.arg = arg,
	};
}

static void grow_store(void *arg)
{
	struct ep_room *room = arg;

	room->result = ep_delta_store_add_room(room->store, room->words) < 0;
}

static void store_grown(void *arg)
{
	struct ep_room *room = arg;

	room->state = room->result ? EP_ROOM_FULL : EP_ROOM_OPEN;
	room->turn += room->state == EP_ROOM_OPEN;
	room->changed(room->arg);
}

/* Without memory for the job it is full as well: who waits for the next turn gets one. */
static void need_room(struct ep_room *room, uint32_t words)
{
	if (room->state != EP_ROOM_OPEN || room->stopped)
		return;
	room->words = EP_MAX(words, SPARE_WORDS);
	room->state = ep_job_run(room->loop, grow_store, store_grown, room) == 0 ? EP_ROOM_GROWING : EP_ROOM_FULL;
}

void ep_room_look(struct ep_room *room)
{
	if (ep_delta_store_is_short(room->store, SPARE_WORDS))
		need_room(room, SPARE_WORDS);
}

struct ep_row_block *ep_room_put(struct ep_room *room, const struct ep_row *entries,
				 size_t n_entries, size_t n_rows)
{
	struct ep_row_block *block = calloc(1, sizeof(*block));

	if (!block) {
		room->state = room->state == EP_ROOM_OPEN ? EP_ROOM_FULL : room->state;
		return NULL;
	}
	block->refs = 1;
	block->serial = ++room->serial;
	block->n_entries = (uint32_t)n_entries;
	block->n_rows = (uint32_t)n_rows;
	if (n_entries == 0 ||
	    ep_delta_store_put_rows(room->store, entries, n_entries, &block->ref) == 0) {
		LIST_INSERT_HEAD(&room->blocks, block, link);
		return block;
	}
	free(block);
	room->small_starved |= n_entries <= SMALL_ROWS;
	need_room(room, (uint32_t)(n_entries * EP_ENTRY_WORDS));
	return NULL;
}

struct ep_row_block *ep_room_ref(struct ep_row_block *block)
{
	if (block)
		block->refs++;
	return block;
}

void ep_room_unref(struct ep_room *room, struct ep_row_block *block)
{
	if (!block || --block->refs > 0)
		return;
	ep_delta_store_drop_rows(room->store, block->ref, block->n_entries);
	LIST_REMOVE(block, link);
	free(block);
}

void ep_room_compact(struct ep_room *room)
{
	uint64_t start_ns = ep_clock_thread_cpu_ns();
	const struct ep_row_block *block;

	if (ep_clock_mono_ns() < room->compact_ns)
		return;
	if (ep_delta_store_compact(room->store)) {
		LIST_FOREACH (block, &room->blocks, link)
			ep_delta_store_follow_moves(room->store, block->ref, block->n_rows);
	}
	room->compact_ns = ep_clock_mono_ns() + REST_FACTOR * (ep_clock_thread_cpu_ns() - start_ns);
}

void ep_room_retry(struct ep_room *room)
{
	if (room->state != EP_ROOM_FULL)
		return;
	room->state = EP_ROOM_OPEN;
	room->turn++;
	room->changed(room->arg);
}
