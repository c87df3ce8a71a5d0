/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one executable: a sorted table of 12 bytes per function, built from .symtab, or
 * from a separate debug file's .symtab, or from .gnu_debugdata and .dynsym; and from the stubs of
 * its PLT. Names stay where they are: in the file when they are many (the table then keeps a
 * descriptor open and reads the name on look-up), in one block of memory when they are few.
 *
 * A wrong name is worse than none: an address outside every function finds nothing. Once built a
 * table does not change, so any number of threads may look up in it.
 */
#ifndef EP_SYMBOL_SYMTAB_H
#define EP_SYMBOL_SYMTAB_H

#include "core/elf/file.h"

#define EP_SYMTAB_NAME_MAX 4096 /* with the NUL; longer names are cut */

struct ep_symtab;

struct ep_symtab_hit {
	uint64_t start_va;
	uint64_t size; /* bytes; where the file says 0, up to the next function */
	uint32_t index; /* for ep_symtab_name */
};

/* `debug` may be NULL. 0, -ENODATA when there is no function in either, -E2BIG, -ENOMEM, -errno. */
int ep_symtab_build(const struct ep_elf *elf, const struct ep_elf *debug,
		    struct ep_symtab **ret_symtab);
void ep_symtab_free(struct ep_symtab *symtab);
static inline void ep_symtab_freep(struct ep_symtab **symtab)
{
	ep_symtab_free(*symtab);
}

/* True when the file's own symbols are all there are: a debug file would add nothing. */
bool ep_symtab_is_complete(const struct ep_elf *elf);

/* The innermost function that holds `va`. 0, -ENODATA. */
int ep_symtab_find(const struct ep_symtab *symtab, uint64_t va, struct ep_symtab_hit *ret_hit);
/*
 * The name as in the symbol table, or with "@plt" after it for a stub, NUL-terminated, cut to
 * `bytes`. Length, -ESTALE when the file was changed meanwhile, or -errno.
 */
int ep_symtab_name(const struct ep_symtab *symtab, const struct ep_symtab_hit *hit, char *buf,
		   size_t bytes);

size_t ep_symtab_len(const struct ep_symtab *symtab);	/* functions */
size_t ep_symtab_bytes(const struct ep_symtab *symtab); /* heap */
size_t ep_symtab_fds(const struct ep_symtab *symtab);	/* descriptors kept open */

#endif
