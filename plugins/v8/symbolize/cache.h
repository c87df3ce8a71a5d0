/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was read of a process: functions, scripts, tables of lines, and what frames are, by two words that
 * tell each from others at its address. Bounded by the bytes of all that is alive; what was used longest
 * ago goes first. Few are large, tables of a script's lines or of a module's code: those have a bound of their own,
 * so that most processes need little, and one table does not push out all else. Frames, which are many and seldom asked for
 * again, have an eighth of what is not large: functions are known as long as they may.
 * An item that was evicted lives on, and counts, as long as another one refers to it.
 */
#ifndef V8_CACHE_H
#define V8_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct v8_cache;
struct v8_uses;

enum v8_item_kind {
	V8_ITEM_FRAME,
	V8_ITEM_FUNCTION,
	V8_ITEM_SCRIPT,
	V8_ITEM_LINES,
	V8_ITEM_CLASS,
	V8_ITEM_MODULE,
	V8_ITEM_WASM,
};

/* The first member of what is kept. */
struct v8_item {
	struct v8_item *chain;	    /* of its bucket */
	struct v8_item *newer, *older; /* by use */
	struct v8_cache *cache;
	struct v8_uses *uses; /* those it is bounded with */
	void (*free)(struct v8_item *item);
	uint64_t key[2];
	uint32_t kind;
	uint32_t refs;
	size_t bytes;
	uint64_t serial; /* never twice in a cache */
	bool in;	 /* may be found */
};

/* An item is large that would alone fill more than half of max_bytes; those may have large_bytes. */
int v8_cache_new(size_t max_bytes, size_t large_bytes, struct v8_cache **ret);
void v8_cache_free(struct v8_cache *cache); /* after all references to its items */
size_t v8_cache_bytes(const struct v8_cache *cache);

/* NULL, or with a reference more. */
struct v8_item *v8_cache_find(struct v8_cache *cache, uint32_t kind, uint64_t key0,
					uint64_t key1);
/*
 * Takes over an item whose kind, key, bytes and free are set; the caller has its one reference. Replaces
 * one of the same key. One that is larger than all large ones may be is not kept: it goes with its last
 * reference.
 */
void v8_cache_put(struct v8_cache *cache, struct v8_item *item);
void v8_cache_remove(struct v8_item *item);
struct v8_item *v8_item_ref(struct v8_item *item);
void v8_item_unref(struct v8_item *item); /* accepts NULL */

#endif
