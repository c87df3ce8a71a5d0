/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of lines. Whatever the bytes are the runs ascend, and are no more than the entries.
 *
 *	input	layout: 2 bits | positions, 2 bytes | entries, 1 byte | bytes
 */
#include "plugins/ruby/symbolize/lines.h"
#include "tests/kit/fuzz.h"

#define HEAD	  4
#define MAX_BYTES (1 << 16)

static const struct ruby_body_layout layouts[] = {
	{.entry_bytes = 12, .line_no = 4},
	{.succ = 144, .entry_bytes = 8},
	{.succ = 144, .entry_bytes = 12},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[2 * MAX_BYTES], table[2 * MAX_BYTES];
	const struct ruby_body_layout *layout = &layouts[size ? data[0] % 4 % 3 : 0];
	uint32_t positions, n;
	struct ruby_lines lines;
	size_t table_bytes;

	if (size < HEAD + 97)
		return 0;
	positions = (data[1] | (uint32_t)data[2] << 8) + 1;
	n = data[3];
	memset(bytes, 0, sizeof(bytes));
	for (size_t i = 0; i < 255 * 12; i++)
		bytes[i] = data[HEAD + i % (size - HEAD)];
	memset(table, 0, sizeof(table));
	table_bytes = layout->succ ? ruby_succ_bytes(positions) : n * 4u;
	memcpy(table, data + HEAD, size - HEAD < sizeof(table) ? size - HEAD : sizeof(table));
	if (ruby_lines_parse(layout, positions, table, table_bytes, bytes, n, &lines) < 0 ||
	    lines.len > n + 1)
		abort();
	for (size_t i = 1; i < lines.len; i++) {
		if (lines.runs[i].start <= lines.runs[i - 1].start ||
		    lines.runs[i].line == lines.runs[i - 1].line)
			abort();
	}
	ruby_lines_fini(&lines);
	return 0;
}
