/* SPDX-License-Identifier: Apache-2.0 */
/* What dictionary.c (tables, strings, attributes) and dictionary_code.c (what refers to them) have in common. */
#ifndef OTLP_DICTIONARY_INTERNAL_H
#define OTLP_DICTIONARY_INTERNAL_H

#include "exporters/shared/otlp/dictionary.h"
#include "exporters/shared/proto/otlp_fields.h"

static inline struct otlp_table *otlp_table_of(struct otlp_dictionary *d, uint32_t field)
{
	return &d->tables[field - 1];
}

static inline uint32_t otlp_table_add(struct otlp_dictionary *d, uint32_t field, const void *body, size_t len)
{
	struct otlp_table *t = otlp_table_of(d, field);

	otlp_put_bytes(&t->bytes, field, body, len);
	return t->bytes.error ? 0 : t->n++;
}

static inline uint32_t otlp_table_add_body(struct otlp_dictionary *d, uint32_t field)
{
	uint32_t index = otlp_table_add(d, field, d->body.data, d->body.len);

	d->body.len = 0;
	return index;
}

/* Bytes of a field with so many, its number being below 16. */
static inline size_t otlp_field_bytes(size_t len)
{
	return 1 + otlp_varint_len(len) + len;
}

/* An element of `len` bytes that is written from `row` later. */
static inline uint32_t otlp_table_add_later(struct otlp_table *t, uint32_t row, size_t len)
{
	t->later[t->n] = row;
	t->later_bytes += otlp_field_bytes(len);
	return t->n++;
}

/* A string of the batch by its row. */
uint32_t otlp_dictionary_string(struct otlp_dictionary *d, uint32_t row);
/* The element of a stack, onto a table or what is written of it later. */
void otlp_dictionary_put_stack(struct otlp_dictionary *d, struct otlp_wire *wire, uint32_t row);
uint32_t otlp_dictionary_attribute_true(struct otlp_dictionary *d, enum otlp_own_string key);

#endif
