/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers, written append-only and read in place. A field is a tag, (number << 3 | wire
 * type), and a value: a varint (wire type 0), 8 bytes little-endian (1), a length and that many
 * bytes (2), 4 bytes (5). Numbers are little-endian base 128, bit 7 set on all bytes but the last.
 * https://protobuf.dev/programming-guides/encoding
 *
 * Writing: errors stick, the first one is kept and everything after it is ignored, so a caller
 * looks once, at the end. Reading: struct otlp_reader points into bytes that somebody else owns.
 */
#ifndef OTLP_WIRE_H
#define OTLP_WIRE_H

#include "core/base/util.h"

#include <endian.h>
#include <string.h>

#define OTLP_VARINT_MAX 10 /* bytes of a 64-bit number, 7 bits each */

enum otlp_wire_type {
	OTLP_VARINT = 0,
	OTLP_FIXED64 = 1,
	OTLP_BYTES = 2,
	OTLP_FIXED32 = 5,
};

struct otlp_wire {
	uint8_t *data; /* owned */
	size_t len, cap;
	size_t max; /* bytes it may grow to */
	int error;  /* 0, -E2BIG, -ENOMEM */
};

void otlp_wire_init(struct otlp_wire *wire, size_t max);
void otlp_wire_fini(struct otlp_wire *wire); /* accepts a zeroed one; it is empty afterwards */
/* The slow half of room: grows. NULL when there is an error. */
uint8_t *otlp_wire_grow(struct otlp_wire *wire, size_t len);

/* Where `len` bytes can be written; the caller adds what it wrote to wire->len. */
static inline uint8_t *otlp_wire_room(struct otlp_wire *wire, size_t len)
{
	if (wire->cap - wire->len >= len)
		return wire->data + wire->len;
	return otlp_wire_grow(wire, len);
}

static inline size_t otlp_varint_len(uint64_t value)
{
	return (size_t)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

/* Up to OTLP_VARINT_MAX bytes, mostly one or two. */
static inline uint8_t *otlp_varint_write(uint8_t *to, uint64_t value)
{
	if (value < 0x80) {
		to[0] = (uint8_t)value;
		return to + 1;
	}
	if (value < 0x4000) {
		to[0] = (uint8_t)value | 0x80;
		to[1] = (uint8_t)(value >> 7);
		return to + 2;
	}
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)value | 0x80;
	*to++ = (uint8_t)value;
	return to;
}

static inline void otlp_put_varint(struct otlp_wire *wire, uint64_t value)
{
	uint8_t *to = otlp_wire_room(wire, OTLP_VARINT_MAX);

	if (to)
		wire->len = (size_t)(otlp_varint_write(to, value) - wire->data);
}

static inline void otlp_put_raw(struct otlp_wire *wire, const void *data, size_t len)
{
	uint8_t *to = otlp_wire_room(wire, len);

	if (!to || !len)
		return;
	memcpy(to, data, len);
	wire->len += len;
}

static inline void otlp_put_tag(struct otlp_wire *wire, uint32_t field, enum otlp_wire_type type)
{
	otlp_put_varint(wire, field << 3 | type);
}

#define OTLP_HEADER_MAX (2 * OTLP_VARINT_MAX) /* a tag and a length */

/* A field with a number; 0 is the default and is not written. */
static inline void otlp_put_uint(struct otlp_wire *wire, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	otlp_put_tag(wire, field, OTLP_VARINT);
	otlp_put_varint(wire, value);
}

/* The same where there is space, field up to 15: at most 11 bytes. */
static inline uint8_t *otlp_uint_write(uint8_t *to, uint32_t field, uint64_t value)
{
	if (value == 0)
		return to;
	*to++ = (uint8_t)(field << 3 | OTLP_VARINT);
	return otlp_varint_write(to, value);
}

/*
 * A message written where it stays, into space that somebody made: what is in it goes to
 * start + OTLP_HEADER_SHORT, and when it is there up to `end` its tag and length are written, for
 * which a long one moves by up to OTLP_HEADER_MAX - OTLP_HEADER_SHORT bytes. Field up to 15.
 */
#define OTLP_HEADER_SHORT 2

static inline uint8_t *otlp_message_write(uint8_t *start, uint32_t field, uint8_t *end)
{
	uint8_t *message = start + OTLP_HEADER_SHORT;
	size_t len = (size_t)(end - message), more;

	start[0] = (uint8_t)(field << 3 | OTLP_BYTES);
	start[1] = (uint8_t)len;
	if (len < 0x80)
		return end;
	more = otlp_varint_len(len) - 1;
	memmove(message + more, message, len);
	otlp_varint_write(start + 1, len);
	return end + more;
}

static inline void otlp_put_fixed64(struct otlp_wire *wire, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	otlp_put_tag(wire, field, OTLP_FIXED64);
	value = htole64(value);
	otlp_put_raw(wire, &value, sizeof(value));
}

/* A field with a string, bytes, a message or packed numbers; written even when it is empty. */
static inline void otlp_put_bytes(struct otlp_wire *wire, uint32_t field, const void *data,
				  size_t len)
{
	uint8_t *to = otlp_wire_room(wire, len + OTLP_HEADER_MAX);

	if (!to)
		return;
	to = otlp_varint_write(to, field << 3 | OTLP_BYTES);
	to = otlp_varint_write(to, len);
	if (len)
		memcpy(to, data, len);
	wire->len = (size_t)(to + len - wire->data);
}

static inline void otlp_put_message(struct otlp_wire *wire, uint32_t field,
				    const struct otlp_wire *message)
{
	if (wire->error == 0)
		wire->error = message->error;
	otlp_put_bytes(wire, field, message->data, message->len);
}

/* --- reading --- */

struct otlp_reader {
	const uint8_t *pos, *end;
};

struct otlp_field {
	uint32_t number;
	enum otlp_wire_type type;
	uint64_t value;		  /* of VARINT, FIXED64, FIXED32 */
	struct otlp_reader bytes; /* of BYTES */
};

/* 1 and the next field, 0 at the end, -EBADMSG. A group (types 3 and 4) is -EBADMSG: long dead. */
int otlp_read_field(struct otlp_reader *reader, struct otlp_field *ret_field);
/* One number of a packed field: 1, 0 at the end, -EBADMSG. */
int otlp_read_varint(struct otlp_reader *reader, uint64_t *ret_value);

static inline struct otlp_reader otlp_reader_of(const void *data, size_t len)
{
	return (struct otlp_reader){data, (const uint8_t *)data + len};
}
static inline size_t otlp_reader_len(const struct otlp_reader *reader)
{
	return (size_t)(reader->end - reader->pos);
}

#endif
