/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/ruby/symbolize/objects.h"

#include "core/base/util.h"
#include "plugins/ruby/ruby_shared.h"
#include "plugins/shared/text/writer.h"

#include <errno.h>
#include <string.h>

#define MAX_MOVES  4	  /* of one object, at a time */
#define NOEMBED	   (1u << 13) /* of a string: RSTRING_NOEMBED */
#define EMBED	   (1u << 13) /* of an array: RARRAY_EMBED_FLAG */

static uint32_t type_of(const void *head)
{
	return (uint32_t)ruby_word(head, 0) & RUBY_TYPE_MASK;
}

int ruby_object_read(const struct ruby_namer *namer, uint64_t *addr, uint32_t types, void *buf,
		     size_t bytes)
{
	uint64_t at = *addr;
	size_t got;

	for (int i = 0; i < MAX_MOVES; i++) {
		int r = ruby_is_object(at) ? memory_read_head(&namer->memory, at, buf, bytes, &got)
					   : -EBADMSG;

		if (r < 0)
			return r;
		if (type_of(buf) != RUBY_TYPE_MOVED) {
			*addr = at;
			return types & RUBY_TYPE_BIT(type_of(buf)) ? 0 : -EBADMSG;
		}
		at = ruby_word(buf, namer->layout->moved);
	}
	return -EBADMSG;
}

/* --- strings ---------------------------------------------------------------------------------- */

/* rstring.h: struct RString. Where its bytes are: an address. */
static uint64_t find_text(const struct ruby_layout *layout, uint64_t string, const void *head,
			  uint64_t *ret_bytes)
{
	uint64_t flags = ruby_word(head, 0);

	*ret_bytes = ruby_word(head, 16);
	if (flags & NOEMBED)
		return ruby_word(head, 24);
	if (!layout->string_in_flags)
		return string + 24;
	*ret_bytes = flags >> 14 & 0x1f;
	return string + 16;
}

/* Of one whose head was read. */
static int read_text(const struct ruby_namer *namer, uint64_t string,
		     const uint8_t head[RUBY_HEAD_BYTES], char *buf, size_t size)
{
	struct text_writer writer = {.buf = buf, .size = size};
	uint8_t more[RUBY_PATH_BYTES];
	const uint8_t *text = more;
	uint64_t addr, bytes, n;
	int r = 0;

	addr = find_text(namer->layout, string, head, &bytes);
	n = EP_MIN(bytes, (uint64_t)EP_MIN(size, sizeof(more)));
	if (ep_in_bounds(addr - string, n, RUBY_HEAD_BYTES))
		text = head + (addr - string);
	else
		r = memory_read(&namer->memory, addr, more, n);
	if (r < 0)
		return r;
	text_put_utf8(&writer, text, n);
	text_end(&writer, n < bytes);
	return 0;
}

int ruby_string_read(const struct ruby_namer *namer, uint64_t string, char *buf, size_t size)
{
	uint8_t head[RUBY_HEAD_BYTES];
	int r = ruby_object_read(namer, &string, RUBY_TYPE_BIT(RUBY_TYPE_STRING), head,
				 sizeof(head));

	return r < 0 ? r : read_text(namer, string, head, buf, size);
}

/* --- arrays, IDs ------------------------------------------------------------------------------ */

#define ARRAY_BYTES 40

/* rarray.h: struct RArray. Of one whose head was read. */
static int read_element(const struct ruby_namer *namer, uint64_t array, const uint8_t *head,
			uint64_t i, uint64_t *ret)
{
	uint64_t len, elements;

	if (ruby_word(head, 0) & EMBED) {
		len = ruby_word(head, 0) >> 15 & 0x7f;
		elements = array + 16;
	} else {
		len = ruby_word(head, 16);
		elements = ruby_word(head, 32);
	}
	if (i >= len)
		return -EBADMSG;
	if (ep_in_bounds(elements + i * 8 - array, sizeof(*ret), ARRAY_BYTES)) {
		*ret = ruby_word(head, elements + i * 8 - array);
		return 0;
	}
	return memory_read(&namer->memory, elements + i * 8, ret, sizeof(*ret));
}

int ruby_array_read(const struct ruby_namer *namer, uint64_t array, uint64_t i, uint64_t *ret)
{
	uint8_t head[ARRAY_BYTES];
	int r = ruby_object_read(namer, &array, RUBY_TYPE_BIT(RUBY_TYPE_ARRAY), head, sizeof(head));

	return r < 0 ? r : read_element(namer, array, head, i, ret);
}

/*
 * symbol.c, 2.5 to 4.0: rb_symbols_t has last_id and at 16 ids, an array of arrays that have for
 * each of ID_ENTRY_UNIT numbers its string and its symbol. id.h: the number is after
 * ID_SCOPE_SHIFT bits, but for operators.
 */
int ruby_id_read(const struct ruby_namer *namer, uint64_t id, char *buf, size_t size)
{
	uint64_t serial = id > namer->last_op_id ? id >> 4 : id;
	uint64_t symbols[3], units, string;
	int r = namer->symbols_addr ? memory_read(&namer->memory, namer->symbols_addr, symbols,
						  sizeof(symbols))
				    : -EBADMSG;

	if (r == 0 && (!serial || serial > (uint32_t)symbols[0]))
		r = -EBADMSG;
	if (r == 0)
		r = ruby_array_read(namer, symbols[2], serial / 512, &units);
	if (r == 0)
		r = ruby_array_read(namer, units, serial % 512 * 2, &string);
	return r < 0 ? r : ruby_string_read(namer, string, buf, size);
}

/* iseq.c: a string, or an array of the path and the real path, which is nil for what is in no
 * file. */
int ruby_path_read(const struct ruby_namer *namer, uint64_t pathobj, char *buf, size_t size)
{
	uint8_t head[RUBY_HEAD_BYTES];
	uint64_t path;
	int r = ruby_object_read(namer, &pathobj,
				 RUBY_TYPE_BIT(RUBY_TYPE_STRING) | RUBY_TYPE_BIT(RUBY_TYPE_ARRAY),
				 head, sizeof(head));

	if (r < 0)
		return r;
	if (type_of(head) == RUBY_TYPE_STRING)
		return read_text(namer, pathobj, head, buf, size);
	r = read_element(namer, pathobj, head, 1, &path);
	if (r == 0 && !ruby_is_object(path))
		r = read_element(namer, pathobj, head, 0, &path);
	return r < 0 ? r : ruby_string_read(namer, path, buf, size);
}
