/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/ld_cache.h"
#include "ld_cache_bytes.h"
#include "tests/kit/test.h"

#include <elf.h>

#define X86_64	0x0303
#define AARCH64 0x0a03
#define I386	0x0003

static const struct cache_entry entries[] = {
	{I386, "libc.so.6", "/lib/i386-linux-gnu/libc.so.6"},
	{X86_64, "libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6"},
	{X86_64, "libz.so.1", "/usr/lib/glibc-hwcaps/x86-64-v3/libz.so.1"},
	{X86_64, "libz.so.1", "/usr/lib/libz.so.1"},
	{AARCH64, "libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"},
};
static const struct cache_entry others[] = {{X86_64, "libold.so.1", "/usr/lib/libold.so.1"}};

static void check_found(const struct ep_ld_cache *cache, uint16_t machine, const char *name,
			const char *first, const char *second)
{
	const char *const expected[] = {first, second};
	uint64_t pos = 0;

	for (size_t i = 0; i < EP_LEN(expected); i++) {
		const char *path = ep_ld_cache_next(cache, machine, name, &pos);

		if (expected[i])
			assert_string_equal(path, expected[i]);
		else
			assert_null(path);
	}
	assert_null(ep_ld_cache_next(cache, machine, name, &pos));
}

static void check_all(const struct ep_ld_cache *cache)
{
	check_found(cache, EM_X86_64, "libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6", NULL);
	check_found(cache, EM_AARCH64, "libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", NULL);
	check_found(cache, EM_X86_64, "libz.so.1", entries[2].path, entries[3].path);
	check_found(cache, EM_X86_64, "libz.so", NULL, NULL);
	check_found(cache, EM_X86_64, "", NULL, NULL);
}

static void init(struct ep_vec *bytes)
{
	ep_vec_init(bytes, 1, 65536);
}

EP_TEST(test_new_format)
{
	struct ep_ld_cache cache;
	struct ep_vec bytes;

	for (uint8_t order = 0; order <= 3; order++) {
		int r;

		init(&bytes);
		put_new_cache(&bytes, entries, EP_LEN(entries), order);
		r = ep_ld_cache_parse(bytes.data, bytes.len, &cache);
		ep_vec_fini(&bytes);
		assert_int_equal(r, order == 0 || order == 2 ? 0 : -EBADMSG);
		if (r == 0) {
			check_all(&cache);
			ep_ld_cache_fini(&cache);
		}
	}
}

EP_TEST(test_old_format)
{
	struct ep_ld_cache cache;
	struct ep_vec bytes;

	init(&bytes);
	put_old_cache(&bytes, entries, EP_LEN(entries), NULL);
	assert_int_equal(ep_ld_cache_parse(bytes.data, bytes.len, &cache), 0);
	check_all(&cache);
	ep_ld_cache_fini(&cache);
	ep_vec_fini(&bytes);
}

/* `entries` are all there is; both vectors are done with. */
static void check_only_entries(struct ep_vec *inner, struct ep_vec *bytes)
{
	struct ep_ld_cache cache;

	assert_int_equal(ep_ld_cache_parse(bytes->data, bytes->len, &cache), 0);
	check_all(&cache);
	check_found(&cache, EM_X86_64, "libold.so.1", NULL, NULL);
	ep_ld_cache_fini(&cache);
	ep_vec_fini(inner);
	ep_vec_fini(bytes);
}

EP_TEST(test_of_both_the_new_one_counts)
{
	struct ep_vec inner, bytes;

	init(&inner);
	init(&bytes);
	put_new_cache(&inner, entries, EP_LEN(entries), 2);
	put_old_cache(&bytes, others, EP_LEN(others), &inner);
	check_only_entries(&inner, &bytes);
}

/* It has more entries than bytes: the old one before it is as good as without it. */
EP_TEST(test_a_new_one_that_is_broken_changes_nothing)
{
	struct ep_vec inner, bytes;
	uint32_t many = 1000000;

	init(&inner);
	init(&bytes);
	put_new_cache(&inner, others, EP_LEN(others), 2);
	memcpy((char *)inner.data + 20, &many, sizeof(many));
	put_old_cache(&bytes, entries, EP_LEN(entries), &inner);
	check_only_entries(&inner, &bytes);
}

/* Each shorter cache is refused, or finds less, and is never read beyond its end. */
EP_TEST(test_a_cache_that_is_cut_off)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;

	init(&bytes);
	put_new_cache(&bytes, entries, EP_LEN(entries), 2);
	for (size_t len = 0; len < bytes.len; len++) {
		struct ep_ld_cache cache;
		uint64_t pos = 0;
		int r = ep_ld_cache_parse(bytes.data, len, &cache);

		assert_int_equal(r, len < 48 + 24 * EP_LEN(entries) ? -EBADMSG : 0);
		if (r < 0)
			continue;
		assert_null(ep_ld_cache_next(&cache, EM_AARCH64, "libc.so.6", &pos));
		ep_ld_cache_fini(&cache);
	}
}

EP_TEST(test_no_cache)
{
	struct ep_ld_cache cache;

	assert_int_equal(ep_ld_cache_read("/nonexistent/ld.so.cache", &cache), -ENOENT);
	assert_int_equal(ep_ld_cache_read("/proc/self/stat", &cache), -EBADMSG);
}
