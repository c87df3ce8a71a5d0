/* SPDX-License-Identifier: Apache-2.0 */
/* One pass, with the names on the way to where it is. All but a number three objects deep at most
 * is passed over. */
#include "plugins/dotnet/descriptor.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MAX_DIGITS 18
#define MAX_DEPTH  32

/* An object or array that is open. */
struct level {
	bool is_object;
	uint32_t n; /* of its elements that have begun */
	struct descriptor_text key; /* of the last one, in an object */
};

struct parser {
	const char *at, *end;
	struct level levels[MAX_DEPTH];
	uint32_t depth;
	descriptor_visit *visit;
	void *arg;
};

static char next(struct parser *parser)
{
	while (parser->at < parser->end && strchr(" \t\r\n", *parser->at) && *parser->at)
		parser->at++;
	return parser->at < parser->end ? *parser->at : 0;
}

static bool take(struct parser *parser, char c)
{
	if (next(parser) != c)
		return false;
	parser->at++;
	return true;
}

static int read_text(struct parser *parser, struct descriptor_text *ret)
{
	if (!take(parser, '"'))
		return -EBADMSG;
	ret->at = parser->at;
	while (parser->at < parser->end && *parser->at != '"')
		parser->at += *parser->at == '\\' && parser->end - parser->at > 1 ? 2 : 1;
	if (parser->at >= parser->end)
		return -EBADMSG;
	ret->len = (size_t)(parser->at++ - ret->at);
	return 0;
}

static int read_key(struct parser *parser, struct descriptor_text *ret)
{
	int r = read_text(parser, ret);

	return r == 0 && !take(parser, ':') ? -EBADMSG : r;
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

static bool is_key(const struct descriptor_text *key, const char *name)
{
	return key->len == strlen(name) && memcmp(key->at, name, key->len) == 0;
}

/* In {"types": {TYPE: {FIELD: here}}} or {"globals": {NAME: here}}, or there first in an array. */
static int visit_value(const struct parser *parser, const struct descriptor_text *text)
{
	static const struct descriptor_text no_type = {"", 0};
	const struct level *levels = parser->levels, *last = &levels[parser->depth - 1];
	bool is_field = is_key(&levels[0].key, "types");
	bool is_first = !last->is_object && last->n == 1;
	uint32_t n = is_field ? 3 : 2; /* objects that it lies in */
	uint64_t value;

	if (!is_field && !is_key(&levels[0].key, "globals"))
		return 0;
	if (parser->depth - is_first != n || !levels[1].is_object || !levels[n - 1].is_object)
		return 0;
	if (!to_number(text, &value))
		return 0;
	return parser->visit(parser->arg, is_field ? &levels[1].key : &no_type, &levels[n - 1].key,
			     value);
}

/* Opens an object or an array, or reads all of another value. */
static int begin_value(struct parser *parser)
{
	char c = next(parser);
	struct descriptor_text text = {parser->at, 0};
	int r = 0;

	if (c == '{' || c == '[') {
		if (parser->depth == MAX_DEPTH)
			return -EBADMSG;
		parser->levels[parser->depth++] =
			(struct level){.is_object = c == '{', .key = {"", 0}};
		parser->at++;
		return 0;
	}
	if (c == '"') {
		r = read_text(parser, &text);
	} else {
		while (parser->at < parser->end && (unsigned char)*parser->at > ' ' &&
		       !strchr(",]}", *parser->at))
			parser->at++;
		text.len = (size_t)(parser->at - text.at);
		r = text.len ? 0 : -EBADMSG;
	}
	return r == 0 ? visit_value(parser, &text) : r;
}

int dotnet_descriptor_visit(const char *text, size_t bytes, descriptor_visit *visit, void *arg)
{
	struct parser parser = {.at = text, .end = text + bytes, .visit = visit, .arg = arg};
	int r;

	if (bytes > DOTNET_DESCRIPTOR_MAX_BYTES || next(&parser) != '{')
		return -EBADMSG;
	r = begin_value(&parser);
	while (r == 0 && parser.depth) {
		struct level *level = &parser.levels[parser.depth - 1];

		if (take(&parser, level->is_object ? '}' : ']')) {
			parser.depth--;
			continue;
		}
		if (level->n++ && !take(&parser, ','))
			return -EBADMSG;
		if (level->is_object)
			r = read_key(&parser, &level->key);
		if (r == 0)
			r = begin_value(&parser);
	}
	return r;
}
