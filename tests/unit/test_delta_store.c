/* SPDX-License-Identifier: Apache-2.0 */
/* The delta store over plain memory: what BPF would find in it is what the table says. */
#include "core/unwind/delta_store_internal.h"
#include "core/elf/file.h"
#include "core/unwind/blocks.h"
#include "core/unwind/table.h"
#include "tests/kit/test.h"

#include <errno.h>

struct fake_kernel {
	void *chunks[EP_MAX_CHUNKS];
	unsigned int added, removed;
	struct ep_rule rules[EP_MAX_RULES];
	uint32_t generation;
};

static int add_chunk(void *arg, uint32_t index, void **ret_memory)
{
	struct fake_kernel *kernel = arg;

	assert_null(kernel->chunks[index]);
	kernel->chunks[index] = calloc(1, EP_CHUNK_BYTES);
	kernel->added++;
	*ret_memory = kernel->chunks[index];
	return 0;
}

static void remove_chunk(void *arg, uint32_t index, void *memory)
{
	struct fake_kernel *kernel = arg;

	assert_ptr_equal(kernel->chunks[index], memory);
	free(memory);
	kernel->chunks[index] = NULL;
	kernel->removed++;
}

EP_TEST_RELEASES(ep_delta_store_free)

static struct ep_delta_store *new_store(struct fake_kernel *kernel, size_t max_bytes)
{
	struct ep_delta_store_ops ops = {
		.arg = kernel,
		.add_chunk = add_chunk,
		.remove_chunk = remove_chunk,
		.rules = kernel->rules,
		.generation = &kernel->generation,
	};
	struct ep_delta_store *store = NULL;

	memset(kernel, 0, sizeof(*kernel));
	assert_int_equal(ep_delta_store_new(&ops, max_bytes, &store), 0);
	ep_test_owns(store, ep_delta_store_free_made);
	return store;
}

/* The look-up of bpf/native.bpf.h, written down plainly. */
static uint32_t find_in_kernel(const struct fake_kernel *kernel,
			       const struct ep_delta_store_segment *segment, uint64_t va)
{
	const uint32_t *chunk = kernel->chunks[EP_REF_CHUNK(segment->pages)];
	uint32_t index = (uint32_t)((va - segment->va) >> EP_PAGE_SHIFT), rule = EP_RULE_NONE;
	uint64_t page;

	memcpy(&page, chunk + EP_REF_WORD(segment->pages) + 2 * index, sizeof(page));
	if (EP_PAGE_COUNT(page) == 0)
		return EP_PAGE_REF(page);
	chunk = kernel->chunks[EP_REF_CHUNK(EP_PAGE_REF(page))];
	for (uint32_t i = 0; i < EP_PAGE_COUNT(page); i++) {
		uint32_t delta = chunk[EP_REF_WORD(EP_PAGE_REF(page)) + i];

		if (delta >> 20 > (va & (EP_PAGE_BYTES - 1)))
			break;
		rule = EP_DELTA_RULE(delta);
	}
	return rule;
}

static bool same_rule(const struct fake_kernel *kernel, const struct ep_unwind_table *table,
		      uint32_t stored, uint32_t wanted)
{
	if ((wanted & EP_RULE_IMMEDIATE) || wanted < EP_RULE_FIRST_TABLE)
		return stored == wanted;
	return memcmp(&kernel->rules[stored - EP_RULE_FIRST_TABLE],
		      &table->rules[wanted - EP_RULE_FIRST_TABLE], sizeof(struct ep_rule)) == 0;
}

static void compare_all(const struct fake_kernel *kernel, const struct ep_unwind_table *table,
			const struct ep_delta_store_text *text)
{
	const struct ep_delta_store_segment *segments;
	size_t n = ep_delta_store_text_segments(text, &segments);

	assert_int_equal(n, table->n_segments);
	for (size_t i = 0; i < n; i++) {
		uint64_t end = segments[i].va + (uint64_t)segments[i].n_pages * EP_PAGE_BYTES;

		for (uint64_t va = segments[i].va; va < end; va += 3) {
			uint32_t stored = find_in_kernel(kernel, &segments[i], va);

			if (!same_rule(kernel, table, stored, ep_unwind_table_find(table, va)))
				fail_msg("va 0x%llx: rule 0x%x", (unsigned long long)va, stored);
		}
	}
}

