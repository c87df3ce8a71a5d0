/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/symbolize/bytes.h"

#include "core/base/util.h"

void dotnet_bytes_init(struct dotnet_bytes *bytes, const struct memory *memory, uint64_t addr,
		       uint64_t n)
{
	bytes->memory = memory;
	bytes->addr = addr;
	bytes->left = n;
	bytes->result = 0;
	bytes->at = bytes->n = 0;
	bytes->has_nibble = false;
	bytes->n_bits = 0;
	bytes->bits = 0;
}

uint64_t dotnet_bytes_addr(const struct dotnet_bytes *bytes)
{
	return bytes->addr - (bytes->n - bytes->at);
}

uint64_t dotnet_bytes_left(const struct dotnet_bytes *bytes)
{
	return bytes->left + (bytes->n - bytes->at);
}

bool dotnet_bytes_end(const struct dotnet_bytes *bytes)
{
	return bytes->result < 0 || dotnet_bytes_left(bytes) == 0;
}

void dotnet_bytes_limit(struct dotnet_bytes *bytes, uint64_t n)
{
	uint64_t here = bytes->n - bytes->at;

	if (n >= dotnet_bytes_left(bytes))
		return;
	bytes->n = (uint16_t)(bytes->at + EP_MIN(here, n));
	bytes->addr -= here - EP_MIN(here, n);
	bytes->left = n - EP_MIN(here, n);
}

static void bytes_fill(struct dotnet_bytes *bytes)
{
	size_t n = (size_t)EP_MIN(bytes->left, (uint64_t)sizeof(bytes->buf)), read = 0;

	bytes->at = bytes->n = 0;
	if (bytes->result == 0 && n == 0)
		bytes->result = -EBADMSG;
	if (bytes->result == 0)
		bytes->result = memory_read_head(bytes->memory, bytes->addr, bytes->buf, n, &read);
	if (bytes->result < 0)
		return;
	bytes->n = (uint16_t)read;
	bytes->addr += read;
	bytes->left -= read;
}

uint8_t dotnet_byte(struct dotnet_bytes *bytes)
{
	if (bytes->at == bytes->n)
		bytes_fill(bytes);
	return bytes->at < bytes->n ? bytes->buf[bytes->at++] : 0;
}

uint32_t dotnet_u32(struct dotnet_bytes *bytes)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < 4; i++)
		value |= (uint32_t)dotnet_byte(bytes) << (8 * i);
	return value;
}

/* *ret_bits: of the value. */
static uint32_t read_compressed(struct dotnet_bytes *bytes, uint32_t *ret_bits)
{
	uint32_t first = dotnet_byte(bytes), more = !(first & 0x80) ? 0 : !(first & 0x40) ? 1 : 3;
	uint32_t bits = more == 0 ? 7 : more == 1 ? 6 : 5, value = first & ((1u << bits) - 1);

	for (uint32_t i = 0; i < more; i++)
		value = value << 8 | dotnet_byte(bytes);
	*ret_bits = bits + 8 * more;
	return value;
}

uint32_t dotnet_compressed(struct dotnet_bytes *bytes)
{
	uint32_t bits;

	return read_compressed(bytes, &bits);
}

/* Turned to the left by one bit: the sign is the lowest. */
int32_t dotnet_compressed_signed(struct dotnet_bytes *bytes)
{
	uint32_t bits, value = read_compressed(bytes, &bits);

	return (int32_t)(value >> 1) - (value & 1 ? 1 << (bits - 1) : 0);
}

uint8_t dotnet_nibble(struct dotnet_bytes *bytes)
{
	uint8_t byte;

	bytes->has_nibble = !bytes->has_nibble;
	if (!bytes->has_nibble)
		return bytes->nibble;
	byte = dotnet_byte(bytes);
	bytes->nibble = byte >> 4;
	return byte & 15;
}

uint32_t dotnet_nibbles(struct dotnet_bytes *bytes)
{
	uint32_t value = 0, nibble;

	do {
		nibble = dotnet_nibble(bytes);
		value = value << 3 | (nibble & 7);
	} while (nibble & 8 && bytes->result == 0);
	return value;
}

int32_t dotnet_nibbles_signed(struct dotnet_bytes *bytes)
{
	uint32_t value = dotnet_nibbles(bytes);

	return value & 1 ? (int32_t)-(value >> 1) : (int32_t)(value >> 1);
}

uint32_t dotnet_bits(struct dotnet_bytes *bytes, uint32_t n)
{
	uint32_t value;

	while (bytes->n_bits < n) {
		bytes->bits |= (uint64_t)dotnet_byte(bytes) << bytes->n_bits;
		bytes->n_bits = (uint8_t)(bytes->n_bits + 8);
	}
	value = (uint32_t)(bytes->bits & ((1ull << n) - 1));
	bytes->bits >>= n;
	bytes->n_bits = (uint8_t)(bytes->n_bits - n);
	return value;
}

void dotnet_bytes_align(struct dotnet_bytes *bytes)
{
	bytes->has_nibble = false;
	bytes->n_bits = 0;
	bytes->bits = 0;
}
