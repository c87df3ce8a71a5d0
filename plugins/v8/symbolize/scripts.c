/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/scripts.h"

#include "core/base/util.h"
#include "plugins/v8/symbolize/lines.h"
#include "plugins/v8/symbolize/names.h"
#include "plugins/v8/symbolize/text.h"

#include <errno.h>
#include <string.h>

#define TYPE_WASM 3 /* of a Script: objects/script.h, 6.2 to 14.6 */
#define MAX_SOURCE (64u << 20) /* bytes; what is longer has no lines */

struct lines_item {
	struct names_item item; /* key: as the script's */
	uint32_t units;	     /* of the source that it was made from */
	bool is_too_large;   /* there are none, and it is not tried again */
	struct v8_lines lines;
};

/* What is larger is not kept. */
_Static_assert(V8_LINES_MAX_BYTES + sizeof(struct lines_item) <= V8_NAMES_MAX_LARGE,
	       "tables of lines are too large");

/* ---- the file's name ---- */

static int get_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Are all characters of more than one byte valid, and none a control character? */
static bool is_utf8(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		uint32_t n = *c < 0x80 ? 0 : *c >> 5 == 6 ? 1 : *c >> 4 == 14 ? 2 : 3;

		if (n == 3 && *c >> 3 != 30)
			return false;
		/* Overlong ones, halves of pairs, beyond U+10FFFF: RFC 3629. */
		if (*c == 0xc0 || *c == 0xc1 || *c > 0xf4 || (*c == 0xe0 && c[1] < 0xa0) ||
		    (*c == 0xed && c[1] > 0x9f) || (*c == 0xf0 && c[1] < 0x90) ||
		    (*c == 0xf4 && c[1] > 0x8f) || (*c == 0xc2 && c[1] < 0xa0))
			return false;
		for (; n > 0; n--) {
			if (*++c >> 6 != 2)
				return false;
		}
	}
	return true;
}