static struct ep_unwind_table *build_own_table(void)
{
	struct ep_unwind_table *table = NULL;
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;

	assert_int_equal(ep_elf_open("/proc/self/exe", &elf), 0);
	assert_int_equal(ep_unwind_table_build(elf, NULL, &table), 0);
	return table;
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fake_kernel));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

#define FAKE_KERNEL_TEST(name) EP_TEST_ON(name, struct fake_kernel *kernel, setup, teardown)

FAKE_KERNEL_TEST(equal_texts_are_one_and_leave_nothing)
{
	struct ep_delta_store *store = new_store(kernel, 64u << 20);
	struct ep_unwind_table *table = build_own_table();
	struct ep_delta_store_text *texts[40], *other;
	size_t used;

	assert_int_equal(ep_delta_store_put_text(store, table, &texts[0]), 0);
	compare_all(kernel, table, texts[0]);
	used = ep_delta_store_used_bytes(store);
	for (size_t i = 1; i < EP_LEN(texts); i++) {
		assert_int_equal(ep_delta_store_put_text(store, table, &texts[i]), 0);
		assert_ptr_equal(texts[i], texts[0]);
	}
	assert_int_equal(ep_delta_store_used_bytes(store), used);
	assert_true(EP_LEN(texts) * ep_delta_store_text_bytes(texts[0]) <= used);
	for (size_t i = 1; i < EP_LEN(texts); i++)
		ep_delta_store_drop_text(store, texts[i]);
	compare_all(kernel, table, texts[0]);
	table->deltas[table->n_deltas - 1] ^= EP_DELTA(1, 0);
	assert_int_equal(ep_delta_store_put_text(store, table, &other), 0);
	assert_ptr_not_equal(other, texts[0]);
	compare_all(kernel, table, other);
	ep_delta_store_drop_text(store, other);
	ep_delta_store_drop_text(store, texts[0]);
	assert_int_equal(ep_delta_store_used_bytes(store), 0);
	ep_delta_store_collect(store);
	ep_delta_store_collect(store);
	assert_int_equal(ep_delta_store_bytes(store), EP_CHUNK_BYTES);
	ep_unwind_table_free(table);
	ep_test_release(store);
	assert_int_equal(kernel->added, kernel->removed);
}

FAKE_KERNEL_TEST(freed_words_rest_before_they_are_used_again)
{
	struct ep_delta_store *store = new_store(kernel, 64u << 20);
	struct ep_row row = {.start = 1, .end = 2};
	uint32_t first, second, third;

	assert_int_equal(ep_delta_store_put_rows(store, &row, 1, &first), 0);
	ep_delta_store_drop_rows(store, first, 1);
	assert_int_equal(ep_delta_store_put_rows(store, &row, 1, &second), 0);
	assert_int_not_equal(first, second);
	ep_delta_store_collect(store);
	ep_delta_store_collect(store);
	assert_int_equal(ep_delta_store_put_rows(store, &row, 1, &third), 0);
	assert_int_equal(first, third);
}

/* A table of so many pages without rules, which has two words for each. */
static struct ep_delta_store_text *put_pages(struct ep_delta_store *store, uint64_t va, uint32_t n)
{
	static uint64_t pages[400];
	struct ep_unwind_segment segment = {.va = va, .n_pages = n};
	struct ep_unwind_table table = {.segments = &segment, .n_segments = 1, .pages = pages, .n_pages = n};
	struct ep_delta_store_text *text = NULL;

	assert_true(n <= EP_LEN(pages));
	assert_int_equal(ep_delta_store_put_text(store, &table, &text), 0);
	return text;
}

