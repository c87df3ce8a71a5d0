/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables come and go, and the kernel gets only whole chunks back. So where much is free, the chunk
 * that has least in it is emptied: its tables are copied into others, some at each step.
 *
 *	row ──► page entries ──► deltas
 *	     b                a
 *
 * A reference is one word, which is written at once after what it leads to was copied: (a) in the
 * page entries, (b) in the rows, by whoever knows where those are. So BPF finds the old copy or the
 * new one, which are equal; the old one waits as freed blocks do before its memory is written or
 * given back. What BPF remembers are rules, which stay what they are: it forgets nothing.
 *
 * Rows are not moved: their references are in the kernel's copies of forked processes. They lie in
 * the first chunks, and a chunk that has some is not emptied.
 */
#include "core/unwind/delta_store_internal.h"

#include <errno.h>
#include <string.h>

/* What stays free in others when a chunk has been emptied: blocks of any size must fit, and new ones. */
#define SLACK_WORDS (EP_CHUNK_WORDS / 2)
/* One step copies so much, and goes on to the end of a block: 256 KiB. */
#define STEP_WORDS 65536
/* So many steps without anything to move: whoever has the rest of the chunk does not let go of it. */
#define MAX_IDLE 30
/* So many steps pass before a chunk is chosen again, after one was given up. */
#define PAUSE 60

/* --- which chunk ----------------------------------------------------------------------------- */

static bool may_be_emptied(const struct ep_delta_store *store, uint32_t chunk)
{
	const void *memory = store->chunks[chunk];

	return chunk > 0 && memory && memory != store && store->row_words[chunk] == 0;
}

/* The one with the most free words, if there is so much free in the others; 0: none. */
static uint32_t choose_chunk(const struct ep_delta_store *store)
{
	size_t all = store->blocks.free_words - ep_blocks_free_words_of(&store->blocks, 0), most = 0;
	uint32_t chosen = 0;

	if (all < EP_CHUNK_WORDS + SLACK_WORDS)
		return 0;
	for (uint32_t i = 1; i < EP_MAX_CHUNKS; i++) {
		size_t words = may_be_emptied(store, i) ? ep_blocks_free_words_of(&store->blocks, i) : 0;

		/* One that is empty is given back as it is. */
		if (words > most && words < EP_CHUNK_WORDS) {
			most = words;
			chosen = i;
		}
	}
	return chosen;
}

static void give_up(struct ep_delta_store *store)
{
	/* What cannot be moved for want of memory stays where nobody takes it from: it is lost. */
	(void)ep_blocks_move_chunk(&store->emptied, &store->blocks, store->emptying);
	store->emptying = 0;
	store->pause = PAUSE;
}

int ep_delta_store_empty_chunk(struct ep_delta_store *store, uint32_t chunk)
{
	int r = ep_blocks_move_chunk(&store->blocks, &store->emptied, chunk);

	store->n_idle = 0;
	store->emptying = chunk;
	if (r < 0)
		give_up(store);
	return r;
}

static void begin(struct ep_delta_store *store)
{
	uint32_t chunk = store->pause > 0 ? 0 : choose_chunk(store);

	store->pause -= store->pause > 0;
	if (chunk)
		(void)ep_delta_store_empty_chunk(store, chunk);
}

/* --- what is moved --------------------------------------------------------------------------- */

static bool is_in(struct ep_block block, uint32_t ref)
{
	return ref - block.ref < block.words;
}

static struct ep_delta_store_segment *segment_of(const struct ep_delta_store_text *text, struct ep_block block)
{
	struct ep_delta_store_segment *segment;

	ep_vec_each(&text->segments, segment) {
		if (segment->pages == block.ref)
			return segment;
	}
	return NULL;
}

/* Their rows are written anew when the step is done. */
static int move_pages(struct ep_delta_store *store, struct ep_delta_store_segment *segment, struct ep_block from,
		      struct ep_block to)
{
	struct ep_delta_store_move *move = ep_vec_push(&store->moves);

