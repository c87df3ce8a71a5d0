/* SPDX-License-Identifier: Apache-2.0 */
/* Names from targets on a terminal: safe to print, and no wider than a column. */
#ifndef EP_CLI_TEXT_H
#define EP_CLI_TEXT_H

#include "core/base/util.h"

#include <stdio.h>

#define EP_TEXT_BYTES 1024

/*
 * `text` in at most `columns` code points, cut in the middle with "..", control characters as '?'.
 * buf needs EP_TEXT_BYTES; columns is capped so that it fits. Returns buf.
 */
const char *ep_text_fit(const char *text, unsigned int columns, char *buf);

/*
 * The same of a function's name, and types of the C++ library as their authors write them:
 * std::string for std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >.
 * Files keep the whole name.
 */
const char *ep_text_fit_name(const char *name, unsigned int columns, char *buf);

/* In per cent of `all`; of nothing 0. */
static inline double ep_text_percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

/* Printed as "0.00". */
static inline bool ep_text_is_zero(double value)
{
	return value < 0.005 && value > -0.005;
}

/*
 * Prints text, broken at spaces where a line would be wider than `width`: the first begins where
 * `used` columns are, those that follow at `indent`. A line that fits stays as it is, so that what
 * is laid out by hand does.
 */
void ep_text_print(FILE *out, const char *text, size_t width, size_t used, size_t indent);

/* As one word of a shell: quoted where it must be. Needs EP_TEXT_BYTES * 4. Returns buf. */
const char *ep_text_shell(const char *text, char *buf, size_t size);

/* Sentences of the summary and of `report`. */
#define EP_TEXT_UNVERIFIED "unverified (through code of no file, by frame pointers alone)"
#define EP_TEXT_SYMBOLS                                                                            \
	"symbols: %.2f %% with native code that has none; see convert --symbols --debug-dir"

#endif
