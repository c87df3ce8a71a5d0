/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/php/static.h"

#include "core/base/util.h"
#include "plugins/shared/read/file.h"

#include <stdio.h>
#include <string.h>

#define RODATA_BYTES (16u << 20) /* that of a static PHP has 5 MiB */
#define BSS_BYTES    (4u << 20)	 /* 137 KiB */

/* --- the release ------------------------------------------------------------------------------------- */

#define VERSION_TEXT  "X-Powered-By: PHP/" /* main/SAPI.h, SAPI_PHP_VERSION_HEADER */
#define VERSION_BYTES (sizeof(VERSION_TEXT) + 4)

static int visit_text(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	const uint8_t *end = bytes + len, *at = bytes;
	unsigned *found = arg;
	char number[6] = "";

	(void)va;
	while ((at = memmem(at, (size_t)(end - at), VERSION_TEXT, sizeof(VERSION_TEXT) - 1))) {
		if ((size_t)(end - at) < VERSION_BYTES)
			break;
		memcpy(number, at + sizeof(VERSION_TEXT) - 1, 5);
		if (sscanf(number, "%2u.%2u", &found[0], &found[1]) == 2)
			return 1;
		at++;
	}
	return 0;
}

int php_static_release(const struct ep_unwinder_host *host, const struct ep_file *file, uint32_t *ret_major,
		       uint32_t *ret_minor)
{
	unsigned found[2] = {0};
	int r = file_scan(host, file, ".rodata", VERSION_BYTES, visit_text, found);

	if (r < 0)
		return r;
	if (r == 0)
		return -ENODATA;
	*ret_major = found[0];
	*ret_minor = found[1];
	return 0;
}

bool php_static_may_be(const struct ep_unwinder_host *host, const struct ep_file *file)
{
	struct ep_symbol section;

	return host->file_section(file, ".dynsym", &section) < 0 && host->file_section(file, ".symtab", &section) < 0 &&
	       host->file_section(file, ".rodata", &section) == 0 && section.bytes <= RODATA_BYTES;
}

/* --- the loop -------------------------------------------------------------------------------------------- */

/* mov (%r15),%rax: the next handler, where the compiler has one jump for all (-Os). jmp *(%r15): where each handler has
 * its own. Of 64 KiB of other programs these have 61 at most, of PHP 960 and more. */
#define PIECE_BYTES (64u << 10)
#define LEAST	    400

struct densest {
	uint64_t first; /* of the last LEAST ones */
	uint64_t last[LEAST];
	uint32_t n;
};

static int visit_code(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct densest *found = arg;

	for (size_t i = 0; i + 3 <= len; i++) {
		uint64_t *oldest = &found->last[found->n % LEAST];

		if (memcmp(bytes + i, "\x49\x8b\x07", 3) != 0 && memcmp(bytes + i, "\x41\xff\x27", 3) != 0)
			continue;
		if (found->n >= LEAST && va + i - *oldest < PIECE_BYTES) {
			found->first = found->last[(found->n + LEAST / 2) % LEAST];
			return 1;
		}
		*oldest = va + i;
		found->n++;
	}
	return 0;
}

int php_static_loop(const struct ep_unwinder_host *host, const struct ep_file *file, struct ep_symbol *ret)
{
	struct densest found = {0};
	int r = file_scan(host, file, ".text", 0, visit_code, &found);

	if (r <= 0)
		return r < 0 ? r : -ENODATA;
	return host->file_function(file, found.first, ret);
}

/* --- the globals ----------------------------------------------------------------------------------------- */

/*
 * zend_globals.h of 7.3 to 8.6: uninitialized_zval, error_zval, symtable_cache of 32 pointers, symtable_cache_limit,
 * which is right behind it, and symtable_cache_ptr, into it (init_executor sets them).
 */
#define CACHE	    32
#define CACHE_LIMIT 288
#define IS_NULL	    1 /* zend_types.h */
#define IS_ERROR    15

static bool are_globals(const struct memory *memory, uint64_t globals)
{
	uint32_t zvals[8];

	return memory_read(memory, globals, zvals, sizeof(zvals)) == 0 && zvals[2] == IS_NULL && zvals[6] == IS_ERROR;
}

int php_static_globals(const struct memory *memory, uint64_t bss_addr, uint64_t bytes, __u64 *ret_addr)
{
	uint64_t words[512], end = bss_addr + EP_MIN(bytes, BSS_BYTES);

	/* Pieces overlap by a word. */
	for (uint64_t at = (bss_addr + 7) & ~7ull; at + 16 <= end; at += sizeof(words) - 8) {
		size_t n = (size_t)(EP_MIN(end - at, sizeof(words)) / 8);
		int r = memory_read(memory, at, words, n * 8);

		if (r < 0)
			return r;
		for (size_t i = 0; i + 1 < n; i++) {
			uint64_t limit = at + 8 * i, globals = limit - CACHE_LIMIT;

			if (words[i] != limit || words[i + 1] < globals + CACHE || words[i + 1] > limit ||
			    !are_globals(memory, globals))
				continue;
			*ret_addr = globals;
			return 0;
		}
	}
	return EP_NOT_YET;
}
