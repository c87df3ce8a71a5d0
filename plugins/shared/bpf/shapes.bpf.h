/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Shapes of x86-64 code: what the bytes around an address say. Where code without unwind rules was
 * interrupted its frame may be half made, or gone already, and prologues and epilogues look alike
 * in all code of one compiler. A table has a row for each shape:
 *
 *	static const struct ep_shape shapes[] = {
 *		EP_SHAPE(HAS_RETURNED, 0, 0xc3)
 *		EP_SHAPE(HAS_PUSHED, -1, 0x55, 0x48, 0x83, 0xec, EP_ANY)
 *	};
 *
 * The second argument says where the shape begins, in bytes from the address on.
 */
#ifndef EP_SHARED_SHAPES_BPF_H
#define EP_SHARED_SHAPES_BPF_H

#include "plugins/shared/bpf/step.bpf.h"

#define EP_SHAPE_WORDS 3
#define EP_CODE_BYTES  64 /* around an address */
#define EP_CODE_BEFORE 32

/* The code around an address. A shape may begin at its last byte. */
struct ep_code_bytes {
	__u8 at[EP_CODE_BYTES + 8];
};

/* 24 bytes of code, from an offset on. */
struct ep_shape {
	__u64 bytes[EP_SHAPE_WORDS], mask[EP_SHAPE_WORDS];
	__s64 off;
	__u64 says; /* bits of the language's own */
};

#define EP_ANY		 (-1)
#define EP_SHAPE_MASK(b) ((b) < 0 ? 0ull : 0xffull)
#define EP_SHAPE_BYTE(b) ((b) < 0 ? 0ull : (unsigned long long)(b))
#define EP_SHAPE_OF(f, a, b, c, d, e, g, h, i)                                                     \
	(f(a) | f(b) << 8 | f(c) << 16 | f(d) << 24 | f(e) << 32 | f(g) << 40 | f(h) << 48 |       \
	 f(i) << 56)
#define EP_SHAPE24(says, off, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, \
		   x, ...)                                                                         \
	{{EP_SHAPE_OF(EP_SHAPE_BYTE, a, b, c, d, e, f, g, h),                                      \
	  EP_SHAPE_OF(EP_SHAPE_BYTE, i, j, k, l, m, n, o, p),                                      \
	  EP_SHAPE_OF(EP_SHAPE_BYTE, q, r, s, t, u, v, w, x)},                                     \
	 {EP_SHAPE_OF(EP_SHAPE_MASK, a, b, c, d, e, f, g, h),                                      \
	  EP_SHAPE_OF(EP_SHAPE_MASK, i, j, k, l, m, n, o, p),                                      \
	  EP_SHAPE_OF(EP_SHAPE_MASK, q, r, s, t, u, v, w, x)},                                     \
	 off,                                                                                      \
	 says},
#define EP_SHAPE(says, off, ...)                                                                   \
	EP_SHAPE24(says, off, __VA_ARGS__, EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY, \
		   EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY, \
		   EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY, EP_ANY)

static __always_inline bool ep_read_code(struct ep_code_bytes *code, __u64 pc)
{
	return bpf_probe_read_user(code->at, EP_CODE_BYTES, (void *)(pc - EP_CODE_BEFORE)) == 0;
}

/* Eight bytes of it, at an offset to the address. */
static __always_inline __u64 ep_get_code(const struct ep_code_bytes *code, __s64 off)
{
	return *(const __u64 *)(code->at + ((EP_CODE_BEFORE + off) & (EP_CODE_BYTES - 1)));
}

/* All that those shapes say which the code has. */
static __always_inline __u64 ep_find_shapes(const struct ep_code_bytes *code,
					    const struct ep_shape *shapes, __u64 n)
{
	__u64 says = 0;

#pragma clang loop unroll(disable)
	for (__u64 i = 0; i < n; i++) {
		const struct ep_shape *shape = &shapes[i];
		__u64 differs = (ep_get_code(code, shape->off) ^ shape->bytes[0]) & shape->mask[0];

		differs |= (ep_get_code(code, shape->off + 8) ^ shape->bytes[1]) & shape->mask[1];
		differs |= (ep_get_code(code, shape->off + 16) ^ shape->bytes[2]) & shape->mask[2];
		says |= shape->says * ep_is_same(differs, 0);
	}
	return says;
}

/* call: rel32; by register; by memory, 0xff /2 with each kind of address. The last byte is the
 * highest. */
static const __u64 ep_calls[][2] = {
	{0x00000000e8000000, 0x00000000ff000000}, {0xd0ff000000000000, 0xf8ff000000000000},
	{0x10ff000000000000, 0xf8ff000000000000}, {0x0014ff0000000000, 0x00ffff0000000000},
	{0x0050ff0000000000, 0x00f8ff0000000000}, {0x000054ff00000000, 0x0000ffff00000000},
	{0x0000000090ff0000, 0x00000000f8ff0000}, {0x0000000015ff0000, 0x00000000ffff0000},
	{0x000000000094ff00, 0x0000000000ffff00},
};

/* Do the eight bytes before an address end with a call? */
static __always_inline bool ep_is_call(const __u64 *before)
{
	__u64 none = 1;

#pragma clang loop unroll(disable)
	for (__u64 i = 0; i < sizeof(ep_calls) / sizeof(ep_calls[0]); i++)
		none &= ep_is_set((*before ^ ep_calls[i][0]) & ep_calls[i][1]);
	return !none;
}

#endif
