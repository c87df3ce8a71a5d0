/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a target one after the other, and the numbers that .NET's formats are made of. They are
 * read in pieces, so that what is long is read as far as it is needed. After an error, and after
 * the end, all is 0 and `result` says why: -EBADMSG, -EFAULT, -ESRCH, -ETIME.
 */
#ifndef DOTNET_BYTES_H
#define DOTNET_BYTES_H

#include "plugins/shared/read/memory.h"

#include <stdbool.h>

struct dotnet_bytes {
	const struct memory *memory;
	uint64_t addr; /* of what is read next */
	uint64_t left; /* of it */
	int result;
	uint16_t at, n; /* in buf */
	bool has_nibble;
	uint8_t nibble; /* the upper half of the byte before */
	uint8_t n_bits;
	uint64_t bits;
	uint8_t buf[192];
};

/* `bytes`: how many there are, or at most. */
void dotnet_bytes_init(struct dotnet_bytes *bytes, const struct memory *memory, uint64_t addr,
		       uint64_t n);
uint64_t dotnet_bytes_addr(const struct dotnet_bytes *bytes); /* of the next one */
uint64_t dotnet_bytes_left(const struct dotnet_bytes *bytes);
bool dotnet_bytes_end(const struct dotnet_bytes *bytes); /* none is left, or there was an error */

void dotnet_bytes_limit(struct dotnet_bytes *bytes, uint64_t n); /* to the next n of them */

uint8_t dotnet_byte(struct dotnet_bytes *bytes);
uint32_t dotnet_u32(struct dotnet_bytes *bytes);
/* ECMA-335, II.23.2: one, two or four bytes. */
uint32_t dotnet_compressed(struct dotnet_bytes *bytes);
int32_t dotnet_compressed_signed(struct dotnet_bytes *bytes);
/* inc/nibblestream.h: three bits each, the highest first, the fourth says that there are more; the
 * lower half of a byte is first. */
uint32_t dotnet_nibbles(struct dotnet_bytes *bytes);
int32_t dotnet_nibbles_signed(struct dotnet_bytes *bytes);
uint8_t dotnet_nibble(struct dotnet_bytes *bytes);
/* The lowest bits first; up to 32. */
uint32_t dotnet_bits(struct dotnet_bytes *bytes, uint32_t n);
/* To the next byte. */
void dotnet_bytes_align(struct dotnet_bytes *bytes);

#endif
