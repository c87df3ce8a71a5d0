/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The delta store: unwind tables and mapping rows in BPF memory (layout: bpf/shared.h). User space
 * maps the chunks and writes them in place; no copy stays in the heap.
 *
 * A block is a piece of one chunk. Freed blocks and rules rest until ep_delta_store_collect is
 * called a second time, so that a BPF program that is just reading one is done with it before it is
 * written again. What BPF remembers beyond that (bpf/memo.bpf.h) it forgets by the generation of tables,
 * which is another one before the memory of freed ones is used, and by the serial numbers of rows.
 *
 * Thread-safe. Adding and removing a chunk waits 8 to 16 ms for the kernel's grace period, so the
 * calls that may do so are for worker threads: put_text, add_room, collect.
 */
#ifndef EP_UNWIND_DELTA_STORE_H
#define EP_UNWIND_DELTA_STORE_H

#include "bpf/shared.h"
#include "core/base/util.h"

struct ep_delta_store;
struct ep_unwind_table;

/* How the store reaches the kernel; tests bring their own memory. */
struct ep_delta_store_ops {
	void *arg;
	/* Creates chunk number `index` and maps it. 0 or a negative errno. */
	int (*add_chunk)(void *arg, uint32_t index, void **ret_memory);
	void (*remove_chunk)(void *arg, uint32_t index, void *memory);
	struct ep_rule *rules; /* EP_MAX_RULES entries */
	uint32_t *generation; /* of struct ep_control; NULL: nobody remembers what he read */
};

int ep_delta_store_new(const struct ep_delta_store_ops *ops, size_t max_bytes, struct ep_delta_store **ret_store);
void ep_delta_store_free(struct ep_delta_store *store);

/* One stretch of an executable's text whose page entries lie in one block. */
struct ep_delta_store_segment {
	uint64_t va; /* page-aligned */
	uint32_t n_pages;
	uint32_t pages; /* ref of the first page entry */
};

/* An executable's tables in the store. */
struct ep_delta_store_text;

/*
 * Copies a table into the store, unless an equal one is there: then that has one more user. 0;
 * -E2BIG when that would exceed max_bytes or the rule table; -ENOMEM. Nothing is kept of the table.
 */
int ep_delta_store_put_text(struct ep_delta_store *store, const struct ep_unwind_table *table,
		      struct ep_delta_store_text **ret_text);
void ep_delta_store_drop_text(struct ep_delta_store *store, struct ep_delta_store_text *text);
/* Those of one that is shared count for each user in part. */
size_t ep_delta_store_text_bytes(const struct ep_delta_store_text *text);
size_t ep_delta_store_text_segments(const struct ep_delta_store_text *text,
			      const struct ep_delta_store_segment **ret_segments);

/*
 * Writes a process's rows (sorted by start, at most EP_MAX_ROWS). 0 with the ref; -ENOSPC when a
 * worker must call ep_delta_store_add_room first.
 */
int ep_delta_store_put_rows(struct ep_delta_store *store, const struct ep_row *rows, size_t n_rows,
		      uint32_t *ret_ref);
void ep_delta_store_drop_rows(struct ep_delta_store *store, uint32_t ref, size_t n_rows);

/*
 * Adds a chunk unless there is space for rows of `words` 4-byte words. 0, -E2BIG, or what add_chunk
 * gave.
 */
int ep_delta_store_add_room(struct ep_delta_store *store, uint32_t words);

/* True when fewer than `words` are free in all: time for ep_delta_store_add_room on a worker. */
bool ep_delta_store_is_short(const struct ep_delta_store *store, uint32_t words);

/*
 * One step of emptying a chunk, where tables are spread over more than they need: for the thread that
 * drops rows and texts, once a second, while no collect is under way. Copies 256 KiB, or one block. True:
 * page entries were moved, and before that thread looks at rows or calls anything here it calls
 * ep_delta_store_follow_moves for all rows that were put and not dropped. Segments of texts may be others.
 */
bool ep_delta_store_compact(struct ep_delta_store *store);
void ep_delta_store_follow_moves(const struct ep_delta_store *store, uint32_t ref, size_t n_rows);

/* Lets what was freed before the previous call be used again; gives empty chunks back. */
bool ep_delta_store_has_freed(const struct ep_delta_store *store);
void ep_delta_store_collect(struct ep_delta_store *store);

/*
 * A chunk's memory, for a look-up in user space; NULL: there is none, or it is just being added or
 * removed. Takes no lock: on the thread that drops rows and texts, what those that are not dropped
 * refer to stays as it is.
 */
const void *ep_delta_store_chunk(const struct ep_delta_store *store, uint32_t index);

/* Bytes of the heap: what is where. */
size_t ep_delta_store_heap_bytes(struct ep_delta_store *store);
/* Bytes of all chunks and of the rule table. */
size_t ep_delta_store_bytes(const struct ep_delta_store *store);
/* Bytes of blocks in use. */
size_t ep_delta_store_used_bytes(const struct ep_delta_store *store);

#endif