/* "%20" as what it stands for, up to a byte of `max`; no longer than it was. */
static void decode(const char *from, int max, char *to)
{
	for (; *from; from++) {
		int high = *from == '%' ? get_hex(from[1]) : -1;
		int low = high >= 0 ? get_hex(from[2]) : -1;
		int byte = high * 16 + low;

		if (low >= 0 && byte >= 0x20 && byte != 0x7f && byte <= max) {
			*to++ = (char)byte;
			from += 2;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

/*
 * Modules of ECMAScript have URLs, the others paths: both become paths (url.fileURLToPath). What
 * would not be a character that one could type stays as it is.
 */
void v8_file_name(char *name)
{
	static const char scheme[] = "file:///";
	char path[V8_FILE_BYTES];
	size_t len = strlen(name);

	if (strncmp(name, scheme, sizeof(scheme) - 1) != 0 || len >= sizeof(path))
		return;
	memcpy(path, name + sizeof(scheme) - 2, len - (sizeof(scheme) - 2) + 1);
	decode(path, 0xff, name);
	if (!is_utf8(name))
		decode(path, 0x7f, name);
}

static int read_text(struct v8_heap *heap, uint64_t object, int32_t off, char *buf, size_t size)
{
	uint64_t word;
	int r = v8_field(heap, object, off, &word);

	return r < 0 ? r : v8_string_or_none(heap, word, buf, size);
}

/* What V8 says in its stack traces (Script::GetNameOrSourceURL). */
static int read_file(struct v8_heap *heap, uint64_t object, char file[V8_FILE_BYTES])
{
	int r = read_text(heap, object, heap->layout->script_source_url, file, V8_FILE_BYTES);

	if (r == 0 && !file[0])
		r = read_text(heap, object, heap->layout->script_name, file, V8_FILE_BYTES);
	if (r == 0)
		v8_file_name(file);
	return r;
}

/* ---- the script ---- */

static int read_smi_or(struct v8_heap *heap, uint64_t object, int32_t off, int32_t none,
		       int32_t *ret)
{
	int r = v8_field_smi(heap, object, off, ret);

	if (r != -EBADMSG)
		return r;
	*ret = none;
	return 0;
}

static uint64_t key_of(const struct v8_heap *heap, int32_t id)
{
	return (uint64_t)heap->thread << 32 | (uint32_t)id;
}

static int read_script(struct v8_heap *heap, struct names_cache *cache, uint64_t object, int32_t id,
		       struct v8_script **ret)
{
	struct v8_script *script;
	char file[V8_FILE_BYTES];
	size_t bytes;
	int32_t line, column, type;
	int r = read_file(heap, object, file);

	if (r == 0)
		r = read_smi_or(heap, object, heap->layout->script_line_off, 0, &line);
	if (r == 0)
		r = read_smi_or(heap, object, heap->layout->script_column_off, 0, &column);
	if (r == 0)
		r = read_smi_or(heap, object, heap->layout->script_type, 0, &type);
	if (r < 0)
		return r;
	bytes = sizeof(*script) + strlen(file) + 1;
	script = calloc(1, bytes);
	if (!script)
		return -ENOMEM;
	script->item = (struct names_item){
		.kind = V8_ITEM_SCRIPT, .key = {object, key_of(heap, id)}, .bytes = bytes};
	script->object = object;
	script->id = id;
	script->line_off = line;
	script->column_off = column;
	script->is_wasm = type == TYPE_WASM;
	memcpy(script->file, file, strlen(file));
	names_cache_put(cache, &script->item);
	*ret = script;
	return 0;
}

/* 12 to 20: a DebugInfo may be between (a debugger, or coverage, has looked at the function). */
static int find_script(struct v8_heap *heap, uint64_t function_info, uint64_t *ret, uint16_t *type)
{
	const struct v8_layout *layout = heap->layout;
	int r = v8_field(heap, function_info, layout->sfi_script, ret);

	*type = 0;
	if (r < 0 || !v8_is_object(*ret))
		return r;
	r = v8_object_type(heap, ret, type);
	if (r == 0 && v8_type_is(*type, layout->type_debug_info)) {
		r = v8_field(heap, *ret, layout->debug_info_script, ret);
		if (r == 0)
			r = v8_object_type(heap, ret, type);
	}
	return r;
}

int v8_script_get(struct v8_heap *heap, struct names_cache *cache, uint64_t function_info,
		  struct v8_script **ret)
{
	uint64_t object;
	uint16_t type;
	int32_t id;
	int r = find_script(heap, function_info, &object, &type);

	if (r < 0)
		return r;
	*ret = NULL;
	if (!v8_is_object(object) || v8_type_is(type, heap->layout->type_oddball))
		return 0; /* undefined */
	if (!v8_type_is(type, heap->layout->type_script))
		return -EBADMSG;
	r = v8_field_smi(heap, object, heap->layout->script_id, &id);
	if (r < 0)
		return r;
	*ret = names_cache_find(cache, V8_ITEM_SCRIPT, object, key_of(heap, id), 0);
	return *ret ? 0 : read_script(heap, cache, object, id, ret);
}

/* ---- its lines ---- */

static void free_lines(struct names_item *item)
{
	struct lines_item *lines = EP_CONTAINER(item, struct lines_item, item);

	v8_lines_fini(&lines->lines);
	free(lines);
}

static int stream(struct v8_heap *heap, const struct v8_flat *flat, struct v8_lines *lines)
{
	ep_autofree uint8_t *piece = malloc(V8_LINES_PIECE);
	uint64_t at = flat->chars, left = (uint64_t)flat->length << flat->two_bytes;
	int r = piece ? 0 : -ENOMEM;

	while (r == 0 && left > 0) {
		size_t n = EP_MIN(left, (uint64_t)V8_LINES_PIECE);

		r = v8_heap_read_now(heap, at, piece, n);
		if (r == 0)
			r = v8_lines_add(lines, piece, n >> flat->two_bytes, flat->two_bytes);
		at += n;
		left -= n;
	}
	return r == 0 ? v8_lines_end(lines) : r;
}

static int make_lines(struct v8_heap *heap, struct names_cache *cache,
		      const struct v8_script *script, const struct v8_flat *flat,
		      struct lines_item **ret)
{
	struct lines_item *lines = calloc(1, sizeof(*lines));
	int r;

	if (!lines)
		return -ENOMEM;
	r = stream(heap, flat, &lines->lines);
	lines->is_too_large = r == -E2BIG;
	if (r < 0)
		v8_lines_fini(&lines->lines);
	if (r < 0 && !lines->is_too_large) {
		free(lines);
		return r;
	}
	lines->item = (struct names_item){.kind = V8_ITEM_LINES,
					  .key = {script->item.key[0], script->item.key[1]},
					  .bytes = sizeof(*lines) + v8_lines_bytes(&lines->lines),
					  .free = free_lines};
	lines->units = flat->length;
	names_cache_put(cache, &lines->item);
	*ret = lines;
	return 0;
}

static int get_lines(struct v8_heap *heap, struct names_cache *cache,
		     const struct v8_script *script, struct lines_item **ret)
{
	struct v8_flat flat;
	uint64_t source;
	int r = v8_field(heap, script->object, heap->layout->script_source, &source);

	if (r == 0)
		r = v8_string_flat(heap, source, &flat);
	if (r < 0)
		return r;
	*ret = names_cache_find(cache, V8_ITEM_LINES, script->item.key[0], script->item.key[1], 0);
	if (*ret && (*ret)->units != flat.length) {
		names_cache_remove(&(*ret)->item);
		names_item_unref(&(*ret)->item);
		*ret = NULL;
	}
	if (*ret)
		return 0;
	if ((uint64_t)flat.length << flat.two_bytes > MAX_SOURCE)
		return -ENOTSUP;
	return make_lines(heap, cache, script, &flat, ret);
}

/* Script::AddPositionInfoOffset, 6.2 to 14.6: the column's on the first line alone. */
static void add_offsets(const struct v8_script *script, uint32_t line, uint32_t column,
			struct v8_place *ret)
{
	int64_t l = (int64_t)line + script->line_off;
	int64_t c = (int64_t)column + (line == 0 ? script->column_off : 0);

	*ret = (struct v8_place){0};
	if (l >= 0 && l < UINT32_MAX)
		ret->line = (uint32_t)l + 1;
	if (ret->line && c >= 0 && c < UINT32_MAX)
		ret->column = (uint32_t)c + 1;
}

int v8_script_place(struct v8_heap *heap, struct names_cache *cache, const struct v8_script *script,
		    uint32_t position, struct v8_place *ret)
{
	struct lines_item *lines;
	uint32_t line, column;
	int r = get_lines(heap, cache, script, &lines);

	*ret = (struct v8_place){0};
	if (r == -EBADMSG || r == -ENOTSUP)
		return 0;
	if (r < 0)
		return r;
	if (position <= lines->units && !lines->is_too_large) {
		v8_lines_find(&lines->lines, position, &line, &column);
		add_offsets(script, line, column, ret);
	}
	names_item_unref(&lines->item);
	return 0;
}
