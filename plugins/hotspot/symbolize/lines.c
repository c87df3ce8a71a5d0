/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/symbolize/lines.h"

#include "core/base/util.h"
#include "plugins/hotspot/symbolize/unsigned5.h"
#include "plugins/shared/search.h"

#include <errno.h>
#include <string.h>

#define ESCAPE	 0xff
#define MAX_LINE 65535 /* JVMS 4.7.12: line_number is u2 */

struct reader {
	const uint8_t *bytes;
	size_t n, pos;
	uint32_t excluded;
	int64_t bci, line;
};

/* 1: a pair, 0: the end, -EBADMSG. */
static int read_pair(struct reader *reader)
{
	int32_t bci, line;
	uint8_t byte;

	if (reader->pos >= reader->n)
		return -EBADMSG;
	byte = reader->bytes[reader->pos++];
	if (byte == 0)
		return 0;
	if (byte != ESCAPE) {
		reader->bci += byte >> 3;
		reader->line += byte & 7;
		return 1;
	}
	if (!hotspot_signed5(reader->bytes, reader->n, &reader->pos, reader->excluded, &bci) ||
	    !hotspot_signed5(reader->bytes, reader->n, &reader->pos, reader->excluded, &line))
		return -EBADMSG;
	reader->bci += bci;
	reader->line += line;
	return 1;
}

static bool is_pair(const struct reader *reader, uint32_t code_bytes)
{
	return reader->bci >= 0 && reader->bci < code_bytes && reader->line >= 0 &&
	       reader->line <= MAX_LINE;
}

/* How many pairs, or -EBADMSG. */
static int64_t count_pairs(const uint8_t *bytes, size_t n, uint32_t code_bytes, uint32_t excluded)
{
	struct reader reader = {.bytes = bytes, .n = n, .excluded = excluded};
	int64_t pairs = 0;
	int r;

	while ((r = read_pair(&reader)) > 0) {
		if (!is_pair(&reader, code_bytes))
			return -EBADMSG;
		pairs++;
	}
	return r < 0 ? r : pairs;
}

/*
 * Nearly every table begins with bci 0 at a line above 7, which is an escape and then the 0: a byte
 * 0 in the old code, 1 in the new one, which would be bci -1 in the old.
 */
static uint32_t choose_code(const uint8_t *bytes, size_t n, uint32_t guess)
{
	if (n >= 2 && bytes[0] == ESCAPE && bytes[1] <= 1)
		return bytes[1];
	return guess;
}

static void sort_stable(struct hotspot_line *runs, size_t n, struct hotspot_line *spare)
{
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t at = 0; at < n; at += 2 * width) {
			size_t left = at, middle = EP_MIN(at + width, n);
			size_t right = middle, end = EP_MIN(at + 2 * width, n);

			for (size_t to = at; to < end; to++) {
				bool take_left =
					left < middle &&
					(right >= end || runs[left].bci <= runs[right].bci);

				spare[to] = runs[take_left ? left++ : right++];
			}
		}
		memcpy(runs, spare, n * sizeof(*runs));
	}
}

static bool is_sorted(const struct hotspot_line *runs, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (runs[i].bci < runs[i - 1].bci)
			return false;
	}
	return true;
}

static int sort(struct hotspot_line *runs, size_t n)
{
	struct hotspot_line *spare;

	if (is_sorted(runs, n))
		return 0;
	spare = calloc(n, sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	sort_stable(runs, n, spare);
	free(spare);
	return 0;
}

int hotspot_lines_parse(const uint8_t *bytes, size_t n, uint32_t code_bytes, uint32_t *excluded,
			struct hotspot_lines *ret)
{
	struct reader reader = {.bytes = bytes, .n = n};
	ep_autofree struct hotspot_line *runs = NULL;
	int64_t pairs;
	int r;

	reader.excluded = choose_code(bytes, n, *excluded);
	pairs = count_pairs(bytes, n, code_bytes, reader.excluded);
	if (pairs < 0) {
		reader.excluded ^= 1;
		pairs = count_pairs(bytes, n, code_bytes, reader.excluded);
	}
	if (pairs < 0)
		return (int)pairs;
	runs = calloc((size_t)pairs + 1, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	for (size_t i = 0; read_pair(&reader) > 0; i++)
		runs[i] = (struct hotspot_line){.bci = (uint16_t)reader.bci,
						.line = (uint32_t)reader.line};
	r = sort(runs, (size_t)pairs);
	if (r < 0)
		return r;
	*excluded = reader.excluded;
	ret->len = (size_t)pairs;
	ret->runs = ep_take(runs);
	return 0;
}

void hotspot_lines_fini(struct hotspot_lines *lines)
{
	free(lines->runs);
	*lines = (struct hotspot_lines){0};
}

const struct hotspot_line *hotspot_lines_find(const struct hotspot_line *runs, size_t n,
					      uint32_t bci)
{
	size_t at = search_sorted(n, i, runs[i].bci < bci);

	if (at < n && runs[at].bci == bci)
		return &runs[at];
	return at > 0 ? &runs[at - 1] : NULL;
}
