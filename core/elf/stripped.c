/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of a file that has no section headers (sstrip, objcopy --strip-section-headers, lld -z nosectionheader, packers):
 * the loader needs none, so what it finds by program headers and the dynamic section is here as sections, by the names that
 * they have elsewhere. Whoever looks for .eh_frame or .dynsym need not know.
 *
 *	PT_GNU_EH_FRAME ──► .eh_frame_hdr ──► .eh_frame, up to the end of its segment: it ends by itself
 *	without it .eh_frame is looked for (eh_frame.c)
 *	PT_DYNAMIC ──► DT_SYMTAB, DT_STRTAB, DT_GNU_HASH (or DT_HASH, which both tell how many symbols there are)
 *	PT_LOAD, executable ──► .text, of which there may be several
 */
#include "core/elf/internal.h"

#include <errno.h>
#include <string.h>

#define MAX_DYNAMIC 1024
#define MAX_TEXTS   16
#define MAX_SYMBOLS (1u << 24)
#define MAX_BUCKETS (1u << 22)
#define STEP_WORDS  256 /* of a hash table, read at once */

enum { NONE, EH_FRAME_HDR, EH_FRAME, DYNSYM, DYNSTR, GNU_HASH, TEXT, N_SECTIONS = TEXT + MAX_TEXTS };

static const char names[] = "\0.eh_frame_hdr\0.eh_frame\0.dynsym\0.dynstr\0.gnu.hash\0.text";

struct dynamic {
	uint64_t symbols_va, strings_va, strings_bytes, gnu_hash_va, hash_va;
};

static uint32_t name_off(const char *name)
{
	return (uint32_t)((const char *)memmem(names, sizeof(names), name, strlen(name) + 1) - names);
}

/* The bytes of the file from a virtual address to the end of its segment. */
static bool find_file(const struct ep_elf *elf, uint64_t va, uint64_t *ret_off, uint64_t *ret_bytes)
{
	for (size_t i = 0; va && i < elf->n_segments; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		uint64_t off = va - segment->p_vaddr;

		if (segment->p_type != PT_LOAD || va < segment->p_vaddr || off >= segment->p_filesz ||
		    !ep_in_bounds(segment->p_offset, segment->p_filesz, elf->bytes))
			continue;
		*ret_off = segment->p_offset + off;
		*ret_bytes = segment->p_filesz - off;
		return true;
	}
	return false;
}

/* A section at an address, of so many bytes at most. */
static void make(struct ep_elf *elf, uint32_t index, const char *name, uint32_t type, uint64_t va, uint64_t bytes)
{
	uint64_t off, there;

	if (!find_file(elf, va, &off, &there))
		return;
	elf->sections[index] = (Elf64_Shdr){
		.sh_name = name_off(name),
		.sh_type = type,
		.sh_flags = SHF_ALLOC,
		.sh_addr = va,
		.sh_offset = off,
		.sh_size = EP_MIN(bytes, there),
	};
}

/* --- unwind tables ----------------------------------------------------------------------------- */

/* version 1, the pointer to .eh_frame pcrel sdata4: all linkers write it so (core/symbol/starts.c). */
static void make_eh_frame(struct ep_elf *elf)
{
	static const uint8_t usual[] = {1, 0x1b};
	struct ep_elf_segment hdr;
	uint64_t va, bytes;
	uint8_t head[8];
	int32_t distance;

	if (ep_elf_find_segment(elf, PT_GNU_EH_FRAME, &hdr) < 0) {
		if (ep_elf_search_eh_frame(elf, &va, &bytes) == 0)
			make(elf, EH_FRAME, ".eh_frame", SHT_PROGBITS, va, bytes);
		return;
	}
	make(elf, EH_FRAME_HDR, ".eh_frame_hdr", SHT_PROGBITS, hdr.va, hdr.file_bytes);
	if (ep_elf_read_at(elf, hdr.file_off, head, sizeof(head)) < 0 || memcmp(head, usual, sizeof(usual)) != 0)
		return;
	memcpy(&distance, head + 4, sizeof(distance));
	make(elf, EH_FRAME, ".eh_frame", SHT_PROGBITS, hdr.va + 4 + (uint64_t)(int64_t)distance, UINT64_MAX);
}

/* --- dynamic symbols --------------------------------------------------------------------------- */

static bool read_dynamic(const struct ep_elf *elf, struct dynamic *dynamic)
{
	struct ep_elf_segment segment;
	Elf64_Dyn entry;

	if (ep_elf_find_segment(elf, PT_DYNAMIC, &segment) < 0)
		return false;
	for (uint64_t i = 0; i < EP_MIN(segment.file_bytes / sizeof(entry), (uint64_t)MAX_DYNAMIC); i++) {
		if (ep_elf_read_at(elf, segment.file_off + i * sizeof(entry), &entry, sizeof(entry)) < 0 ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			dynamic->symbols_va = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRTAB)
			dynamic->strings_va = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRSZ)
			dynamic->strings_bytes = entry.d_un.d_val;
		else if (entry.d_tag == DT_GNU_HASH)
			dynamic->gnu_hash_va = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_HASH)
			dynamic->hash_va = entry.d_un.d_ptr;
	}
	return dynamic->symbols_va && dynamic->strings_va;
}