/* Between two tables, of which the first is shorter than a row, where there is no chunk for tables alone. */
FAKE_KERNEL_TEST(room_for_rows_is_where_rows_can_be)
{
	static const struct ep_row rows[800 * 4 / sizeof(struct ep_row)];
	const uint32_t words = sizeof(rows) / 4;
	struct ep_delta_store *store = new_store(kernel, EP_CHUNK_BYTES);
	struct ep_delta_store_text *before = put_pages(store, 0x1000, 1), *text = put_pages(store, 0x2000, words / 2),
				   *after = put_pages(store, 0x1000000, 1);
	uint32_t ref;

	while (ep_delta_store_put_rows(store, rows, EP_LEN(rows), &ref) == 0)
		;
	ep_delta_store_drop_text(store, text);
	ep_delta_store_collect(store);
	ep_delta_store_collect(store);
	assert_int_equal(ep_delta_store_put_rows(store, rows, EP_LEN(rows), &ref), -ENOSPC);
	store->max_bytes = 2 * EP_CHUNK_BYTES;
	assert_int_equal(ep_delta_store_add_room(store, words), 0);
	assert_int_equal(kernel->added, 2);
	assert_int_equal(ep_delta_store_put_rows(store, rows, EP_LEN(rows), &ref), 0);
	ep_delta_store_drop_text(store, before);
	ep_delta_store_drop_text(store, after);
}

FAKE_KERNEL_TEST(freed_rules_rest_too)
{
	struct ep_delta_store *store = new_store(kernel, 64u << 20);
	struct ep_rule old = {.cfa_off = 1}, new = {.cfa_off = 2}, newer = {.cfa_off = 3};
	struct ep_unwind_table table = {.rules = &old, .n_rules = 1};
	struct ep_rule again[] = {{.cfa_off = 3}, {.cfa_off = 4}, {.cfa_off = 5}};
	struct ep_delta_store_text *text = NULL, *texts[EP_LEN(again)];
	uint32_t seen = 0;

	assert_int_equal(ep_delta_store_put_text(store, &table, &text), 0);
	ep_delta_store_drop_text(store, text);
	table.rules = &new;
	assert_int_equal(ep_delta_store_put_text(store, &table, &text), 0);
	assert_memory_equal(&kernel->rules[0], &old, sizeof(old));
	assert_memory_equal(&kernel->rules[1], &new, sizeof(new));
	ep_delta_store_drop_text(store, text);
	assert_true(ep_delta_store_has_freed(store));
	ep_delta_store_collect(store);
	ep_delta_store_collect(store);
	assert_false(ep_delta_store_has_freed(store));
	table.rules = &newer;
	assert_int_equal(ep_delta_store_put_text(store, &table, &text), 0);
	assert_true(kernel->rules[0].cfa_off == 3 || kernel->rules[1].cfa_off == 3);
	ep_delta_store_drop_text(store, text);
	ep_delta_store_collect(store);
	ep_delta_store_collect(store);
	/* Each has a number of its own, also the one that had one before. */
	for (size_t i = 0; i < EP_LEN(again); i++) {
		table.rules = &again[i];
		assert_int_equal(ep_delta_store_put_text(store, &table, &texts[i]), 0);
	}
	for (size_t i = 0; i < EP_LEN(again); i++)
		seen |= 1u << kernel->rules[i].cfa_off;
	assert_int_equal(seen, 1u << 3 | 1u << 4 | 1u << 5);
	for (size_t i = 0; i < EP_LEN(again); i++)
		ep_delta_store_drop_text(store, texts[i]);
}

