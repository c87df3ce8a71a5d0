/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the table and the module data are. Go's own linker gives both, or the first, a section; the system's
 * linker may put the table into .data.rel.ro, and strip takes what names it. Module data (runtime/symtab.go,
 * struct moduledata) is known by its first words: the table's address and six slices of its parts.
 */
#include "core/pclntab/layout.h"
#include "core/elf/file.h"

#include <errno.h>
#include <string.h>

#define SCAN_WORDS   512
#define MODULE_WORDS 45
#define NO_SECTION   1 /* *pos: sections were asked, the scan begins */
#define DONE	     UINT64_MAX

/* quantum 1, pointers of 8 bytes, between magic and number of functions */
#define IS_HEADER(word)                                                                            \
	((word) >> 32 == 0x08010000 &&                                                             \
	 (((word) & 0xffffffff) - 0xfffffffa <= 1 || ((word) & 0xffffffff) - 0xfffffff0 <= 1))

/* Words of struct moduledata, by 8 bytes, at go1.18, go1.20 to go1.26, and go1.27. */
#define MODULE_TEXT	  22
#define MODULE_GOFUNC_118 38
#define MODULE_GOFUNC_120 40
#define MODULE_GOFUNC_127 43

static int use(struct ep_pclntab *tab, uint64_t va, uint64_t off, uint64_t bytes)
{
	if (!ep_in_bounds(off, bytes, tab->pages.file_bytes))
		return -EBADMSG;
	tab->va = va;
	tab->off = off;
	tab->bytes = (uint32_t)EP_MIN(bytes, (uint64_t)EP_ELF_MAX_SECTION);
	return 0;
}

/* A note named "Go": the build id that its linker leaves for either linker. */
static bool made_by_go(const struct ep_elf *elf)
{
	struct ep_elf_section section;
	struct ep_elf_segment segment;
	char notes[256];
	size_t bytes;

	if (ep_elf_find_section(elf, ".note.go.buildid", &section) == 0 ||
	    ep_elf_find_section(elf, ".go.buildinfo", &section) == 0)
		return true;
	if (ep_elf_find_segment(elf, PT_NOTE, &segment) < 0)
		return false;
	bytes = (size_t)EP_MIN(segment.file_bytes, (uint64_t)sizeof(notes));
	return ep_elf_read_at(elf, segment.file_off, notes, bytes) == 0 &&
	       memmem(notes, bytes, "\4\0\0\0Go\0", 8);
}

/*
 * Calls `see` for each aligned word of a range of the file, until it returns true. Words that cannot
 * be read are not seen.
 */
struct scan {
	struct ep_pclntab *tab;
	const struct ep_pclntab_range *segment;
	uint64_t off; /* in the segment, of the word seen */
};

static bool scan_words(struct scan *scan, uint64_t from, bool (*see)(struct scan *, uint64_t word))
{
	const struct ep_pclntab_range *segment = scan->segment;
	uint64_t words[SCAN_WORDS], off = from;

	while (off < segment->bytes && segment->bytes - off >= 8) {
		size_t n = (size_t)EP_MIN((segment->bytes - off) / 8, (uint64_t)SCAN_WORDS);

		if (ep_pages_read(&scan->tab->pages, segment->off + off, words, n * 8) < 0)
			return false;
		for (size_t i = 0; i < n; i++) {
			scan->off = off + 8 * i;
			if (see(scan, words[i]))
				return true;
		}
		off += n * 8;
	}
	return false;
}

static bool see_header(struct scan *scan, uint64_t word)
{
	(void)scan;
	return IS_HEADER(word);
}

static int scan_table(struct ep_pclntab *tab, uint64_t *pos)
{
	uint64_t skip = *pos - NO_SECTION; /* bytes of all segments, one after the other */

	for (size_t i = 0; i < tab->n_segments; i++) {
		const struct ep_pclntab_range *segment = &tab->segments[i];
		struct scan scan = { .tab = tab, .segment = segment };
		uint64_t whole = EP_ALIGN_UP(segment->bytes, 8);
		uint64_t from = EP_MAX(skip, EP_ALIGN_UP(segment->va, 8) - segment->va);

		if (skip < whole && scan_words(&scan, from, see_header)) {
			*pos += scan.off + 8 - skip;
			return use(tab, segment->va + scan.off, segment->off + scan.off,
				   segment->bytes - scan.off);
		}
		*pos += whole - EP_MIN(skip, whole);
		skip -= EP_MIN(skip, whole);
	}
	*pos = DONE;
	return -ENODATA;
}

