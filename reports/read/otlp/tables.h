/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of a ProfilesData message while it is read. Its elements stay where they are: one pass notes
 * where each begins, and an element becomes a row of the builder when the first sample needs it. Attributes
 * are read at once: they are small, and each sample has some.
 */
#ifndef EP_READERS_OTLP_TABLES_H
#define EP_READERS_OTLP_TABLES_H

#include "core/base/vec.h"
#include "reports/read/otlp/keys.h"
#include "reports/read/reader.h"
#include "reports/read/shared/proto.h"

#define OTLP_N_TABLES 7
#define OTLP_NOT_READ UINT32_MAX

/* Where an element is, and the row it has become. */
struct otlp_element {
	uint32_t at, bytes;
	uint32_t row;
	bool is_end; /* of others: a location that says that its stack is not whole */
};

struct otlp_attribute {
	enum otlp_key key;
	uint32_t text;	     /* row of strings */
	uint32_t at, bytes;  /* the same, in the file */
	uint64_t value;	     /* or number, or bool */
};

/* What a sample says of its stack. */
struct otlp_stack_facts {
	uint32_t error, error_text, unnamed, unnamed_text;
};

struct otlp_tables {
	struct ep_profile_builder *builder;
	const uint8_t *data; /* of the file: elements are offsets into it */
	char *why;	     /* EP_READ_WHY_BYTES */
	bool is_ours;	     /* flags are reported by attributes; else by what frames are called */
	struct ep_vec elements[OTLP_N_TABLES];	 /* struct otlp_element, by field number - 1 */
	struct ep_vec attributes;		 /* struct otlp_attribute */
	struct ep_vec keys;			 /* per string: uint8_t, enum otlp_key + 1 */
	struct ep_vec stack_facts;		 /* per stack: those its row has */
	struct ep_vec lines, locations, indices; /* of the element in hand */
	uint64_t n_read;			 /* locations of stacks, to bound what is read again */
};

/* `data` is the file's. Zeroed tables may be freed. */
void otlp_tables_init(struct otlp_tables *t, const uint8_t *data, struct ep_profile_builder *builder, char *why);
void otlp_tables_fini(struct otlp_tables *t);
void otlp_tables_clear(struct otlp_tables *t); /* for the next message */

/* Each of these and below: 0, or a negative errno; with -EBADMSG there is a sentence in why. */
int otlp_tables_add(struct otlp_tables *t, struct ep_proto dictionary);
int otlp_tables_read_attributes(struct otlp_tables *t);

/* NULL, when there is no such attribute: why says so. */
const struct otlp_attribute *otlp_tables_attribute(struct otlp_tables *t, uint64_t index, const uint8_t *at);
int otlp_tables_bytes(struct otlp_tables *t, uint64_t index, const uint8_t *at, struct ep_proto *ret_text);
int otlp_tables_string(struct otlp_tables *t, uint64_t index, const uint8_t *at, uint32_t *ret_row);
int otlp_tables_stack(struct otlp_tables *t, uint64_t index, const uint8_t *at, const struct otlp_stack_facts *facts,
		      uint32_t *ret_row);

/* The reason that it says: one that is not known here is another one. */
uint32_t otlp_unnamed_of(const struct otlp_attribute *attribute);
/* An AnyValue. */
int otlp_tables_value(struct otlp_tables *t, struct ep_proto value, struct otlp_attribute *attribute);

/* -EBADMSG: says where, and what. */
int otlp_bad(struct otlp_tables *t, const uint8_t *at, const char *what);
/* The field must be of this type: else another definition of the messages has written it. */
int otlp_expect(struct otlp_tables *t, const struct ep_proto_field *field, enum ep_proto_wire wire);
/* Numbers of a repeated field onto a vector of uint64_t. */
int otlp_add_numbers(struct otlp_tables *t, struct ep_proto_field *field, struct ep_vec *numbers);

#endif
