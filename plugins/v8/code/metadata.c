/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin_metadata (builtins/builtins.cc, 6.2 to 14.x), by id:
 *
 *	0	const char *name
 *	8	Kind kind, a byte or an int
 *	16	data: a function of C++, a number of parameters, a bytecode
 *
 * It is const: in .rodata of an executable at a fixed address, else in .data.rel.ro, where pointers
 * are zero in the file and are recognised by relocations, or (DT_RELR) are what they will be less
 * the address of loading. With .symtab it has a name. Without, it is found by one of its names.
 * Where a compiler takes addresses of functions for no constants (gcc, Debian's Node 24), it is in
 * .data, and rows of C++ builtins are zero until V8 runs.
 */
#include "plugins/v8/code/file.h"

#include "core/base/util.h"
#include "core/base/vec.h"
#include "plugins/shared/search.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_BYTES 24 /* signed: rows are looked for in both directions */
#define MAX_NAME  128 /* the longest of 26 has 63 */
#define MAX_KIND  32  /* 10 in 26 */
#define MIN_ROWS  256
#define MAX_GAP	  512 /* rows of C++ builtins next to each other: 279 in 24 */
#define A_NAME	  "InterpreterEntryTrampoline" /* in all versions that have an interpreter */
/* the first of the names of kinds (KindNameOf), which may lie after the rows */
#define A_KIND "CPP"
#define MAX_FOUND 16
#define MAX_READS                                                                                  \
	200000 /* of rows and names; Node 26 takes 10 000, and other files may be made to look     \
		  like it */

/* Relocations that fill in the pointers of one table, ascending by offset. */
struct relocations {
	Elf64_Rela *rela;
	size_t n;
};

struct search {
	uint64_t strings[MAX_FOUND]; /* where A_NAME is */
	size_t n_strings;
	uint64_t slots[MAX_FOUND]; /* words that point to one */
	size_t n_slots;
	uint64_t rela[MAX_FOUND]; /* relocations that make such words */
	size_t n_rela;
};

static void add_found(uint64_t *list, size_t *n, uint64_t va)
{
	for (size_t i = 0; i < *n; i++)
		if (list[i] == va)
			return;
	if (*n < MAX_FOUND)
		list[(*n)++] = va;
}

/* --- where it is */

static int find_strings(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct search *search = arg;
	const uint8_t *at = bytes;

	while ((at = memmem(at, len - (size_t)(at - bytes), A_NAME, sizeof(A_NAME)))) {
		add_found(search->strings, &search->n_strings, va + (uint64_t)(at - bytes));
		at++;
	}
	return 0;
}

static bool is_string(const struct search *search, uint64_t va)
{
	for (size_t i = 0; i < search->n_strings; i++)
		if (search->strings[i] == va)
			return true;
	return false;
}

static int find_slots(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct search *search = arg;
	uint64_t word;

	for (size_t at = (size_t)(-va & 7); at + 8 <= len; at += 8) {
		memcpy(&word, bytes + at, 8);
		if (word && is_string(search, word))
			add_found(search->slots, &search->n_slots, va + at);
	}
	return 0;
}

static int find_rela(void *arg, uint64_t va, const uint8_t *bytes, size_t len)
{
	struct search *search = arg;
	Elf64_Rela rela;

	for (size_t at = 0; at + sizeof(rela) <= len; at += sizeof(rela)) {
		memcpy(&rela, bytes + at, sizeof(rela));
		if (ELF64_R_TYPE(rela.r_info) == R_X86_64_RELATIVE &&
		    is_string(search, (uint64_t)rela.r_addend))
			add_found(search->rela, &search->n_rela, va + at);
	}
	return 0;
}

/* The relocations around one: as many as the table can have. They ascend (-z combreloc, of every
 * linker). */
static int read_relocations(const struct v8_reader *reader, uint64_t va, struct relocations *ret)
{
	const uint64_t most = (EP_MAX_FILE_READ / 2 / sizeof(Elf64_Rela)) * sizeof(Elf64_Rela);
	struct ep_symbol section;
	uint64_t start, end;
	int r = reader->host->file_section(reader->file, ".rela.dyn", &section);

	if (r)
		return r;
	start = va - section.va > most ? va - most : section.va;
	end = section.va + section.bytes - va > most ? va + most : section.va + section.bytes;
	ret->n = (end - start) / sizeof(Elf64_Rela);
	ret->rela = malloc(ret->n * sizeof(Elf64_Rela));
	if (!ret->rela)
		return -ENOMEM;
	return reader->host->file_read(reader->file, start, ret->rela, ret->n * sizeof(Elf64_Rela));
}

static uint64_t find_addend(const struct relocations *relocations, uint64_t va)
{
	const Elf64_Rela *rela = relocations->rela;
	size_t at = search_sorted(relocations->n, i, rela[i].r_offset < va);

	return at < relocations->n && rela[at].r_offset == va ? (uint64_t)rela[at].r_addend : 0;
}

/* --- its rows */

struct row {
	char name[MAX_NAME];
	uint8_t kind;
};

static int read_some(const struct v8_reader *reader, uint64_t va, void *buf, size_t bytes)
{
	if (*reader->reads >= MAX_READS)
		return -ENODATA;
	++*reader->reads;
	return reader->host->file_read(reader->file, va, buf, bytes);
}

static bool is_name_byte(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '_';
}

/* All of them begin with a capital letter: what lies before the table may look like a row
 * else. */
static int read_name(const struct v8_reader *reader, uint64_t va, char name[MAX_NAME])
{
	size_t len = 0;
	int r = read_some(reader, va, name, MAX_NAME);

	for (; r && len < MAX_NAME; len += 16) { /* at a section's end */
		if (read_some(reader, va + len, name + len, 16))
			break;
	}
	if (r && !len)
		return r;
	if (r)
		name[len - 1] = '\0';
	for (len = 0; len < MAX_NAME && is_name_byte(name[len]); len++)
		;
	return len > 1 && len < MAX_NAME && !name[len] && name[0] >= 'A' && name[0] <= 'Z'
		       ? 0
		       : -ENODATA;
}

/* 0, 1: of a builtin without a name; -ENODATA: none is there. */
static int read_row(const struct v8_reader *reader, const struct relocations *relocations,
		    uint64_t va, struct row *ret)
{
	uint64_t words[3];
	int r = read_some(reader, va, words, sizeof(words));

	if (r)
		return -ENODATA;
	if (relocations->n)
		words[0] = find_addend(relocations, va);
	ret->kind = (uint8_t)words[1];
	ret->name[0] = '\0';
	if (!words[0] && !words[1] && !words[2])
		return 1;
	if (!words[0] || (uint32_t)words[1] > MAX_KIND)
		return -ENODATA;
	return read_name(reader, words[0], ret->name) ? -ENODATA : 0;
}

struct rows {
	struct ep_vec rows, names;
};

/* One without a name is of C++ (kind CPP), and gets its number for one. */
static int add_row(struct rows *rows, const struct row *row)
{
	struct v8_metadata *to = ep_vec_push(&rows->rows);
	char made[32];
	const char *name = row->name;

	if (!to)
		return -ENOMEM;
	if (!*name) {
		snprintf(made, sizeof(made), "Cpp%zu", rows->rows.len - 1);
		name = made;
	}
	*to = (struct v8_metadata){ .name = (uint32_t)rows->names.len, .kind = row->kind };
	return ep_vec_append(&rows->names, name, strlen(name) + 1);
}

/* How many rows there are in a direction (ROW_BYTES or -ROW_BYTES) up to the last with a name, from
 * one that has. */
static uint32_t count_rows(const struct v8_reader *reader, const struct relocations *relocations,
			   uint64_t va, int64_t stride)
{
	uint32_t named = 0;
	struct row row;

	for (uint32_t n = 1; n < V8_MAX_BUILTINS && n - named <= MAX_GAP; n++) {
		int r = read_row(reader, relocations, va + (uint64_t)(n * stride), &row);

		if (r < 0 || (!r && !strcmp(row.name, A_KIND)))
			break;
		if (!r)
			named = n;
	}
	return named;
}

static int read_table(const struct v8_reader *reader, const struct relocations *relocations,
		      uint64_t va, uint64_t n, struct v8_metadata_table *ret)
{
	struct rows rows;
	struct row row;
	int r = 0;

	ep_vec_init(&rows.rows, sizeof(struct v8_metadata), V8_MAX_BUILTINS);
	ep_vec_init(&rows.names, 1, (size_t)V8_MAX_BUILTINS * MAX_NAME);
	for (uint64_t i = 0; i < n && !r; i++) {
		r = read_row(reader, relocations, va + i * ROW_BYTES, &row);
		r = r < 0 ? r : add_row(&rows, &row);
	}
	if (r) {
		ep_vec_fini(&rows.rows);
		ep_vec_fini(&rows.names);
		return r;
	}
	*ret = (struct v8_metadata_table){
		.rows = rows.rows.data, .names = rows.names.data, .n = (uint32_t)n};
	return 0;
}

/* All rows around one. 0, -ENODATA: fewer than V8 can have, -ENOMEM. */
static int try_table(const struct v8_reader *reader, const struct relocations *relocations,
		     uint64_t va, struct v8_metadata_table *ret)
{
	uint32_t before = count_rows(reader, relocations, va, -ROW_BYTES);
	uint32_t n = before + 1 + count_rows(reader, relocations, va, ROW_BYTES);

	if (n < MIN_ROWS || n > V8_MAX_BUILTINS)
		return -ENODATA;
	return read_table(reader, relocations, va - (uint64_t)before * ROW_BYTES, n, ret);
}

static int try_relocated(const struct v8_reader *reader, uint64_t rela_va,
			 struct v8_metadata_table *ret)
{
	struct relocations relocations = { 0 };
	Elf64_Rela rela;
	int r = reader->host->file_read(reader->file, rela_va, &rela, sizeof(rela));

	if (!r)
		r = read_relocations(reader, rela_va, &relocations);
	if (!r)
		r = try_table(reader, &relocations, rela.r_offset, ret);
	free(relocations.rela);
	return r;
}

static int try_found(const struct v8_reader *reader, const struct search *search,
		     struct v8_metadata_table *ret)
{
	static const struct relocations none = { 0 };
	int r = -ENODATA;

	for (size_t i = 0; i < search->n_slots && r == -ENODATA; i++)
		r = try_table(reader, &none, search->slots[i], ret);
	for (size_t i = 0; i < search->n_rela && r == -ENODATA; i++)
		r = try_relocated(reader, search->rela[i], ret);
	return r;
}

static int search_table(const struct v8_reader *reader, struct v8_metadata_table *ret)
{
	struct search search = { 0 };
	int r = file_scan(reader->host, reader->file, ".rodata", sizeof(A_NAME), find_strings,
			  &search);

	if (!r && !search.n_strings)
		return -ENODATA;
	if (!r)
		r = file_scan(reader->host, reader->file, ".data.rel.ro", 8, find_slots, &search);
	if (!r && !search.n_slots)
		r = file_scan(reader->host, reader->file, ".rodata", 8, find_slots, &search);
	if (!r && !search.n_slots)
		r = file_scan(reader->host, reader->file, ".data", 8, find_slots, &search);
	/* Pieces begin where relocations do: a whole number of them fits, less what overlaps. */
	if (!r && !search.n_slots)
		r = file_scan(reader->host, reader->file, ".rela.dyn",
			      EP_MAX_FILE_READ % sizeof(Elf64_Rela), find_rela, &search);
	return r ? r : try_found(reader, &search, ret);
}

/* Its symbols: gcc gives a static one of an unnamed namespace an L, clang does not. */
static const char *const symbols[] = {
	"_ZN2v88internal12_GLOBAL__N_1L16builtin_metadataE",
	"_ZN2v88internal12_GLOBAL__N_116builtin_metadataE",
};

/* The symbol gives its size as well: no row of what lies around it. 0, -ENODATA, -ENOMEM. */
static int read_named(const struct v8_reader *reader, const struct ep_symbol *symbol,
		      struct v8_metadata_table *ret)
{
	static const struct relocations none = { 0 };

	if (symbol->bytes % ROW_BYTES || symbol->bytes > (uint64_t)V8_MAX_BUILTINS * ROW_BYTES ||
	    symbol->bytes < MIN_ROWS * ROW_BYTES)
		return -ENODATA;
	return read_table(reader, &none, symbol->va, symbol->bytes / ROW_BYTES, ret);
}

int v8_metadata_read(const struct v8_reader *reader, struct v8_metadata_table *ret)
{
	struct ep_symbol symbol;

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		int r = reader->host->file_symbol(reader->file, symbols[i], &symbol);

		if (!r)
			r = read_named(reader, &symbol, ret);
		if (r != -ENODATA)
			return r;
	}
	return search_table(reader, ret);
}

void v8_metadata_free(struct v8_metadata_table *table)
{
	free(table->rows);
	free(table->names);
	*table = (struct v8_metadata_table){ 0 };
}
