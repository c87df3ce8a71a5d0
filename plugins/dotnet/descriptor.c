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

static int visit_fields(struct reader *reader, const struct descriptor_text *type, descriptor_visit *visit,
			void *arg)
{
	struct descriptor_text field;
	uint64_t value;
	bool is = false;
	int r;

	if (!take(reader, '{'))
		return -EBADMSG;
	if (take(reader, '}'))
		return 0;
	do {
		r = read_key(reader, &field);
		if (r == 0)
			r = read_number(reader, &is, &value);
		if (r == 0 && is)
			r = visit(arg, type, &field, value);
		if (r == 0)
			r = has_more(reader);
	} while (r == 1);
	return r;
}

static int visit_types(struct reader *reader, descriptor_visit *visit, void *arg)
{
	struct descriptor_text type;
	int r;

	if (!take(reader, '{'))
		return -EBADMSG;
	if (take(reader, '}'))
		return 0;
	do {
		r = read_key(reader, &type);
		if (r == 0)
			r = visit_fields(reader, &type, visit, arg);
		if (r == 0)
			r = has_more(reader);
	} while (r == 1);
	return r;
}

int dotnet_descriptor_visit(const char *text, size_t bytes, descriptor_visit *visit, void *arg)
{
	struct reader reader = {text, text + bytes};
	static const struct descriptor_text none = {"", 0};
	struct descriptor_text key;
	int r;

	if (bytes > DOTNET_DESCRIPTOR_MAX_BYTES || !take(&reader, '{'))
		return -EBADMSG;
	do {
		r = read_key(&reader, &key);
		if (r < 0)
			return r;
		if (key.len == 5 && memcmp(key.at, "types", 5) == 0)
			r = visit_types(&reader, visit, arg);
		else if (key.len == 7 && memcmp(key.at, "globals", 7) == 0)
			r = visit_fields(&reader, &none, visit, arg);
		else
			r = pass_value(&reader);
		if (r == 0)
			r = has_more(&reader);
	} while (r == 1);
	return r;
}
