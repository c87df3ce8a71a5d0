/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .gnu.hash, as binutils writes it and glibc's dl-lookup.c (tag glibc-2.36, do_lookup_x) reads it:
 *
 *	| n_buckets | first_symbol | bloom_words | bloom_shift |		4 bytes each
 *	| bloom filter: 8 bytes each | buckets: 4 bytes each | chains: 4 bytes each, by symbol |
 *
 * 1. Symbols below first_symbol are not in it (undefined ones). 2. A bucket holds the first symbol
 * of its chain, 0: none. 3. A chain's entry is the symbol's hash; its lowest bit ends the chain.
 */
#include "core/elf/lookup.h"

#include <errno.h>
#include <string.h>

#define MAX_NAMES_BYTES	  ((uint64_t)64 << 20) /* of .symtab and .strtab together */
#define HASH_HEADER_BYTES 16
#define CHAIN_STEP	  64 /* entries of a chain read at once */
#define MAX_CHAIN	  4096 /* the longest that was met, in 1300 large files, has 14 */
/* Steps for a symbol whose name is hashed, beside its bytes, and for one that is looked at. */
#define HASH_STEPS	  20
#define SCAN_STEPS	  8
#define BITS_PER_NAME	  16 /* with two bits set for each: 1.4 % of the misses are scanned for */

static bool is_defined(const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && type != STT_SECTION && type != STT_FILE;
}

static struct ep_elf_symbol symbol_of(const Elf64_Sym *symbol)
{
	return (struct ep_elf_symbol){
		.va = symbol->st_value,
		.bytes = symbol->st_size,
		.type = ELF64_ST_TYPE(symbol->st_info),
		.binding = ELF64_ST_BIND(symbol->st_info),
	};
}

/* Daniel J. Bernstein's, glibc sysdeps/generic/dl-new-hash.h. `left` bounds the name. */
static uint32_t hash_name(const char *name, size_t left)
{
	uint32_t hash = 5381;

	for (size_t i = 0; i < left && name[i]; i++)
		hash = hash * 33 + (uint8_t)name[i];
	return hash;
}

/* --- .dynsym by .gnu.hash --- */

static int hash_layout(struct ep_elf_hash *hash, const struct ep_elf_section *section,
		       const uint32_t header[4])
{
	uint64_t end = section->file_off + section->bytes;

	hash->n_buckets = header[0];
	hash->first_symbol = header[1];
	hash->bloom_words = header[2];
	hash->bloom_shift = header[3];
	hash->bloom_off = section->file_off + HASH_HEADER_BYTES;
	hash->buckets_off = hash->bloom_off + 8ull * hash->bloom_words;
	hash->chains_off = hash->buckets_off + 4ull * hash->n_buckets;
	if (!hash->n_buckets || !hash->bloom_words ||
	    (hash->bloom_words & (hash->bloom_words - 1)) || hash->bloom_shift > 31 ||
	    hash->chains_off > end)
		return -EBADMSG;
	return 0;
}

static int hash_open(const struct ep_elf *elf, struct ep_elf_hash *hash)
{
	struct ep_elf_section section;
	uint32_t header[4];
	int r;

	r = ep_elf_find_section_type(elf, SHT_GNU_HASH, &section);
	if (r < 0)
		return r;
	if (!ep_in_bounds(section.file_off, section.bytes, ep_elf_file_bytes(elf)) ||
	    ep_elf_section_at(elf, section.link, &hash->symbols) < 0 ||
	    hash->symbols.type != SHT_DYNSYM ||
	    ep_elf_section_at(elf, hash->symbols.link, &hash->strings) < 0 ||
	    hash->strings.type != SHT_STRTAB ||
	    hash->symbols.bytes / sizeof(Elf64_Sym) > UINT32_MAX)
		return -EBADMSG;
	hash->n_symbols = (uint32_t)(hash->symbols.bytes / sizeof(Elf64_Sym));
	r = ep_elf_read_at(elf, section.file_off, header, sizeof(header));
	return r < 0 ? r : hash_layout(hash, &section, header);
}