/* Rows have serial numbers: what is remembered of other processes holds when one ends. */
FAKE_KERNEL_TEST(tables_used_again_are_another_generation)
{
	struct ep_delta_store *store = new_store(kernel, 64u << 20);
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *table = build_own_table();
	struct ep_delta_store_text *text;
	struct ep_row row = {.start = 1, .end = 2};
	uint32_t ref;

	kernel->generation = UINT32_MAX;
	assert_int_equal(ep_delta_store_put_text(store, table, &text), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(ep_delta_store_put_rows(store, &row, 1, &ref), 0);
		ep_delta_store_drop_rows(store, ref, 1);
		ep_delta_store_collect(store);
		assert_int_equal(kernel->generation, UINT32_MAX);
	}
	ep_delta_store_drop_text(store, text);
	ep_delta_store_collect(store);
	assert_int_equal(kernel->generation, UINT32_MAX); /* it waits */
	ep_delta_store_collect(store);
	assert_int_equal(kernel->generation, 1); /* 0 would be nobody's */
	ep_delta_store_collect(store);
	assert_int_equal(kernel->generation, 1);
}

FAKE_KERNEL_TEST(limit_is_kept)
{
	struct ep_delta_store *store = new_store(kernel, EP_CHUNK_BYTES);
	ep_cleanup(ep_unwind_table_freep) struct ep_unwind_table *table = build_own_table();
	struct ep_delta_store_text *texts[1000];
	size_t n = 0;
	int r;

	while ((r = ep_delta_store_put_text(store, table, &texts[n])) == 0 &&
	       n < EP_LEN(texts) - 1) {
		n++;
		table->segments[0].va += EP_PAGE_BYTES; /* equal ones would be one */
	}
	assert_int_equal(r, -E2BIG);
	while (n > 0)
		ep_delta_store_drop_text(store, texts[--n]);
	assert_int_equal(ep_delta_store_bytes(store), EP_CHUNK_BYTES);
}

/* --- chunks that are emptied ----------------------------------------------------------------- */

#define MANY   160
#define PAGES  100
#define DELTAS 200 /* of a page: a text has 80 KiB */

struct spread {
	struct ep_delta_store *store;
	struct ep_unwind_table table; /* each text's is the same, further up */
	struct ep_unwind_segment segment;
	uint64_t pages[PAGES];
	uint32_t deltas[PAGES * DELTAS];
	struct ep_rule rule;
	struct ep_delta_store_text *texts[MANY]; /* NULL: dropped */
	uint32_t rows[MANY]; /* one of each, of its first segment */
};

static uint64_t shift_of(size_t i)
{
	return (uint64_t)i << 32;
}

/* Each page with deltas of its own, under rules that are in them or in the table; each tenth without. */
static void make_table(struct spread *spread)
{
	spread->segment = (struct ep_unwind_segment){.va = 0x1000, .n_pages = PAGES};
	spread->rule = (struct ep_rule){.cfa_off = 8};
	for (uint32_t i = 0; i < PAGES; i++) {
		spread->pages[i] = i % 10 ? EP_PAGE(DELTAS, i * DELTAS) : EP_PAGE(0, EP_RULE_FIRST_TABLE);
		for (uint32_t j = 0; j < DELTAS; j++)
			spread->deltas[i * DELTAS + j] =
				EP_DELTA(j * 20, j % 3 ? EP_RULE_IMMEDIATE | (i * DELTAS + j) % 1000 : EP_RULE_FIRST_TABLE);
	}
	spread->table = (struct ep_unwind_table){
		.segments = &spread->segment, .n_segments = 1, .pages = spread->pages, .n_pages = PAGES,
		.deltas = spread->deltas, .n_deltas = PAGES * DELTAS, .rules = &spread->rule, .n_rules = 1,
	};
}

static void shift(struct spread *spread, size_t i)
{
	spread->segment.va = (uint32_t)spread->segment.va + shift_of(i);
}

static const struct ep_delta_store_segment *first_segment(const struct ep_delta_store_text *text)
{
	const struct ep_delta_store_segment *segments;

	assert_true(ep_delta_store_text_segments(text, &segments) > 0);
	return &segments[0];
}

static void put_spread(struct fake_kernel *kernel, struct spread *spread)
{
	spread->store = new_store(kernel, 64u << 20);
	make_table(spread);
	for (size_t i = 0; i < MANY; i++) {
		struct ep_row row = {.start = 1, .end = 2};

		shift(spread, i);
		assert_int_equal(ep_delta_store_put_text(spread->store, &spread->table, &spread->texts[i]), 0);
		row.pages = first_segment(spread->texts[i])->pages + 2;
		assert_int_equal(ep_delta_store_put_rows(spread->store, &row, 1, &spread->rows[i]), 0);
	}
}

