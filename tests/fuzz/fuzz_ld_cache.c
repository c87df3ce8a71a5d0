/* SPDX-License-Identifier: Apache-2.0 */
/* ld.so.cache: what is found is a text inside the cache, and a search ends. */
#include "core/proc/ld_cache.h"
#include "tests/kit/fuzz.h"

#include <elf.h>

static void search(const struct ep_ld_cache *cache, uint16_t machine, const char *name)
{
	const char *start = cache->bytes.data, *path;
	uint64_t pos = 0, last = 0;

	while ((path = ep_ld_cache_next(cache, machine, name, &pos)) != NULL) {
		assert(path >= start && path + strlen(path) < start + cache->bytes.len);
		assert(pos > last && pos <= cache->n_entries);
		last = pos;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"libc.so.6", "libz.so.1", "libold.so.1", "", "l"};
	struct ep_ld_cache cache;

	if (ep_ld_cache_parse(data, size, &cache) < 0)
		return 0;
	for (size_t i = 0; i < EP_LEN(names); i++) {
		search(&cache, EM_X86_64, names[i]);
		search(&cache, EM_AARCH64, names[i]);
	}
	ep_ld_cache_fini(&cache);
	return 0;
}