/* 0 when the filter lets the hash pass, with the first symbol of its chain. -ENODATA, -EBADMSG. */
static int hash_bucket(const struct ep_elf *elf, const struct ep_elf_hash *hash, uint32_t value,
		       uint32_t *ret_symbol)
{
	uint64_t word;
	uint32_t first;
	int r;

	r = ep_elf_read_at(elf, hash->bloom_off + 8ull * (value / 64 & (hash->bloom_words - 1)),
			   &word, sizeof(word));
	if (r < 0)
		return r;
	if (!(word >> (value % 64) & 1) || !(word >> ((value >> hash->bloom_shift) % 64) & 1))
		return -ENODATA;
	r = ep_elf_read_at(elf, hash->buckets_off + 4ull * (value % hash->n_buckets), &first,
			   sizeof(first));
	if (r < 0)
		return r;
	if (first < hash->first_symbol)
		return -ENODATA;
	*ret_symbol = first;
	return 0;
}

/* 0 when this symbol has the name and is defined, -ENODATA, -EBADMSG. */
static int symbol_check(const struct ep_elf *elf, const struct ep_elf_hash *hash, uint32_t index,
			const char *name, size_t len, struct ep_elf_symbol *ret)
{
	char stored[EP_ELF_MAX_SYMBOL];
	Elf64_Sym symbol;
	int r;

	r = ep_elf_read_at(elf, hash->symbols.file_off + index * sizeof(symbol), &symbol,
			   sizeof(symbol));
	if (r < 0)
		return r;
	if (!is_defined(&symbol) || !ep_in_bounds(symbol.st_name, len, hash->strings.bytes))
		return -ENODATA;
	r = ep_elf_read_at(elf, hash->strings.file_off + symbol.st_name, stored, len);
	if (r < 0)
		return r;
	if (memcmp(stored, name, len) != 0)
		return -ENODATA;
	*ret = symbol_of(&symbol);
	return 0;
}

/* 0, -ENODATA, -EBADMSG when the chain does not end, -errno. */
static int hash_walk(const struct ep_elf *elf, const struct ep_elf_hash *hash, uint32_t value,
		     uint32_t index, const char *name, size_t len, struct ep_elf_symbol *ret)
{
	uint32_t left = index < hash->n_symbols ? hash->n_symbols - index : 0;
	uint32_t end = index + EP_MIN(left, (uint32_t)MAX_CHAIN);

	while (index < end) {
		uint32_t chain[CHAIN_STEP];
		uint32_t n = EP_MIN(end - index, (uint32_t)CHAIN_STEP);
		int r = ep_elf_read_at(elf, hash->chains_off + 4ull * (index - hash->first_symbol),
				       chain, n * sizeof(*chain));

		if (r < 0)
			return r;
		for (uint32_t i = 0; i < n; i++, index++) {
			r = (chain[i] ^ value) >> 1
				    ? -ENODATA
				    : symbol_check(elf, hash, index, name, len, ret);
			if (r != -ENODATA || chain[i] & 1)
				return r;
		}
	}
	return left > MAX_CHAIN ? -EBADMSG : -ENODATA;
}

static int hash_find(struct ep_elf_lookup *lookup, const char *name, size_t len,
		     struct ep_elf_symbol *ret)
{
	struct ep_elf_hash *hash = &lookup->hash;
	uint32_t value = hash_name(name, len), first = 0;
	int r;

	r = hash_bucket(lookup->elf, hash, value, &first);
	return r < 0 ? r : hash_walk(lookup->elf, hash, value, first, name, len, ret);
}

/* --- a symbol section read whole --- */

static size_t names_count(const struct ep_elf_names *names)
{
	return names->symbols.bytes / sizeof(Elf64_Sym);
}

static const Elf64_Sym *names_at(const struct ep_elf_names *names, size_t i)
{
	return (const Elf64_Sym *)(const void *)names->symbols.data + i;
}

/* Both bits of a hash; the second from a mix of it, since 33^n spreads its upper bits badly. */
static void filter_bits(const struct ep_elf_names *names, uint32_t hash, uint32_t bits[2])
{
	uint64_t mixed = hash * 0x9e3779b97f4a7c15ull;

	bits[0] = (uint32_t)(mixed >> 32) & names->filter_mask;
	bits[1] = (uint32_t)(mixed >> 8) & names->filter_mask;
}

