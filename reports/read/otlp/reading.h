/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of OTLP while it is read, message by message.
 *
 *	otlp.c      the file: messages, who wrote them, their resources
 *	process.c   a resource is a process
 *	profile.c   Profiles and samples
 *	header.c    what is reported of the whole
 *	tables.c    the dictionary
 */
#ifndef EP_READERS_OTLP_READING_H
#define EP_READERS_OTLP_READING_H

#include "reports/read/otlp/tables.h"

#include <string.h>

#define OTLP_DAMAGED "damaged, or cut off: write or copy the file again"

/* What counts: "cpu", "nanoseconds". Texts are in the file. */
struct otlp_type {
	struct ep_proto name, unit;
};

/* A Profile's own fields, read before its samples are. */
struct otlp_profile {
	struct otlp_type sample_type, period_type;
	bool has_period_type;
	uint64_t start_ns, duration_ns, period;

	/* what they come to */
	struct otlp_type type;
	bool is_counted; /* a sample's weight is its count times the period */
};

/* What the file says of the whole: ours in the attributes of the first Profile, else by all Profiles. */
struct otlp_header {
	bool is_known, is_said;
	struct otlp_type type;
	uint64_t start_ns, end_ns;
	char host_name[256], sample_type[256], weight_unit[256], title[256];
	struct ep_profile_header header;
};

struct otlp_reading {
	struct ep_profile_builder *builder;
	struct otlp_tables tables;
	struct ep_vec resources; /* struct ep_proto, of the message in hand */
	bool has_dictionary, dictionary_first;
	struct otlp_header header; /* of the message in hand */

	/* of the resource in hand */
	struct ep_vec env; /* uint32_t[2] */
	struct ep_profile_process process;
	bool has_process;
	uint32_t exe_name, process_row;

	struct ep_vec indices, values, times; /* of the sample in hand */
};

static inline int otlp_reading_bad(struct otlp_reading *reader, const uint8_t *at, const char *what)
{
	return otlp_bad(&reader->tables, at, what);
}

static inline int otlp_reading_end(struct otlp_reading *reader, const struct ep_proto *message)
{
	return message->is_bad ? otlp_bad(&reader->tables, message->at, OTLP_DAMAGED) : 0;
}

/* --- texts --- */

static inline struct ep_proto otlp_reading_text(const struct otlp_reading *reader,
						const struct otlp_attribute *attribute)
{
	return ep_proto_of(reader->tables.data + attribute->at, attribute->bytes);
}

/* What fits. */
static inline void otlp_copy_text(struct ep_proto text, char *to, size_t bytes)
{
	size_t len = EP_MIN(ep_proto_left(&text), bytes - 1);

	if (len)
		memcpy(to, text.at, len);
	to[len] = '\0';
}

static inline bool otlp_is_text(struct ep_proto text, const char *other)
{
	return ep_proto_left(&text) == strlen(other) && memcmp(text.at, other, strlen(other)) == 0;
}

/* --- process.c --- */

/* An attribute of a resource or a scope. */
struct otlp_key_value {
	enum otlp_key key;
	struct ep_proto name;
	struct otlp_attribute attribute;
};

int otlp_read_key_value(struct otlp_reading *reader, struct ep_proto message, struct otlp_key_value *ret);
int otlp_read_resource(struct otlp_reading *reader, struct ep_proto message);
/* What was read of the resource becomes reader->process_row. */
int otlp_add_process(struct otlp_reading *reader);
/* False: that is nothing of a process. */
bool otlp_set_process(struct ep_profile_process *process, const struct otlp_attribute *attribute, enum otlp_key key);

/* --- header.c --- */

void otlp_header_set(struct otlp_reading *reader, const struct otlp_attribute *attribute);
/* Of a file of others; false: the Profile counts something else than the first one, and is left out. */
bool otlp_header_join(struct otlp_reading *reader, const struct otlp_profile *profile);
int otlp_header_add(struct otlp_reading *reader);

/* --- profile.c --- */

int otlp_read_profile(struct otlp_reading *reader, const struct ep_proto_field *profile_field);

#endif
