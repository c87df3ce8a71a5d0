/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON (RFC 8259), read where it lies and forwards: who reads says what should come next.
 *
 *	struct ep_json json = ep_json_of(data, bytes, data, &text);
 *	struct ep_piece key;
 *
 *	ep_json_enter(&json, '{');
 *	while (ep_json_key(&json, &key)) {
 *		if (ep_piece_is(key, "frames"))
 *			read_frames(&json);
 *		else
 *			ep_json_skip(&json);
 *	}
 *	if (json.why) ...
 *
 * Nothing recurses: only what is skipped may be nested to a depth that the file chooses, and that
 * depth has a maximum. An error sticks: later calls return false and read nothing, so that loops
 * end. In what is skipped brackets and strings are checked, commas and colons are not.
 *
 * Keys come in any order. A reader that wants them in its own keeps where a value begins
 * (ep_json_here), skips it, and reads it later (ep_json_at).
 */
#ifndef EP_READERS_JSON_H
#define EP_READERS_JSON_H

#include "reports/read/shared/lines.h"

#define EP_JSON_MAX_DEPTH      64
#define EP_JSON_MAX_TEXT_BYTES ((size_t)16 << 20)
#define EP_JSON_NONE	       UINT32_MAX
#define EP_JSON_CUT_OFF	       "it ends too early: the file was cut off"

struct ep_json {
	const uint8_t *start, *at, *end;
	const char *why;     /* NULL; else what is wrong at `at` */
	bool has_no_memory;  /* that is why */
	bool is_first;	     /* of the object or array in hand nothing has been read */
	struct ep_vec *text; /* bytes of a string that has escapes; the caller's */
};

/*
 * Of a file, from `at` in it on. A byte order mark is no part of it. `text` is initialized here,
 * for ep_vec_fini.
 */
struct ep_json ep_json_of(const uint8_t *data, size_t bytes, const uint8_t *at,
			  struct ep_vec *text);
/* Where the next value begins; NULL after an error. */
const uint8_t *ep_json_here(struct ep_json *json);
/* The same file from there. A second struct of one file may be read beside the first; both use one
 * `text`. */
struct ep_json ep_json_at(const struct ep_json *json, const uint8_t *at);
/* Where another document begins after this one, as in files that were joined; NULL at the end of
 * the file. */
const uint8_t *ep_json_next_document(const struct ep_json *json);
/*
 * What a reader returns whose builder reported `r`: 0, an error of it, or -EBADMSG and in `why`, of
 * EP_READ_WHY_BYTES, "byte 17: a number is expected".
 */
int ep_json_end(const struct ep_json *json, int r, char *why);
/* Sets `why` to what the reader found wrong in the value just read. Returns false. */
bool ep_json_fail(struct ep_json *json, const char *why);

/* The next value begins with this byte: '{', '[', '"', .. */
bool ep_json_is(struct ep_json *json, char c);
/* Begins an object or an array, which must come. */
bool ep_json_enter(struct ep_json *json, char bracket);
/* The next member's key, valid until the next text; its value comes next. False at the object's
 * end. */
bool ep_json_key(struct ep_json *json, struct ep_piece *ret_key);
/* True while the array has another element, which comes next. */
bool ep_json_more(struct ep_json *json);
/* A string, decoded; valid until the next one. null is "". */
bool ep_json_text(struct ep_json *json, struct ep_piece *ret_text);
/* A number, as the file has it. */
bool ep_json_number(struct ep_json *json, struct ep_piece *ret_number);
/* A whole number less than EP_JSON_NONE; null and -1 are EP_JSON_NONE. */
bool ep_json_row(struct ep_json *json, uint32_t *ret_row);
/* A number in parts of which 10^digits are one, rounded. */
bool ep_json_parts(struct ep_json *json, unsigned int digits, int64_t *ret_parts);
void ep_json_skip(struct ep_json *json);

#endif
