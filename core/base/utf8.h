/* SPDX-License-Identifier: Apache-2.0 */
/* Text of which nobody knows whether it is UTF-8: names from files and from the memory of programs. */
#ifndef EP_BASE_UTF8_H
#define EP_BASE_UTF8_H

#include "core/base/util.h"

/* Bytes of the well-formed sequence at `text`, 1 to 4; 0: it is none. */
size_t ep_utf8_len(const char *text, size_t bytes);
/*
 * Well-formed, and without control characters (C0, DEL, C1): a terminal that prints it shows it, and does
 * nothing else.
 */
bool ep_utf8_is_clean(const char *text, size_t bytes);
/* Copies; a '?' takes the place of each byte that makes it unclean. ret_text may be text. */
void ep_utf8_clean(const char *text, size_t bytes, char *ret_text);
/* At most `max` of the bytes, so that no sequence is cut. */
size_t ep_utf8_cut(const char *text, size_t bytes, size_t max);

#endif
