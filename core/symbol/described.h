/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of one executable that its file does not have, as a language described them
 * (ebpf-profiler/unwinder.h, describe). First one thread adds them; once they are sorted they do not
 * change, so any number of threads may look up in them and hold references.
 */
#ifndef EP_SYMBOL_DESCRIBED_H
#define EP_SYMBOL_DESCRIBED_H

#include <stddef.h>
#include <stdint.h>

struct ep_described_symbols;
struct ep_symbol;

int ep_described_symbols_new(struct ep_described_symbols **ret_symbols); /* 0, -ENOMEM */
struct ep_described_symbols *ep_described_symbols_ref(struct ep_described_symbols *symbols);
void ep_described_symbols_unref(struct ep_described_symbols *symbols); /* accepts NULL */
static inline void ep_described_symbols_unrefp(struct ep_described_symbols **symbols)
{
	ep_described_symbols_unref(*symbols);
}

/* The name is copied, and cleaned as those of files are. 0, -EINVAL, -E2BIG, -ENOMEM. */
int ep_described_symbols_add(struct ep_described_symbols *symbols, uint64_t va, uint64_t bytes,
			     const char *name);
size_t ep_described_symbols_len(const struct ep_described_symbols *symbols);
/* Forgets all but the first n. */
void ep_described_symbols_cut(struct ep_described_symbols *symbols, size_t n);
/* Before the first look-up. */
void ep_described_symbols_sort(struct ep_described_symbols *symbols);

/*
 * The innermost one that holds va: that which begins last, then the shortest, then the first that
 * was added. NULL: none.
 * The name lives as long as a reference.
 */
const char *ep_described_symbols_find(const struct ep_described_symbols *symbols, uint64_t va,
				      struct ep_symbol *ret_symbol);
size_t ep_described_symbols_bytes(const struct ep_described_symbols *symbols); /* heap; 0 for NULL */

#endif