/* The largest of n words. 0, -errno. */
static int find_largest(const struct ep_elf *elf, uint64_t off, uint32_t n, uint32_t *ret_largest)
{
	uint32_t words[STEP_WORDS], largest = 0;

	for (uint32_t at = 0; at < n; at += STEP_WORDS) {
		uint32_t some = EP_MIN(n - at, (uint32_t)STEP_WORDS);
		int r = ep_elf_read_at(elf, off + 4ull * at, words, 4ull * some);

		if (r < 0)
			return r;
		for (uint32_t i = 0; i < some; i++)
			largest = EP_MAX(largest, words[i]);
	}
	*ret_largest = largest;
	return 0;
}

/*
 * Where the last chain ends (core/elf/lookup.c draws the table); 0: that cannot be known.
 * *ret_bytes: of the table.
 */
static uint32_t count_by_gnu_hash(const struct ep_elf *elf, uint64_t va, uint64_t *ret_bytes)
{
	struct { uint32_t n_buckets, first, bloom_words, bloom_shift; } header;
	uint64_t off, there, buckets_off, chains_off;
	uint32_t last, hash = 0;

	if (!find_file(elf, va, &off, &there) || ep_elf_read_at(elf, off, &header, sizeof(header)) < 0 ||
	    header.n_buckets > MAX_BUCKETS || header.bloom_words > MAX_BUCKETS || header.first > MAX_SYMBOLS)
		return 0;
	buckets_off = off + sizeof(header) + 8ull * header.bloom_words;
	chains_off = buckets_off + 4ull * header.n_buckets;
	if (find_largest(elf, buckets_off, header.n_buckets, &last) < 0 || last > MAX_SYMBOLS)
		return 0;
	if (last < header.first) {
		*ret_bytes = chains_off - off;
		return header.first;
	}
	for (; last < MAX_SYMBOLS && !(hash & 1); last++) {
		if (ep_elf_read_at(elf, chains_off + 4ull * (last - header.first), &hash, sizeof(hash)) < 0)
			return 0;
	}
	*ret_bytes = chains_off + 4ull * (last - header.first) - off;
	return last;
}

static uint32_t count_by_hash(const struct ep_elf *elf, uint64_t va)
{
	struct { uint32_t n_buckets, n_symbols; } header;
	uint64_t off, there;

	return find_file(elf, va, &off, &there) && ep_elf_read_at(elf, off, &header, sizeof(header)) == 0
		       ? EP_MIN(header.n_symbols, MAX_SYMBOLS)
		       : 0;
}

static void make_symbols(struct ep_elf *elf)
{
	struct dynamic dynamic = {0};
	uint64_t hash_bytes = 0;
	uint32_t n;

	if (!read_dynamic(elf, &dynamic))
		return;
	n = count_by_gnu_hash(elf, dynamic.gnu_hash_va, &hash_bytes);
	if (n)
		make(elf, GNU_HASH, ".gnu.hash", SHT_GNU_HASH, dynamic.gnu_hash_va, hash_bytes);
	else
		n = count_by_hash(elf, dynamic.hash_va);
	if (!n)
		return;
	make(elf, DYNSYM, ".dynsym", SHT_DYNSYM, dynamic.symbols_va, (uint64_t)n * sizeof(Elf64_Sym));
	make(elf, DYNSTR, ".dynstr", SHT_STRTAB, dynamic.strings_va, dynamic.strings_bytes);
	elf->sections[GNU_HASH].sh_link = DYNSYM;
	elf->sections[DYNSYM].sh_link = DYNSTR;
	elf->sections[DYNSYM].sh_entsize = sizeof(Elf64_Sym);
}

/* --- code -------------------------------------------------------------------------------------- */

static void make_texts(struct ep_elf *elf)
{
	uint32_t n = 0;

	for (size_t i = 0; i < elf->n_segments && n < MAX_TEXTS; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		make(elf, TEXT + n, ".text", SHT_PROGBITS, segment->p_vaddr, segment->p_filesz);
		elf->sections[TEXT + n].sh_flags |= SHF_EXECINSTR;
		n++;
	}
}

int ep_elf_make_sections(struct ep_elf *elf)
{
	if (elf->header.e_type != ET_EXEC && elf->header.e_type != ET_DYN)
		return 0;
	elf->sections = calloc(N_SECTIONS, sizeof(*elf->sections));
	elf->names = malloc(sizeof(names));
	if (!elf->sections || !elf->names)
		return -ENOMEM; /* what there is goes with the file */
	memcpy(elf->names, names, sizeof(names));
	elf->names_bytes = sizeof(names);
	elf->n_sections = N_SECTIONS;
	make_eh_frame(elf);
	make_symbols(elf);
	make_texts(elf);
	return 0;
}
