/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Space for rows in the delta store. Rows are written on the loop's thread, where a chunk must not
 * be added (that waits for the kernel), so space is made ahead, by a worker.
 *
 *	   OPEN ── no space for some rows ──► GROWING ── a chunk came ──► OPEN, next turn: try again
 *	                                        │
 *	                                        └── it may not grow ──► FULL ── a second later ──► OPEN
 *
 * FULL is also where there is no memory for a block or for the job that adds the chunk.
 *
 * Who found no space is remembered by the number of the turn, and tries again in the next one.
 * Loop's thread only.
 */
#ifndef EP_PROCESS_ROOM_H
#define EP_PROCESS_ROOM_H

#include "core/base/util.h"

#include <sys/queue.h>

struct ep_delta_store;
struct ep_row;
struct uv_loop_s;

/* Rows of one or more processes: a forked child shares its parent's. */
struct ep_row_block {
	LIST_ENTRY(ep_row_block) link;
	uint32_t refs;
	uint32_t ref; /* in the delta store */
	uint32_t serial; /* struct ep_proc */
	uint32_t n_entries; /* rows and the codes after them (ebpf-profiler/bpf/internal/rows.h) */
	uint32_t n_rows;
};

enum ep_room_state {
	EP_ROOM_OPEN,
	EP_ROOM_GROWING,
	EP_ROOM_FULL,
};

struct ep_room {
	struct uv_loop_s *loop;
	struct ep_delta_store *store;
	enum ep_room_state state;
	uint32_t turn; /* from 1: so often there may have been space again */
	uint32_t words, result; /* of the job */
	uint32_t serial;	/* of the last block */
	LIST_HEAD(, ep_row_block) blocks;
	uint64_t compact_ns; /* not before then are tables moved again */
	bool small_starved;	/* not only giants found no space */
	bool stopped;
	void (*changed)(void *arg); /* a new turn, or it is full */
	void *arg;
};

void ep_room_init(struct ep_room *room, struct uv_loop_s *loop, struct ep_delta_store *store,
		  void (*changed)(void *arg), void *arg);
/* Makes space ahead when little is left. */
void ep_room_look(struct ep_room *room);
/*
 * A block of entries, the first n_rows of which are rows, with one reference. NULL: there is no
 * space in this turn, more is being made.
 */
struct ep_row_block *ep_room_put(struct ep_room *room, const struct ep_row *entries,
				 size_t n_entries, size_t n_rows);
struct ep_row_block *ep_room_ref(struct ep_row_block *block);		/* accepts NULL, as the next */
void ep_room_unref(struct ep_room *room, struct ep_row_block *block);
/* Once a second: what is full may not be any more. */
void ep_room_retry(struct ep_room *room);
/*
 * Once a second, while no ep_delta_store_collect is under way: moves tables out of a chunk that has few,
 * and writes in all rows where they are now. It pauses 50 times as long as that took.
 */
void ep_room_compact(struct ep_room *room);

#endif
