/* SPDX-License-Identifier: Apache-2.0 */
/* Executables with a function table of Go's, in each of its layouts, made from bytes. */
#ifndef EP_TESTS_PCLNTAB_FILE_H
#define EP_TESTS_PCLNTAB_FILE_H

#include "core/base/util.h"

#include <elf.h>
#include <string.h>

#define MADE_TEXT_VA  0x401000u
#define MADE_TEXT_OFF 0x1000u
#define MADE_DATA_VA  0x403000u
#define MADE_DATA_OFF 0x3000u
#define MADE_BYTES    0x5000u
#define MADE_MODULE   0x1000u /* from the beginning of data */
#define MADE_FUNCS    6
#define MADE_SECTIONS 6

struct made_version {
	const char *name;
	uint32_t magic;
	uint8_t id_switch, id_other, id_wrapper; /* 0: it has no ids */
	bool preempts; /* the function named in third place is asyncPreempt */
	bool flags, start_lines;
	bool text_in_header, tree_in_table;
	uint8_t gofunc_word; /* in module data; 0: trees are at addresses */
};

static const struct made_version made_versions[] = {
	{ "1.2", 0xfffffffb, 0, 0, 0, false, false, false, false, false, 0 },
	{ "1.12", 0xfffffffb, 12, 19, 20, false, false, false, false, false, 0 },
	{ "1.15", 0xfffffffb, 12, 21, 22, true, false, false, false, false, 0 },
	{ "1.16", 0xfffffffa, 12, 21, 22, true, false, false, false, false, 0 },
	{ "1.17", 0xfffffffa, 21, 3, 22, true, true, false, false, false, 0 },
	{ "1.18", 0xfffffff0, 20, 3, 21, true, true, false, true, false, 38 },
	{ "1.20", 0xfffffff1, 20, 3, 21, true, true, true, true, false, 40 },
	{ "1.26", 0xfffffff1, 22, 3, 23, true, true, true, false, true, 40 },
	{ "1.27", 0xfffffff1, 22, 3, 23, true, true, true, false, true, 43 },
};

/* What is in the table; text ends where a seventh would begin. */
static const uint32_t made_starts[MADE_FUNCS + 1] = { 0, 16, 32, 64, 160, 176, 208 };
static const char *const made_names[MADE_FUNCS] = {
	"runtime.goexit", "runtime.systemstack_switch", "runtime.asyncPreempt",
	"main.outer", "main.T.M", "main.main",
};
#define MADE_OUTER   3
#define MADE_WRAPPER 4

struct made_pair {
	uint32_t bytes;
	int32_t value;
};
static const struct made_pair made_pcsp[] = { { 1, 0 }, { 3, 8 }, { 86, 40 }, { 1, 8 }, { 1, 0 }, { 0, 0 } };
static const struct made_pair made_lines[] = { { 20, 10 }, { 40, 33 }, { 32, 12 }, { 0, 0 } };
static const struct made_pair made_calls[] = { { 20, -1 }, { 20, 0 }, { 20, 1 }, { 32, -1 }, { 0, 0 } };
static const struct made_pair made_flat[] = { { 16, 0 }, { 0, 0 } };

struct made {
	const struct made_version *version;
	uint8_t bytes[MADE_BYTES];
	size_t at; /* in the table, where the next thing goes */
	uint32_t functab, names, units, files, values; /* from the table's beginning */
	uint32_t funcs[MADE_FUNCS];
	uint32_t name[MADE_FUNCS], inner, innermost; /* as functions have them */
	uint32_t pcsp, lines, calls, pcfile, flat;
	uint32_t tree; /* from the beginning of data */
};

static inline uint8_t *made_data(struct made *made, size_t off)
{
	return made->bytes + MADE_DATA_OFF + off;
}

static inline void made_put(struct made *made, size_t off, uint64_t value, size_t bytes)
{
	memcpy(made_data(made, off), &value, bytes);
}

static inline uint32_t made_text(struct made *made, const char *text)
{
	uint32_t at = (uint32_t)made->at;

	memcpy(made_data(made, at), text, strlen(text) + 1);
	made->at += strlen(text) + 1;
	return at;
}

static inline void made_varint(struct made *made, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		*made_data(made, made->at++) = (uint8_t)(value | 0x80);
	*made_data(made, made->at++) = (uint8_t)value;
}

