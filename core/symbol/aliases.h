/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of several symbols names an address: the one order of all tables of symbols, of files and of the kernel
 * (docs/symbols.md, "Which symbol names an address").
 *
 * 1. Of those that hold the address the innermost: which begins last, then the shortest.
 * 2. Of those that begin at one address:
 *    a. what they are: a function, an IFUNC, a stub of a PLT, a label;
 *    b. GLOBAL before WEAK before LOCAL;
 *    c. without a version, or with the one that programs are linked to now (name@@VERSION), before name@VERSION;
 *    d. fewer leading underscores;
 *    e. the shorter name, without its version;
 *    f. the name that comes first by its bytes.
 *
 * An IFUNC's address is that of its resolver, which is not the function: a function's own name there is better.
 */
#ifndef EP_SYMBOL_ALIASES_H
#define EP_SYMBOL_ALIASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ep_symbol_kind {
	EP_SYMBOL_FUNCTION,
	EP_SYMBOL_IFUNC,
	EP_SYMBOL_STUB,
	EP_SYMBOL_LABEL,
	EP_SYMBOL_END, /* names nothing: it ends what is before it */
};

enum ep_symbol_binding { EP_SYMBOL_GLOBAL, EP_SYMBOL_WEAK, EP_SYMBOL_LOCAL, EP_SYMBOL_BINDINGS };

/* 2a and 2b: the lower is the better one. */
static inline uint8_t ep_symbol_rank(enum ep_symbol_kind kind, enum ep_symbol_binding binding)
{
	return (uint8_t)((unsigned int)kind * EP_SYMBOL_BINDINGS + (unsigned int)binding);
}

/* 2c to 2f, for symbols of one rank: negative when `a` is the better name, 0 when they are equal but for versions. */
int ep_symbol_compare_names(const char *a, size_t a_len, const char *b, size_t b_len);

/* 1: whether `a` is as far inside as `b`, or further. */
static inline bool ep_symbol_is_inner(uint64_t a_start, uint64_t a_bytes, uint64_t b_start, uint64_t b_bytes)
{
	return a_start != b_start ? a_start > b_start : a_bytes <= b_bytes;
}

#endif