static int filter_build(struct ep_work *work, struct ep_elf_names *names)
{
	uint64_t bits = 64, bytes;
	int r;

	while (bits < (uint64_t)names_count(names) * BITS_PER_NAME)
		bits *= 2;
	bytes = bits / 8;
	r = ep_memory_budget_take(names->symbols.budget, bytes);
	if (r < 0)
		return r;
	names->filter_bytes = bytes;
	names->filter = calloc(1, bytes);
	if (!names->filter)
		return -ENOMEM;
	names->filter_mask = (uint32_t)(bits - 1);
	for (size_t i = 0; i < names_count(names); i++) {
		const Elf64_Sym *symbol = names_at(names, i);
		const char *name;
		uint32_t at[2];
		size_t len;

		if (!is_defined(symbol) || symbol->st_name >= names->strings.bytes)
			continue;
		name = (const char *)names->strings.data + symbol->st_name;
		len = strnlen(name, EP_MIN(names->strings.bytes - symbol->st_name,
					   (size_t)EP_ELF_MAX_SYMBOL));
		r = ep_work_take(work, HASH_STEPS + len);
		if (r < 0)
			return r;
		filter_bits(names, hash_name(name, len), at);
		names->filter[at[0] / 64] |= 1ull << (at[0] % 64);
		names->filter[at[1] / 64] |= 1ull << (at[1] % 64);
	}
	return 0;
}

static int names_read(const struct ep_elf *elf, uint32_t type, struct ep_elf_names *names)
{
	struct ep_elf_section symbols, strings;
	int r;

	r = ep_elf_find_section_type(elf, type, &symbols);
	if (r < 0)
		return r;
	if (ep_elf_section_at(elf, symbols.link, &strings) < 0 || strings.type != SHT_STRTAB)
		return -EBADMSG;
	if (symbols.bytes > MAX_NAMES_BYTES || strings.bytes > MAX_NAMES_BYTES - symbols.bytes ||
	    (symbols.flags | strings.flags) & SHF_COMPRESSED)
		return -E2BIG;
	r = ep_elf_read_section(elf, &symbols, &names->symbols);
	if (r == 0)
		r = ep_elf_read_section(elf, &strings, &names->strings);
	return r < 0 ? r : filter_build(ep_elf_work(elf), names);
}

static void names_fini(struct ep_elf_names *names)
{
	ep_memory_budget_give(names->symbols.budget, names->filter_bytes);
	ep_elf_bytes_fini(&names->symbols);
	ep_elf_bytes_fini(&names->strings);
	free(names->filter);
	*names = (struct ep_elf_names){.result = 1};
}

/* A global symbol of the name, else the first local one. */
static int names_scan(struct ep_work *work, const struct ep_elf_names *names, const char *name,
		      size_t len, struct ep_elf_symbol *ret)
{
	int r = ep_work_take(work, names_count(names) * SCAN_STEPS);

	if (r < 0)
		return r;
	r = -ENODATA;
	for (size_t i = 0; i < names_count(names); i++) {
		const Elf64_Sym *symbol = names_at(names, i);
		bool global = ELF64_ST_BIND(symbol->st_info) != STB_LOCAL;

		if (!is_defined(symbol) || (r == 0 && !global) ||
		    !ep_in_bounds(symbol->st_name, len, names->strings.bytes) ||
		    memcmp(names->strings.data + symbol->st_name, name, len) != 0)
			continue;
		*ret = symbol_of(symbol);
		r = 0;
		if (global)
			break;
	}
	return r;
}

static int names_open(const struct ep_elf *elf, uint32_t type, struct ep_elf_names *names)
{
	if (names->result == 1) {
		int r = names_read(elf, type, names);

		if (r < 0)
			names_fini(names);
		names->result = r;
	}
	return names->result;
}

static int names_find(const struct ep_elf *elf, uint32_t type, struct ep_elf_names *names,
		      const char *name, size_t len, struct ep_elf_symbol *ret)
{
	uint32_t bits[2];
	int r = names_open(elf, type, names);

	if (r < 0)
		return r;
	filter_bits(names, hash_name(name, len), bits);
	if (!(names->filter[bits[0] / 64] >> (bits[0] % 64) & 1) ||
	    !(names->filter[bits[1] / 64] >> (bits[1] % 64) & 1))
		return -ENODATA;
	return names_scan(ep_elf_work(elf), names, name, len, ret);
}

/* --- both --- */

