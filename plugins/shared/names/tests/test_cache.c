/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/shared/names/cache.h"
#include "tests/kit/heap.h"
#include "tests/kit/test.h"

enum { KIND = 1, OTHER_KIND };

struct kept {
	struct names_item item;
	struct names_item *other;
};

static unsigned int n_freed;

static void free_kept(struct names_item *item)
{
	names_item_unref(((struct kept *)item)->other);
	free(item);
	n_freed++;
}

EP_TEST_RELEASES(names_cache_free)

static struct names_cache *new_cache(size_t first, size_t second, size_t oversized)
{
	const struct names_budget budget = {.classes = {first, second}, .oversized = oversized};
	struct names_cache *cache;

	assert_int_equal(names_cache_new(&budget, &cache), 0);
	ep_test_owns(cache, names_cache_free_made);
	n_freed = 0;
	return cache;
}

static struct names_item *put_kept(struct names_cache *cache, uint8_t class, uint64_t key,
				   size_t bytes, struct names_item *other)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	assert_non_null(kept);
	kept->item = (struct names_item){
		.kind = KIND, .class = class, .key = {key}, .bytes = bytes, .free = free_kept};
	kept->other = other ? names_item_ref(other) : NULL;
	names_cache_put(cache, &kept->item);
	return &kept->item;
}

static void put(struct names_cache *cache, uint8_t class, uint64_t key, size_t bytes)
{
	names_item_unref(put_kept(cache, class, key, bytes, NULL));
}

static bool has(struct names_cache *cache, uint64_t key)
{
	return names_cache_peek(cache, KIND, key, 0, 0) != NULL;
}

#define CACHE_TEST(name, ...) EP_TEST_OF(name, struct names_cache *cache, new_cache(__VA_ARGS__))

CACHE_TEST(what_was_used_longest_ago_goes_first, 1000, 0, 0)
{
	struct names_item *method = put_kept(cache, 0, 1, 300, NULL);
	size_t empty = names_cache_bytes(cache) - 300;

	names_item_unref(put_kept(cache, 0, 2, 300, method));
	names_item_unref(method);
	assert_true(has(cache, 1)); /* used last */
	put(cache, 0, 3, 300);
	put(cache, 0, 4, 300);
	assert_false(has(cache, 2));
	assert_true(has(cache, 1) && has(cache, 3) && has(cache, 4));
	put(cache, 0, 3, 100); /* replaces */
	assert_true(has(cache, 3));
	assert_int_equal(names_cache_len(cache), 3);
	assert_int_equal(names_cache_bytes(cache), empty + 700);
	assert_int_equal(n_freed, 2);
	ep_test_release(cache);
	assert_int_equal(n_freed, 5);
	names_cache_free(NULL);
}

/* One that is referred to lives on, and counts. */
CACHE_TEST(what_is_referred_to_counts, 1000, 0, 0)
{
	struct names_item *held = put_kept(cache, 0, 1, 400, NULL);

	for (uint64_t key = 2; key < 12; key++)
		put(cache, 0, key, 300);
	assert_false(has(cache, 1));
	assert_true(has(cache, 11) && has(cache, 10));
	assert_false(has(cache, 9));
	assert_int_equal(n_freed, 8);
	names_item_unref(held);
	assert_int_equal(n_freed, 9);
	ep_test_release(cache);
	assert_int_equal(n_freed, 11);
}

CACHE_TEST(all_of_a_key_counts, 100000, 0, 0)
{
	struct names_item *item = calloc(1, sizeof(*item)), *found;

	*item = (struct names_item){.kind = KIND, .key = {1, 2, 3}, .bytes = sizeof(*item)};
	names_cache_put(cache, item);
	names_item_unref(item);
	found = names_cache_find(cache, KIND, 1, 2, 3);
	assert_ptr_equal(found, item);
	assert_null(names_cache_find(cache, OTHER_KIND, 1, 2, 3));
	assert_null(names_cache_find(cache, KIND, 0, 2, 3));
	assert_null(names_cache_find(cache, KIND, 1, 0, 3));
	/* Some of them are in the same bucket. */
	for (uint64_t i = 0; i < 1000; i++) {
		assert_null(names_cache_find(cache, KIND, 1, 2, 4 + i));
		assert_null(names_cache_find(cache, KIND, 1, 3 + i, 3));
		assert_null(names_cache_find(cache, KIND, 2 + i, 2, 3));
		assert_null(names_cache_find(cache, OTHER_KIND + (uint32_t)i, 1, 2, 3));
	}
	names_cache_remove(found);
	assert_null(names_cache_find(cache, KIND, 1, 2, 3));
	names_cache_remove(found); /* once more is no harm */
	names_item_unref(found);
	assert_int_equal(names_cache_len(cache), 0);
}

