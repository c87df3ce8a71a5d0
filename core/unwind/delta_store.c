/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/delta_store_internal.h"
#include "core/unwind/table.h"

#include <errno.h>
#include <string.h>

#include <xxhash.h>

/* What a new store has space for, and what is left when an empty chunk is given back: 64 KiB. */
#define SPARE_WORDS 16384
/* Deltas are stored in blocks of at most this many; smaller ones fill the chunks better. */
#define DELTA_BLOCK_WORDS 65536
#define ROW_WORDS	  (sizeof(struct ep_row) / 4)
/* Rows are taken from chunk 0 on; tables are not put there as long as there may be other chunks. */
#define FIRST_FOR_ROWS	 0
#define FIRST_FOR_TABLES 1

int ep_delta_store_new(const struct ep_delta_store_ops *ops, size_t max_bytes, struct ep_delta_store **ret_store)
{
	struct ep_delta_store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return -ENOMEM;
	pthread_mutex_init(&store->lock, NULL);
	store->ops = *ops;
	store->max_bytes = max_bytes;
	ep_blocks_init(&store->blocks);
	ep_blocks_init(&store->emptied);
	ep_vec_init(&store->moves, sizeof(struct ep_delta_store_move), EP_CHUNK_WORDS);
	ep_shared_rules_init(&store->rules, ops->rules);
	LIST_INIT(&store->texts);
	ep_vec_init(&store->fresh, sizeof(struct ep_block), 1u << 24);
	ep_vec_init(&store->rested, sizeof(struct ep_block), 1u << 24);
	ep_vec_init(&store->fresh_rules, sizeof(uint32_t), 1u << 24);
	ep_vec_init(&store->rested_rules, sizeof(uint32_t), 1u << 24);
	r = ep_delta_store_add_room(store, SPARE_WORDS);
	if (r < 0) {
		ep_delta_store_free(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

void ep_delta_store_free(struct ep_delta_store *store)
{
	if (!store)
		return;
	for (uint32_t i = 0; i < EP_MAX_CHUNKS; i++) {
		if (store->chunks[i])
			store->ops.remove_chunk(store->ops.arg, i, store->chunks[i]);
	}
	ep_blocks_fini(&store->blocks);
	ep_blocks_fini(&store->emptied);
	ep_vec_fini(&store->moves);
	ep_shared_rules_fini(&store->rules);
	ep_vec_fini(&store->fresh);
	ep_vec_fini(&store->rested);
	ep_vec_fini(&store->fresh_rules);
	ep_vec_fini(&store->rested_rules);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

/* Picks a free chunk number and counts it; the slow part follows without the lock. */
static int reserve_chunk(struct ep_delta_store *store, uint32_t *ret_index)
{
	uint32_t index = 0;
	int r = 0;

	pthread_mutex_lock(&store->lock);
	while (index < EP_MAX_CHUNKS && store->chunks[index])
		index++;
	if (index == EP_MAX_CHUNKS ||
	    ((size_t)store->n_chunks + 1) * EP_CHUNK_BYTES > store->max_bytes) {
		r = -E2BIG;
	} else {
		store->chunks[index] = store; /* taken; nothing refers to it yet */
		store->n_chunks++;
	}
	pthread_mutex_unlock(&store->lock);
	*ret_index = index;
	return r;
}

static int add_chunk(struct ep_delta_store *store)
{
	void *memory = NULL;
	uint32_t index;
	int r = reserve_chunk(store, &index);

	if (r < 0)
		return r;
	r = store->ops.add_chunk(store->ops.arg, index, &memory);
	pthread_mutex_lock(&store->lock);
	store->chunks[index] = r < 0 ? NULL : memory;
	if (r < 0) {
		store->n_chunks--;
	} else {
		/* Ref 0 and 1 mean other things (EP_PAGES_*): the first words stay unused. */
		uint32_t skip = index == 0 ? ROW_WORDS : 0;

		r = ep_blocks_give(&store->blocks,
				   (struct ep_block){.ref = EP_REF(index, skip),
						     .words = EP_CHUNK_WORDS - skip});
	}
	pthread_mutex_unlock(&store->lock);
	return r;
}

int ep_delta_store_give(struct ep_delta_store *store, struct ep_block block)
{
	bool is_emptying = store->emptying && EP_REF_CHUNK(block.ref) == store->emptying;

	return ep_blocks_give(is_emptying ? &store->emptied : &store->blocks, block);
}

static int take_locked(struct ep_delta_store *store, uint32_t first, uint32_t words, uint32_t align,
		       struct ep_block *ret_block)
{
	int r = ep_blocks_take(&store->blocks, first, words, align, ret_block);

	if (r == 0)
		store->used_words += words;
	return r;
}

int ep_delta_store_take_for_tables(struct ep_delta_store *store, uint32_t words, uint32_t align,
				   struct ep_block *ret_block)
{
	return take_locked(store, FIRST_FOR_TABLES, words, align, ret_block);
}

static int take(struct ep_delta_store *store, uint32_t first, uint32_t words, uint32_t align,
		struct ep_block *ret_block)
{
	int r;

	pthread_mutex_lock(&store->lock);
	r = take_locked(store, first, words, align, ret_block);
	pthread_mutex_unlock(&store->lock);
	return r;
}

/* Where there may be no more chunks, tables are put where rows are. */
static int take_or_grow(struct ep_delta_store *store, uint32_t first, uint32_t words, uint32_t align,
			struct ep_block *ret_block)
{
	int r = take(store, first, words, align, ret_block);

	while (r == -ENOSPC) {
		r = add_chunk(store);
		if (r == 0)
			r = take(store, first, words, align, ret_block);
		else if (first != FIRST_FOR_ROWS && take(store, FIRST_FOR_ROWS, words, align, ret_block) == 0)
			r = 0;
	}
	return r;
}

void ep_delta_store_rest(struct ep_delta_store *store, struct ep_block block)
{
	struct ep_block *slot = ep_vec_push(&store->fresh);

	store->used_words -= block.words;
	if (slot)
		*slot = block;
}

int ep_delta_store_add_room(struct ep_delta_store *store, uint32_t words)
{
	struct ep_block probe;
	int r = take_or_grow(store, FIRST_FOR_ROWS, words, ROW_WORDS, &probe);

	if (r < 0)
		return r;
	pthread_mutex_lock(&store->lock);
	store->used_words -= words;
	r = ep_delta_store_give(store, probe);
	pthread_mutex_unlock(&store->lock);
	return r;
}

/* --- text ------------------------------------------------------------------------------------ */

static int keep_block(struct ep_delta_store *store, struct ep_delta_store_text *text, uint32_t words,
		      uint32_t align, struct ep_block *ret_block)
{
	struct ep_block *slot = ep_vec_push(&text->blocks);
	int r = slot ? take_or_grow(store, FIRST_FOR_TABLES, words, align, ret_block) : -ENOMEM;

	if (r < 0) {
		text->blocks.len -= slot ? 1 : 0;
		return r;
	}
	*slot = *ret_block;
	return 0;
}

/* From the table's own rule numbers to the shared ones. */
static uint32_t renumber(const struct ep_delta_store_text *text, uint32_t rule)
{
	if ((rule & EP_RULE_IMMEDIATE) || rule < EP_RULE_FIRST_TABLE)
		return rule;
	return EP_RULE_FIRST_TABLE + *ep_vec_at(&text->rules, uint32_t, rule - EP_RULE_FIRST_TABLE);
}

static void copy_deltas(const struct ep_delta_store_text *text, uint32_t *to, const uint32_t *from,
			uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t rule = EP_DELTA_RULE(from[i]);

		to[i] = (from[i] & ~0xfffffu) | renumber(text, rule);
	}
}

/* How many deltas the pages from `first` on have, up to the block limit; *ret_end is exclusive. */
static uint32_t next_piece(const struct ep_unwind_table *table, size_t first, size_t end,
			   size_t *ret_end)
{
	uint32_t words = 0;
	size_t i = first;

	for (; i < end; i++) {
		uint32_t more = EP_PAGE_COUNT(table->pages[i]);

		if (words && words + more > DELTA_BLOCK_WORDS)
			break;
		words += more;
	}
	*ret_end = i;
	return words;
}

/* Writes the entries of pages [first, end), whose deltas go into `block`. */
static void write_pages(const struct ep_delta_store_text *text, const struct ep_unwind_table *table,
			size_t first, size_t end, uint64_t *entries, uint32_t *deltas,
			uint32_t deltas_ref)
{
	for (size_t i = first; i < end; i++) {
		uint64_t page = table->pages[i];
		uint32_t n = EP_PAGE_COUNT(page);

		if (n == 0) {
			entries[i - first] = EP_PAGE(0, renumber(text, EP_PAGE_REF(page)));
			continue;
		}
		copy_deltas(text, deltas, table->deltas + EP_PAGE_REF(page), n);
		entries[i - first] = EP_PAGE(n, deltas_ref);
		deltas += n;
		deltas_ref += n;
	}
}

static int put_pieces(struct ep_delta_store *store, struct ep_delta_store_text *text,
		      const struct ep_unwind_table *table, size_t first, size_t end,
		      uint64_t *entries)
{
	while (first < end) {
		struct ep_block block = {0};
		size_t piece_end;
		uint32_t words = next_piece(table, first, end, &piece_end);
		int r = words ? keep_block(store, text, words, 1, &block) : 0;

		if (r < 0)
			return r;
		write_pages(text, table, first, piece_end, entries,
			    words ? ep_delta_store_words(store, block.ref) : NULL, block.ref);
		entries += piece_end - first;
		first = piece_end;
	}
	return 0;
}

static int put_segment(struct ep_delta_store *store, struct ep_delta_store_text *text,
		       const struct ep_unwind_table *table, const struct ep_unwind_segment *from)
{
	struct ep_delta_store_segment *segment;
	struct ep_block block;
	int r;

	if (from->n_pages == 0 || from->n_pages > EP_ROW_MAX_PAGES)
		return -E2BIG;
	r = keep_block(store, text, from->n_pages * 2, 2, &block);
	if (r < 0)
		return r;
	segment = ep_vec_push(&text->segments);
	if (!segment)
		return -ENOMEM;
	*segment = (struct ep_delta_store_segment){
		.va = from->va,
		.n_pages = from->n_pages,
		.pages = block.ref,
	};
	return put_pieces(store, text, table, from->first_page, from->first_page + from->n_pages,
			  (uint64_t *)ep_delta_store_words(store, block.ref));
}

static int put_rules(struct ep_delta_store *store, struct ep_delta_store_text *text,
		     const struct ep_unwind_table *table)
{
	int r = 0;

	pthread_mutex_lock(&store->lock);
	for (size_t i = 0; r == 0 && i < table->n_rules; i++) {
		uint32_t *index = ep_vec_push(&text->rules);

		r = index ? ep_shared_rules_ref(&store->rules, &table->rules[i], index) : -ENOMEM;
		if (r < 0 && index)
			text->rules.len--;
	}
	pthread_mutex_unlock(&store->lock);
	return r;
}

static uint64_t table_hash(const struct ep_unwind_table *table)
{
	uint64_t hash = XXH3_64bits(table->segments, table->n_segments * sizeof(*table->segments));

	hash = XXH3_64bits_withSeed(table->pages, table->n_pages * sizeof(*table->pages), hash);
	hash = XXH3_64bits_withSeed(table->deltas, table->n_deltas * sizeof(*table->deltas), hash);
	return XXH3_64bits_withSeed(table->rules, table->n_rules * sizeof(*table->rules), hash);
}

static bool has_page(const struct ep_delta_store *store, const struct ep_delta_store_text *text,
		     uint64_t entry, const struct ep_unwind_table *table, uint64_t page)
{
	uint32_t n = EP_PAGE_COUNT(page);
	const uint32_t *from = table->deltas + EP_PAGE_REF(page), *deltas;

	if (n == 0)
		return entry == EP_PAGE(0, renumber(text, EP_PAGE_REF(page)));
	if (EP_PAGE_COUNT(entry) != n)
		return false;
	deltas = ep_delta_store_words(store, EP_PAGE_REF(entry));
	for (uint32_t i = 0; i < n; i++) {
		if (deltas[i] != ((from[i] & ~0xfffffu) | renumber(text, EP_DELTA_RULE(from[i]))))
			return false;
	}
	return true;
}

/* True when it is what this table would become. Whoever asks has a reference. */
static bool is_of_table(const struct ep_delta_store *store, const struct ep_delta_store_text *text,
			const struct ep_unwind_table *table)
{
	if (text->segments.len != table->n_segments || text->rules.len != table->n_rules)
		return false;
	for (size_t i = 0; i < table->n_rules; i++) {
		uint32_t index = *ep_vec_at(&text->rules, uint32_t, i);

		if (memcmp(&store->ops.rules[index], &table->rules[i], sizeof(*table->rules)) != 0)
			return false;
	}
	for (size_t i = 0; i < table->n_segments; i++) {
		const struct ep_unwind_segment *from = &table->segments[i];
		const struct ep_delta_store_segment *segment =
			ep_vec_at(&text->segments, struct ep_delta_store_segment, i);
		const uint64_t *entries = (const uint64_t *)ep_delta_store_words(store, segment->pages);

		if (segment->va != from->va || segment->n_pages != from->n_pages)
			return false;
		for (uint32_t j = 0; j < from->n_pages; j++) {
			if (!has_page(store, text, entries[j], table,
				      table->pages[from->first_page + j]))
				return false;
		}
	}
	return true;
}

/* With a reference more, and it stays where it is until end_comparing; NULL: there is none of this hash. */
static struct ep_delta_store_text *find_text(struct ep_delta_store *store, uint64_t hash)
{
	struct ep_delta_store_text *text;

	pthread_mutex_lock(&store->lock);
	LIST_FOREACH (text, &store->texts, link) {
		if (text->hash == hash) {
			text->refs++;
			store->n_comparing++;
			break;
		}
	}
	pthread_mutex_unlock(&store->lock);
	return text;
}

static void end_comparing(struct ep_delta_store *store)
{
	pthread_mutex_lock(&store->lock);
	store->n_comparing--;
	pthread_mutex_unlock(&store->lock);
}

static struct ep_delta_store_text *new_text(uint64_t hash)
{
	struct ep_delta_store_text *text = calloc(1, sizeof(*text));

	if (!text)
		return NULL;
	text->hash = hash;
	text->refs = 1;
	ep_vec_init(&text->segments, sizeof(struct ep_delta_store_segment), 4096);
	ep_vec_init(&text->blocks, sizeof(struct ep_block), 1u << 20);
	ep_vec_init(&text->rules, sizeof(uint32_t), EP_MAX_RULES);
	return text;
}

int ep_delta_store_put_text(struct ep_delta_store *store, const struct ep_unwind_table *table,
		      struct ep_delta_store_text **ret_text)
{
	uint64_t hash = table_hash(table);
	struct ep_delta_store_text *text = find_text(store, hash);
	bool is_equal = text && is_of_table(store, text, table);
	int r;

	if (text)
		end_comparing(store);
	if (is_equal) {
		*ret_text = text;
		return 0;
	}
	ep_delta_store_drop_text(store, text);
	text = new_text(hash);
	r = text ? put_rules(store, text, table) : -ENOMEM;
	for (size_t i = 0; r == 0 && i < table->n_segments; i++)
		r = put_segment(store, text, table, &table->segments[i]);
	if (r < 0) {
		if (text)
			ep_delta_store_drop_text(store, text);
		return r;
	}
	ep_vec_shrink(&text->segments);
	ep_vec_shrink(&text->blocks);
	ep_vec_shrink(&text->rules);
	pthread_mutex_lock(&store->lock);
	LIST_INSERT_HEAD(&store->texts, text, link);
	text->is_listed = true;
	pthread_mutex_unlock(&store->lock);
	*ret_text = text;
	return 0;
}

void ep_delta_store_drop_text(struct ep_delta_store *store, struct ep_delta_store_text *text)
{
	struct ep_block *block;

	if (!text)
		return;
	pthread_mutex_lock(&store->lock);
	if (--text->refs > 0) {
		pthread_mutex_unlock(&store->lock);
		return;
	}
	if (text->is_listed)
		LIST_REMOVE(text, link);
	ep_vec_each(&text->blocks, block)
		ep_delta_store_rest(store, *block);
	store->fresh_text = true;
	/* Without memory the references are kept for ever. */
	(void)ep_vec_append(&store->fresh_rules, text->rules.data, text->rules.len);
	pthread_mutex_unlock(&store->lock);
	ep_vec_fini(&text->segments);
	ep_vec_fini(&text->blocks);
	ep_vec_fini(&text->rules);
	free(text);
}

size_t ep_delta_store_text_bytes(const struct ep_delta_store_text *text)
{
	const struct ep_block *block;
	size_t words = 0;

	ep_vec_each(&text->blocks, block)
		words += block->words;
	return words * 4 / __atomic_load_n(&text->refs, __ATOMIC_RELAXED);
}

size_t ep_delta_store_text_segments(const struct ep_delta_store_text *text,
			      const struct ep_delta_store_segment **ret_segments)
{
	*ret_segments = text->segments.data;
	return text->segments.len;
}

/* --- rows ------------------------------------------------------------------------------------ */

int ep_delta_store_put_rows(struct ep_delta_store *store, const struct ep_row *rows, size_t n_rows,
		      uint32_t *ret_ref)
{
	struct ep_block block;
	int r;

	if (n_rows == 0 || n_rows > EP_CHUNK_WORDS / ROW_WORDS)
		return -EINVAL;
	pthread_mutex_lock(&store->lock);
	r = take_locked(store, FIRST_FOR_ROWS, (uint32_t)(n_rows * ROW_WORDS), ROW_WORDS, &block);
	if (r == 0)
		store->row_words[EP_REF_CHUNK(block.ref)] += block.words;
	pthread_mutex_unlock(&store->lock);
	if (r < 0)
		return r;
	memcpy(ep_delta_store_words(store, block.ref), rows, n_rows * sizeof(*rows));
	*ret_ref = block.ref;
	return 0;
}

void ep_delta_store_drop_rows(struct ep_delta_store *store, uint32_t ref, size_t n_rows)
{
	if (n_rows == 0)
		return;
	pthread_mutex_lock(&store->lock);
	store->row_words[EP_REF_CHUNK(ref)] -= (uint32_t)(n_rows * ROW_WORDS);
	ep_delta_store_rest(store, (struct ep_block){.ref = ref, .words = (uint32_t)(n_rows * ROW_WORDS)});
	pthread_mutex_unlock(&store->lock);
}

/* --- collecting ------------------------------------------------------------------------------ */

/* Words that are free where tables are put. */
static size_t free_for_tables(const struct ep_delta_store *store)
{
	return store->blocks.free_words - ep_blocks_free_words_of(&store->blocks, FIRST_FOR_ROWS);
}

/* With the lock held. One chunk's worth of space is kept: it would be added again at once. */
static bool is_spare(const struct ep_delta_store *store)
{
	return store->used_words == 0 || free_for_tables(store) >= EP_CHUNK_WORDS + SPARE_WORDS;
}

/* With the lock held: the memory of a chunk that is free as a whole, taken out; else NULL. */
static void *take_empty_chunk(struct ep_delta_store *store, uint32_t *ret_index)
{
	uint32_t index = store->emptying;
	void *memory;

	if (index && ep_blocks_take_empty_chunk(&store->emptied, index))
		store->emptying = 0;
	else
		index = is_spare(store) ? ep_blocks_take_any_empty_chunk(&store->blocks, FIRST_FOR_TABLES) : 0;
	if (!index)
		return NULL;
	memory = store->chunks[index];
	store->chunks[index] = store;
	*ret_index = index;
	return memory;
}

static void remove_empty_chunks(struct ep_delta_store *store)
{
	for (;;) {
		uint32_t index = 0;
		void *memory;

		pthread_mutex_lock(&store->lock);
		memory = take_empty_chunk(store, &index);
		pthread_mutex_unlock(&store->lock);
		if (!memory)
			return;
		store->ops.remove_chunk(store->ops.arg, index, memory);
		pthread_mutex_lock(&store->lock);
		store->chunks[index] = NULL;
		store->n_chunks--;
		pthread_mutex_unlock(&store->lock);
	}
}

bool ep_delta_store_has_freed(const struct ep_delta_store *store)
{
	return store->fresh.len + store->rested.len + store->fresh_rules.len +
	       store->rested_rules.len > 0;
}

/* What is fresh has waited from here on; what waited is done with. */
static void turn(struct ep_vec *fresh, struct ep_vec *rested)
{
	struct ep_vec done = *rested;

	done.len = 0;
	*rested = *fresh;
	*fresh = done;
}

static void begin_generation(struct ep_delta_store *store)
{
	uint32_t *generation = store->ops.generation;

	if (!generation || !store->rested_text)
		return;
	/* 0 is nobody's. Written before the memory is given back, hence before it is written anew. */
	__atomic_store_n(generation, *generation + 1 ? *generation + 1 : 1, __ATOMIC_SEQ_CST);
}

void ep_delta_store_collect(struct ep_delta_store *store)
{
	struct ep_block *block;
	uint32_t *rule;

	pthread_mutex_lock(&store->lock);
	begin_generation(store);
	ep_vec_each(&store->rested, block)
		(void)ep_delta_store_give(store, *block);
	ep_vec_each(&store->rested_rules, rule)
		ep_shared_rules_unref(&store->rules, *rule);
	turn(&store->fresh, &store->rested);
	turn(&store->fresh_rules, &store->rested_rules);
	store->rested_text = store->fresh_text;
	store->fresh_text = false;
	pthread_mutex_unlock(&store->lock);
	remove_empty_chunks(store);
}

bool ep_delta_store_is_short(const struct ep_delta_store *store, uint32_t words)
{
	return store->blocks.free_words < words;
}

const void *ep_delta_store_chunk(const struct ep_delta_store *store, uint32_t index)
{
	const void *memory = NULL;

	if (index < EP_MAX_CHUNKS)
		memory = __atomic_load_n(&store->chunks[index], __ATOMIC_RELAXED);
	return memory == store ? NULL : memory;
}

size_t ep_delta_store_bytes(const struct ep_delta_store *store)
{
	return (size_t)store->n_chunks * EP_CHUNK_BYTES;
}

static size_t vec_bytes(const struct ep_vec *vec)
{
	return vec->cap * vec->elem_bytes;
}

size_t ep_delta_store_heap_bytes(struct ep_delta_store *store)
{
	const struct ep_delta_store_text *text;
	size_t bytes;

	pthread_mutex_lock(&store->lock);
	bytes = sizeof(*store) + vec_bytes(&store->blocks.free) + vec_bytes(&store->fresh) + vec_bytes(&store->rested) +
		vec_bytes(&store->fresh_rules) + vec_bytes(&store->rested_rules);
	LIST_FOREACH (text, &store->texts, link)
		bytes += sizeof(*text) + vec_bytes(&text->segments) + vec_bytes(&text->blocks) +
			 vec_bytes(&text->rules);
	pthread_mutex_unlock(&store->lock);
	return bytes;
}

size_t ep_delta_store_used_bytes(const struct ep_delta_store *store)
{
	return store->used_words * 4;
}
