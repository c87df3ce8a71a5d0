/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of an executable that Go's linker made, stripped or not: functions, files, lines and what
 * was inlined, from the function table that it runs with (core/pclntab). Nothing of the table is
 * held but a bounded number of pages; a name takes some microseconds, and the frame table
 * remembers it.
 *
 * Any thread may ask; they wait for each other. What was decoded of one function is in a memo of
 * the caller's, so that the next address of the same function is cheap: ask in their order.
 */
#ifndef EP_SYMBOL_FUNCTIONS_H
#define EP_SYMBOL_FUNCTIONS_H

#include "core/base/vec.h"
#include "core/pclntab/pclntab.h"

struct ep_elf;
struct ep_functions;
struct ep_lines;

/* Outcomes. */
#define EP_FUNCTIONS_NONE     1 /* nothing is known there, but by others maybe */
#define EP_FUNCTIONS_EXTERNAL 2 /* of another language, linked in: its name at most */

/* Values of one table of a function, by address, as far as they were needed. */
struct ep_function_values {
	struct ep_vec values; /* struct value, functions.c; ascending */
	struct ep_pclntab_values cursor;
	bool begun, ended;
};

enum ep_function_table {
	EP_FUNCTION_FILE,
	EP_FUNCTION_LINE,
	EP_FUNCTION_INLINED,
	EP_FUNCTION_TABLES,
};

struct ep_function_memo {
	struct ep_pclntab_func func; /* start == end: none */
	struct ep_function_values tables[EP_FUNCTION_TABLES];
	char name[EP_PCLNTAB_MAX_NAME], file[EP_PCLNTAB_MAX_NAME];
	char shown[EP_PCLNTAB_MAX_NAME + 16]; /* "[...]" for "[]" */
};

void ep_function_memo_init(struct ep_function_memo *memo);
void ep_function_memo_fini(struct ep_function_memo *memo);

/*
 * Takes elf when it succeeds. 0; -ENODATA when the file has no such table; -EBADMSG, -ENOTSUP when
 * it cannot be used; -ENOMEM, -errno.
 */
int ep_functions_open(struct ep_elf *elf, struct ep_functions **ret_functions);
void ep_functions_close(struct ep_functions *functions);	 /* accepts NULL */
size_t ep_functions_bytes(const struct ep_functions *functions); /* heap */

/*
 * Adds the lines of the frame at va, innermost first, to the frame in hand. `memo` is used with one
 * executable only. 0; EP_FUNCTIONS_NONE, EP_FUNCTIONS_EXTERNAL: nothing was added; -E2BIG, -ENOMEM.
 */
int ep_functions_add(struct ep_functions *functions, uint64_t va, struct ep_function_memo *memo,
		     struct ep_lines *lines);
/* The function that was last reported to be external, by the name the table has for it. */
int ep_functions_add_external(struct ep_functions *functions, struct ep_function_memo *memo,
			      struct ep_lines *lines);

/*
 * A function's name as Go prints it: what a generic function was made for is left out,
 * "main.Map[go.shape.int]" is "main.Map[...]". `has_pairs`: as Go 1.27 does, where a name may have
 * two pairs of brackets. False: it is printed as it is, or `bytes` are not enough.
 */
bool ep_function_name_shown(const char *name, bool has_pairs, char *shown, size_t bytes);

#endif
