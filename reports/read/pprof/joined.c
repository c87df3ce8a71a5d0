/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where one profile ends and the next begins, in a file that `cat` made of several. Protocol buffers have no
 * ends: read as one message, such a file has the samples of all and string tables that refer to the wrong
 * strings. Numbers of fields, as writers order them:
 *
 *	1 1 2.. 3.. 4.. 5.. 6.. 9 10 11 12 | 1 1 2..       by number: what protocol buffers' own libraries do
 *	9 1 1 10 11 12 4 5 2.. 3.. 6.. | 9 1 1 10..        some fields that are there once come first: Go's runtime
 *	6.. 1 1 2.. 3.. | 6.. 1 1 2..                      strings come first
 *
 * So another one begins with its sample types, where the one in hand has more than types. What comes right before
 * these is its own too: a table of strings, which begins with an empty one, after a table that has one; or a field
 * that is there once and comes again, and those after it.
 */
#include "reports/read/pprof/profile.h"

#define PPROF_FIELDS 16

/* What was seen of the profile in hand. */
struct seen {
	bool has_types, has_table, has_body;
	uint32_t fields;      /* a bit for each of those that are there once */
	const uint8_t *run;   /* where such a one came again, and nothing but such ones came since */
	const uint8_t *table; /* where an empty string came again, and nothing but strings came since */
};

static bool is_once(uint32_t number)
{
	return number > PROFILE_STRING_TABLE && number < PPROF_FIELDS && number != PROFILE_COMMENT;
}

static void note_string(struct seen *seen, bool is_empty, const uint8_t *at)
{
	if (!is_empty)
		return;
	if (seen->has_table && !seen->table)
		seen->table = at;
	seen->has_table = true;
	seen->has_body |= seen->has_types;
}

static void note(struct seen *seen, const struct ep_proto_field *field, const uint8_t *at)
{
	if (field->number != PROFILE_STRING_TABLE)
		seen->table = NULL;
	if (is_once(field->number)) {
		if (!seen->run && seen->fields >> field->number & 1)
			seen->run = at;
		seen->fields |= 1u << field->number;
	} else if (field->number <= PROFILE_STRING_TABLE) {
		seen->run = NULL;
	}
	if (field->number == PROFILE_STRING_TABLE)
		note_string(seen, !ep_proto_left(&field->bytes), at);
	else if (field->number == PROFILE_SAMPLE_TYPE)
		seen->has_types = true;
	else if (field->number < PROFILE_STRING_TABLE)
		seen->has_body = true;
}

/* Where another one begins when its types are at `at`; NULL: these are of the one in hand. */
static const uint8_t *find_begin(const struct seen *seen, const uint8_t *at)
{
	if (!seen->has_types || !(seen->has_body || seen->table))
		return NULL;
	if (seen->table)
		return seen->table;
	return seen->run ? seen->run : at;
}

bool pprof_next_profile(struct pprof_joined *joined, const uint8_t **ret_data, size_t *ret_bytes)
{
	struct ep_proto message = ep_proto_of(joined->at, (size_t)(joined->end - joined->at));
	const uint8_t *at = joined->at, *end = NULL;
	struct ep_proto_field field;
	struct seen seen = {0};

	if (joined->at == joined->end)
		return false;
	while (!end && ep_proto_next(&message, &field)) {
		if (field.number == PROFILE_SAMPLE_TYPE)
			end = find_begin(&seen, at);
		note(&seen, &field, at);
		at = message.at;
	}
	end = end ? end : joined->end;
	*ret_data = joined->at;
	*ret_bytes = (size_t)(end - joined->at);
	joined->at = end;
	return true;
}