static void drop_spread(struct spread *spread, size_t i)
{
	ep_delta_store_drop_rows(spread->store, spread->rows[i], 1);
	ep_delta_store_drop_text(spread->store, ep_take(spread->texts[i]));
}

static void end_spread(struct spread *spread)
{
	for (size_t i = 0; i < MANY; i++) {
		if (spread->texts[i])
			drop_spread(spread, i);
	}
}

static void follow(struct spread *spread)
{
	for (size_t i = 0; i < MANY; i++) {
		if (spread->texts[i])
			ep_delta_store_follow_moves(spread->store, spread->rows[i], 1);
	}
}

static void compare_spread(const struct fake_kernel *kernel, struct spread *spread)
{
	for (size_t i = 0; i < MANY; i++) {
		const struct ep_row *row;

		if (!spread->texts[i])
			continue;
		row = (const struct ep_row *)ep_delta_store_words(spread->store, spread->rows[i]);
		assert_int_equal(row->pages, first_segment(spread->texts[i])->pages + 2);
		shift(spread, i);
		compare_all(kernel, &spread->table, spread->texts[i]);
	}
}

static unsigned int chunks_of(const struct spread *spread)
{
	return (unsigned int)(ep_delta_store_bytes(spread->store) / EP_CHUNK_BYTES);
}

/* As the agent does, each second. */
static void tidy(struct spread *spread, unsigned int seconds)
{
	while (seconds-- > 0) {
		if (ep_delta_store_compact(spread->store))
			follow(spread);
		ep_delta_store_collect(spread->store);
	}
}

FAKE_KERNEL_TEST(tables_of_a_few_hold_no_more_chunks_than_they_need)
{
	static struct spread spread;
	unsigned int before;
	size_t used;

	put_spread(kernel, &spread);
	before = chunks_of(&spread);
	for (size_t i = 0; i < MANY; i++) {
		if (i % 8)
			drop_spread(&spread, i);
	}
	used = ep_delta_store_used_bytes(spread.store);
	for (unsigned int second = 0; second < 100; second++) {
		tidy(&spread, 1);
		if (second == 5)
			compare_spread(kernel, &spread);
	}
	compare_spread(kernel, &spread);
	assert_int_equal(ep_delta_store_used_bytes(spread.store), used);
	/* The first, for rows, and half a chunk that is free beside what is used. */
	assert_in_range(chunks_of(&spread), 2, 2 + (used + EP_CHUNK_BYTES / 2) / EP_CHUNK_BYTES);
	assert_true(chunks_of(&spread) < before / 2);
	end_spread(&spread);
}

/* BPF that has read a row, or a page entry, before it was written anew goes on in the old copy. */
FAKE_KERNEL_TEST(what_was_moved_is_still_where_it_was)
{
	static struct spread spread;
	uint32_t old[MANY];
	bool moved = false;

	put_spread(kernel, &spread);
	for (size_t i = 0; i < MANY; i++) {
		if (i % 8)
			drop_spread(&spread, i);
	}
	for (unsigned int second = 0; second < 20; second++) {
		for (size_t i = 0; i < MANY; i++)
			old[i] = spread.texts[i] ? first_segment(spread.texts[i])->pages : 0;
		if (ep_delta_store_compact(spread.store))
			follow(&spread);
		ep_delta_store_collect(spread.store);
		for (size_t i = 0; i < MANY; i++) {
			struct ep_delta_store_segment segment;
			uint64_t end;

			if (!spread.texts[i] || old[i] == first_segment(spread.texts[i])->pages)
				continue;
			segment = *first_segment(spread.texts[i]);
			end = segment.va + (uint64_t)segment.n_pages * EP_PAGE_BYTES;
			for (uint64_t va = segment.va; va < end; va += 5) {
				uint32_t rule = find_in_kernel(kernel, &segment, va);

				segment.pages = old[i];
				assert_int_equal(find_in_kernel(kernel, &segment, va), rule);
				segment.pages = first_segment(spread.texts[i])->pages;
			}
			moved = true;
		}
	}
	assert_true(moved);
	end_spread(&spread);
}

