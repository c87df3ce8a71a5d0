/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounded reading of DWARF bytes. A cursor that would pass its end returns zero, marks itself bad
 * and stays at the end, so a caller checks once after a group of reads. Little-endian only.
 */
#ifndef EP_UNWIND_CURSOR_H
#define EP_UNWIND_CURSOR_H

#include "core/base/util.h"

#include <string.h>

struct ep_cursor {
	const uint8_t *pos;
	const uint8_t *end;
	bool bad;
};

static inline size_t ep_cursor_left(const struct ep_cursor *cur)
{
	return (size_t)(cur->end - cur->pos);
}

static inline uint64_t ep_cursor_fail(struct ep_cursor *cur)
{
	cur->bad = true;
	cur->pos = cur->end;
	return 0;
}

#define EP_CURSOR_READ(name, type)                                                                 \
	static inline type ep_cursor_##name(struct ep_cursor *cur)                                 \
	{                                                                                          \
		type value;                                                                        \
                                                                                                   \
		if (__builtin_expect(ep_cursor_left(cur) < sizeof(value), 0))                      \
			return (type)ep_cursor_fail(cur);                                          \
		memcpy(&value, cur->pos, sizeof(value));                                           \
		cur->pos += sizeof(value);                                                         \
		return value;                                                                      \
	}
EP_CURSOR_READ(u8, uint8_t)
EP_CURSOR_READ(u16, uint16_t)
EP_CURSOR_READ(u32, uint32_t)
EP_CURSOR_READ(u64, uint64_t)
#undef EP_CURSOR_READ

static inline void ep_cursor_skip(struct ep_cursor *cur, uint64_t bytes)
{
	if (bytes > ep_cursor_left(cur))
		(void)ep_cursor_fail(cur);
	else
		cur->pos += bytes;
}

/* Bits beyond the 64th are dropped; an encoding longer than the input is bad. */
static inline uint64_t ep_cursor_uleb(struct ep_cursor *cur)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	if (__builtin_expect(cur->pos < cur->end && *cur->pos < 0x80, 1))
		return *cur->pos++;
	while (cur->pos < cur->end) {
		uint8_t byte = *cur->pos++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
		shift += 7;
		if (shift > 63)
			shift = 64;
	}
	return ep_cursor_fail(cur);
}

static inline int64_t ep_cursor_sleb(struct ep_cursor *cur)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	while (cur->pos < cur->end) {
		uint8_t byte = *cur->pos++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift = shift > 56 ? 64 : shift + 7;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift < 64)
			value |= ~0ull << shift;
		return (int64_t)value;
	}
	return (int64_t)ep_cursor_fail(cur);
}

#endif
