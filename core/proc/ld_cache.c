/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glibc sysdeps/generic/dl-cache.h, elf/cache.c and elf/dl-cache.c, read at tag glibc-2.36. Two
 * formats, each alone or the second after the first, aligned to eight bytes:
 *
 *	"ld.so-1.7.0" pad | n | n x { flags, key, value }                       | strings
 *	0                  12   16             4     4      4
 *
 *	"glibc-ld.so.cache" "1.1" | n | bytes of strings | byte order | ... | n x { flags, key,
 *	0                    17    20   24                 28           48          4      4
 *								value, osversion, hwcap } | strings
 *								4      4          8
 *
 * key and value are offsets of a name and a path: in the first from the end of its entries, in the
 * second from its "glibc-ld...". `flags` tells the kind of library: 3 is ELF for libc 6, the second
 * byte the architecture. Where both are, only the second is used, as the loader does.
 */
#include "core/proc/ld_cache.h"
#include "core/base/parse.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define OLD_MAGIC	"ld.so-1.7.0"
#define OLD_HEADER	16u
#define OLD_ENTRY	12u
#define NEW_MAGIC	"glibc-ld.so.cache1.1"
#define NEW_HEADER	48u
#define NEW_ENTRY	24u
#define NEW_ORDER_OFF	28u
#define ORDER_MASK	3u /* cache_file_new_flags_endian_mask; 0: a cache before 2.33 does not say */
#define ORDER_LITTLE	2u
#define FLAG_ELF_LIBC6	0x0003u
#define FLAG_X86_64	0x0300u /* FLAG_X8664_LIB64 */
#define FLAG_AARCH64	0x0a00u /* FLAG_AARCH64_LIB64 */

static uint32_t u32_at(const struct ep_ld_cache *cache, uint64_t off)
{
	uint32_t value;

	memcpy(&value, (const char *)cache->bytes.data + off, sizeof(value));
	return value;
}

static bool has_magic(const struct ep_ld_cache *cache, uint64_t off, const char *magic,
		      uint64_t header_bytes)
{
	return ep_in_bounds(off, header_bytes, cache->bytes.len) &&
	       memcmp((const char *)cache->bytes.data + off, magic, strlen(magic)) == 0;
}

static int take_entries(struct ep_ld_cache *cache, uint64_t off, uint64_t n, uint64_t entry_bytes)
{
	if (!ep_in_bounds(off, n * entry_bytes, cache->bytes.len))
		return -EBADMSG;
	cache->entries_off = off;
	cache->n_entries = n;
	cache->entry_bytes = entry_bytes;
	return 0;
}

static int parse_new(struct ep_ld_cache *cache, uint64_t off)
{
	uint8_t order;
	int r;

	if (!has_magic(cache, off, NEW_MAGIC, NEW_HEADER))
		return -EBADMSG;
	order = ((const uint8_t *)cache->bytes.data)[off + NEW_ORDER_OFF] & ORDER_MASK;
	if (order != 0 && order != ORDER_LITTLE)
		return -EBADMSG;
	r = take_entries(cache, off + NEW_HEADER, u32_at(cache, off + sizeof(NEW_MAGIC) - 1),
			 NEW_ENTRY);
	if (r == 0)
		cache->strings_off = off;
	return r;
}

static int parse_old(struct ep_ld_cache *cache)
{
	uint64_t end, n;
	int r;

	if (!has_magic(cache, 0, OLD_MAGIC, OLD_HEADER))
		return -EBADMSG;
	n = u32_at(cache, OLD_HEADER - sizeof(uint32_t));
	end = OLD_HEADER + n * OLD_ENTRY;
	r = take_entries(cache, OLD_HEADER, n, OLD_ENTRY);
	if (r < 0)
		return r;
	cache->strings_off = end;
	(void)parse_new(cache, EP_ALIGN_UP(end, 8));
	return 0;
}

static int parse(struct ep_ld_cache *cache)
{
	int r = parse_new(cache, 0);

	if (r < 0)
		r = parse_old(cache);
	if (r < 0)
		ep_ld_cache_fini(cache);
	return r;
}

static void init(struct ep_ld_cache *cache)
{
	*cache = (struct ep_ld_cache){0};
	ep_vec_init(&cache->bytes, 1, EP_LD_CACHE_MAX_BYTES);
}

/* What was read, or could not be: `r`. */
static int give(struct ep_ld_cache *cache, int r, struct ep_ld_cache *ret_cache)
{
	if (r < 0)
		ep_ld_cache_fini(cache);
	else
		r = parse(cache);
	if (r == 0)
		*ret_cache = *cache;
	return r;
}

int ep_ld_cache_read(const char *path, struct ep_ld_cache *ret_cache)
{
	struct ep_ld_cache cache;

	init(&cache);
	return give(&cache, ep_read_file(path, &cache.bytes), ret_cache);
}

int ep_ld_cache_parse(const void *data, size_t bytes, struct ep_ld_cache *ret_cache)
{
	struct ep_ld_cache cache;

	init(&cache);
	return give(&cache, bytes ? ep_vec_append(&cache.bytes, data, bytes) : 0, ret_cache);
}

void ep_ld_cache_fini(struct ep_ld_cache *cache)
{
	ep_vec_fini(&cache->bytes);
	*cache = (struct ep_ld_cache){0};
}

/* NULL when it does not end within the file. */
static const char *string_at(const struct ep_ld_cache *cache, uint32_t offset)
{
	uint64_t off = cache->strings_off + offset;
	const char *text = (const char *)cache->bytes.data + off;

	if (off >= cache->bytes.len || !memchr(text, '\0', cache->bytes.len - off))
		return NULL;
	return text;
}

static uint32_t flags_of(uint16_t machine)
{
	return FLAG_ELF_LIBC6 | (machine == EM_X86_64 ? FLAG_X86_64 : FLAG_AARCH64);
}

static const char *match(const struct ep_ld_cache *cache, uint64_t i, uint32_t flags,
			 const char *name)
{
	uint64_t off = cache->entries_off + i * cache->entry_bytes;
	uint64_t name_off = cache->strings_off + u32_at(cache, off + 4);
	size_t bytes = strlen(name) + 1;

	if (u32_at(cache, off) != flags || !ep_in_bounds(name_off, bytes, cache->bytes.len) ||
	    memcmp((const char *)cache->bytes.data + name_off, name, bytes) != 0)
		return NULL;
	return string_at(cache, u32_at(cache, off + 8));
}

const char *ep_ld_cache_next(const struct ep_ld_cache *cache, uint16_t machine, const char *name,
			     uint64_t *pos)
{
	uint32_t flags = flags_of(machine);

	while (*pos < cache->n_entries) {
		const char *path = match(cache, (*pos)++, flags, name);

		if (path)
			return path;
	}
	return NULL;
}
