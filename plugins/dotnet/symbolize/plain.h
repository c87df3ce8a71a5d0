/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PDBs that were inflated: one store for all processes. Those whose bytes are equal share them, all
 * together have a bound, and what was not asked for in a minute goes. So each is found by a number
 * for a moment, and inflated again when it is not there. Any thread.
 */
#ifndef DOTNET_PLAIN_H
#define DOTNET_PLAIN_H

#include <stddef.h>
#include <stdint.h>

#define DOTNET_PLAIN_BYTES   (8u << 20) /* of all that nobody reads right now */
#define DOTNET_PLAIN_STAY_NS 60000000000ull

struct dotnet_plain {
	const uint8_t *bytes;
	uint32_t n;
	uint64_t number; /* never another one's */
};

/* Who may have such: with the last one all go. */
void dotnet_plain_enter(void);
void dotnet_plain_leave(void);

/* A reference, or NULL. Number 0 is nobody's. What is too old by now goes, also if it is another
 * one. */
const struct dotnet_plain *dotnet_plain_get(uint64_t number, uint64_t now_ns);
/* Takes over the bytes, also when there is no memory: NULL. What is there already is given in place
 * of them. */
const struct dotnet_plain *dotnet_plain_put(uint8_t *bytes, uint32_t n, uint64_t now_ns);
void dotnet_plain_unref(const struct dotnet_plain *plain); /* accepts NULL */

size_t dotnet_plain_total(void); /* bytes of all */

#endif
