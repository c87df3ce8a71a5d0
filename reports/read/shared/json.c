/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/read/shared/json.h"
#include "reports/read/reader.h"

#include <errno.h>
#include <stdio.h>

#define MAX_EXPONENT 1000 /* beyond it a number is 0, or larger than any */

static const uint8_t *pass_mark(const uint8_t *at, const uint8_t *end)
{
	size_t bytes = strlen(EP_TEXT_MARK);

	return (size_t)(end - at) >= bytes && memcmp(at, EP_TEXT_MARK, bytes) == 0 ? at + bytes
										   : at;
}

struct ep_json ep_json_of(const uint8_t *data, size_t bytes, const uint8_t *at, struct ep_vec *text)
{
	ep_vec_init(text, 1, EP_JSON_MAX_TEXT_BYTES);
	return (struct ep_json){.start = data,
				.at = pass_mark(at, data + bytes),
				.end = data + bytes,
				.is_first = true,
				.text = text};
}

const uint8_t *ep_json_next_document(const struct ep_json *json)
{
	const uint8_t *at = json->at;

	while (at < json->end && strchr(" \n\r\t", *at) && *at)
		at++;
	at = pass_mark(at, json->end);
	return at < json->end ? at : NULL;
}

bool ep_json_fail(struct ep_json *json, const char *why)
{
	if (!json->why)
		json->why = why;
	return false;
}

int ep_json_end(const struct ep_json *json, int r, char *why)
{
	if (json->has_no_memory || r == -ENOMEM)
		return -ENOMEM;
	if (!json->why)
		return r;
	snprintf(why, EP_READ_WHY_BYTES, "byte %zu: %s", (size_t)(json->at - json->start),
		 json->why);
	return -EBADMSG;
}

/* The byte that comes next, which is no white space; 0 at the end of the file and after an error.
 */
static int json_peek(struct ep_json *json)
{
	while (!json->why && json->at < json->end) {
		uint8_t c = *json->at;

		if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
			return c ? c : 1; /* NUL is as wrong as any control character */
		json->at++;
	}
	ep_json_fail(json, EP_JSON_CUT_OFF);
	return 0;
}

const uint8_t *ep_json_here(struct ep_json *json)
{
	return json_peek(json) ? json->at : NULL;
}

struct ep_json ep_json_at(const struct ep_json *json, const uint8_t *at)
{
	struct ep_json other = *json;

	other.at = at;
	other.is_first = true;
	return other;
}

bool ep_json_is(struct ep_json *json, char c)
{
	return json_peek(json) == c;
}

/* --- objects and arrays --- */

bool ep_json_enter(struct ep_json *json, char bracket)
{
	if (json_peek(json) != bracket)
		return ep_json_fail(json, bracket == '{' ? "an object is expected"
							 : "an array is expected");
	json->at++;
	json->is_first = true;
	return true;
}

/* Passes the comma before an element, or the end. */
static bool json_next(struct ep_json *json, char close)
{
	int c = json_peek(json);

	if (!c)
		return false;
	if (c == close) {
		json->at++;
		json->is_first = false; /* of what this was an element of */
		return false;
	}
	if (!json->is_first && c != ',')
		return ep_json_fail(json, "a comma is expected");
	json->at += !json->is_first;
	json->is_first = false;
	return true;
}

bool ep_json_more(struct ep_json *json)
{
	return json_next(json, ']');
}

bool ep_json_key(struct ep_json *json, struct ep_piece *ret_key)
{
	if (!json_next(json, '}'))
		return false;
	if (!ep_json_is(json, '"'))
		return ep_json_fail(json, "a name in quotes is expected");
	if (!ep_json_text(json, ret_key))
		return false;
	if (json_peek(json) != ':')
		return ep_json_fail(json, "a colon is expected");
	json->at++;
	return true;
}

/* --- strings --- */

static bool read_hex(struct ep_json *json, uint32_t *ret_unit)
{
	uint32_t unit = 0;

	if (json->end - json->at < 4)
		return ep_json_fail(json, EP_JSON_CUT_OFF);
	for (int i = 0; i < 4; i++, json->at++) {
		uint8_t c = *json->at, letter = c | 0x20;

		if (c >= '0' && c <= '9')
			unit = unit << 4 | (uint32_t)(c - '0');
		else if (letter >= 'a' && letter <= 'f')
			unit = unit << 4 | (uint32_t)(letter - 'a' + 10);
		else
			return ep_json_fail(json, "four hex digits are expected");
	}
	*ret_unit = unit;
	return true;
}

