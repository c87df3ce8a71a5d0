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

static bool get_number(struct v8_positions *positions, uint64_t *ret)
{
	uint64_t value = 0;

	for (uint32_t shift = 0; shift < 64 && positions->at < positions->n; shift += 7) {
		uint8_t byte = positions->bytes[positions->at++];

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = value;
			return true;
		}
	}
	return false;
}

static int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ -(value & 1));
}

bool v8_positions_next(struct v8_positions *positions, struct v8_position *ret)
{
	uint64_t code, raw;

	if (!get_number(positions, &code) || !get_number(positions, &raw))
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
