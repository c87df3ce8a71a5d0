/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers split a function in two, and the "cold" part lies far away without a symbol where
 * .symtab was stripped. It may even be the larger one: in Debian's CPython 3.14 and 3.15 the
 * evaluation loop itself is in it. But .eh_frame has its bounds, and the two jump into each other:
 *
 *	function	e9 rel32, 0f 8x rel32 ──► somewhere in a function whose ...
 *	... jumps lead into the middle of the first one: that is its other part
 *
 * Jumps are looked for at every byte, decoded or not: that bytes which are no jump lead there and
 * back is too unlikely to matter.
 */
#include "core/plugin/function_code.h"
#include "core/base/code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#define GETTER_BYTES 48
#define MAX_LOOKUPS  65536 /* of bounds, for jumps that seem to lead out */

static bool holds(const struct ep_symbol *range, uint64_t va)
{
	return va - range->va < range->bytes;
}

/* The bytes of a range, or NULL. */
static uint8_t *read_code(const struct ep_file *file, const struct ep_symbol *range)
{
	uint8_t *code;

	if (range->bytes == 0 || range->bytes > EP_MAX_FILE_READ)
		return NULL;
	code = malloc(range->bytes);
	if (code && file->ops->read(file->arg, range->va, code, range->bytes) < 0) {
		free(code);
		return NULL;
	}
	return code;
}

/* True when a jump of `from` leads into `into`, but not to where that begins. */
static bool jumps_into(const struct ep_file *file, const struct ep_symbol *from,
		       const struct ep_symbol *into)
{
	uint8_t *code = read_code(file, from);
	bool found = false;
	uint64_t target;

	for (size_t i = 0; code && i < from->bytes && !found; i++)
		found = ep_code_jump(code, from->bytes, i, from->va, &target) &&
			target != into->va && holds(into, target);
	free(code);
	return found;
}

static bool is_known(const struct ep_symbol *parts, uint32_t n, uint64_t va)
{
	for (uint32_t i = 0; i < n; i++) {
		if (holds(&parts[i], va))
			return true;
	}
	return false;
}

struct search {
	const struct ep_file *file;
	const struct ep_symbol *function;
	struct ep_symbol text;
	struct ep_symbol *parts;
	uint32_t n, lookups;
};

/* Takes the function at a jump's target, if it is a part. */
static void take_target(struct search *search, uint64_t target)
{
	const struct ep_file *file = search->file;
	struct ep_symbol part;

	if (!holds(&search->text, target) || is_known(search->parts, search->n, target) ||
	    search->lookups++ > MAX_LOOKUPS)
		return;
	if (file->ops->function(file->arg, target, &part) == 0 &&
	    !is_known(search->parts, search->n, part.va) &&
	    jumps_into(file, &part, search->function))
		search->parts[search->n++] = part;
}

uint32_t ep_function_parts(const struct ep_file *file, const struct ep_symbol *function,
			   struct ep_symbol *parts, uint32_t max)
{
	struct search search = {.file = file, .function = function, .parts = parts};
	uint8_t *code;
	uint64_t target;

	if (max == 0)
		return 0;
	parts[search.n++] = *function;
	if (file->machine != EM_X86_64)
		return search.n;
	code = read_code(file, function);
	if (file->ops->section(file->arg, ".text", &search.text) < 0)
		search.text = (struct ep_symbol){0};
	for (size_t i = 0; code && i < function->bytes && search.n < max; i++) {
		if (ep_code_jump(code, function->bytes, i, function->va, &target))
			take_target(&search, target);
	}
	free(code);
	return search.n;
}

static int read_getter(const struct ep_file *file, uint64_t va, uint8_t code[GETTER_BYTES])
{
	if (file->machine != EM_X86_64)
		return -ENOTSUP;
	return file->ops->read(file->arg, va, code, GETTER_BYTES);
}

int ep_function_variable(const struct ep_file *file, uint64_t va, struct ep_variable *ret)
{
	uint8_t code[GETTER_BYTES];
	int r = read_getter(file, va, code);

	return r < 0 ? r : ep_code_variable(code, sizeof(code), va, ret);
}

int ep_function_argument(const struct ep_file *file, uint64_t va, uint64_t *ret_va)
{
	uint8_t code[GETTER_BYTES];
	int r = read_getter(file, va, code);

	return r < 0 ? r : ep_code_argument(code, sizeof(code), va, ret_va);
}