/* What the kernel has of a fork's child refers to its parent's rows: they stay where they are. */
FAKE_KERNEL_TEST(chunk_with_rows_is_not_emptied)
{
	static struct spread spread;
	ep_autofree struct ep_row *rows = calloc(EP_MAX_ROWS, sizeof(*rows));
	uint32_t first, ref;

	assert_non_null(rows);
	put_spread(kernel, &spread);
	/* More than the first chunk has space for. */
	assert_int_equal(ep_delta_store_put_rows(spread.store, rows, EP_MAX_ROWS, &first), 0);
	assert_int_equal(ep_delta_store_add_room(spread.store, EP_MAX_ROWS * 8), 0);
	assert_int_equal(ep_delta_store_put_rows(spread.store, rows, EP_MAX_ROWS, &ref), 0);
	assert_int_not_equal(EP_REF_CHUNK(ref), 0);
	for (size_t i = 0; i < MANY; i++) {
		if (i % 8 || EP_REF_CHUNK(first_segment(spread.texts[i])->pages) == EP_REF_CHUNK(ref))
			drop_spread(&spread, i);
	}
	tidy(&spread, 100);
	assert_non_null(ep_delta_store_chunk(spread.store, EP_REF_CHUNK(ref)));
	compare_spread(kernel, &spread);
	ep_delta_store_drop_rows(spread.store, first, EP_MAX_ROWS);
	ep_delta_store_drop_rows(spread.store, ref, EP_MAX_ROWS);
	end_spread(&spread);
}

FAKE_KERNEL_TEST(nothing_is_moved_while_it_is_read)
{
	static struct spread spread;
	unsigned int before;

	put_spread(kernel, &spread);
	for (size_t i = 0; i < MANY; i++) {
		if (i % 8)
			drop_spread(&spread, i);
	}
	ep_delta_store_collect(spread.store);
	ep_delta_store_collect(spread.store);
	before = chunks_of(&spread);
	spread.store->n_comparing = 1; /* a worker is between find_text and end_comparing */
	tidy(&spread, 50);
	assert_int_equal(chunks_of(&spread), before);
	spread.store->n_comparing = 0;
	tidy(&spread, 50);
	assert_true(chunks_of(&spread) < before);
	end_spread(&spread);
}

/* Blocks that fit nowhere else: much is free, in pieces. */
FAKE_KERNEL_TEST(chunk_that_cannot_be_emptied_is_used_on)
{
	static uint64_t pages[50000];
	struct ep_unwind_segment segment = {.va = 0x1000, .n_pages = EP_LEN(pages)};
	struct ep_unwind_table table = {.segments = &segment, .n_segments = 1, .pages = pages, .n_pages = EP_LEN(pages)};
	struct ep_delta_store *store = new_store(kernel, 64u << 20);
	struct ep_delta_store_text *texts[20], *text;
	size_t bytes;

	for (size_t i = 0; i < EP_LEN(texts); i++) { /* two of them fill a chunk to three quarters */
		segment.va += (uint64_t)EP_LEN(pages) * EP_PAGE_BYTES;
		assert_int_equal(ep_delta_store_put_text(store, &table, &texts[i]), 0);
	}
	bytes = ep_delta_store_bytes(store);
	for (unsigned int i = 0; i < 10; i++) {
		(void)ep_delta_store_compact(store);
		ep_delta_store_collect(store);
		assert_int_equal(store->emptying, 0);
	}
	assert_int_equal(ep_delta_store_bytes(store), bytes);
	assert_int_equal(store->blocks.free_words + store->used_words, bytes / 4 - sizeof(struct ep_row) / 4);
	text = put_pages(store, 0x1000, 400);
	assert_int_equal(ep_delta_store_bytes(store), bytes);
	ep_delta_store_drop_text(store, text);
	for (size_t i = 0; i < EP_LEN(texts); i++)
		ep_delta_store_drop_text(store, texts[i]);
}

