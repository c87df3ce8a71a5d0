/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of the heap: strings, arrays, the names of IDs. All of it is hostile, and moves while the
 * collector compacts: what was moved (T_MOVED) is followed.
 *
 *	flags	| type: bits 0..4 | ... | of the type: bit 12 and on |	(internal/fl_type.h)
 *	klass
 */
#ifndef RUBY_OBJECTS_H
#define RUBY_OBJECTS_H

#include "plugins/ruby/symbolize/names.h"

#include <stdbool.h>

/* enum ruby_value_type, include/ruby/internal/value_type.h; the same in 2.5 to 4.0. */
enum ruby_type {
	RUBY_TYPE_CLASS = 0x02,
	RUBY_TYPE_MODULE = 0x03,
	RUBY_TYPE_STRING = 0x05,
	RUBY_TYPE_ARRAY = 0x07,
	RUBY_TYPE_IMEMO = 0x1a,
	RUBY_TYPE_ICLASS = 0x1c,
	RUBY_TYPE_MOVED = 0x1e,
};
#define RUBY_TYPE_MASK	     0x1fu
#define RUBY_TYPE_BIT(type)  (1u << (type))

#define RUBY_NAME_BYTES 512  /* of one name, with its NUL */
#define RUBY_PATH_BYTES 1024

/* Whether it may be the address of an object: no Fixnum, nil or the like. */
static inline bool ruby_is_object(uint64_t value)
{
	return value % 8 == 0 && value >= 4096;
}

static inline uint64_t ruby_word(const void *buf, size_t off)
{
	uint64_t word;

	__builtin_memcpy(&word, (const char *)buf + off, sizeof(word));
	return word;
}

/*
 * The first bytes of an object (24 at least) of one of these types (bits): where memory ends after
 * it the rest is zeros. *addr is where it is now. 0, -EBADMSG (another type), or what reading
 * returned.
 */
int ruby_object_read(const struct ruby_namer *namer, uint64_t *addr, uint32_t types, void *buf,
		     size_t bytes);

/* A string as one line of UTF-8; a longer one ends in "…". size is at most RUBY_PATH_BYTES. As
 * ruby_object_read. */
int ruby_string_read(const struct ruby_namer *namer, uint64_t string, char *buf, size_t size);
/* An element of an array. As ruby_object_read; -EBADMSG: it has no such element. */
int ruby_array_read(const struct ruby_namer *namer, uint64_t array, uint64_t i, uint64_t *ret);
/* The name of an ID. As ruby_object_read. */
int ruby_id_read(const struct ruby_namer *namer, uint64_t id, char *buf, size_t size);
/* The file that an iseq says (pathobj): its real path, else how it was called. */
int ruby_path_read(const struct ruby_namer *namer, uint64_t pathobj, char *buf, size_t size);

#endif
