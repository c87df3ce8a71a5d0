/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of lines. Whatever the bytes are the runs ascend, and are no more than the entries; of a table that is right
 * each position has the line that looking it up has (iseq.c of 2.6 and newer: succ_index_lookup).
 *
 *	input	layout: 2 bits, right: 1 bit | positions, 2 bytes | entries, 1 byte | bytes
 */
#include "plugins/ruby/symbolize/lines.h"
#include "tests/kit/fuzz.h"

#define HEAD	  4
#define MAX_BYTES (1 << 16)

static const struct ruby_body_layout layouts[] = {
	{.entry_bytes = 12, .line_no = 4}, {.succ = 144, .entry_bytes = 8}, {.succ = 144, .entry_bytes = 12},
};

/* By its bits, one after the other. */
static void make_table(uint8_t *table, uint32_t positions, const uint8_t *is_start, uint32_t n, bool array)
{
	uint32_t count = 0;

	for (uint32_t at = 0; at < positions; at++) {
		uint32_t in = at - 54, block = 48 + in / 512 * 80;
		uint64_t word;

		if (!array && at >= 54 && in % 512 == 0)
			memcpy(table + block, &count, sizeof(count));
		if (count < n && (at == 0 || is_start[at % 97] & 1)) {
			if (array)
				memcpy(table + count * 4, &at, sizeof(at));
			else if (at >= 54)
				table[block + 16 + in % 512 / 8] |= (uint8_t)(1u << in % 8);
			count++;
		}
		if (!array && at < 54) {
			memcpy(&word, table + at / 9 * 8, sizeof(word));
			word |= (uint64_t)(count & 0x7f) << at % 9 * 7;
			memcpy(table + at / 9 * 8, &word, sizeof(word));
		}
	}
}

static uint32_t slow(const uint8_t *entries, const struct ruby_body_layout *layout, uint32_t position,
		     const uint8_t *is_start, uint32_t n)
{
	uint32_t count = 0, last = 0;
	int32_t line;

	for (uint32_t at = 0; at <= position; at++) {
		count += count < n && (at == 0 || is_start[at % 97] & 1);
		memcpy(&line, entries + (count - 1) * layout->entry_bytes + layout->line_no, sizeof(line));
		last = line > 0 ? (uint32_t)line : last;
	}
	return last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[2 * MAX_BYTES], table[2 * MAX_BYTES];
	const struct ruby_body_layout *layout = &layouts[size ? data[0] % 4 % 3 : 0];
	uint32_t positions, n;
	struct ruby_lines lines;
	size_t table_bytes;
	bool right;

	if (size < HEAD + 97)
		return 0;
	right = data[0] & 4;
	positions = (data[1] | (uint32_t)data[2] << 8) + 1;
	n = data[3];
	memset(bytes, 0, sizeof(bytes));
	for (size_t i = 0; i < 255 * 12; i++)
		bytes[i] = data[HEAD + i % (size - HEAD)];
	memset(table, 0, sizeof(table));
	table_bytes = layout->succ ? ruby_succ_bytes(positions) : n * 4u;
	if (right)
		make_table(table, positions, data + HEAD, n, !layout->succ);
	else
		memcpy(table, data + HEAD, size - HEAD < sizeof(table) ? size - HEAD : sizeof(table));
	/* An array has as many positions as entries. */
	if (right && !layout->succ)
		for (uint32_t i = 1; i < n; i++)
			n = ((uint32_t *)(void *)table)[i] ? n : i;
	if (ruby_lines_parse(layout, positions, table, table_bytes, bytes, n, &lines) < 0 || lines.len > n + 1)
		abort();
	for (size_t i = 1; i < lines.len; i++) {
		if (lines.runs[i].start <= lines.runs[i - 1].start || lines.runs[i].line == lines.runs[i - 1].line)
			abort();
	}
	for (uint32_t at = 0; right && n > 1 && at < positions; at += 1 + at / 64) {
		if (ruby_lines_find(lines.runs, lines.len, at) != slow(bytes, layout, at, data + HEAD, n))
			abort();
	}
	ruby_lines_fini(&lines);
	return 0;
}