/* `files`: the values are numbers of files, which count from 1 in the oldest layout. */
static inline uint32_t made_values(struct made *made, const struct made_pair *pairs, int32_t add)
{
	uint32_t at = (uint32_t)made->at;
	int32_t before = -1;

	for (; pairs->bytes; pairs++) {
		int32_t change = pairs->value + add - before;

		made_varint(made, change < 0 ? ~((uint32_t)change << 1) : (uint32_t)change << 1);
		made_varint(made, pairs->bytes);
		before = pairs->value + add;
	}
	*made_data(made, made->at++) = 0;
	return at - made->values;
}

static inline void made_all_names(struct made *made)
{
	for (size_t i = 0; i < MADE_FUNCS; i++)
		made->name[i] = made_text(made, i == 2 && !made->version->preempts ?
						"runtime.panicwrap" : made_names[i]) - made->names;
	made->inner = made_text(made, "main.inner") - made->names;
	made->innermost = made_text(made, "main.innermost") - made->names;
}

static inline void made_all_values(struct made *made)
{
	static const struct made_pair files[] = { { 20, 0 }, { 40, 1 }, { 32, 0 }, { 0, 0 } };

	*made_data(made, made->at++) = 0; /* 0 as an offset: no table */
	made->pcsp = made_values(made, made_pcsp, 0);
	made->lines = made_values(made, made_lines, 0);
	made->calls = made_values(made, made_calls, 0);
	made->pcfile = made_values(made, files, made->version->magic == 0xfffffffb);
	made->flat = made_values(made, made_flat, 0);
}

static inline void made_tree(struct made *made)
{
	bool new = made->version->magic == 0xfffffff1;
	size_t bytes = new ? 16 : 20;
	const uint32_t names[] = { made->inner, made->innermost };
	const uint32_t pcs[] = { 15, 25 }, lines[] = { 30, 40 };

	for (size_t i = 0; i < 2; i++) {
		size_t at = made->tree + i * bytes;

		made_put(made, at + (new ? 4 : 12), names[i], 4);
		made_put(made, at + (new ? 8 : 16), pcs[i], 4);
		if (new)
			made_put(made, at + 12, lines[i], 4);
	}
}

static inline uint8_t made_id(const struct made_version *version, size_t i)
{
	return i == 1 ? version->id_switch : i == 2 ? version->id_other :
	       i == MADE_WRAPPER ? version->id_wrapper : 0;
}

/* struct _func, see core/pclntab/layout.h. */
static inline void made_func(struct made *made, size_t i)
{
	const struct made_version *v = made->version;
	bool small = v->magic == 0xfffffff0 || v->magic == 0xfffffff1;
	size_t at = made->at = EP_ALIGN_UP(made->at, 8), data;
	bool outer = i == MADE_OUTER;
	uint8_t id = made_id(v, i);

	made->funcs[i] = (uint32_t)at;
	made_put(made, at, made_starts[i] + (small ? 0 : MADE_TEXT_VA), small ? 4 : 8);
	at += small ? 4 : 8;
	made_put(made, at, made->name[i], 4);
	made_put(made, at + 12, outer ? made->pcsp : made->flat, 4);
	made_put(made, at + 16, made->pcfile, 4);
	made_put(made, at + 20, outer ? made->lines : made->flat, 4);
	made_put(made, at + 24, 3, 4);
	at += 28;
	if (v->magic != 0xfffffffb) {
		made_put(made, at, 0, 4); /* the unit's first file */
		at += 4;
	}
	if (v->magic == 0xfffffff1) {
		made_put(made, at, i + 1, 4);
		at += 4;
	}
	if (v->id_switch == 0) {
		made_put(made, at, 5, 4);
	} else {
		*made_data(made, at) = id;
		*made_data(made, at + 1) = v->flags ? (i == 0) + 4 * (i < 3) * small : 0;
		*made_data(made, at + 3) = 5;
	}
	at += 4;
	made_put(made, at + 8, outer ? made->calls : 0, 4);
	data = at + 12;
	if (small) {
		memset(made_data(made, data), 0xff, 5 * 4);
		if (outer)
			made_put(made, data + 3 * 4, 0, 4);
		made->at = data + 5 * 4;
		return;
	}
	data = EP_ALIGN_UP(data, 8);
	if (outer)
		made_put(made, data + (v->magic == 0xfffffffb ? 4 : 3) * 8, MADE_DATA_VA + made->tree, 8);
	made->at = data + 5 * 8;
}

static inline void made_functab(struct made *made)
{
	bool small = made->version->magic == 0xfffffff0 || made->version->magic == 0xfffffff1;
	uint32_t base = made->version->magic == 0xfffffffb ? 0 : made->functab;
	size_t word = small ? 4 : 8;

	made->at = EP_MAX(made->at, (size_t)made->functab + (2 * MADE_FUNCS + 1) * word);
	for (size_t i = 0; i <= MADE_FUNCS; i++) {
		made_put(made, made->functab + 2 * i * word, made_starts[i] + (small ? 0 : MADE_TEXT_VA), word);
		if (i == MADE_FUNCS)
			break;
		made_func(made, i);
		made_put(made, made->functab + (2 * i + 1) * word, made->funcs[i] - base, word);
	}
}

