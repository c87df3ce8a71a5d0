/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings of a process: zend_string (zend_types.h, 7.3 to 8.6), which also has a hash of its text:
 *
 *	refcount, flags: 8 | h: 8 | len: 8 | text, NUL
 *
 * All of it is hostile.
 */
#ifndef PHP_TEXT_H
#define PHP_TEXT_H

#include "plugins/php/php_shared.h"
#include "plugins/shared/read/memory.h"
#include "plugins/shared/text/writer.h"

struct php_string {
	uint64_t addr, hash, len; /* address 0: there is none, and all is 0 */
	size_t bytes;		  /* of the text, as far as it was read */
	uint8_t text[PHP_TEXT_BYTES];
};

/* 0, -EBADMSG: it is no string; or what reading returned. Of address 0: an empty one. */
int php_string_read(const struct memory *memory, uint64_t addr, struct php_string *string);

/* Its text, up to a NUL: names of classes without a name have more after it. */
void php_string_write(const struct php_string *string, struct text_writer *writer);

#endif
