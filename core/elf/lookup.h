/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of an ELF file by name. Made for files that most likely do not have the name: a
 * miss in .dynsym costs a few small reads (.gnu.hash), the first miss in .symtab one pass over its
 * names, and each further one two bits of memory. By prefix the tables are read whole, and kept.
 * core/symbol is for names of addresses.
 *
 * The caller embeds the struct; it serves one thread at a time. Section headers are needed: in a
 * file without them nothing is found.
 */
#ifndef EP_ELF_LOOKUP_H
#define EP_ELF_LOOKUP_H

#include "core/base/vec.h"
#include "core/elf/file.h"

#define EP_ELF_MAX_SYMBOL 512 /* bytes of a name that can be looked up, with the NUL */

struct ep_elf_symbol {
	uint64_t va; /* as st_value: of STT_TLS the offset in the TLS segment */
	uint64_t bytes;
	uint8_t type;	 /* STT_* */
	uint8_t binding; /* STB_* */
};

/* The symbols of one section, read whole, and a Bloom filter over their names. */
struct ep_elf_names {
	int result; /* of the reading: 1 not yet, 0, or its errno */
	struct ep_elf_bytes symbols, strings;
	uint64_t *filter;
	size_t filter_bytes;
	uint32_t filter_mask; /* bits - 1 */
};

/* .gnu.hash, and where the tables are that it leads into. */
struct ep_elf_hash {
	int result; /* as above */
	struct ep_elf_section symbols, strings;
	uint32_t n_symbols, n_buckets, first_symbol, bloom_words, bloom_shift;
	uint64_t bloom_off, buckets_off, chains_off; /* in the file */
};

struct ep_elf_lookup {
	const struct ep_elf *elf; /* borrowed */
	struct ep_elf_hash hash;
	struct ep_elf_names dynamics; /* when there is no .gnu.hash */
	struct ep_elf_names statics;
};

void ep_elf_lookup_init(struct ep_elf_lookup *lookup, const struct ep_elf *elf);
void ep_elf_lookup_fini(struct ep_elf_lookup *lookup); /* accepts a zeroed struct */

/*
 * A defined symbol of .dynsym, else of .symtab, where a global one comes before local ones. 0,
 * -ENODATA, -EBADMSG, -E2BIG (the name, or a .symtab of more than 64 MiB), -ENOMEM, -errno.
 */
int ep_elf_lookup_symbol(struct ep_elf_lookup *lookup, const char *name, struct ep_elf_symbol *ret);

struct ep_elf_match {
	const char *name; /* borrowed from the lookup; 1 to EP_ELF_MAX_SYMBOL - 1 bytes */
	struct ep_elf_symbol symbol;
	size_t rank; /* its place in the vector before it was sorted */
};

/*
 * Appends to `matches` (struct ep_elf_match) the defined symbols whose names begin with `prefix`:
 * those of .dynsym, then of .symtab, in each global ones before local ones. 0, also for none;
 * -EBADMSG, -E2BIG (the vector is full, or a table of more than 64 MiB), -ENOMEM, -errno.
 */
int ep_elf_lookup_prefix(struct ep_elf_lookup *lookup, const char *prefix, struct ep_vec *matches);
/* Sorts by name, as bytes compare; of equal names the first that was appended stays. */
void ep_elf_matches_sort(struct ep_vec *matches);

#endif
