/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of positions (codegen/source-position-table.cc): pairs that count on from (0, 0), each
 * number 7 bits a byte, lower ones first:
 *
 *	bytes of code: zig-zag, negative (-n - 1) of an expression; from 14.x on n << 2 | flags
 *	position: zig-zag of the difference of two SourcePositions, 64 bits
 *
 * A SourcePosition (codegen/source-position.h) has the place in the script + 1, and above it which
 * inlined call it is in + 1; bit 0, from 7.x on, says that it is of another kind of file (Torque).
 */
#ifndef V8_POSITIONS_H
#define V8_POSITIONS_H

#include "plugins/v8/layout.h"

#define V8_NOT_INLINED (-1)

struct v8_position {
	int64_t code_off;
	int32_t script_off; /* -1: none */
	int32_t inlining;   /* V8_NOT_INLINED, or which of the inlined calls */
};

struct v8_positions {
	const struct v8_layout *layout;
	const uint8_t *bytes;
	uint32_t n, at;
	int64_t code_off;
	uint64_t raw;
};

/* A number of up to `bits` bits, 7 in a byte, lower ones first. False: it does not end within n
 * bytes. */
static inline bool v8_number(const uint8_t *bytes, uint32_t n, uint32_t *at, uint32_t bits,
			     uint64_t *ret)
{
	uint64_t value = 0;

	for (uint32_t shift = 0; shift < bits && *at < n; shift += 7) {
		uint8_t byte = bytes[(*at)++];

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

struct v8_position v8_position_of(const struct v8_layout *layout, uint64_t raw);

void v8_positions_init(struct v8_positions *positions, const struct v8_layout *layout,
		       const uint8_t *bytes, uint32_t n);
/* False at the end, or where there is no table any more. */
bool v8_positions_next(struct v8_positions *positions, struct v8_position *ret);

struct v8_neighbours {
	struct v8_position before, after; /* the last at or before an offset, the first after it */
	bool has_before, has_after;
};

void v8_positions_find(const struct v8_layout *layout, const uint8_t *bytes, uint32_t n,
		       int64_t off, struct v8_neighbours *ret);

#endif
