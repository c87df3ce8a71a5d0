/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/php/symbolize/text.h"

#include "core/base/util.h"

#include <string.h>

/* zend_string.h: zend_inline_hash_func, the same in 7.3 to 8.6: of characters, which have a
 * sign. */
static uint64_t hash_text(const uint8_t *text, size_t bytes)
{
	uint64_t hash = 5381;

	for (size_t i = 0; i < bytes; i++)
		hash = hash * 33 + (uint64_t)(int64_t)(int8_t)text[i];
	return hash | 1ull << 63;
}

/* The hash is 0 until somebody wants it. */
static bool is_string(const struct php_string *string)
{
	if (string->len > INT32_MAX)
		return false;
	return !string->hash || string->bytes < string->len ||
	       hash_text(string->text, string->bytes) == string->hash;
}

int php_string_read(const struct memory *memory, uint64_t addr, struct php_string *string)
{
	uint8_t head[PHP_HEAD_BYTES];
	size_t got, in_head;
	int r;

	string->addr = addr;
	string->hash = string->len = string->bytes = 0;
	if (!addr)
		return 0;
	r = memory_read_head(memory, addr, head, sizeof(head), &got);
	if (r < 0)
		return r;
	memcpy(&string->hash, head + PHP_STRING_HASH, sizeof(string->hash));
	memcpy(&string->len, head + PHP_STRING_LEN, sizeof(string->len));
	string->bytes = (size_t)EP_MIN(string->len, (uint64_t)sizeof(string->text));
	in_head = EP_MIN(string->bytes, sizeof(head) - PHP_STRING_BYTES);
	if (got < PHP_STRING_BYTES + in_head)
		in_head = 0;
	memcpy(string->text, head + PHP_STRING_BYTES, in_head);
	if (in_head < string->bytes)
		r = memory_read(memory, addr + PHP_STRING_BYTES, string->text, string->bytes);
	return r < 0 ? r : is_string(string) ? 0 : -EBADMSG;
}

void php_string_write(const struct php_string *string, struct text_writer *writer)
{
	const uint8_t *end = memchr(string->text, '\0', string->bytes);

	text_put_utf8(writer, string->text, end ? (size_t)(end - string->text) : string->bytes);
}
