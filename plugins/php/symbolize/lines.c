/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/php/symbolize/lines.h"

#include "core/base/util.h"
#include "plugins/php/php_shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KIND_LINES 0x80
#define MAX_LINE   (1u << 28)

struct block {
	struct names_item item;
	uint32_t is_read; /* a bit each */
	uint32_t lines[PHP_BLOCK_OPS]; /* 0: it has none */
};

static struct block *block_find(const struct php_namer *namer, const struct php_lines *lines,
				uint32_t index)
{
	return names_cache_peek(namer->cache, KIND_LINES, lines->key[0], lines->key[1],
				index / PHP_BLOCK_OPS);
}

bool php_lines_find(const struct php_namer *namer, const struct php_lines *lines, uint32_t index,
		    uint32_t *ret_line)
{
	const struct block *block = block_find(namer, lines, index);

	if (!block || !(block->is_read & 1u << index % PHP_BLOCK_OPS))
		return false;
	*ret_line = block->lines[index % PHP_BLOCK_OPS];
	return true;
}

static uint32_t line_of(const struct php_lines *lines, const uint8_t *op)
{
	uint32_t line;

	memcpy(&line, op + PHP_OP_LINENO, sizeof(line));
	return line >= lines->start_line && line < MAX_LINE ? line : 0;
}

/* Of the whole block, or of the one opline. */
static int read_ops(const struct php_namer *namer, const struct php_lines *lines, uint32_t index,
		    struct block *block)
{
	uint32_t first = index - index % PHP_BLOCK_OPS, n = PHP_BLOCK_OPS;
	uint8_t ops[PHP_BLOCK_OPS * PHP_OP_BYTES];
	int r;

	if (lines->last > first)
		n = (uint32_t)EP_MIN((uint64_t)n, lines->last - first);
	r = memory_read(&namer->memory, lines->opcodes + (uint64_t)first * PHP_OP_BYTES, ops,
			n * PHP_OP_BYTES);
	if (r < 0) {
		first = index;
		n = 1;
		r = memory_read(&namer->memory, lines->opcodes + (uint64_t)index * PHP_OP_BYTES,
				ops, PHP_OP_BYTES);
	}
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		uint32_t at = (first + i) % PHP_BLOCK_OPS;

		block->lines[at] = line_of(lines, ops + (size_t)i * PHP_OP_BYTES);
		block->is_read |= 1u << at;
	}
	return r;
}

int php_lines_read(const struct php_namer *namer, const struct php_lines *lines, uint32_t index,
		   uint32_t *ret_line)
{
	struct block *known = block_find(namer, lines, index), *block = calloc(1, sizeof(*block));
	int r;

	if (!block)
		return -ENOMEM;
	if (known)
		*block = *known;
	block->item = (struct names_item){
		.kind = KIND_LINES,
		.key = {lines->key[0], lines->key[1], index / PHP_BLOCK_OPS},
		.bytes = sizeof(*block),
	};
	r = read_ops(namer, lines, index, block);
	if (r < 0) {
		free(block);
		return r;
	}
	*ret_line = block->lines[index % PHP_BLOCK_OPS];
	names_cache_put(namer->cache, &block->item);
	names_item_unref(&block->item);
	return 0;
}