static inline void made_files(struct made *made)
{
	uint32_t first, second;

	if (made->version->magic == 0xfffffffb) {
		first = made_text(made, "/src/main.go");
		second = made_text(made, "/src/lib.go");
		made->files = (uint32_t)(made->at = EP_ALIGN_UP(made->at, 4));
		made_put(made, made->at, 3, 4);
		made_put(made, made->at + 4, first, 4);
		made_put(made, made->at + 8, second, 4);
		made->at += 12;
		made_put(made, made->functab + (2 * MADE_FUNCS + 1) * 8, made->files, 4);
		return;
	}
	made->units = (uint32_t)(made->at = EP_ALIGN_UP(made->at, 8));
	made->at += 8;
	made->files = (uint32_t)made->at;
	first = made_text(made, "/src/main.go") - made->files;
	second = made_text(made, "/src/lib.go") - made->files;
	made_put(made, made->units, first, 4);
	made_put(made, made->units + 4, second, 4);
}

static inline void made_header(struct made *made)
{
	const struct made_version *v = made->version;
	bool small = v->magic == 0xfffffff0 || v->magic == 0xfffffff1;
	const uint32_t parts[] = { made->names, made->units, made->files, made->values, made->functab };

	made_put(made, 0, v->magic, 4);
	made_put(made, 4, 0x08010000, 4);
	made_put(made, 8, MADE_FUNCS, 8);
	if (v->magic == 0xfffffffb)
		return;
	made_put(made, 16, 2, 8);
	if (v->text_in_header)
		made_put(made, 24, MADE_TEXT_VA, 8);
	for (size_t i = 0; i < EP_LEN(parts); i++)
		made_put(made, (small ? 32u : 24u) + 8 * i, parts[i], 8);
}

static inline void made_module(struct made *made)
{
	const struct made_version *v = made->version;
	const uint32_t parts[] = { made->names, made->units, made->files,
				   made->values, made->functab, made->functab };

	made_put(made, MADE_MODULE, MADE_DATA_VA, 8);
	for (size_t i = 0; i < EP_LEN(parts); i++)
		made_put(made, MADE_MODULE + 8 + 24 * i, MADE_DATA_VA + parts[i], 8);
	made_put(made, MADE_MODULE + 22 * 8, MADE_TEXT_VA, 8);
	if (!v->gofunc_word)
		return;
	made_put(made, MADE_MODULE + v->gofunc_word * 8u, MADE_DATA_VA + made->tree, 8);
	if (v->tree_in_table)
		made_put(made, MADE_MODULE + (v->gofunc_word + 1u) * 8, MADE_DATA_VA + made->tree + 64, 8);
}

/* Sections: nothing, text, the table, module data, a note, names of sections. */
static inline void made_elf(struct made *made)
{
	static const char names[] = "\0.text\0.gopclntab\0.go.module\0.note.go.buildid\0.shstrtab";
	static const uint32_t name_at[] = { 0, 1, 7, 18, 29, 46 };
	bool module = made->version->tree_in_table;
	Elf64_Ehdr *header = (Elf64_Ehdr *)made->bytes;
	Elf64_Phdr *loads = (Elf64_Phdr *)(header + 1);
	Elf64_Shdr *sections = (Elf64_Shdr *)(made->bytes + 0x200);

	memcpy(header->e_ident, "\177ELF\2\1\1", 7);
	*header = (Elf64_Ehdr){
		.e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = 1, .e_entry = MADE_TEXT_VA + 176,
		.e_phoff = sizeof(*header), .e_phentsize = sizeof(*loads), .e_phnum = 2,
		.e_shoff = 0x200, .e_shentsize = sizeof(*sections), .e_shnum = MADE_SECTIONS,
		.e_shstrndx = 5, .e_ehsize = sizeof(*header),
	};
	memcpy(header->e_ident, "\177ELF\2\1\1", 7);
	loads[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = MADE_TEXT_OFF,
		.p_vaddr = MADE_TEXT_VA, .p_filesz = 0x1000, .p_memsz = 0x1000, .p_align = 0x1000 };
	loads[1] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = MADE_DATA_OFF,
		.p_vaddr = MADE_DATA_VA, .p_filesz = 0x2000, .p_memsz = 0x2000, .p_align = 0x1000 };
	for (size_t i = 1; i < MADE_SECTIONS; i++)
		sections[i] = (Elf64_Shdr){ .sh_name = name_at[i], .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC };
	sections[1].sh_addr = MADE_TEXT_VA;
	sections[1].sh_offset = MADE_TEXT_OFF;
	sections[1].sh_size = 208;
	sections[2].sh_addr = MADE_DATA_VA;
	sections[2].sh_offset = MADE_DATA_OFF;
	sections[2].sh_size = MADE_MODULE;
	sections[3].sh_addr = MADE_DATA_VA + MADE_MODULE;
	sections[3].sh_offset = MADE_DATA_OFF + MADE_MODULE;
	sections[3].sh_size = 0x250;
	sections[3].sh_type = module ? SHT_PROGBITS : SHT_NULL;
	sections[3].sh_name = module ? name_at[3] : 0;
	sections[4].sh_offset = 0x500;
	sections[4].sh_size = 16;
	sections[5] = (Elf64_Shdr){ .sh_name = name_at[5], .sh_type = SHT_STRTAB, .sh_offset = 0x400,
				    .sh_size = sizeof(names) };
	memcpy(made->bytes + 0x400, names, sizeof(names));
}