int ep_pclntab_locate(struct ep_pclntab *tab, uint64_t *pos)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
	struct ep_elf_section section;

	if (*pos == DONE)
		return -ENODATA;
	for (size_t i = 0; i < EP_LEN(names) && *pos == 0; i++) {
		if (ep_elf_find_section(tab->elf, names[i], &section) == 0) {
			*pos = DONE;
			return use(tab, section.va, section.file_off, section.bytes);
		}
	}
	if (*pos == 0 && !made_by_go(tab->elf))
		return -ENODATA;
	*pos = EP_MAX(*pos, (uint64_t)NO_SECTION);
	return scan_table(tab, pos);
}

/* ---- relocations ---- */

static int find_rela(const struct ep_pclntab *tab, struct ep_elf_section *ret)
{
	if (ep_elf_type(tab->elf) != ET_DYN)
		return -ENODATA;
	return ep_elf_find_section(tab->elf, ".rela.dyn", ret);
}

static bool read_reloc(struct ep_pclntab *tab, uint32_t i, Elf64_Rela *ret)
{
	return ep_pages_read(&tab->pages, tab->relocs_off + (uint64_t)i * sizeof(*ret), ret,
			     sizeof(*ret)) == 0 && ELF64_R_TYPE(ret->r_info) == R_X86_64_RELATIVE;
}

/* Linkers put the relative ones first, by ascending address. What does not ascend is not used. */
int ep_pclntab_find_relocations(struct ep_pclntab *tab)
{
	struct ep_elf_section section;
	uint64_t before = 0;
	uint32_t n, i = 0;
	Elf64_Rela reloc;
	int r = find_rela(tab, &section);

	if (r < 0)
		return r;
	tab->relocs_off = section.file_off;
	n = (uint32_t)EP_MIN(section.bytes / sizeof(reloc), (uint64_t)UINT32_MAX);
	for (; i < n && read_reloc(tab, i, &reloc) && reloc.r_offset >= before; i++)
		before = reloc.r_offset + sizeof(reloc.r_addend);
	tab->n_relocs = i;
	tab->reloc = 0;
	return i ? 0 : -ENODATA;
}

