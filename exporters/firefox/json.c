/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/firefox/json.h"
#include "core/base/utf8.h"

#include <assert.h>
#include <string.h>

#define REPLACEMENT "\\ufffd"
#define NS_PER_MS   1000000u

static void put_quoted(struct json *json, const char *text, size_t bytes)
{
	struct ep_text_out *out = json->out;

	ep_text_out_char(out, '"');
	for (size_t i = 0, n; i < bytes; i += n) {
		unsigned char c = (unsigned char)text[i];

		n = 1;
		if (c == '"' || c == '\\') {
			ep_text_out_char(out, '\\');
			ep_text_out_char(out, (char)c);
		} else if (c < ' ' || c == 0x7f) {
			ep_text_out_printf(out, "\\u%04x", c);
		} else if (c < 0x80) {
			ep_text_out_char(out, (char)c);
		} else {
			n = ep_utf8_len(text + i, bytes - i);
			if (n)
				ep_text_out_put(out, text + i, n);
			else
				ep_text_out_str(out, REPLACEMENT);
			n = EP_MAX(n, (size_t)1);
		}
	}
	ep_text_out_char(out, '"');
}

static void begin(struct json *json, const char *key)
{
	if (json->more[json->depth])
		ep_text_out_char(json->out, ',');
	json->more[json->depth] = true;
	if (key) {
		put_quoted(json, key, strlen(key));
		ep_text_out_char(json->out, ':');
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin(json, key);
	ep_text_out_char(json->out, bracket);
	assert(json->depth + 1 < JSON_MAX_DEPTH);
	json->more[++json->depth] = false;
}

void json_close(struct json *json, char bracket)
{
	json->depth--;
	ep_text_out_char(json->out, bracket);
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
	begin(json, key);
	ep_text_out_u64(json->out, value);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
	begin(json, key);
	if (value < 0)
		ep_text_out_char(json->out, '-');
	ep_text_out_u64(json->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_null(struct json *json, const char *key)
{
	begin(json, key);
	ep_text_out_str(json->out, "null");
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin(json, key);
	ep_text_out_str(json->out, value ? "true" : "false");
}

void json_text(struct json *json, const char *key, const char *text, size_t bytes)
{
	begin(json, key);
	put_quoted(json, text, bytes);
}

void json_str(struct json *json, const char *key, const char *text)
{
	json_text(json, key, text, strlen(text));
}

void json_ms(struct json *json, const char *key, int64_t ns)
{
	uint64_t value = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	uint32_t part = (uint32_t)(value % NS_PER_MS), digits = 6;

	begin(json, key);
	if (ns < 0)
		ep_text_out_char(json->out, '-');
	ep_text_out_u64(json->out, value / NS_PER_MS);
	if (!part)
		return;
	for (; part % 10 == 0; part /= 10)
		digits--;
	ep_text_out_printf(json->out, ".%0*u", (int)digits, part);
}
