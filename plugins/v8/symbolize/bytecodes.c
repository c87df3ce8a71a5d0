/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/bytecodes.h"

#include "core/base/util.h"
#include "plugins/v8/symbolize/positions.h"

#include <errno.h>

/* The first four in all of them: prefixes; an even one doubles what scales, an odd one makes it
 * four times. */
#define N_PREFIXES 4

struct table {
	uint16_t major, minor;
	uint32_t n;
	const char *operands;
};

static const struct table tables[] = {
#define V8_BYTECODES(major, minor, n, operands) {major, minor, n, operands},
#include "plugins/v8/symbolize/bytecodes.def"
#undef V8_BYTECODES
};

/* Bytecodes change with every minor version: what is between two of the tables has none. */
static const struct table *find_table(const struct v8_version *version)
{
	for (size_t i = 0; i < EP_LEN(tables); i++) {
		if (tables[i].major == version->major && tables[i].minor == version->minor)
			return &tables[i];
	}
	return NULL;
}

static uint32_t get_length(const struct table *table, const uint8_t *bytes, uint32_t n, uint32_t at)
{
	uint32_t scale = 1, length = 1, fixed, scalable;

	if (at >= n)
		return 0;
	if (bytes[at] < N_PREFIXES) {
		scale = bytes[at] & 1 ? 4 : 2;
		length++;
		at++;
	}
	if (at >= n || bytes[at] >= table->n)
		return 0;
	fixed = (uint32_t)(table->operands[2 * bytes[at]] - '0');
	scalable = (uint32_t)(table->operands[2 * bytes[at] + 1] - '0');
	length += fixed + scalable * scale;
	return length + (at - (scale > 1)) <= n ? length : 0;
}

uint32_t v8_bytecode_length(const struct v8_version *version, const uint8_t *bytes, uint32_t n,
			    uint32_t at)
{
	const struct table *table = find_table(version);

	return table ? get_length(table, bytes, n, at) : 0;
}

int v8_bytecodes_find(const struct v8_version *version, const struct v8_bytecodes *code,
		      uint32_t off, bool is_return, int32_t *ret)
{
	const struct table *table = find_table(version);
	uint32_t at = 0, bytecode = 0, length = 0;
	uint64_t end = 0, size;
	bool is_first = true;

	if (!table)
		return -ENOTSUP;
	while (v8_number(code->sizes, code->n_sizes, &at, 32, &size)) {
		end += (uint32_t)size;
		if (!is_first) {
			bytecode += length;
			length = get_length(table, code->bytes, code->n_bytes, bytecode);
			if (!length)
				return -EBADMSG;
		}
		if (is_return ? off <= end : off < end) {
			*ret = is_first ? V8_BEFORE_BYTECODES : (int32_t)bytecode;
			return 0;
		}
		is_first = false;
	}
	return -EBADMSG;
}
