/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of the VM as UTF-8. A Symbol (share/oops/symbol.hpp) is a length and so many bytes of
 * modified UTF-8 (JVMS 4.4.7): NUL is c0 80, what is above U+FFFF is two surrogates of three bytes
 * each.
 *
 * What is no such text, and control characters, become U+FFFD: what comes out is one line of valid
 * UTF-8.
 */
#ifndef HOTSPOT_TEXT_H
#define HOTSPOT_TEXT_H

#include "plugins/hotspot/layout.h"
#include "plugins/shared/read/memory.h"

#include <stdbool.h>

/*
 * At most `size` bytes with the NUL, size >= 8; a longer text ends in "…". 0, -EBADMSG (no symbol
 * that is in use), or what the memory says.
 */
int hotspot_symbol_read(const struct memory *memory, const struct hotspot_layout *layout,
			uint64_t addr, char *buf, size_t size);

/* `more`: the text goes on after the n bytes. */
void hotspot_text_encode(const uint8_t *bytes, size_t n, bool more, char *buf, size_t size);

/*
 * A class as its users write it, in place: "/" become "."; what differs from run to run in names of
 * hidden classes and lambdas is taken away: "Main$$Lambda$17+0x00000008000c2000" becomes
 * "Main$$Lambda".
 */
void hotspot_class_name(char *name);

#endif