CACHE_TEST(classes_push_out_their_own_only, 1000, 500, 0)
{
	put(cache, 0, 1, 400);
	put(cache, 1, 2, 200);
	for (uint64_t key = 10; key < 20; key++)
		put(cache, 0, key, 400);
	assert_true(has(cache, 2));
	assert_false(has(cache, 1));
	for (uint64_t key = 20; key < 30; key++)
		put(cache, 1, key, 200);
	assert_true(has(cache, 19));
	assert_false(has(cache, 2));
}

CACHE_TEST(what_is_oversized_has_a_budget_of_its_own, 1000, 500, 2000)
{
	put(cache, 0, 1, 500); /* half: not oversized */
	put(cache, 0, 2, 501);
	put(cache, 1, 3, 251);
	put(cache, 0, 4, 1248);
	assert_true(has(cache, 1) && has(cache, 2) && has(cache, 3) && has(cache, 4));
	put(cache, 0, 5, 600);
	assert_true(has(cache, 1) && has(cache, 4) && has(cache, 5));
	assert_false(has(cache, 2) || has(cache, 3));
	put(cache, 0, 6, 2000);
	assert_true(has(cache, 1) && has(cache, 6));
	assert_false(has(cache, 4) || has(cache, 5));
	put(cache, 0, 7, 2001); /* is not kept, and pushes out nothing */
	assert_false(has(cache, 7));
	assert_true(has(cache, 1) && has(cache, 6));
	put(cache, 2, 8, 10); /* a class without a budget: oversized */
	assert_true(has(cache, 8));
	ep_test_release(cache);
	assert_int_equal(n_freed, 8);
}

#define OVERSIZED 5000

/* Oversized items, too, are found as they were when there are more buckets. */
CACHE_TEST(without_memory_for_buckets_chains_grow, 1 << 20, 0, 1 << 20)
{
	put(cache, 0, OVERSIZED, (1 << 19) + 1);
	for (uint64_t key = 0; key < 1000; key++) {
		heap_arm(2); /* the item's own is the first */
		put(cache, 0, key, 100);
	}
	(void)heap_disarm();
	for (uint64_t key = 0; key < 1000; key++)
		assert_true(has(cache, key));
	put(cache, 0, 1000, 100); /* grows now */
	assert_true(has(cache, OVERSIZED));
	for (uint64_t key = 0; key < 1001; key++)
		assert_true(has(cache, key));
}

CACHE_TEST(a_function_is_one_block, 4096, 0, 0)
{
	const uint16_t table[] = {1, 2, 3};
	struct names_function *made;

	for (uint64_t key = 1; key < 1000; key++) {
		assert_int_equal(names_function_new("name", "file", table, sizeof(table), &made),
				 0);
		made->item.key[0] = key;
		made->line = (uint32_t)key;
		names_cache_put(cache, &made->item);
		names_item_unref(&made->item);
		assert_in_range(names_cache_bytes(cache), 1, 8192);
	}
	assert_null(names_cache_peek(cache, 0, 1, 0, 0));
	made = names_cache_peek(cache, 0, 999, 0, 0);
	assert_non_null(made);
	assert_int_equal(made->line, 999);
	assert_string_equal(made->function, "name");
	assert_string_equal(made->file, "file");
	assert_int_equal(made->table_bytes, sizeof(table));
	assert_memory_equal(made->table, table, sizeof(table));
	heap_arm(1);
	assert_int_equal(names_function_new("name", "", NULL, 0, &made), -ENOMEM);
	for (unsigned int i = 1; i <= 2; i++) {
		heap_arm(i);
		assert_int_equal(names_cache_new(&(struct names_budget){0}, &cache), -ENOMEM);
	}
	(void)heap_disarm();
}

CACHE_TEST(what_has_no_name_is_copied, 0, 4096, 0)
{
	uint32_t data[] = {1, 2, 3};
	const uint32_t *kept;
	size_t bytes = 0;

	assert_null(names_cache_kept(cache, KIND, 7, 8, &bytes));
	assert_int_equal(names_cache_keep(cache, KIND, 1, 7, 8, data, sizeof(data)), 0);
	data[0] = 9;
	kept = names_cache_kept(cache, KIND, 7, 8, &bytes);
	assert_non_null(kept);
	assert_int_equal(bytes, sizeof(data));
	assert_int_equal(kept[0], 1);
	assert_null(names_cache_kept(cache, KIND, 7, 0, NULL));
	assert_null(names_cache_kept(cache, OTHER_KIND, 7, 8, NULL));
	heap_arm(1);
	assert_int_equal(names_cache_keep(cache, KIND, 1, 7, 9, data, sizeof(data)), -ENOMEM);
	(void)heap_disarm();
	for (uint64_t key = 0; key < 100; key++) /* within the budget of its class */
		assert_int_equal(names_cache_keep(cache, KIND, 1, 100, key, data, sizeof(data)), 0);
	assert_null(names_cache_kept(cache, KIND, 7, 8, NULL));
	assert_in_range(names_cache_bytes(cache), 1, 8192);
}
