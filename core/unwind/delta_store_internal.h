/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the delta store share: delta_store.c, delta_compact.c. */
#ifndef EP_UNWIND_DELTA_STORE_INTERNAL_H
#define EP_UNWIND_DELTA_STORE_INTERNAL_H

#include "core/base/vec.h"
#include "core/unwind/blocks.h"
#include "core/unwind/delta_store.h"
#include "core/unwind/shared_rules.h"

#include <pthread.h>
#include <sys/queue.h>

struct ep_delta_store {
	pthread_mutex_t lock;
	struct ep_delta_store_ops ops;
	void *chunks[EP_MAX_CHUNKS]; /* NULL: not there */
	uint32_t n_chunks;
	size_t max_bytes;
	struct ep_blocks blocks;
	struct ep_shared_rules rules;
	struct ep_vec fresh, rested; /* struct ep_block: freed since, and before, the last collect */
	struct ep_vec fresh_rules, rested_rules; /* uint32_t: the same for references to rules */
	bool fresh_text, rested_text;		 /* some of these blocks are tables' */
	size_t used_words;
	uint32_t row_words[EP_MAX_CHUNKS]; /* of used_words, rows, which are not moved */
	LIST_HEAD(, ep_delta_store_text) texts;
	unsigned int n_comparing; /* workers that read a text which is listed */
	/* delta_compact.c */
	uint32_t emptying;	    /* the chunk whose tables are moved to others; 0: none */
	struct ep_blocks emptied;   /* its free words, which nobody is given */
	struct ep_vec moves;	    /* struct ep_delta_store_move: page entries moved by the last step */
	unsigned int n_idle, pause; /* steps that moved nothing; steps until a chunk is chosen again */
};

struct ep_delta_store_move {
	struct ep_block from;
	uint32_t to;
};

struct ep_delta_store_text {
	LIST_ENTRY(ep_delta_store_text) link;
	uint64_t hash;		/* of the table */
	uint32_t refs;		/* executables whose tables are equal */
	bool is_listed;		/* it is whole, and can be found */
	struct ep_vec segments; /* struct ep_delta_store_segment */
	struct ep_vec blocks;	/* struct ep_block */
	struct ep_vec rules;	/* uint32_t: index in the shared rules, by the table's own index */
};

static inline uint32_t *ep_delta_store_words(const struct ep_delta_store *store, uint32_t ref)
{
	return (uint32_t *)store->chunks[EP_REF_CHUNK(ref)] + EP_REF_WORD(ref);
}

/* All with the lock held. */

/* A block for tables where there is one: 0, -ENOSPC, -ENOMEM. */
int ep_delta_store_take_for_tables(struct ep_delta_store *store, uint32_t words, uint32_t align,
				   struct ep_block *ret_block);
/* Not used any more; it waits. A block that cannot be remembered is lost, not reused: memory is
 * out. */
void ep_delta_store_rest(struct ep_delta_store *store, struct ep_block block);
/* To the free words of its chunk. */
int ep_delta_store_give(struct ep_delta_store *store, struct ep_block block);

/*
 * delta_compact.c: from here on steps move what is in this chunk, which has no rows. The caller holds the lock. 0, -ENOMEM.
 */
int ep_delta_store_empty_chunk(struct ep_delta_store *store, uint32_t chunk);

#endif
