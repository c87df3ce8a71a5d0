/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The check of a frame: bits that tell its function from what was later put at the same addresses:
 * code that is not in opcache's memory is gone with its request, and the next one allocates in the
 * same order. The BPF program takes it when it meets the frame, the symbolizer when it reads the
 * names. If they differ, what the frame ran is gone.
 *
 * It covers what tells the texts of name, class and file from others (a zend_string keeps a hash
 * and its length before its bytes), and lines, size and fixed flags of the function; not where any
 * of it is. So it is the same wherever a request puts the same code. None of this changes while it
 * lives, but for one: the hash of a file's name is 0 until somebody wants it (of the main script,
 * of eval). Until then eight bytes of the name stand for it, which differ in "a.php(14) : eval()'d
 * code", or, of a short one, where it is.
 */
#ifndef PHP_CHECK_H
#define PHP_CHECK_H

#include "plugins/shared/check.h"

#include <linux/types.h>

#define PHP_CHECK_BITS	   40 /* of a function; */
#define PHP_HALF_CHECK	   20 /* in each of its two words */
#define PHP_SHORT_CHECK	   16 /* in the first word of a closure: the lowest bits, */
#define PHP_CLOSURE_CHECK  20 /* with those that are in its aux */

/*
 * Bits of fn_flags that the compiler sets and nobody changes (zend_compile.h of 7.4 to 8.6): STATIC
 * 4, RETURN_REFERENCE 12, VARIADIC 14, HAS_FINALLY_BLOCK 15, GENERATOR 24, STRICT_TYPES 31. Others
 * do change: CHANGED 3 and CTOR when a class is linked, IMMUTABLE 7 and PRELOADED 10 by opcache,
 * HEAP_RT_CACHE when it is called first, visibility in copies.
 */
#define PHP_FIXED_FLAGS 0x8100d010u

/* Of a file's name that has no hash: the bytes that begin so far before its end. */
#define PHP_FILE_TAIL 24

/* What is read of a function. 0: it has none, or it could not be read. */
struct php_parts {
	__u64 name, class, file; /* function_name, scope, filename */
	__u64 opcodes;
	__u64 name_hash, name_len; /* of the zend_string */
	__u64 class_name;	   /* zend_class_entry.name: where it is */
	__u64 class_hash, class_len;
	__u64 file_hash, file_len;
	__u64 last,
		lines;	/* oplines; the first line and << 32 the last one; internal functions: 0 */
	__u64 fn_flags; /* of what has no function that can be read later: 0, as those two */
};

static inline __attribute__((always_inline)) __u64 php_check(const struct php_parts *parts)
{
	/* Without a branch: 1 where there is a hash. */
	__u64 has_hash = (parts->file_hash | -parts->file_hash) >> 63;
	__u64 hash = check_mix(check_mix(1, parts->name_hash), parts->name_len);

	hash = check_mix(check_mix(hash, parts->class_hash), parts->class_len);
	hash = check_mix(check_mix(hash, parts->file_hash), parts->file_len);
	hash = check_mix(hash, parts->file * (1 ^ has_hash));
	hash = check_mix(check_mix(hash, parts->last), parts->lines);
	hash = check_mix(hash, parts->fn_flags & PHP_FIXED_FLAGS);
	return hash & ((1ull << PHP_CHECK_BITS) - 1);
}

#endif
