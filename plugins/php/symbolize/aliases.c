/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/php/symbolize/aliases.h"

#include "core/base/util.h"

#include <stdio.h>
#include <strings.h>

#define FUNCTION_TABLE 64 /* zend_class_entry */
#define TRAIT_ALIASES  416
#define ARRAY_DATA     16 /* zend_array; after it nNumUsed */
#define BUCKET_WORDS   4  /* value, its type, h, key */
#define ALIAS_NAME     16 /* zend_trait_alias */
#define MAX_METHODS    512
#define MAX_ALIASES    64
#define PIECE	       16 /* buckets that are read at once */

static uint64_t read_word(const struct memory *memory, uint64_t addr)
{
	uint64_t word;

	return memory_read(memory, addr, &word, sizeof(word)) == 0 ? word : 0;
}

/* The address of the key that the class has it by; 0: it has it not. */
static uint64_t find_key(const struct memory *memory, uint64_t class, uint64_t function)
{
	uint64_t buckets[PIECE][BUCKET_WORDS], table[2];
	uint32_t n, used;

	if (memory_read(memory, class + FUNCTION_TABLE + ARRAY_DATA, table, sizeof(table)) < 0)
		return 0;
	used = EP_MIN((uint32_t)table[1], MAX_METHODS);
	for (uint32_t at = 0; at < used; at += n) {
		n = EP_MIN(used - at, PIECE);
		if (memory_read(memory, table[0] + at * sizeof(buckets[0]), buckets,
				n * sizeof(buckets[0])) < 0)
			return 0;
		for (uint32_t i = 0; i < n; i++) {
			if (buckets[i][0] == function)
				return buckets[i][BUCKET_WORDS - 1];
		}
	}
	return 0;
}

static bool read_name(const struct memory *memory, uint64_t addr, struct php_string *string,
		      char *buf, size_t size)
{
	struct text_writer writer = {.buf = buf, .size = size};

	if (!addr || php_string_read(memory, addr, string) < 0)
		return false;
	php_string_write(string, &writer);
	text_end(&writer, string->bytes < string->len);
	return true;
}

void php_alias_read(const struct memory *memory, uint64_t class, uint64_t function,
		    struct php_string *string, char *name, size_t size)
{
	uint64_t aliases = read_word(memory, class + TRAIT_ALIASES), alias;
	char key[PHP_TEXT_BYTES], text[PHP_TEXT_BYTES];

	if (!aliases ||
	    !read_name(memory, find_key(memory, class, function), string, key, sizeof(key)) ||
	    strcasecmp(key, name) == 0)
		return;
	for (int i = 0; i < MAX_ALIASES; i++) {
		alias = read_word(memory, aliases + i * sizeof(alias));
		if (!alias)
			return;
		if (read_name(memory, read_word(memory, alias + ALIAS_NAME), string, text,
			      sizeof(text)) &&
		    strcasecmp(key, text) == 0) {
			snprintf(name, size, "%s", text);
			return;
		}
	}
}
