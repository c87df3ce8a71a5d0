/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which words of the delta store's chunks are free: first fit over extents sorted by position,
 * neighbours merged. Knows nothing of what the words hold.
 */
#ifndef EP_UNWIND_BLOCKS_H
#define EP_UNWIND_BLOCKS_H

#include "core/base/vec.h"

struct ep_block {
	uint32_t ref; /* first word, see EP_REF */
	uint32_t words;
};

struct ep_blocks {
	struct ep_vec free; /* struct ep_block, sorted by ref; none crosses a chunk */
	size_t free_words;
};

void ep_blocks_init(struct ep_blocks *blocks);
void ep_blocks_fini(struct ep_blocks *blocks);

/*
 * From chunk `first` on; `align` in words, a power of two. 0, or -ENOSPC when no chunk has space.
 */
int ep_blocks_take(struct ep_blocks *blocks, uint32_t first, uint32_t words, uint32_t align,
		   struct ep_block *ret_block);
/* Makes a block free: a new chunk, or one that was taken. 0 or -ENOMEM. */
int ep_blocks_give(struct ep_blocks *blocks, struct ep_block block);
/* True when the whole chunk is free: it is then taken out and can be unmapped. */
bool ep_blocks_take_empty_chunk(struct ep_blocks *blocks, uint32_t chunk);
/* The same for the first one that is, from `first` (above 0) on; 0: there is none. */
uint32_t ep_blocks_take_any_empty_chunk(struct ep_blocks *blocks, uint32_t first);
size_t ep_blocks_free_words_of(const struct ep_blocks *blocks, uint32_t chunk);
/* Moves all that is free of a chunk from one to the other. 0; -ENOMEM: some of it may be left. */
int ep_blocks_move_chunk(struct ep_blocks *from, struct ep_blocks *to, uint32_t chunk);

#endif
