/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/ruby/symbolize/lines.h"

#include "core/base/util.h"
#include "plugins/ruby/ruby_shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IMMEDIATE	54u /* positions: IMMEDIATE_TABLE_SIZE */
#define IMMEDIATE_BYTES (IMMEDIATE / 9 * 8)
#define BLOCK		512u /* positions */
#define BLOCK_BYTES	80u
#define BLOCK_BITS	16u /* in a block */

struct parser {
	const struct ruby_body_layout *layout;
	const uint8_t *entries;
	uint32_t n_entries, positions;
	struct ruby_lines *lines;
};

/* From this position on it is the last of `count` entries; 0: of one that is not there. A table
 * that is wrong has no effect on those before. */
static void put(struct parser *parser, uint32_t position, uint32_t count)
{
	struct ruby_lines *lines = parser->lines;
	struct names_run *last = lines->len ? &lines->runs[lines->len - 1] : NULL;
	int32_t line = 0;

	if (!count || position >= parser->positions || (last && position <= last->start))
		return;
	if (count <= parser->n_entries) {
		line = (int32_t)ep_get_u32(parser->entries +
					   (size_t)(count - 1) * parser->layout->entry_bytes +
					   parser->layout->line_no);
		/* Instructions that the compiler added, to 2.7 (a block's end), are of the line
		 * before them. */
		if (line <= 0)
			return;
	}
	/* No more runs than entries and an end, whatever the table says. */
	if ((last && last->line == (uint32_t)line) || lines->len > parser->n_entries)
		return;
	lines->runs[lines->len++] = (struct names_run){position, (uint32_t)line};
}

static void parse_immediate(struct parser *parser, const uint8_t *table, size_t bytes)
{
	for (uint32_t at = 0; at < EP_MIN(parser->positions, IMMEDIATE); at++) {
		size_t word = at / 9 * 8;

		if (word + 8 > bytes)
			return;
		put(parser, at, ep_get_u64(table + word) >> at % 9 * 7 & 0x7f);
	}
}

static void parse_blocks(struct parser *parser, const uint8_t *table, size_t bytes)
{
	uint32_t start = IMMEDIATE;

	for (size_t at = IMMEDIATE_BYTES; at + BLOCK_BYTES <= bytes; at += BLOCK_BYTES) {
		uint32_t count = ep_get_u32(table + at);

		/* Also that of the block's first position, which may be of an entry before it. */
		put(parser, start, count);
		for (uint32_t i = 0; i < BLOCK / 64; i++) {
			uint64_t bits = ep_get_u64(table + at + BLOCK_BITS + i * 8);

			for (; bits; bits &= bits - 1)
				put(parser, start + i * 64 + (uint32_t)__builtin_ctzll(bits),
				    ++count);
		}
		start += BLOCK;
	}
}

static void parse_array(struct parser *parser, const uint8_t *table, size_t bytes)
{
	for (uint32_t i = 0; i < bytes / 4; i++)
		put(parser, ep_get_u32(table + (size_t)i * 4), i + 1);
}

int ruby_lines_parse(const struct ruby_body_layout *layout, uint32_t positions,
		     const uint8_t *table, size_t table_bytes, const uint8_t *entries,
		     uint32_t n_entries, struct ruby_lines *ret)
{
	struct parser parser = {layout, entries, n_entries, positions, ret};

	*ret = (struct ruby_lines){.runs = malloc((n_entries + 1) * sizeof(*ret->runs))};
	if (!ret->runs)
		return -ENOMEM;
	if (n_entries == 1) {
		put(&parser, 0, 1);
	} else if (layout->succ) {
		parse_immediate(&parser, table, table_bytes);
		parse_blocks(&parser, table, table_bytes);
	} else {
		parse_array(&parser, table, table_bytes);
	}
	return 0;
}

size_t ruby_succ_bytes(uint32_t positions)
{
	if (positions < IMMEDIATE)
		return (positions + 8u) / 9 * 8;
	return IMMEDIATE_BYTES + (size_t)(positions - IMMEDIATE + BLOCK - 1) / BLOCK * BLOCK_BYTES;
}

int ruby_lines_read(const struct memory *memory, const struct ruby_layout *layout,
		    const void *body_bytes, struct ruby_lines *ret)
{
	const uint8_t *body = body_bytes;
	const struct ruby_body_layout *at = &layout->body;
	uint32_t positions = EP_MIN(ep_get_u32(body + 4), RUBY_MAX_POSITIONS);
	uint32_t n = EP_MIN(ep_get_u32(body + at->info_size), RUBY_MAX_ENTRIES);
	size_t bytes = (size_t)n * at->entry_bytes;
	size_t table_bytes = at->succ ? ruby_succ_bytes(positions) : (size_t)n * 4;
	uint64_t table_addr = ep_get_u64(body + (at->succ ? at->succ : at->info + 8u));
	ep_autofree uint8_t *buf = malloc(bytes + table_bytes + 1);
	int r = 0;

	if (!buf)
		return -ENOMEM;
	if (n)
		r = memory_read(memory, ep_get_u64(body + at->info), buf, bytes);
	/* Of a process that has gone there may be its beginning. */
	if (r == -EFAULT && bytes > RUBY_KEPT_LINES) {
		n = RUBY_KEPT_LINES / at->entry_bytes;
		table_bytes = at->succ ? table_bytes : (size_t)(n + 1) * 4; /* where its end is */
		r = memory_read(memory, ep_get_u64(body + at->info), buf,
				(size_t)n * at->entry_bytes);
	}
	if (r == 0 && n > 1)
		r = memory_read(memory, table_addr, buf + bytes, table_bytes);
	return r < 0 ? r : ruby_lines_parse(at, positions, buf + bytes, table_bytes, buf, n, ret);
}

void ruby_lines_fini(struct ruby_lines *lines)
{
	free(lines->runs);
	*lines = (struct ruby_lines){0};
}