/* The first relocation at va or after. The next one asked for is mostly near. */
static uint32_t first_reloc(struct ep_pclntab *tab, uint64_t va)
{
	uint32_t low = 0, n = tab->n_relocs;
	Elf64_Rela reloc;

	if (tab->reloc && read_reloc(tab, tab->reloc - 1, &reloc) && reloc.r_offset < va) {
		low = tab->reloc;
		n -= low;
		if (n && read_reloc(tab, low, &reloc) && reloc.r_offset >= va)
			return low;
	}
	while (n) {
		uint32_t half = n / 2;

		if (read_reloc(tab, low + half, &reloc) && reloc.r_offset < va) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low;
}

void ep_pclntab_relocate(struct ep_pclntab *tab, uint64_t off, uint8_t *buf, size_t bytes)
{
	uint64_t va = tab->va + off;
	uint32_t i = first_reloc(tab, va);
	Elf64_Rela reloc;

	for (; i < tab->n_relocs && read_reloc(tab, i, &reloc); i++) {
		uint64_t at = reloc.r_offset - va;

		if (!ep_in_bounds(at, sizeof(reloc.r_addend), bytes))
			break;
		memcpy(buf + at, &reloc.r_addend, sizeof(reloc.r_addend));
	}
	tab->reloc = i;
}

/* ---- module data ---- */

static bool is_module(const struct ep_pclntab *tab, const uint64_t *words)
{
	const uint32_t parts[] = { tab->names, tab->units, tab->files,
				   tab->values, tab->functab, tab->functab };

	if (words[0] != tab->va)
		return false;
	for (size_t i = 0; i < EP_LEN(parts); i++)
		if (words[1 + 3 * i] != tab->va + parts[i])
			return false;
	return true;
}

/* What the dynamic linker will write there, where the linker left it out of the file. */
static void relocate(struct ep_pclntab *tab, uint64_t va, uint64_t *words, size_t n)
{
	struct ep_elf_section section;
	Elf64_Rela relocs[128];

	if (find_rela(tab, &section) < 0)
		return;
	for (uint64_t off = 0; off + sizeof(*relocs) <= section.bytes; off += sizeof(relocs)) {
		size_t k = (size_t)EP_MIN((section.bytes - off) / sizeof(*relocs),
					  (uint64_t)EP_LEN(relocs));

		if (ep_elf_read_at(tab->elf, section.file_off + off, relocs, k * sizeof(*relocs)) < 0)
			return;
		for (size_t i = 0; i < k; i++) {
			uint64_t at = relocs[i].r_offset - va;

			if (ELF64_R_TYPE(relocs[i].r_info) == R_X86_64_RELATIVE && at % 8 == 0 &&
			    at / 8 < n)
				words[at / 8] = (uint64_t)relocs[i].r_addend;
		}
	}
}

static bool read_words(struct ep_pclntab *tab, uint64_t va, uint64_t *words)
{
	if (ep_pclntab_read_va(tab, va, words, MODULE_WORDS * sizeof(*words)) < 0)
		return false;
	if (is_module(tab, words))
		return true;
	relocate(tab, va, words, MODULE_WORDS);
	return is_module(tab, words);
}

static bool see_module(struct scan *scan, uint64_t word)
{
	uint64_t words[MODULE_WORDS];

	return word == scan->tab->va &&
	       ep_pclntab_read_va(scan->tab, scan->segment->va + scan->off, words, sizeof(words)) == 0 &&
	       is_module(scan->tab, words);
}

/* Data is the last of the segments. */
static bool scan_module(struct ep_pclntab *tab, uint64_t *ret_va)
{
	for (size_t i = tab->n_segments; i-- > 0;) {
		const struct ep_pclntab_range *segment = &tab->segments[i];
		struct scan scan = { .tab = tab, .segment = segment };

		if (scan_words(&scan, EP_ALIGN_UP(segment->va, 8) - segment->va, see_module)) {
			*ret_va = segment->va + scan.off;
			return true;
		}
	}
	return false;
}

/* Where a relocation writes the table's address: the module data's first word is one of a few. */
static bool scan_relocations(struct ep_pclntab *tab, uint64_t *words)
{
	struct ep_elf_section section;
	unsigned int tries = 0;
	Elf64_Rela reloc;

	if (find_rela(tab, &section) < 0)
		return false;
	for (uint64_t off = 0; off + sizeof(reloc) <= section.bytes && tries < 8; off += sizeof(reloc)) {
		if (ep_pages_read(&tab->pages, section.file_off + off, &reloc, sizeof(reloc)) < 0)
			return false;
		if (ELF64_R_TYPE(reloc.r_info) != R_X86_64_RELATIVE || (uint64_t)reloc.r_addend != tab->va)
			continue;
		tries++;
		if (read_words(tab, reloc.r_offset, words))
			return true;
	}
	return false;
}

/* From go1.26 on the trees are in the table itself, and the word after says where that ends. */
static bool is_inside(const struct ep_pclntab *tab, const uint64_t *word)
{
	return word[0] > tab->va && word[0] < word[1] && word[1] - tab->va <= tab->bytes;
}

static uint64_t inline_base(const struct ep_pclntab *tab, const uint64_t *words)
{
	if (tab->layout->magic == 0xfffffff0)
		return words[MODULE_GOFUNC_118];
	if (!is_inside(tab, &words[MODULE_GOFUNC_120]) && is_inside(tab, &words[MODULE_GOFUNC_127]))
		return words[MODULE_GOFUNC_127];
	return words[MODULE_GOFUNC_120];
}

int ep_pclntab_read_module(struct ep_pclntab *tab, uint64_t *ret_text, uint64_t *ret_inline_base)
{
	uint64_t words[MODULE_WORDS], va = 0;
	struct ep_elf_section section;
	bool found;

	found = ep_elf_find_section(tab->elf, ".go.module", &section) == 0 &&
		read_words(tab, section.va, words);
	if (!found)
		found = (scan_module(tab, &va) && read_words(tab, va, words)) ||
			scan_relocations(tab, words);
	if (!found)
		return -ENODATA;
	*ret_text = words[MODULE_TEXT];
	*ret_inline_base = inline_base(tab, words);
	return 0;
}