static int put_utf8(struct ep_vec *text, uint32_t c)
{
	uint8_t bytes[4];
	size_t n = 0;

	if (c < 0x80) {
		bytes[n++] = (uint8_t)c;
	} else if (c < 0x800) {
		bytes[n++] = (uint8_t)(0xc0 | c >> 6);
		bytes[n++] = (uint8_t)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		bytes[n++] = (uint8_t)(0xe0 | c >> 12);
		bytes[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		bytes[n++] = (uint8_t)(0x80 | (c & 0x3f));
	} else {
		bytes[n++] = (uint8_t)(0xf0 | c >> 18);
		bytes[n++] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
		bytes[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		bytes[n++] = (uint8_t)(0x80 | (c & 0x3f));
	}
	return ep_vec_append(text, bytes, n);
}

/* After "\u". What is half a pair of UTF-16 becomes U+FFFD. */
static int read_unicode(struct ep_json *json)
{
	uint32_t first, second;
	const uint8_t *after;

	if (!read_hex(json, &first))
		return 0;
	if (first >> 11 != 0xd800 >> 11)
		return put_utf8(json->text, first);
	after = json->at;
	if (first < 0xdc00 && json->end - json->at >= 6 && after[0] == '\\' && after[1] == 'u') {
		json->at += 2;
		if (!read_hex(json, &second))
			return 0;
		if (second >= 0xdc00 && second < 0xe000)
			return put_utf8(json->text,
					0x10000 + ((first - 0xd800) << 10 | (second - 0xdc00)));
		json->at = after;
	}
	return put_utf8(json->text, 0xfffd);
}

/* After the backslash. */
static int read_escape(struct ep_json *json)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (json->at == json->end) {
		ep_json_fail(json, EP_JSON_CUT_OFF);
		return 0;
	}
	if (*json->at == 'u') {
		json->at++;
		return read_unicode(json);
	}
	found = *json->at ? strchr(from, *json->at) : NULL;
	if (!found) {
		ep_json_fail(json, "what follows the backslash is no escape");
		return 0;
	}
	json->at++;
	return put_utf8(json->text, (uint8_t)to[found - from]);
}

/* The bytes up to the next quote or backslash. */
static struct ep_piece raw_text(struct ep_json *json)
{
	const uint8_t *at = json->at;

	while (at < json->end && *at != '"' && *at != '\\')
		at++;
	return (struct ep_piece){(const char *)json->at, (size_t)(at - json->at)};
}

static bool text_fails(struct ep_json *json, int r)
{
	json->has_no_memory |= r == -ENOMEM;
	return ep_json_fail(json, "a string is longer than what can be read");
}

bool ep_json_text(struct ep_json *json, struct ep_piece *ret_text)
{
	struct ep_piece piece;
	int r = 0;

	if (ep_json_is(json, 'n')) {
		*ret_text = (struct ep_piece){"", 0};
		ep_json_skip(json);
		return !json->why;
	}
	if (!ep_json_is(json, '"'))
		return ep_json_fail(json, "a string is expected");
	json->at++;
	json->text->len = 0;
	for (;;) {
		piece = raw_text(json);
		json->at += piece.bytes;
		if (json->at == json->end)
			return ep_json_fail(json, EP_JSON_CUT_OFF);
		if (*json->at == '"' && !json->text->len)
			break; /* no escape in it: it is read where it lies */
		r = ep_vec_append(json->text, piece.text, piece.bytes);
		if (*json->at == '"')
			break;
		json->at++;
		if (r == 0)
			r = read_escape(json);
		if (r < 0)
			return text_fails(json, r);
		if (json->why)
			return false;
	}
	json->at++;
	if (r < 0)
		return text_fails(json, r);
	*ret_text = json->text->len ? (struct ep_piece){json->text->data, json->text->len} : piece;
	return true;
}

/* --- numbers --- */

static bool pass_digits(struct ep_json *json)
{
	const uint8_t *first = json->at;

	while (json->at < json->end && *json->at >= '0' && *json->at <= '9')
		json->at++;
	return json->at > first;
}

static bool pass_byte(struct ep_json *json, const char *any_of)
{
	bool is_one = json->at < json->end && *json->at && strchr(any_of, *json->at);

	json->at += is_one;
	return is_one;
}

bool ep_json_number(struct ep_json *json, struct ep_piece *ret_number)
{
	const uint8_t *first = ep_json_here(json);
	bool is_good;

	if (!first)
		return false;
	(void)pass_byte(json, "-");
	is_good = pass_digits(json);
	if (is_good && pass_byte(json, "."))
		is_good = pass_digits(json);
	if (is_good && pass_byte(json, "eE")) {
		(void)pass_byte(json, "+-");
		is_good = pass_digits(json);
	}
	if (!is_good) {
		json->at = json->at == json->end ? json->at : first;
		return ep_json_fail(json, json->at == json->end ? EP_JSON_CUT_OFF
								: "a number is expected");
	}
	*ret_number = (struct ep_piece){(const char *)first, (size_t)(json->at - first)};
	return true;
}

/* digits * 10^exponent */
struct decimal {
	uint64_t digits;
	int exponent;
	bool is_negative;
};

/* Of a number's text. Digits beyond the nineteenth are dropped. */
static struct decimal take_apart(struct ep_piece number)
{
	const char *at = number.text, *end = at + number.bytes;
	bool is_fraction = false, is_less = false;
	struct decimal value = {0};
	int power = 0;

	value.is_negative = *at == '-';
	at += value.is_negative;
	for (; at < end && (*at | 0x20) != 'e'; at++) {
		if (*at == '.') {
			is_fraction = true;
			continue;
		}
		if (value.digits < UINT64_MAX / 10 - 1) {
			value.digits = value.digits * 10 + (uint64_t)(*at - '0');
			value.exponent -= is_fraction && value.exponent > -MAX_EXPONENT;
		} else {
			value.exponent += !is_fraction && value.exponent < MAX_EXPONENT;
		}
	}
	at += at < end;
	if (at < end && (*at == '-' || *at == '+'))
		is_less = *at++ == '-';
	for (; at < end && power < MAX_EXPONENT; at++)
		power = power * 10 + (*at - '0');
	power = EP_MIN(power, MAX_EXPONENT);
	value.exponent += is_less ? -power : power;
	return value;
}

bool ep_json_parts(struct ep_json *json, unsigned int digits, int64_t *ret_parts)
{
	const uint8_t *first = ep_json_here(json);
	struct ep_piece number;
	struct decimal value;
	bool is_half = false;
	int exponent;

	if (!ep_json_number(json, &number))
		return false;
	value = take_apart(number);
	exponent = value.exponent + (int)digits;
	for (; exponent > 0 && value.digits; exponent--) {
		if (__builtin_mul_overflow(value.digits, 10u, &value.digits)) {
			value.digits = UINT64_MAX;
			break;
		}
	}
	for (; exponent < 0 && (value.digits || is_half); exponent++) {
		is_half = value.digits % 10 >= 5;
		value.digits /= 10;
	}
	value.digits += is_half && value.digits < UINT64_MAX;
	if (value.digits > INT64_MAX) {
		json->at = first;
		return ep_json_fail(json, "a number is larger than any that is read");
	}
	*ret_parts = value.is_negative ? -(int64_t)value.digits : (int64_t)value.digits;
	return true;
}

bool ep_json_row(struct ep_json *json, uint32_t *ret_row)
{
	const uint8_t *first = ep_json_here(json);
	struct ep_piece number;
	uint64_t row = 0;

	*ret_row = EP_JSON_NONE;
	if (ep_json_is(json, 'n')) {
		ep_json_skip(json);
		return !json->why;
	}
	if (!ep_json_number(json, &number))
		return false;
	if (ep_piece_is(number, "-1"))
		return true;
	for (size_t i = 0; i < number.bytes && row < EP_JSON_NONE; i++) {
		if (number.text[i] < '0' || number.text[i] > '9')
			row = EP_JSON_NONE;
		else
			row = row * 10 + (uint64_t)(number.text[i] - '0');
	}
	if (row >= EP_JSON_NONE) {
		json->at = first;
		return ep_json_fail(json, "it is no number of a row");
	}
	*ret_row = (uint32_t)row;
	return true;
}

/* --- what nobody wants --- */

static bool skip_text(struct ep_json *json)
{
	for (json->at++; json->at < json->end; json->at++) {
		if (*json->at == '"') {
			json->at++;
			return true;
		}
		if (*json->at == '\\' && ++json->at == json->end)
			break;
	}
	return ep_json_fail(json, EP_JSON_CUT_OFF);
}

/* A number, true, false or null. */
static bool skip_word(struct ep_json *json)
{
	const uint8_t *first = json->at;

	for (; json->at < json->end; json->at++) {
		uint8_t c = *json->at, letter = c | 0x20;

		if (!(c >= '0' && c <= '9') && !(letter >= 'a' && letter <= 'z') && c != '-' &&
		    c != '+' && c != '.')
			break;
	}
	return json->at > first || ep_json_fail(json, "a value is expected");
}

void ep_json_skip(struct ep_json *json)
{
	uint64_t is_object = 0; /* a bit for each bracket that is open */
	unsigned int depth = 0;

	_Static_assert(EP_JSON_MAX_DEPTH == 64, "a bit of is_object each");
	do {
		int c = json_peek(json);

		if (c == '{' || c == '[') {
			if (depth == EP_JSON_MAX_DEPTH) {
				ep_json_fail(json, "its brackets are nested more than 64 deep");
				return;
			}
			is_object = is_object << 1 | (c == '{');
			depth++;
			json->at++;
		} else if (depth && (c == '}' || c == ']')) {
			if ((is_object & 1) != (c == '}')) {
				ep_json_fail(json, "a bracket closes another kind of bracket");
				return;
			}
			is_object >>= 1;
			depth--;
			json->at++;
		} else if (c == '"') {
			(void)skip_text(json);
		} else if (depth && (c == ',' || c == ':')) {
			json->at++;
		} else if (c) {
			(void)skip_word(json);
		}
	} while (depth && !json->why);
	json->is_first = false;
}
