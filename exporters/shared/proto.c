/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/proto.h"

#define WIRE_VARINT 0
#define WIRE_BYTES  2
#define VARINT_MAX  10 /* bytes of a 64-bit number, 7 bits each */

void pb_init(struct pb *pb, size_t max_bytes)
{
	ep_vec_init(&pb->bytes, 1, max_bytes);
	pb->error = 0;
}

void pb_fini(struct pb *pb)
{
	ep_vec_fini(&pb->bytes);
}

void pb_clear(struct pb *pb)
{
	pb->bytes.len = 0;
}

static void append(struct pb *pb, const void *data, size_t len)
{
	if (pb->error == 0)
		pb->error = ep_vec_append(&pb->bytes, data, len);
}

void pb_varint(struct pb *pb, uint64_t value)
{
	uint8_t bytes[VARINT_MAX];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (uint8_t)value | 0x80;
	bytes[n++] = (uint8_t)value;
	append(pb, bytes, n);
}

void pb_uint(struct pb *pb, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	pb_varint(pb, field << 3 | WIRE_VARINT);
	pb_varint(pb, value);
}

void pb_bytes(struct pb *pb, uint32_t field, const void *data, size_t len)
{
	pb_varint(pb, field << 3 | WIRE_BYTES);
	pb_varint(pb, len);
	append(pb, data, len);
}

void pb_message(struct pb *pb, uint32_t field, const struct pb *message)
{
	if (pb->error == 0)
		pb->error = message->error;
	pb_bytes(pb, field, message->bytes.data, message->bytes.len);
}
