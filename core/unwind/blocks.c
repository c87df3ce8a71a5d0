/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/blocks.h"
#include "bpf/shared.h"
#include "core/base/bisect.h"

#include <errno.h>
#include <string.h>

void ep_blocks_init(struct ep_blocks *blocks)
{
	*blocks = (struct ep_blocks){0};
	ep_vec_init(&blocks->free, sizeof(struct ep_block), 1u << 24);
}

void ep_blocks_fini(struct ep_blocks *blocks)
{
	ep_vec_fini(&blocks->free);
}

static struct ep_block *block_at(const struct ep_blocks *blocks, size_t i)
{
	return ep_vec_at(&blocks->free, struct ep_block, i);
}

/* Index of the first free block after `ref`. */
static size_t find_behind(const struct ep_blocks *blocks, uint32_t ref)
{
	return ep_bisect(blocks->free.len, i, block_at(blocks, i)->ref <= ref);
}

static void remove_at(struct ep_blocks *blocks, size_t i)
{
	memmove(block_at(blocks, i), block_at(blocks, i + 1),
		(blocks->free.len - i - 1) * sizeof(struct ep_block));
	blocks->free.len--;
}

static int insert_at(struct ep_blocks *blocks, size_t i, struct ep_block block)
{
	if (!ep_vec_push(&blocks->free))
		return -ENOMEM;
	memmove(block_at(blocks, i + 1), block_at(blocks, i),
		(blocks->free.len - 1 - i) * sizeof(struct ep_block));
	*block_at(blocks, i) = block;
	return 0;
}

/* Cuts [ref, ref + words) out of free block i. */
static int cut(struct ep_blocks *blocks, size_t i, uint32_t ref, uint32_t words)
{
	struct ep_block *have = block_at(blocks, i);
	struct ep_block tail = {.ref = ref + words, .words = have->ref + have->words - ref - words};
	uint32_t head_words = ref - have->ref;
	int r;

	if (head_words && tail.words) {
		r = insert_at(blocks, i + 1, tail);
		if (r < 0)
			return r;
		block_at(blocks, i)->words = head_words;
	} else if (head_words) {
		have->words = head_words;
	} else if (tail.words) {
		*have = tail;
	} else {
		remove_at(blocks, i);
	}
	blocks->free_words -= words;
	return 0;
}

/* Index of the first free block of this chunk, or of one after it. */
static size_t find_chunk(const struct ep_blocks *blocks, uint32_t chunk)
{
	return ep_bisect(blocks->free.len, i, EP_REF_CHUNK(block_at(blocks, i)->ref) < chunk);
}

int ep_blocks_take(struct ep_blocks *blocks, uint32_t first, uint32_t words, uint32_t align,
		   struct ep_block *ret_block)
{
	for (size_t i = find_chunk(blocks, first); i < blocks->free.len; i++) {
		const struct ep_block *have = block_at(blocks, i);
		uint32_t ref = (uint32_t)EP_ALIGN_UP(have->ref, align);
		uint32_t skipped = ref - have->ref;
		int r;

		if (have->words < skipped || have->words - skipped < words)
			continue;
		r = cut(blocks, i, ref, words);
		if (r == 0)
			*ret_block = (struct ep_block){.ref = ref, .words = words};
		return r;
	}
	return -ENOSPC;
}

static bool joins(const struct ep_block *a, const struct ep_block *b)
{
	return a->ref + a->words == b->ref && EP_REF_CHUNK(a->ref) == EP_REF_CHUNK(b->ref);
}

int ep_blocks_give(struct ep_blocks *blocks, struct ep_block block)
{
	size_t i = find_behind(blocks, block.ref);
	int r;

	if (i > 0 && joins(block_at(blocks, i - 1), &block)) {
		i--;
		block_at(blocks, i)->words += block.words;
	} else {
		r = insert_at(blocks, i, block);
		if (r < 0)
			return r;
	}
	blocks->free_words += block.words;
	if (i + 1 < blocks->free.len && joins(block_at(blocks, i), block_at(blocks, i + 1))) {
		block_at(blocks, i)->words += block_at(blocks, i + 1)->words;
		remove_at(blocks, i + 1);
	}
	return 0;
}

static bool is_whole_chunk(const struct ep_blocks *blocks, size_t i)
{
	return block_at(blocks, i)->words == EP_CHUNK_WORDS;
}

static void take_out(struct ep_blocks *blocks, size_t i)
{
	blocks->free_words -= block_at(blocks, i)->words;
	remove_at(blocks, i);
}

bool ep_blocks_take_empty_chunk(struct ep_blocks *blocks, uint32_t chunk)
{
	size_t i = find_chunk(blocks, chunk);

	if (i == blocks->free.len || block_at(blocks, i)->ref != EP_REF(chunk, 0) || !is_whole_chunk(blocks, i))
		return false;
	take_out(blocks, i);
	return true;
}

uint32_t ep_blocks_take_any_empty_chunk(struct ep_blocks *blocks, uint32_t first)
{
	for (size_t i = find_chunk(blocks, first); i < blocks->free.len; i++) {
		uint32_t chunk = EP_REF_CHUNK(block_at(blocks, i)->ref);

		if (is_whole_chunk(blocks, i)) {
			take_out(blocks, i);
			return chunk;
		}
	}
	return 0;
}

size_t ep_blocks_free_words_of(const struct ep_blocks *blocks, uint32_t chunk)
{
	size_t end = find_chunk(blocks, chunk + 1), words = 0;

	for (size_t i = find_chunk(blocks, chunk); i < end; i++)
		words += block_at(blocks, i)->words;
	return words;
}

int ep_blocks_move_chunk(struct ep_blocks *from, struct ep_blocks *to, uint32_t chunk)
{
	size_t i = find_chunk(from, chunk);

	while (i < from->free.len && EP_REF_CHUNK(block_at(from, i)->ref) == chunk) {
		int r = ep_blocks_give(to, *block_at(from, i));

		if (r < 0)
			return r;
		take_out(from, i);
	}
	return 0;
}