static inline void made_file(struct made *made, const struct made_version *version)
{
	bool old = version->magic == 0xfffffffb;

	*made = (struct made){ .version = version };
	made->tree = version->tree_in_table ? 0x800 : 0x1800;
	made->at = old ? 16 + (2 * MADE_FUNCS + 1) * 8 + 8 : version->magic == 0xfffffffa ? 64 : 96;
	made->functab = 16;
	if (!old)
		made->names = (uint32_t)made->at;
	made_all_names(made);
	made_files(made);
	if (!old)
		made->values = (uint32_t)made->at;
	made_all_values(made);
	if (!old)
		made->functab = (uint32_t)(made->at = EP_ALIGN_UP(made->at, 8));
	made_tree(made);
	made_functab(made);
	made_header(made);
	made_module(made);
	made_elf(made);
	memset(made->bytes + MADE_TEXT_OFF, 0xcc, 208);
	memcpy(made->bytes + MADE_TEXT_OFF, "\x90\xe8", 2); /* goexit: a nop and a call */
}

/* Moves a word of data into a relocation; one of zero needs none. */
static inline void made_reloc(struct made *made, size_t off, Elf64_Rela *relocs, size_t *n)
{
	uint64_t value;

	memcpy(&value, made_data(made, off), 8);
	if (value == 0)
		return;
	made_put(made, off, 0, 8);
	relocs[(*n)++] = (Elf64_Rela){ .r_offset = MADE_DATA_VA + off, .r_info = R_X86_64_RELATIVE,
				       .r_addend = (int64_t)value };
}

/* In the place of module data's section. */
static inline void made_rela_section(struct made *made, size_t n)
{
	Elf64_Shdr *sections = (Elf64_Shdr *)(made->bytes + 0x200);

	((Elf64_Ehdr *)made->bytes)->e_type = ET_DYN;
	memcpy(made->bytes + 0x480, ".rela.dyn", 10);
	sections[3] = (Elf64_Shdr){ .sh_name = 0x80, .sh_type = SHT_RELA, .sh_offset = 0x600,
				    .sh_size = n * sizeof(Elf64_Rela) };
	sections[5].sh_size = 0x90;
}

/* What the system's linker makes of a table before Go 1.18 in a PIE: its addresses are zero in the file. */
static inline void made_relocate(struct made *made)
{
	uint32_t tree = made->version->magic == 0xfffffffb ? 56 + 4 * 8 : 56 + 3 * 8;
	Elf64_Rela *relocs = (Elf64_Rela *)(made->bytes + 0x600);
	size_t n = 0;

	for (size_t i = 0; i <= MADE_FUNCS; i++)
		made_reloc(made, made->functab + 16 * i, relocs, &n);
	for (size_t i = 0; i < MADE_FUNCS; i++) {
		made_reloc(made, made->funcs[i], relocs, &n);
		if (i == MADE_OUTER)
			made_reloc(made, made->funcs[i] + tree, relocs, &n);
	}
	relocs[n++] = (Elf64_Rela){ .r_offset = MADE_DATA_VA, .r_info = R_X86_64_GLOB_DAT };
	made_rela_section(made, n);
}

static inline const struct made_version *version_of(const char *name)
{
	for (size_t i = 0; i < EP_LEN(made_versions); i++)
		if (strcmp(made_versions[i].name, name) == 0)
			return &made_versions[i];
	abort();
}

#endif
