/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/text.h"

#include "core/base/util.h"
#include "plugins/shared/text/writer.h"

#include <errno.h>
#include <string.h>

/* The lower bits of a string's instance type (objects/instance-type.h, 6.2 to 14.6). */
#define SHAPE_MASK 7u
#define SEQUENTIAL 0u
#define CONS	   1u
#define EXTERNAL   2u
#define SLICED	   3u
#define THIN	   5u
#define ONE_BYTE   8u

/*
 * Two fields of all that are not sequential: a cons's first and second, a slice's parent and
 * offset, a thin one's actual, an external one's resource and its data, are at the same two places
 * in all versions.
 */
#define MAX_HOPS   16	      /* from a string to where its characters are */
#define MAX_PIECES 1024	      /* of one text */
#define MAX_DEPTH  64	      /* of pieces that wait after another */
#define MAX_LENGTH (1u << 30) /* String::kMaxLength is 2^29 - 24 at most */
#define UNITS	   256

/* A string without what only leads to another: either flat, or two pieces. */
struct piece {
	struct v8_flat flat;
	uint64_t first, second; /* 0: flat */
};

struct head {
	uint64_t object, first, second;
	uint32_t length;
	uint16_t type;
};

static int read_head(struct v8_heap *heap, uint64_t string, struct head *ret)
{
	const struct v8_layout *layout = heap->layout;
	struct head head = {.object = string};
	int32_t length;
	int r = v8_object_type(heap, &head.object, &head.type);

	if (r < 0)
		return r;
	if (head.type >= layout->type_nonstring)
		return -EBADMSG;
	if (layout->string_len_is_smi)
		r = v8_field_smi(heap, head.object, layout->string_len, &length);
	else
		r = v8_field_int(heap, head.object, layout->string_len, &length);
	if (r == 0 && (length < 0 || (uint32_t)length > MAX_LENGTH))
		r = -EBADMSG;
	if (r < 0)
		return r;
	head.length = (uint32_t)length;
	if ((head.type & SHAPE_MASK) != SEQUENTIAL) {
		r = v8_field(heap, head.object, layout->string_first, &head.first);
		if (r == 0 && (head.type & SHAPE_MASK) != THIN)
			r = v8_field(heap, head.object, layout->string_second, &head.second);
	}
	if (r == 0)
		*ret = head;
	return r;
}

/* [from, from + length) of it, as far as it is flat. */
static int set_flat(const struct v8_layout *layout, const struct head *head, uint64_t from,
		    uint32_t length, struct piece *ret)
{
	bool two_bytes = !(head->type & ONE_BYTE);
	uint64_t chars = head->object - 1 + (uint32_t)layout->string_chars;

	if (from + length > head->length)
		return -EBADMSG;
	if ((head->type & SHAPE_MASK) == EXTERNAL) {
		if ((head->type >> layout->string_uncached_bit & 1) || !head->second)
			return -ENOTSUP;
		chars = head->second;
	}
	*ret = (struct piece){
		.flat = {.chars = chars + (from << two_bytes), .length = length,
			 .two_bytes = two_bytes},
	};
	return 0;
}

static int set_cons(struct v8_heap *heap, const struct head *head, uint64_t from,
		    struct piece *ret, bool *ret_is_flat)
{
	struct head second = {0};
	int r = read_head(heap, head->second, &second);

	if (r < 0)
		return r;
	*ret_is_flat = second.length == 0;
	if (!*ret_is_flat && from)
		return -EBADMSG;
	*ret = (struct piece){.first = head->first, .second = head->second};
	return 0;
}

static int resolve(struct v8_heap *heap, uint64_t string, struct piece *ret)
{
	uint64_t from = 0;
	uint32_t length = UINT32_MAX;

	for (uint32_t hop = 0; hop < MAX_HOPS; hop++) {
		struct head head = {0};
		bool is_flat = false;
		int r = read_head(heap, string, &head);

		if (r < 0)
			return r;
		length = EP_MIN(length, head.length);
		switch (head.type & SHAPE_MASK) {
		case SEQUENTIAL:
		case EXTERNAL:
			return set_flat(heap->layout, &head, from, length, ret);
		case CONS:
			r = set_cons(heap, &head, from, ret, &is_flat);
			if (r < 0 || !is_flat)
				return r;
			break;
		case SLICED:
			if (!v8_is_smi(head.second) || v8_smi(head.second) < 0)
				return -EBADMSG;
			from += (uint32_t)v8_smi(head.second);
			break;
		case THIN:
			break;
		default:
			return -EBADMSG;
		}
		string = head.first;
	}
	return -EBADMSG;
}

int v8_string_flat(struct v8_heap *heap, uint64_t string, struct v8_flat *ret)
{
	struct piece piece = {.first = 0};
	int r = resolve(heap, string, &piece);

	if (r < 0)
		return r;
	if (piece.first)
		return -ENOTSUP;
	*ret = piece.flat;
	return 0;
}

/* ---- as UTF-8 ---- */

static int write_flat(struct v8_heap *heap, const struct v8_flat *flat, struct text_writer *writer)
{
	uint16_t units[UNITS];
	const uint8_t *bytes = (const uint8_t *)units;
	uint64_t at = flat->chars;
	uint32_t left = flat->length;

	while (left > 0 && !writer->is_full) {
		uint32_t n = EP_MIN(left, (uint32_t)UNITS);
		size_t len = (size_t)n << flat->two_bytes;
		int r = v8_heap_read(heap, at, units, len);

		if (r < 0)
			return r;
		for (uint32_t i = 0; i < n && !writer->is_full; i++)
			text_put_unit(writer, flat->two_bytes ? units[i] : bytes[i]);
		at += len;
		left -= n;
	}
	return 0;
}

int v8_string_read(struct v8_heap *heap, uint64_t string, char *buf, size_t size)
{
	struct text_writer writer = {.buf = buf, .size = size};
	uint64_t waiting[MAX_DEPTH];
	uint32_t n = 0;

	waiting[n++] = string;
	for (uint32_t i = 0; n > 0 && !writer.is_full; i++) {
		struct piece piece = {.first = 0};
		int r = i < MAX_PIECES ? resolve(heap, waiting[--n], &piece) : -ENOTSUP;

		if (r == 0 && !piece.first)
			r = write_flat(heap, &piece.flat, &writer);
		else if (r == 0 && n + 2 > MAX_DEPTH)
			r = -ENOTSUP;
		else if (r == 0) {
			waiting[n++] = piece.second;
			waiting[n++] = piece.first;
		}
		if (r < 0)
			return r;
	}
	text_end(&writer, false);
	return 0;
}

int v8_string_or_none(struct v8_heap *heap, uint64_t string, char *buf, size_t size)
{
	int r = v8_is_object(string) ? v8_string_read(heap, string, buf, size) : -EBADMSG;

	if (r != -EBADMSG && r != -ENOTSUP)
		return r;
	buf[0] = '\0';
	return 0;
}
