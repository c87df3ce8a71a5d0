/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of oplines (zend_op.lineno). They are read and kept in blocks: most functions are one or
 * two, and many oplines of a function are met.
 */
#ifndef PHP_LINES_H
#define PHP_LINES_H

#include "plugins/php/symbolize/names.h"

#include <stdbool.h>

/* What tells the code, and where its oplines are. */
struct php_lines {
	uint64_t key[2];
	uint64_t opcodes;
	uint64_t last;	     /* number of oplines; 0: not known */
	uint32_t start_line; /* there is no line before it; 0: not known */
};

/* The line of an opline that was read before: 0, it has none. False: it was not read. */
bool php_lines_find(const struct php_namer *namer, const struct php_lines *lines, uint32_t index,
		    uint32_t *ret_line);
/*
 * Reads it. The caller has made sure that the code is there. 0, -ENOMEM, or what reading returned.
 */
int php_lines_read(const struct php_namer *namer, const struct php_lines *lines, uint32_t index,
		   uint32_t *ret_line);

#endif