static int find_dynamic(struct ep_elf_lookup *lookup, const char *name, size_t len,
			struct ep_elf_symbol *ret)
{
	if (lookup->hash.result == 1)
		lookup->hash.result = hash_open(lookup->elf, &lookup->hash);
	if (lookup->hash.result == 0)
		return hash_find(lookup, name, len, ret);
	return names_find(lookup->elf, SHT_DYNSYM, &lookup->dynamics, name, len, ret);
}

int ep_elf_lookup_symbol(struct ep_elf_lookup *lookup, const char *name, struct ep_elf_symbol *ret)
{
	size_t len = strlen(name) + 1; /* with the NUL, so that a prefix is not found */
	int r;

	if (len > EP_ELF_MAX_SYMBOL)
		return -E2BIG;
	r = find_dynamic(lookup, name, len, ret);
	if (r == 0)
		return 0;
	return names_find(lookup->elf, SHT_SYMTAB, &lookup->statics, name, len, ret);
}

/* --- by prefix --- */

/* The name of a symbol when it is defined and begins with the prefix, else NULL. */
static const char *match_name(const struct ep_elf_names *names, const Elf64_Sym *symbol,
			      const char *prefix, size_t len)
{
	const char *name = (const char *)names->strings.data + symbol->st_name;
	size_t most;

	if (!is_defined(symbol) || !ep_in_bounds(symbol->st_name, len, names->strings.bytes) ||
	    memcmp(name, prefix, len) != 0)
		return NULL;
	most = EP_MIN(names->strings.bytes - symbol->st_name, (size_t)EP_ELF_MAX_SYMBOL);
	return memchr(name, '\0', most) && *name ? name : NULL;
}

static int names_match(const struct ep_elf_names *names, const char *prefix, bool global,
		       struct ep_vec *matches)
{
	size_t len = strlen(prefix);
	int r = 0;

	for (size_t i = 0; i < names_count(names) && r == 0; i++) {
		const Elf64_Sym *symbol = names_at(names, i);
		struct ep_elf_match match = {.rank = matches->len};

		if ((ELF64_ST_BIND(symbol->st_info) != STB_LOCAL) != global)
			continue;
		match.name = match_name(names, symbol, prefix, len);
		match.symbol = symbol_of(symbol);
		if (match.name)
			r = ep_vec_append(matches, &match, 1);
	}
	return r;
}

static int table_match(const struct ep_elf *elf, uint32_t type, struct ep_elf_names *names,
		       const char *prefix, struct ep_vec *matches)
{
	int r = names_open(elf, type, names);

	if (r == 0)
		r = ep_work_take(ep_elf_work(elf), 2 * names_count(names) * SCAN_STEPS);
	if (r == 0)
		r = names_match(names, prefix, true, matches);
	if (r == 0)
		r = names_match(names, prefix, false, matches);
	return r == -ENODATA ? 0 : r;
}

int ep_elf_lookup_prefix(struct ep_elf_lookup *lookup, const char *prefix, struct ep_vec *matches)
{
	int r = table_match(lookup->elf, SHT_DYNSYM, &lookup->dynamics, prefix, matches);

	return r < 0 ? r
		     : table_match(lookup->elf, SHT_SYMTAB, &lookup->statics, prefix, matches);
}

static int match_compare(const void *a, const void *b)
{
	const struct ep_elf_match *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (x->rank > y->rank) - (x->rank < y->rank);
}

void ep_elf_matches_sort(struct ep_vec *matches)
{
	struct ep_elf_match *match = matches->data;
	size_t n = 0;

	if (matches->len > 0)
		qsort(matches->data, matches->len, sizeof(*match), match_compare);
	for (size_t i = 0; i < matches->len; i++) {
		if (n == 0 || strcmp(match[n - 1].name, match[i].name) != 0)
			match[n++] = match[i];
	}
	matches->len = n;
}

void ep_elf_lookup_init(struct ep_elf_lookup *lookup, const struct ep_elf *elf)
{
	*lookup = (struct ep_elf_lookup){
		.elf = elf,
		.hash.result = 1,
		.dynamics.result = 1,
		.statics.result = 1,
	};
}

void ep_elf_lookup_fini(struct ep_elf_lookup *lookup)
{
	names_fini(&lookup->dynamics);
	names_fini(&lookup->statics);
}
