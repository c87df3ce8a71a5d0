/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of native code by executable: a cache of symbol tables for worker threads. A table is
 * built on the first question about its executable, by the thread that asks; others that ask
 * meanwhile wait for it. The least recently used go when there are more bytes or more open files
 * than allowed. An executable without symbols is remembered too, so it is opened once only.
 * Of Go's executables nothing is built: their own table is read as it is asked (functions.h).
 */
#ifndef EP_SYMBOL_NATIVE_H
#define EP_SYMBOL_NATIVE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct ep_described_symbols;
struct ep_lines;
struct ep_memory_budget;
struct ep_native_symbols; /* locked inside: any thread may call */

struct ep_native_file {	     /* which executable, and how to open it */
	uint64_t key;	     /* executable id, unique for the life of the agent; below 2^63 */
	int (*open)(void *arg); /* gives a file descriptor, or negative errno; called only when the
				   table must be built, on the thread that asks; `root` is read
				   after it */
	void *arg;
	const char *root; /* where debug files are looked for: "/proc/123/root", or "" */
	const char *path; /* of the executable within root, absolute; "" when it has none */
	/* What its own symbols are put beside, sorted; the innermost function of both is the one
	 * that is meant. NULL: nothing. */
	const struct ep_described_symbols *described;
};

/* max_bytes bounds the tables; a single one above it is used once and not kept. 0, -ENOMEM. */
int ep_native_symbols_new(size_t max_bytes, struct ep_native_symbols **ret_symbols);
void ep_native_symbols_free(struct ep_native_symbols *symbols); /* no call is under way */
/* Before the first question: what is read while a table is built is taken from `memory`. */
void ep_native_symbols_set_memory(struct ep_native_symbols *symbols, struct ep_memory_budget *memory);
/* No names are wanted any more: what is being built ends soon, as does what is asked from here on. */
void ep_native_symbols_stop(struct ep_native_symbols *symbols);

/*
 * Names for addresses of one executable. `lines` is empty, with space for `n` frames, and has one
 * for each address afterwards, in their order: the functions that are there, innermost first, with
 * what is known of them, or nothing, and the type. A function without a name has its start_va only.
 * Neighbours are cheap where files and lines are known: sort the addresses.
 *
 * 0 also when no name was found. What did not fit into `lines` has no frame there, and is to be
 * asked for again; the first address always has one. What `open` reported when it failed, -ENOMEM,
 * -EMFILE, -ENFILE, -EAGAIN (others hold the memory), -ECANCELED: nothing is remembered then, and the next call
 * tries again.
 */
int ep_native_symbols_resolve(struct ep_native_symbols *symbols, const struct ep_native_file *file,
			      const uint64_t *vas, size_t n, struct ep_lines *lines);

/* Nobody maps it any more: what was built of it goes, unless no file is open for it. */
void ep_native_symbols_let_go(struct ep_native_symbols *symbols, uint64_t key);
/* Tables that nobody has asked since a time (CLOCK_MONOTONIC) go. O(1) where there are none. */
void ep_native_symbols_drop_unused(struct ep_native_symbols *symbols, uint64_t since_ns);
/* The executable is gone for good. */
void ep_native_symbols_forget(struct ep_native_symbols *symbols, uint64_t key);
size_t ep_native_symbols_bytes(struct ep_native_symbols *symbols);

#endif
