/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked at lies two objects deep; all else is passed over by counting brackets. */
#include "plugins/dotnet/descriptor.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MAX_DIGITS 18

struct reader {
	const char *at, *end;
};

static char next(struct reader *reader)
{
	while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
		reader->at++;
	return reader->at < reader->end ? *reader->at : 0;
}

static bool take(struct reader *reader, char c)
{
	if (next(reader) != c)
		return false;
	reader->at++;
	return true;
}

static int read_text(struct reader *reader, struct descriptor_text *ret)
{
	if (!take(reader, '"'))
		return -EBADMSG;
	ret->at = reader->at;
	while (reader->at < reader->end && *reader->at != '"')
		reader->at += *reader->at == '\\' && reader->end - reader->at > 1 ? 2 : 1;
	if (reader->at >= reader->end)
		return -EBADMSG;
	ret->len = (size_t)(reader->at++ - ret->at);
	return 0;
}

/* A name and its colon. */
static int read_key(struct reader *reader, struct descriptor_text *ret)
{
	int r = read_text(reader, ret);

	return r == 0 && !take(reader, ':') ? -EBADMSG : r;
}

/* What stands between two commas, or brackets; a text, an array, an object whole. */
static int pass_value(struct reader *reader)
{
	const char *begin;
	struct descriptor_text text;
	uint32_t depth = 0;
	char c = next(reader);

	for (begin = reader->at; c && (depth || !strchr(",]}", c)); c = next(reader)) {
		int r = c == '"' ? read_text(reader, &text) : 0;

		if (r < 0)
			return r;
		if (c == '"')
			continue;
		depth += c == '{' || c == '[';
		depth -= c == '}' || c == ']';
		reader->at++;
	}
	return c && reader->at > begin ? 0 : -EBADMSG;
}

/* 12, 0xc: false for all else. */
static bool to_number(const struct descriptor_text *text, uint64_t *ret)
{
	bool is_hex = text->len > 2 && text->at[0] == '0' && text->at[1] == 'x';
	uint64_t value = 0;

	if (text->len == 0 || text->len > MAX_DIGITS)
		return false;
	for (size_t i = is_hex ? 2 : 0; i < text->len; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = text->at[i] ? strchr(digits, text->at[i] | 0x20) : NULL;

		if (!digit || (!is_hex && digit - digits > 9))
			return false;
		value = value * (is_hex ? 16 : 10) + (uint64_t)(digit - digits);
	}
	*ret = value;
	return true;
}

/* A number, bare or as a text, or the first element of an array that is one. The value is passed over. */
static int read_number(struct reader *reader, bool *ret_is, uint64_t *ret)
{
	struct reader whole = *reader;
	struct descriptor_text text;
	int r = pass_value(reader);

	*ret_is = false;
	if (r < 0)
		return r;
	if (next(&whole) == '[')
		whole.at++;
	if (next(&whole) == '"') {
		r = read_text(&whole, &text);
	} else {
		text.at = whole.at;
		while (whole.at < reader->at && (unsigned char)*whole.at > ' ' && !strchr(",]}", *whole.at))
			whole.at++;
		text.len = (size_t)(whole.at - text.at);
	}
	*ret_is = r == 0 && to_number(&text, ret);
	return r;
}

/* After an element: true where another one follows, and false where the object ends. */
static int has_more(struct reader *reader)
{
	if (take(reader, ','))
		return 1;
	return take(reader, '}') ? 0 : -EBADMSG;
}

/* What is visited: fields of a type, or globals, whose type is "". */
struct visiting {
	descriptor_visit *visit;
	void *arg;
	struct descriptor_text type;
};

typedef int read_member(struct reader *reader, const struct descriptor_text *key, struct visiting *visiting);

static int read_object(struct reader *reader, read_member *read, struct visiting *visiting)
{
	struct descriptor_text key;
	int r;

	if (!take(reader, '{'))
		return -EBADMSG;
	if (take(reader, '}'))
		return 0;
	do {
		r = read_key(reader, &key);
		if (r == 0)
			r = read(reader, &key, visiting);
		if (r == 0)
			r = has_more(reader);
	} while (r == 1);
	return r;
}

static int read_field(struct reader *reader, const struct descriptor_text *key, struct visiting *visiting)
{
	uint64_t value;
	bool is = false;
	int r = read_number(reader, &is, &value);

	return r == 0 && is ? visiting->visit(visiting->arg, &visiting->type, key, value) : r;
}

static int read_type(struct reader *reader, const struct descriptor_text *key, struct visiting *visiting)
{
	visiting->type = *key;
	return read_object(reader, read_field, visiting);
}

static bool is_key(const struct descriptor_text *key, const char *name)
{
	return key->len == strlen(name) && memcmp(key->at, name, key->len) == 0;
}

static int read_part(struct reader *reader, const struct descriptor_text *key, struct visiting *visiting)
{
	if (is_key(key, "types"))
		return read_object(reader, read_type, visiting);
	visiting->type = (struct descriptor_text){"", 0};
	return is_key(key, "globals") ? read_object(reader, read_field, visiting) : pass_value(reader);
}

int dotnet_descriptor_visit(const char *text, size_t bytes, descriptor_visit *visit, void *arg)
{
	struct reader reader = {text, text + bytes};
	struct visiting visiting = {.visit = visit, .arg = arg};

	return bytes > DOTNET_DESCRIPTOR_MAX_BYTES ? -EBADMSG : read_object(&reader, read_part, &visiting);
}
