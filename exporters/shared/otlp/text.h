/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of KEY=VALUE pairs as the OTEL_ variables have them, percent-encoding, UTF-8. */
#ifndef OTLP_TEXT_H
#define OTLP_TEXT_H

#include "core/base/util.h"

#define OTLP_PAIR_BYTES 4096 /* a key, or a value, with its NUL */

struct otlp_pair {
	char key[256];
	char value[OTLP_PAIR_BYTES];
};

/*
 * The next pair of "key=value,key=value" (W3C Baggage without properties: spaces around both are
 * dropped, %XX in values is decoded), and *pos moves after it. 1, 0 at the end, -EBADMSG for an
 * item that is no such pair or too long: *pos is after it, go on or not.
 */
int otlp_next_pair(const char **pos, struct otlp_pair *ret_pair);

/* %XX to bytes, in place; what is no such sequence stays as it is. Returns the new length. */
size_t otlp_percent_decode(char *text, size_t len);

/* Unicode 15.0, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF. */
bool otlp_is_utf8(const char *text, size_t len);

/* Printable ASCII of `text` (others become '?'), NUL-terminated: for log lines. */
void otlp_printable(const char *text, size_t len, char *to, size_t to_len);

#endif
