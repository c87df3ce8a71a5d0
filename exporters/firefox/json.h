/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, written as it comes: commas are put by themselves. */
#ifndef FIREFOX_JSON_H
#define FIREFOX_JSON_H

#include "exporters/shared/text_out.h"

#define JSON_MAX_DEPTH 16

struct json {
	struct ep_text_out *out;
	unsigned int depth;
	bool more[JSON_MAX_DEPTH]; /* something stands before, at each depth */
};

/* key NULL: an element of an array. */
void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_i64(struct json *json, const char *key, int64_t value);
void json_null(struct json *json, const char *key);
void json_bool(struct json *json, const char *key, bool value);
/* Text of any bytes: what is no UTF-8 becomes U+FFFD. */
void json_text(struct json *json, const char *key, const char *text, size_t bytes);
void json_str(struct json *json, const char *key, const char *text);
/* Nanoseconds as milliseconds: 1500000 is 1.5. */
void json_ms(struct json *json, const char *key, int64_t ns);

#endif
