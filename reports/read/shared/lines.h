/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text, line by line, without its ends: "\n" or "\r\n", or none of the last line. A byte order mark
 * before a line is no part of it: of the first one, and of files that were joined. What a piece of
 * text became is remembered, so that frames, which are there thousands of times, are taken apart
 * once.
 */
#ifndef EP_READERS_LINES_H
#define EP_READERS_LINES_H

#include "core/base/strings.h"
#include "core/base/vec.h"

#include <string.h>

/* A piece of the file, not NUL-terminated. */
struct ep_piece {
	const char *text;
	size_t bytes;
};

#define EP_TEXT_MARK "\xef\xbb\xbf" /* U+FEFF */

struct ep_text {
	const char *at, *end;
	size_t line; /* number of the line that was read last, from 1 */
};

static inline struct ep_text ep_text_of(const uint8_t *data, size_t bytes)
{
	return (struct ep_text){.at = (const char *)data, .end = (const char *)data + bytes};
}

/* The next line; false after the last one. */
static inline bool ep_text_next(struct ep_text *text, struct ep_piece *ret_line)
{
	const char *end;

	while (text->end - text->at >= 3 && memcmp(text->at, EP_TEXT_MARK, 3) == 0)
		text->at += 3;
	if (text->at == text->end)
		return false;
	end = memchr(text->at, '\n', (size_t)(text->end - text->at));
	ret_line->text = text->at;
	ret_line->bytes = (size_t)((end ? end : text->end) - text->at);
	text->at = end ? end + 1 : text->end;
	text->line++;
	if (ret_line->bytes && ret_line->text[ret_line->bytes - 1] == '\r')
		ret_line->bytes--;
	return true;
}

/* The line that was read last is the file's last, and has no end. */
static inline bool ep_text_is_cut(const struct ep_text *text)
{
	return text->at == text->end && text->end[-1] != '\n';
}

static inline struct ep_piece ep_piece_trim(struct ep_piece piece)
{
	while (piece.bytes && (piece.text[0] == ' ' || piece.text[0] == '\t')) {
		piece.text++;
		piece.bytes--;
	}
	while (piece.bytes && (piece.text[piece.bytes - 1] == ' ' || piece.text[piece.bytes - 1] == '\t'))
		piece.bytes--;
	return piece;
}

static inline bool ep_piece_ends(struct ep_piece piece, const char *end)
{
	size_t bytes = strlen(end);

	return piece.bytes >= bytes && memcmp(piece.text + piece.bytes - bytes, end, bytes) == 0;
}

static inline bool ep_piece_is(struct ep_piece piece, const char *text)
{
	return piece.bytes == strlen(text) && memcmp(piece.text, text, piece.bytes) == 0;
}

static inline void ep_piece_copy(struct ep_piece piece, char *text, size_t bytes)
{
	size_t len = EP_MIN(piece.bytes, bytes - 1);

	memcpy(text, piece.text, len);
	text[len] = '\0';
}

/* Pieces that were seen, and the row of each. */
struct ep_pieces {
	struct ep_strings *strings;
	struct ep_vec rows; /* uint32_t by string; 0: not known */
};

static inline int ep_pieces_init(struct ep_pieces *pieces)
{
	ep_vec_init(&pieces->rows, sizeof(uint32_t), UINT32_MAX / 2);
	return ep_strings_new((size_t)1 << 30, &pieces->strings);
}

static inline void ep_pieces_fini(struct ep_pieces *pieces)
{
	ep_strings_free(pieces->strings);
	ep_vec_fini(&pieces->rows);
}

/* Where the row of a piece is kept, valid until the next call. 0, -E2BIG, -ENOMEM. */
static inline int ep_pieces_find(struct ep_pieces *pieces, struct ep_piece piece, uint32_t **ret_row)
{
	uint32_t id = 0;
	int r = ep_strings_add(pieces->strings, piece.text, piece.bytes, &id);

	if (r == 0 && id >= pieces->rows.len)
		r = ep_vec_append(&pieces->rows, NULL, id + 1 - pieces->rows.len);
	if (r == 0)
		*ret_row = ep_vec_at(&pieces->rows, uint32_t, id);
	return r;
}

#endif
