/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the checker share: check_tables.c the dictionary, check.c what uses it. */
#ifndef OTLP_CHECK_INTERNAL_H
#define OTLP_CHECK_INTERNAL_H

#include "exporters/shared/otlp/fields.h"
#include "exporters/shared/otlp/wire.h"
#include "tests/otlp/check.h"

#define N_TABLES 8 /* by field number, 0 is unused */

struct span {
	const uint8_t *data;
	size_t len;
};

struct numbers {
	uint64_t *items;
	size_t n, cap;
};

struct tbl {
	struct span *items;
	uint8_t *used;
	size_t n, cap;
};

struct checker {
	const struct otlp_check_options *options;
	struct otlp_check_result *result;
	struct tbl tables[N_TABLES];
	struct numbers list; /* of the attribute list or stack in hand */
	bool no_memory;
};

void check_violation(struct checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void check_push_number(struct checker *c, struct numbers *numbers, uint64_t value);

/* The next field; false at the end or after a complaint. */
bool check_next_field(struct checker *c, const char *where, struct otlp_reader *reader,
		      struct otlp_field *field);
bool check_wire_type(struct checker *c, const char *where, const struct otlp_field *field,
		     enum otlp_wire_type type);
void check_unknown(struct checker *c, const char *where, const struct otlp_field *field);
/* A repeated number, packed or not, onto `numbers`. */
void check_read_numbers(struct checker *c, const char *where, const struct otlp_field *field,
			struct numbers *numbers);
void check_utf8(struct checker *c, const char *where, const struct otlp_reader *bytes);

/* Notes a reference. False, with a complaint, when there is no such element. */
bool check_use(struct checker *c, const char *where, uint32_t table, uint64_t index);
struct otlp_reader check_element(const struct checker *c, uint32_t table, uint64_t index);
/* First number field `number` of an element; 0 when it is absent. */
uint64_t check_number_of(const struct checker *c, uint32_t table, uint64_t index, uint32_t number);

/* The string of an AnyValue, else an empty span. Complains about what is not one. */
struct span check_any_value(struct checker *c, const char *where, struct otlp_reader value);
/* The plain string value of an attribute; NULL data when it has none. */
struct span check_string_value(const struct checker *c, uint64_t attribute);
/* The attribute list in c->list: each exists, no key twice. */
void check_attribute_list(struct checker *c, const char *where);
/* The attribute of c->list with this key, -1: none. */
int64_t check_find_key(const struct checker *c, const char *key);

/* The dictionary: its elements, then, when all else has been looked at, what nothing refers to. */
void check_dictionary(struct checker *c, struct otlp_reader dictionary);
void check_tables(struct checker *c);
void check_orphans(struct checker *c);
void check_fini(struct checker *c);

#endif
