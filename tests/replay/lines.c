/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines of a printed stack say less than those of the stack without faults, and nothing else. */
#include "tests/replay/replay.h"

#include <string.h>

/* A line; or, without its newline, how a line begins. */
static bool has_line(const struct ep_vec *text, const char *line, size_t bytes, bool is_whole)
{
	const char *at = text->data, *end = at + text->len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at);

		if ((is_whole ? n == bytes : n > bytes) && memcmp(at, line, bytes) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

/* The line, in which a "CLASS." or a "CLASS#" is left out. */
static bool is_without_class(const char *line, size_t bytes, const char *whole, size_t whole_bytes)
{
	size_t word = 0;

	for (size_t at = 0; at < whole_bytes && word <= bytes; at++) {
		if (whole[at] == ' ')
			word = at + 1;
		if ((whole[at] == '.' || whole[at] == '#') && word + whole_bytes - at - 1 == bytes &&
		    memcmp(line, whole, word) == 0 &&
		    memcmp(line + word, whole + at + 1, whole_bytes - at - 1) == 0)
			return true;
	}
	return false;
}

/* How a line begins, in which a "CLASS." is left out. */
static bool has_line_of_class(const struct ep_vec *text, const char *line, size_t bytes)
{
	const char *at = text->data, *end = at + text->len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at);

		for (size_t longer = bytes + 2; longer <= n; longer++) {
			if (is_without_class(line, bytes, at, longer))
				return true;
		}
		at += n + 1;
	}
	return false;
}

/* Without its system name, "  NAME". */
static size_t bytes_without_name(const char *line, size_t bytes)
{
	size_t end = bytes;

	while (end > 2 && (line[end - 1] != ' ' || line[end - 2] != ' '))
		end--;
	return end > 2 ? end - 2 : bytes;
}

/*
 * "KIND  FUNCTION  FILE[:LINE]  SYSTEM NAME [MARK]" of a function that is there, in its file, maybe
 * with a class before its name.
 */
static bool is_marked_line(const struct ep_vec *text, const char *line, size_t bytes)
{
	size_t end, colon;

	if (bytes < 3 || line[bytes - 1] != ']')
		return false;
	end = bytes_without_name(line, bytes);
	colon = end;
	while (colon > 0 && line[colon - 1] != ':' && line[colon - 1] != ' ')
		colon--;
	if (colon > 0 && line[colon - 1] == ':')
		end = colon;
	return end > 0 && (has_line(text, line, end, false) || has_line_of_class(text, line, end));
}

/* The line, in which ":LINE" or ":LINE:COLUMN" is left out. */
static bool is_without_place(const char *line, size_t bytes, const char *whole, size_t whole_bytes)
{
	size_t same = 0, at;

	while (same < bytes && same < whole_bytes && line[same] == whole[same])
		same++;
	at = same;
	while (at < whole_bytes && (whole[at] == ':' || (whole[at] >= '0' && whole[at] <= '9')))
		at++;
	return at > same && whole[same] == ':' && whole_bytes - at == bytes - same &&
	       memcmp(line + same, whole + at, bytes - same) == 0;
}

/*
 * One of these. A name that is without its class may be the system's, and then that is not
 * reported.
 */
static bool has_fuller_line(const struct ep_vec *text, const char *line, size_t bytes)
{
	const char *at = text->data, *end = at + text->len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at);

		if (is_without_place(line, bytes, at, n) || is_without_class(line, bytes, at, n) ||
		    is_without_class(line, bytes, at, bytes_without_name(at, n)))
			return true;
		at += n + 1;
	}
	return false;
}

static bool is_free_line(const char *line, size_t bytes)
{
	return bytes == 0 || strncmp(line, "native", 6) == 0 || strncmp(line, "error ", 6) == 0 ||
	       memchr(line, '?', bytes);
}

bool replay_is_line_of(const struct ep_vec *text, const char *line, size_t bytes)
{
	return is_free_line(line, bytes) || has_line(text, line, bytes, true) ||
	       is_marked_line(text, line, bytes) || has_fuller_line(text, line, bytes);
}
