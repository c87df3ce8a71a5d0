/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/php/static.h"

#include "core/base/util.h"
#include "plugins/shared/read/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RODATA_BYTES (16u << 20) /* that of a static PHP has 5 MiB */
#define BSS_BYTES    (4u << 20)	 /* 137 KiB */

/* --- the release ------------------------------------------------------------------------------ */

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

int php_static_release(const struct ep_unwinder_host *host, const struct ep_file *file,
		       uint32_t *ret_major, uint32_t *ret_minor)
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

	return host->file_section(file, ".dynsym", &section) < 0 &&
	       host->file_section(file, ".symtab", &section) < 0 &&
	       host->file_section(file, ".rodata", &section) == 0 && section.bytes <= RODATA_BYTES;
}

/* --- code: the loop, and shapes --------------------------------------------------------------- */

/*
 * mov (%r15),%rax: the next handler, where the compiler has one jump for all (-Os). jmp *(%r15):
 * where each has its own. 64 KiB of other programs have 61 at most, the loop of PHP has 960 and
 * more.
 */
#define PIECE_BYTES (64u << 10)
#define LEAST	    400
#define SHAPE_BYTES 9

struct code {
	uint64_t middle; /* of LEAST ones in PIECE_BYTES */
	uint64_t last[LEAST];
	uint32_t n;
	const struct ep_unwinder_host *host;
	const struct ep_file *file;
	struct php_static_code *ret;
};

static void take_load(struct code *found, uint64_t va)
{
	uint64_t *oldest = &found->last[found->n % LEAST];

	if (!found->middle && found->n >= LEAST && va - *oldest < PIECE_BYTES)
		found->middle = found->last[(found->n + LEAST / 2) % LEAST];
	*oldest = va;
	found->n++;
}

/* What code without unwind tables begins with. */
static const struct {
	size_t off; /* in struct php_static_code */
	uint8_t n, bytes[9];
} shapes[] = {
	/* call *%r12; mov %eax,%edi; call */
	{offsetof(struct php_static_code, root_va), 6, {0x41, 0xff, 0xd4, 0x89, 0xc7, 0xe8}},
	/* lea -0x48(%rax),%rax; mov %rdx,0x30(%rax) */
	{offsetof(struct php_static_code, make_va),
	 8,
	 {0x48, 0x8d, 0x40, 0xb8, 0x48, 0x89, 0x50, 0x30}},
	/* lea -0x40(%rsp),%rsp; stmxcsr (%rsp) */
	{offsetof(struct php_static_code, jump_va),
	 9,
	 {0x48, 0x8d, 0x64, 0x24, 0xc0, 0x0f, 0xae, 0x1c, 0x24}},
};

static void take_shapes(struct code *found, uint64_t va, const uint8_t *bytes)
{
	struct ep_symbol function;

	for (size_t i = 0; i < EP_LEN(shapes); i++) {
		if (memcmp(bytes, shapes[i].bytes, shapes[i].n) == 0 &&
		    found->host->file_function(found->file, va, &function) == -ENODATA)
			memcpy((char *)found->ret + shapes[i].off, &va, sizeof(va));
	}
}

static int visit_code(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct code *found = arg;

	for (size_t i = 0; i + SHAPE_BYTES <= len; i++) {
		if (memcmp(bytes + i, "\x49\x8b\x07", 3) == 0 ||
		    memcmp(bytes + i, "\x41\xff\x27", 3) == 0)
			take_load(found, va + i);
		else if (bytes[i] == 0x48 || bytes[i] == 0x41)
			take_shapes(found, va + i, bytes + i);
	}
	return 0;
}

int php_static_code(const struct ep_unwinder_host *host, const struct ep_file *file,
		    struct php_static_code *ret)
{
	struct code found = {.host = host, .file = file, .ret = ret};
	int r;

	*ret = (struct php_static_code){0};
	r = file_scan(host, file, ".text", SHAPE_BYTES - 1, visit_code, &found);
	if (r < 0 || !found.middle)
		return r < 0 ? r : -ENODATA;
	return host->file_function(file, found.middle, &ret->loop);
}

/* --- the globals ------------------------------------------------------------------------------ */

/*
 * zend_globals.h of 7.3 to 8.6: uninitialized_zval, error_zval, symtable_cache of 32 pointers,
 * symtable_cache_limit, which is right after it, and symtable_cache_ptr, into it (init_executor
 * sets them).
 */
#define CACHE	    32
#define CACHE_LIMIT 288
#define IS_NULL	    1 /* zend_types.h */
#define IS_ERROR    15

static bool are_globals(const struct memory *memory, uint64_t globals)
{
	uint32_t zvals[8];

	return memory_read(memory, globals, zvals, sizeof(zvals)) == 0 && zvals[2] == IS_NULL &&
	       zvals[6] == IS_ERROR;
}

int php_static_globals(const struct memory *memory, uint64_t bss_addr, uint64_t bytes,
		       __u64 *ret_addr)
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

			if (words[i] != limit || words[i + 1] < globals + CACHE ||
			    words[i + 1] > limit || !are_globals(memory, globals))
				continue;
			*ret_addr = globals;
			return 0;
		}
	}
	return EP_NOT_YET;
}
