/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers, read where they lie, without copying. A message is fields one after the other: a tag
 * (number << 3 | wire type) and a value, which is a varint (0), 8 bytes (1), a length and that many bytes (2),
 * or 4 bytes (5). https://protobuf.dev/programming-guides/encoding
 *
 *	struct ep_proto message = ep_proto_of(data, bytes);
 *	struct ep_proto_field field;
 *
 *	while (ep_proto_next(&message, &field)) {
 *		if (field.number == 3 && field.wire == EP_PROTO_BYTES)
 *			read_line(field.bytes);
 *	}
 *	if (message.is_bad) ...
 *
 * Nothing is read beyond the end, and a message within a message cannot be longer than that one. A field of
 * another wire type than expected is skipped by the caller as one that it does not know.
 */
#ifndef EP_READERS_PROTO_H
#define EP_READERS_PROTO_H

#include "core/base/util.h"

enum ep_proto_wire {
	EP_PROTO_VARINT = 0,
	EP_PROTO_FIXED64 = 1,
	EP_PROTO_BYTES = 2,
	EP_PROTO_FIXED32 = 5,
};

/* What is left of a message, or of packed numbers, or of a string. */
struct ep_proto {
	const uint8_t *at, *end;
	bool is_bad; /* what is at `at` is no field, or reaches beyond the end */
};

struct ep_proto_field {
	uint32_t number;
	enum ep_proto_wire wire;
	uint64_t value;	       /* of a varint and of fixed ones */
	struct ep_proto bytes; /* EP_PROTO_BYTES */
};

static inline struct ep_proto ep_proto_of(const void *data, size_t bytes)
{
	return (struct ep_proto){.at = data, .end = (const uint8_t *)data + bytes};
}

static inline size_t ep_proto_left(const struct ep_proto *proto)
{
	return (size_t)(proto->end - proto->at);
}

/* One varint; of packed numbers until it says false. Bits beyond the 64th are an error. */
static inline bool ep_proto_varint(struct ep_proto *proto, uint64_t *ret_value)
{
	const uint8_t *at = proto->at;
	uint64_t value = 0;

	for (uint32_t shift = 0; at < proto->end && shift < 64; shift += 7) {
		uint8_t byte = *at++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			proto->at = at;
			*ret_value = value;
			return true;
		}
	}
	proto->is_bad |= proto->at < proto->end;
	return false;
}

static inline bool ep_proto_fixed(struct ep_proto *proto, size_t bytes, uint64_t *ret_value)
{
	if (ep_proto_left(proto) < bytes) {
		proto->is_bad |= proto->at < proto->end;
		return false;
	}
	*ret_value = bytes == 8 ? ep_get_u64(proto->at) : ep_get_u32(proto->at);
	proto->at += bytes;
	return true;
}

/* Reads the value of a field whose tag has been read. */
static inline bool ep_proto_value(struct ep_proto *proto, struct ep_proto_field *field)
{
	uint64_t bytes;

	switch (field->wire) {
	case EP_PROTO_VARINT:
		return ep_proto_varint(proto, &field->value);
	case EP_PROTO_FIXED64:
		return ep_proto_fixed(proto, 8, &field->value);
	case EP_PROTO_FIXED32:
		return ep_proto_fixed(proto, 4, &field->value);
	case EP_PROTO_BYTES:
		if (!ep_proto_varint(proto, &bytes) || bytes > ep_proto_left(proto))
			return false;
		field->bytes = ep_proto_of(proto->at, bytes);
		proto->at += bytes;
		return true;
	default: /* groups: no profile format ever had them */
		return false;
	}
}

/* The next field. False at the end, and where the message is bad: then is_bad is set and `at` is where. */
static inline bool ep_proto_next(struct ep_proto *proto, struct ep_proto_field *ret_field)
{
	const uint8_t *start = proto->at;
	uint64_t tag;

	if (proto->is_bad || !ep_proto_varint(proto, &tag))
		return false;
	ret_field->number = (uint32_t)(tag >> 3);
	ret_field->wire = (enum ep_proto_wire)(tag & 7);
	ret_field->value = 0;
	ret_field->bytes = ep_proto_of(start, 0);
	if (tag >> 3 != 0 && tag >> 35 == 0 && ep_proto_value(proto, ret_field))
		return true;
	proto->at = start;
	proto->is_bad = true;
	return false;
}

/*
 * The next number of a repeated field, which may be packed or not: until it says false. field->bytes.is_bad
 * tells afterwards whether they were read to their end.
 */
static inline bool ep_proto_number(struct ep_proto_field *field, uint64_t *ret_value)
{
	if (field->wire == EP_PROTO_BYTES)
		return ep_proto_varint(&field->bytes, ret_value);
	if (field->wire != EP_PROTO_VARINT)
		return false;
	*ret_value = field->value;
	field->wire = EP_PROTO_BYTES; /* of no bytes: there is one only */
	return true;
}

#endif