EP_TEST(blocks_merge_with_their_neighbours)
{
	ep_cleanup(ep_blocks_fini) struct ep_blocks blocks;
	struct ep_block a, b, c;

	ep_blocks_init(&blocks);
	assert_int_equal(ep_blocks_give(&blocks, (struct ep_block){EP_REF(3, 0), EP_CHUNK_WORDS}), 0);
	assert_int_equal(ep_blocks_take(&blocks, 0, 5, 1, &a), 0);
	assert_int_equal(ep_blocks_take(&blocks, 0, 8, 8, &b), 0);
	assert_int_equal(b.ref % 8, 0);
	assert_int_equal(ep_blocks_take(&blocks, 0, 100, 1, &c), 0);
	assert_false(ep_blocks_take_empty_chunk(&blocks, 3));
	assert_int_equal(ep_blocks_give(&blocks, b), 0);
	assert_int_equal(ep_blocks_give(&blocks, a), 0);
	assert_int_equal(ep_blocks_give(&blocks, c), 0);
	assert_int_equal(blocks.free.len, 1);
	assert_true(ep_blocks_take_empty_chunk(&blocks, 3));
	assert_int_equal(blocks.free_words, 0);
	assert_int_equal(ep_blocks_take(&blocks, 0, 1, 1, &a), -ENOSPC);
}

static struct ep_delta_store *chunk_store; /* of the test below */

static int add_chunk_unseen(void *arg, uint32_t index, void **ret_memory)
{
	/* The first one comes before there is a store to ask. */
	if (chunk_store)
		assert_null(ep_delta_store_chunk(chunk_store, index));
	return add_chunk(arg, index, ret_memory);
}

static void remove_chunk_unseen(void *arg, uint32_t index, void *memory)
{
	if (chunk_store)
		assert_null(ep_delta_store_chunk(chunk_store, index));
	remove_chunk(arg, index, memory);
}

FAKE_KERNEL_TEST(chunks_are_seen_while_they_are_there)
{
	struct ep_delta_store_ops ops = {.arg = kernel, .add_chunk = add_chunk_unseen,
					 .remove_chunk = remove_chunk_unseen,
					 .rules = kernel->rules};
	ep_autofree struct ep_row *rows = calloc(EP_MAX_ROWS, sizeof(*rows));
	uint32_t refs[3];

	assert_non_null(rows);
	memset(kernel, 0, sizeof(*kernel));
	chunk_store = NULL;
	assert_int_equal(ep_delta_store_new(&ops, 64u << 20, &chunk_store), 0);
	for (size_t i = 0; i < EP_LEN(refs); i++) {
		assert_int_equal(ep_delta_store_add_room(chunk_store, EP_MAX_ROWS * 8 + 8), 0);
		assert_int_equal(ep_delta_store_put_rows(chunk_store, rows, EP_MAX_ROWS, &refs[i]),
				 0);
		assert_ptr_equal(ep_delta_store_chunk(chunk_store, EP_REF_CHUNK(refs[i])),
				 kernel->chunks[EP_REF_CHUNK(refs[i])]);
	}
	assert_int_not_equal(EP_REF_CHUNK(refs[2]), 0);
	for (size_t i = 0; i < EP_LEN(refs); i++)
		ep_delta_store_drop_rows(chunk_store, refs[i], EP_MAX_ROWS);
	ep_delta_store_collect(chunk_store);
	ep_delta_store_collect(chunk_store);
	assert_int_not_equal(kernel->removed, 0);
	assert_null(ep_delta_store_chunk(chunk_store, EP_REF_CHUNK(refs[2])));
	assert_null(ep_delta_store_chunk(chunk_store, EP_MAX_CHUNKS));
	ep_delta_store_free(ep_take(chunk_store));
}
