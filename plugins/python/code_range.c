/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which code is the evaluation loop. Compilers split a function in two, and the "cold" part lies
 * far away without a symbol where .symtab was stripped. It may even be the larger one: in Debian's
 * 3.14 and 3.15 the loop itself is in it. But .eh_frame has its bounds, and the two jump into each
 * other:
 *
 *	_PyEval_EvalFrameDefault	e9 rel32, 0f 8x rel32 ──► somewhere in a function whose ...
 *	... jumps lead into the middle of _PyEval_EvalFrameDefault: that is its other part
 *
 * Jumps are looked for at every byte, decoded or not: that bytes which are no jump lead there and
 * back is too unlikely to matter.
 */
#include "plugins/python/python.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FUNCTION_BYTES (4u << 20)
#define MAX_LOOKUPS	   65536 /* of bounds, for jumps that seem to lead out */

static bool holds(const struct ep_symbol *range, uint64_t va)
{
	return va - range->va < range->bytes;
}

/* Target of the jump at `at`, 0: there is none. */
static uint64_t jump_target(const uint8_t *code, size_t bytes, size_t at, uint64_t va)
{
	int32_t rel;

	if (code[at] == 0xe9 && at + 5 <= bytes) {
		memcpy(&rel, code + at + 1, sizeof(rel));
		return va + at + 5 + (uint64_t)(int64_t)rel;
	}
	if (code[at] == 0x0f && at + 6 <= bytes && (code[at + 1] & 0xf0) == 0x80) {
		memcpy(&rel, code + at + 2, sizeof(rel));
		return va + at + 6 + (uint64_t)(int64_t)rel;
	}
	return 0;
}

/* The bytes of a range, or NULL. */
static uint8_t *read_code(const struct ep_unwinder_host *host, const struct ep_file *file,
			  const struct ep_symbol *range)
{
	uint8_t *code;

	if (range->bytes == 0 || range->bytes > MAX_FUNCTION_BYTES)
		return NULL;
	code = malloc(range->bytes);
	if (code && host->file_read(file, range->va, code, range->bytes) < 0) {
		free(code);
		return NULL;
	}
	return code;
}

/* True when a jump of `from` leads into `into`, but not to where that begins. */
static bool jumps_into(const struct ep_unwinder_host *host, const struct ep_file *file,
		       const struct ep_symbol *from, const struct ep_symbol *into)
{
	uint8_t *code = read_code(host, file, from);
	bool found = false;

	for (size_t i = 0; code && i < from->bytes && !found; i++) {
		uint64_t target = jump_target(code, from->bytes, i, from->va);

		found = target != into->va && holds(into, target);
	}
	free(code);
	return found;
}

static bool is_known(const struct ep_symbol *ranges, uint32_t n, uint64_t va)
{
	for (uint32_t i = 0; i < n; i++) {
		if (holds(&ranges[i], va))
			return true;
	}
	return false;
}

uint32_t py_find_code(const struct ep_unwinder_host *host, const struct ep_file *file,
		      const struct ep_symbol *eval, struct ep_symbol ranges[PY_MAX_CODE_RANGES])
{
	struct ep_symbol text, part;
	uint32_t n = 1, lookups = 0;
	uint8_t *code;

	ranges[0] = *eval;
	code = read_code(host, file, eval);
	if (host->file_section(file, ".text", &text) < 0)
		text = (struct ep_symbol){0};
	for (size_t i = 0; code && i < eval->bytes && n < PY_MAX_CODE_RANGES; i++) {
		uint64_t target = jump_target(code, eval->bytes, i, eval->va);

		if (!holds(&text, target) || is_known(ranges, n, target) || lookups++ > MAX_LOOKUPS)
			continue;
		if (host->file_function(file, target, &part) < 0 || is_known(ranges, n, part.va) ||
		    !jumps_into(host, file, &part, eval))
			continue;
		ranges[n++] = part;
	}
	free(code);
	return n;
}
