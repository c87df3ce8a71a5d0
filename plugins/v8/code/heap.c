/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V8 6.2 and 6.8 (Node 8, 10) have their builtins in the heap, made when an isolate is, by the
 * snapshot. What the walk needs of them is where an interpreted frame returns to:
 * InterpreterEntryTrampoline, after its call of the first handler (builtins/x64/builtins-x64.cc,
 * 6.2 and 6.8: SetInterpreterEntryReturnPCOffset):
 *
 *	call *%rbx, or *%rcx		ff d3, ff d1
 *	mov -24(%rbp),%r14		4c 8b 75 e8	the array
 *	mov -32(%rbp),%r12, or %r9	4c 8b 65 e0, 4c 8b 4d e0	the offset, a Smi
 *
 * InterpreterEnterBytecode* do the same without the call. --interpreted-frames-native-stack copies
 * it for each function, and an isolate of a worker thread has its own: then no address is right for
 * all. Code pages are executable anonymous memory.
 */
#include "core/base/util.h"
#include "plugins/v8/v8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PIECE_BYTES (512u << 10)
#define MAX_BYTES   (8u << 20)
#define PATTERN	    10 /* bytes: the call, and the two loads */

struct code {
	const struct ep_unwinder_host *host;
	const struct ep_target *target;
	uint8_t load_array[4], load_off[4];
	uint8_t *piece;
	uint64_t bytes, found;
	uint32_t n_found;
	int result;
};

/* mov disp8(%rbp),%r8 to %r15. */
static void make_load(uint8_t ret[4], int32_t reg, int32_t slot)
{
	ret[0] = 0x4c;
	ret[1] = 0x8b;
	ret[2] = (uint8_t)(0x45 | ((uint32_t)reg & 7) << 3);
	ret[3] = (uint8_t)slot;
}

static void find_returns(struct code *code, uint64_t addr, size_t bytes)
{
	for (size_t i = 0; i + PATTERN <= bytes; i++) {
		const uint8_t *at = code->piece + i;

		if (at[0] != 0xff || (at[1] & 0xf8) != 0xd0 ||
		    memcmp(at + 2, code->load_array, 4) != 0 ||
		    memcmp(at + 6, code->load_off, 4) != 0)
			continue;
		code->found = addr + i + 2;
		code->n_found++;
	}
}

static int visit_mapping(void *arg, const struct ep_target_mapping *mapping)
{
	struct code *code = arg;

	if (mapping->is_file || !(mapping->prot & PROT_EXEC) || mapping->path[0] == '[')
		return 0;
	for (uint64_t addr = mapping->start; addr < mapping->end;
	     addr += PIECE_BYTES - (PATTERN - 1)) {
		size_t bytes = (size_t)EP_MIN(mapping->end - addr, (uint64_t)PIECE_BYTES);

		code->bytes += bytes;
		if (code->bytes > MAX_BYTES)
			return 1;
		code->result = code->host->target_read(code->target, addr, code->piece, bytes);
		if (code->result == 0)
			find_returns(code, addr, bytes);
		if (code->result == -ESRCH)
			return 1;
		if (bytes < PIECE_BYTES)
			break;
	}
	return 0;
}

int v8_heap_iet_return(const struct ep_unwinder_host *host, const struct ep_target *target,
		       const struct v8_layout *layout, uint64_t *ret)
{
	struct code code = {.host = host, .target = target};
	int r;

	if (layout->reg_bytecode_array < 8 || layout->reg_bytecode_off < 8)
		return -ENODATA;
	make_load(code.load_array, layout->reg_bytecode_array, layout->fp_bytecode_array);
	make_load(code.load_off, layout->reg_bytecode_off, layout->fp_bytecode_off);
	code.piece = malloc(PIECE_BYTES);
	if (!code.piece)
		return -ENOMEM;
	r = host->target_mappings(target, visit_mapping, &code);
	free(code.piece);
	if (r == 0 && code.result == -ESRCH)
		r = -ESRCH;
	if (r == 0 && code.n_found != 1)
		r = -ENODATA;
	if (r == 0)
		*ret = code.found;
	return r;
}

const char *v8_heap_builtin_name(void *executable, uint32_t id)
{
	const struct v8_metadata_table *table =
		&((struct v8_executable *)executable)->heap_builtins;

	return id < table->n ? table->names + table->rows[id].name : NULL;
}
