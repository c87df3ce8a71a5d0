/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/wire.h"

#include <errno.h>

#define FIRST_CAP 256

void otlp_wire_init(struct otlp_wire *wire, size_t max)
{
	*wire = (struct otlp_wire){.max = max};
}

void otlp_wire_fini(struct otlp_wire *wire)
{
	free(wire->data);
	*wire = (struct otlp_wire){.max = wire->max};
}

uint8_t *otlp_wire_grow(struct otlp_wire *wire, size_t len)
{
	size_t need, cap;
	uint8_t *data;

	if (wire->error)
		return NULL;
	if (__builtin_add_overflow(wire->len, len, &need) || need > wire->max) {
		wire->error = -E2BIG;
		return NULL;
	}
	cap = EP_MIN(EP_MAX(EP_MAX(need, wire->cap + wire->cap / 2), (size_t)FIRST_CAP), wire->max);
	data = realloc(wire->data, cap);
	if (!data) {
		wire->error = -ENOMEM;
		return NULL;
	}
	wire->data = data;
	wire->cap = cap;
	return data + wire->len;
}

int otlp_read_varint(struct otlp_reader *reader, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (reader->pos == reader->end)
		return 0;
	for (unsigned int shift = 0; shift < 64 && reader->pos < reader->end; shift += 7) {
		uint8_t byte = *reader->pos++;

		if (shift == 63 && byte > 1)
			return -EBADMSG;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return 1;
		}
	}
	return -EBADMSG;
}

static int read_fixed(struct otlp_reader *reader, size_t len, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (otlp_reader_len(reader) < len)
		return -EBADMSG;
	for (size_t i = 0; i < len; i++)
		value |= (uint64_t)reader->pos[i] << (8 * i);
	reader->pos += len;
	*ret_value = value;
	return 1;
}

static int read_bytes(struct otlp_reader *reader, struct otlp_reader *ret_bytes)
{
	uint64_t len;

	if (otlp_read_varint(reader, &len) != 1 || len > otlp_reader_len(reader))
		return -EBADMSG;
	*ret_bytes = otlp_reader_of(reader->pos, len);
	reader->pos += len;
	return 1;
}

int otlp_read_field(struct otlp_reader *reader, struct otlp_field *ret_field)
{
	struct otlp_field field = {0};
	uint64_t tag;
	int r = otlp_read_varint(reader, &tag);

	if (r <= 0)
		return r;
	if (tag >> 3 == 0 || tag >> 3 > (1u << 29) - 1)
		return -EBADMSG;
	field.number = (uint32_t)(tag >> 3);
	field.type = (enum otlp_wire_type)(tag & 7);
	if (field.type == OTLP_VARINT)
		r = otlp_read_varint(reader, &field.value) == 1 ? 1 : -EBADMSG;
	else if (field.type == OTLP_FIXED64)
		r = read_fixed(reader, 8, &field.value);
	else if (field.type == OTLP_FIXED32)
		r = read_fixed(reader, 4, &field.value);
	else if (field.type == OTLP_BYTES)
		r = read_bytes(reader, &field.bytes);
	else
		r = -EBADMSG;
	if (r == 1)
		*ret_field = field;
	return r;
}