	if (!move)
		return -ENOMEM;
	*move = (struct ep_delta_store_move){from, to.ref};
	segment->pages = to.ref;
	return 0;
}

/* An entry is 8 bytes: BPF reads what was there before or what is now. */
static void move_deltas(struct ep_delta_store *store, const struct ep_delta_store_text *text, struct ep_block from,
			struct ep_block to)
{
	const struct ep_delta_store_segment *segment;

	ep_vec_each(&text->segments, segment) {
		uint64_t *entries = (uint64_t *)ep_delta_store_words(store, segment->pages);

		for (uint32_t i = 0; i < segment->n_pages; i++) {
			uint32_t n = EP_PAGE_COUNT(entries[i]), ref = EP_PAGE_REF(entries[i]);

			if (n && is_in(from, ref))
				__atomic_store_n(&entries[i], EP_PAGE(n, to.ref + (ref - from.ref)),
						 __ATOMIC_RELEASE);
		}
	}
}

static int move_block(struct ep_delta_store *store, const struct ep_delta_store_text *text, struct ep_block *block)
{
	struct ep_delta_store_segment *segment = segment_of(text, *block);
	struct ep_block from = *block, to;
	int r = ep_delta_store_take_for_tables(store, from.words, segment ? 2 : 1, &to);

	if (r < 0)
		return r;
	memcpy(ep_delta_store_words(store, to.ref), ep_delta_store_words(store, from.ref), from.words * sizeof(uint32_t));
	r = segment ? move_pages(store, segment, from, to) : 0;
	if (r < 0) {
		ep_delta_store_rest(store, to);
		return r;
	}
	if (!segment)
		move_deltas(store, text, from, to);
	*block = to;
	ep_delta_store_rest(store, from);
	return 0;
}

/* Adds what it moved to *words. */
static int move_text(struct ep_delta_store *store, const struct ep_delta_store_text *text, size_t *words)
{
	struct ep_block *block;

	ep_vec_each(&text->blocks, block) {
		int r = 0;

		if (*words >= STEP_WORDS)
			return 0;
		if (EP_REF_CHUNK(block->ref) != store->emptying)
			continue;
		*words += block->words;
		r = move_block(store, text, block);
		if (r < 0)
			return r;
	}
	return 0;
}

static void move_some(struct ep_delta_store *store)
{
	struct ep_delta_store_text *text;
	size_t words = 0;
	int r = 0;

	LIST_FOREACH (text, &store->texts, link) {
		r = move_text(store, text, &words);
		if (r < 0 || words >= STEP_WORDS)
			break;
	}
	/* Tables that a worker is writing are not listed yet, and what was moved waits. */
	store->n_idle = words ? 0 : store->n_idle + 1;
	if (r < 0 || store->n_idle > MAX_IDLE)
		give_up(store);
}

bool ep_delta_store_compact(struct ep_delta_store *store)
{
	bool moved;

	pthread_mutex_lock(&store->lock);
	store->moves.len = 0;
	if (store->n_comparing == 0 && !store->emptying)
		begin(store);
	if (store->n_comparing == 0 && store->emptying)
		move_some(store);
	moved = store->moves.len > 0;
	pthread_mutex_unlock(&store->lock);
	return moved;
}

void ep_delta_store_follow_moves(const struct ep_delta_store *store, uint32_t ref, size_t n_rows)
{
	struct ep_row *rows = n_rows ? (struct ep_row *)ep_delta_store_words(store, ref) : NULL;
	const struct ep_delta_store_move *move;

	for (size_t i = 0; i < n_rows; i++) {
		uint32_t pages = rows[i].pages;

		if (pages <= EP_PAGES_LAST)
			continue;
		ep_vec_each(&store->moves, move) {
			if (is_in(move->from, pages)) {
				__atomic_store_n(&rows[i].pages, move->to + (pages - move->from.ref), __ATOMIC_RELEASE);
				break;
			}
		}
	}
}
