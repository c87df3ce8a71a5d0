/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was read of code objects, by address and check: two objects that were at the same address
 * one after the other have an entry each. Bounded in number and bytes; what was found longest ago
 * goes first. Entries are one block of memory each.
 */
#ifndef PY_CODE_CACHE_H
#define PY_CODE_CACHE_H

#include "core/base/util.h"
#include "plugins/python/symbolize/code.h"
#include "plugins/python/symbolize/line_table.h"

#define PY_CACHE_MAX_ENTRIES 4096

struct py_code_entry {
	struct py_code_entry *chain;	     /* of its bucket */
	struct py_code_entry *newer, *older; /* by use */
	uint64_t code_addr;
	uint32_t check;
	uint32_t first_line;
	size_t bytes; /* of this block */
	const char *function, *file;
	size_t n_runs;
	struct py_line_run runs[]; /* then the strings */
};

/* Copies everything. 0 or -ENOMEM. The caller owns it: put it, or free it. */
int py_code_entry_new(const char *function, const char *file, const struct py_lines *lines,
		      struct py_code_entry **ret_entry);

struct py_code_entry *py_code_cache_find(struct py_code_cache *cache, uint64_t code_addr,
					 uint32_t check);
/*
 * Takes the entry, unless it alone would fill half of the cache: then -E2BIG. Its key is not in the
 * cache yet. An entry is valid until the next put.
 */
int py_code_cache_put(struct py_code_cache *cache, struct py_code_entry *entry);

#endif
