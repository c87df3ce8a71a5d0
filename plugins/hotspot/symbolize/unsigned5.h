/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UNSIGNED5, the VM's code for integers: one to five bytes, the first ones high (192 and more), all
 * in base 64, lowest first; a low byte ends it, and so does the fifth.
 *
 *	8 to 19:	value = sum of byte[i] << 6 * i		share/vm/code/compressedStream.hpp
 *								(8)
 *	20 on:		value = sum of (byte[i] - 1) << 6 * i	share/utilities/unsigned5.hpp (21 to
 *								27)
 *
 * In the newer code no byte is 0. What a VM has is not published: `excluded` (0 or 1) is decided by
 * data that can be right in one of them only (scopes.c, lines.c).
 */
#ifndef HOTSPOT_UNSIGNED5_H
#define HOTSPOT_UNSIGNED5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOTSPOT_UNSIGNED5_HIGH 192u

/* False after the end, or at a byte that the code excludes. */
static inline bool hotspot_unsigned5(const uint8_t *bytes, size_t n, size_t *pos, uint32_t excluded,
				     uint32_t *ret)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < 5; i++) {
		uint32_t byte;

		if (*pos >= n || bytes[*pos] < excluded)
			return false;
		byte = bytes[(*pos)++];
		sum += (byte - excluded) << 6 * i;
		if (byte < HOTSPOT_UNSIGNED5_HIGH)
			break;
	}
	*ret = sum;
	return true;
}

/* The sign is the lowest bit (encode_sign, the same files). */
static inline bool hotspot_signed5(const uint8_t *bytes, size_t n, size_t *pos, uint32_t excluded,
				   int32_t *ret)
{
	uint32_t value;

	if (!hotspot_unsigned5(bytes, n, pos, excluded, &value))
		return false;
	*ret = (int32_t)(value >> 1 ^ (0 - (value & 1)));
	return true;
}

#endif
