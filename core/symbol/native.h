/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of native code by executable: a cache of symbol tables for worker threads. A table is
 * built on the first question about its executable, by the thread that asks; others that ask
 * meanwhile wait for it. The least recently used go when there are more bytes or more open files
 * than allowed. An executable without symbols is remembered too, so it is opened once only.
 */
#ifndef EP_SYMBOL_NATIVE_H
#define EP_SYMBOL_NATIVE_H

#include <stddef.h>
#include <stdint.h>

struct ep_native_symbols; /* locked inside: any thread may call */

struct ep_native_file {	     /* which executable, and how to open it */
	uint64_t key;	     /* executable id, unique for the life of the agent */
	int (*open)(void *arg); /* gives a file descriptor, or negative errno; called only when the
				   table must be built, on the thread that asks */
	void *arg;
	const char *root; /* where debug files are looked for: "/proc/123/root", or "" */
	const char *path; /* of the executable within root, absolute; "" when it has none */
};

struct ep_native_name {	   /* from malloc; all NULL and 0 when no function is there */
	char *name;	   /* readable: demangled; NULL: a function without a name */
	char *system_name; /* as in the symbol table */
	uint64_t start_va; /* of the function */
};
void ep_native_name_fini(struct ep_native_name *name);

/* max_bytes bounds the tables; a single one above it is used once and not kept. 0, -ENOMEM. */
int ep_native_symbols_new(size_t max_bytes, struct ep_native_symbols **ret_symbols);
void ep_native_symbols_free(struct ep_native_symbols *symbols); /* no call is under way */

/*
 * Names for `n` addresses of one executable, given into names[0..n). 0 also when none was found;
 * what `open` said when it failed, -ENOMEM, -EMFILE, -ENFILE: nothing is remembered then, and the
 * next call tries again. On failure names are all NULL.
 */
int ep_native_symbols_resolve(struct ep_native_symbols *symbols, const struct ep_native_file *file,
			      const uint64_t *vas, size_t n, struct ep_native_name *names);

/* The executable is gone for good. */
void ep_native_symbols_forget(struct ep_native_symbols *symbols, uint64_t key);
size_t ep_native_symbols_bytes(struct ep_native_symbols *symbols);

#endif
