/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/positions.h"

#define INLINING_SHIFT 31 /* 16 bits; in all versions */

struct v8_position v8_position_of(const struct v8_layout *layout, uint64_t raw)
{
	uint32_t shift = (uint32_t)layout->position_shift;
	uint32_t off = (uint32_t)(raw >> shift) & (uint32_t)((1ull << layout->position_bits) - 1);
	bool is_external = shift && (raw & 1);

	return (struct v8_position){
		.script_off = is_external ? -1 : (int32_t)off - 1,
		.inlining = (int32_t)(raw >> INLINING_SHIFT & 0xffff) - 1,
	};
}

void v8_positions_init(struct v8_positions *positions, const struct v8_layout *layout,
		       const uint8_t *bytes, uint32_t n)
{
	*positions = (struct v8_positions){
		.layout = layout, .bytes = bytes, .n = n, .code_off = -layout->positions_before};
}

static int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ -(value & 1));
}

bool v8_positions_next(struct v8_positions *positions, struct v8_position *ret)
{
	uint64_t code, raw;

	if (!v8_number(positions->bytes, positions->n, &positions->at, 64, &code) ||
	    !v8_number(positions->bytes, positions->n, &positions->at, 64, &raw))
		return false;
	if (positions->layout->positions_unsigned) {
		positions->code_off += (int64_t)((uint32_t)code >> 2);
	} else {
		int64_t off = (int32_t)unzigzag((uint32_t)code);

		positions->code_off += off < 0 ? -off - 1 : off;
	}
	positions->raw += (uint64_t)unzigzag(raw);
	*ret = v8_position_of(positions->layout, positions->raw);
	ret->code_off = positions->code_off;
	return true;
}

void v8_positions_find(const struct v8_layout *layout, const uint8_t *bytes, uint32_t n,
		       int64_t off, struct v8_neighbours *ret)
{
	struct v8_positions positions;
	struct v8_position position;

	*ret = (struct v8_neighbours){0};
	v8_positions_init(&positions, layout, bytes, n);
	while (v8_positions_next(&positions, &position)) {
		if (position.code_off > off) {
			ret->after = position;
			ret->has_after = true;
			return;
		}
		ret->before = position;
		ret->has_before = true;
	}
}
