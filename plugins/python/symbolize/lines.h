/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line tables of code objects: which line an instruction belongs to. Three formats, one result:
 * runs of instructions on one line, by the offset where they begin.
 *
 * The bytes come from the target. Whatever they are, parsing takes time in proportion to their
 * number; at the first thing that cannot be, the table ends, and later instructions have no line.
 */
#ifndef PY_LINES_H
#define PY_LINES_H

#include "plugins/python/symbolize/code_layout.h"
#include "plugins/shared/names/add.h"

#include <stddef.h>

struct py_lines {
	struct names_run
		*runs; /* by offset in bytes, ascending, at least one; the last has line 0 */
	size_t len;
};

/* 0 or -ENOMEM. `bytes` at most PY_LINES_MAX_BYTES. */
int py_lines_parse(enum py_line_format format, const uint8_t *bytes, size_t n_bytes,
		   int32_t first_line, struct py_lines *ret_lines);
void py_lines_fini(struct py_lines *lines);

#endif
