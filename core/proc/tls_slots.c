/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/tls_slots.h"

#include <errno.h>

#define MAX_RELOCATIONS ((uint64_t)1 << 24) /* 400 MB; Chromium has about 10^6 */
#define MAX_TLS_SYMBOLS 65536		    /* relocations whose symbol is looked at */
#define READ_STEP	170		    /* relocations read at once: 4080 bytes */

enum slot_kind {
	SLOT_OFFSET,
	SLOT_MODULE,
	SLOT_DESCRIPTOR,
};

/* System V ABI AMD64 supplement 4.4.1; ELF for the Arm 64-bit Architecture, Dynamic relocations. */
static const struct tls_relocation {
	uint16_t machine;
	uint16_t kind;
	uint32_t type;
} tls_relocations[] = {
	{EM_X86_64, SLOT_OFFSET, R_X86_64_TPOFF64},
	{EM_X86_64, SLOT_MODULE, R_X86_64_DTPMOD64},
	{EM_X86_64, SLOT_DESCRIPTOR, R_X86_64_TLSDESC},
	{EM_AARCH64, SLOT_OFFSET, R_AARCH64_TLS_TPREL},
	{EM_AARCH64, SLOT_MODULE, R_AARCH64_TLS_DTPMOD},
	{EM_AARCH64, SLOT_DESCRIPTOR, R_AARCH64_TLSDESC},
};

struct search {
	const struct ep_elf *elf;
	uint64_t tls_off;
	uint32_t n_symbols; /* looked at so far */
	struct ep_tls_slots *slots;
};

static const struct tls_relocation *relocation_of(uint16_t machine, uint32_t type)
{
	for (size_t i = 0; i < EP_LEN(tls_relocations); i++) {
		if (tls_relocations[i].machine == machine && tls_relocations[i].type == type)
			return &tls_relocations[i];
	}
	return NULL;
}

static struct ep_tls_slot *slot_of(struct ep_tls_slots *slots, uint16_t kind)
{
	if (kind == SLOT_OFFSET)
		return &slots->offset;
	return kind == SLOT_MODULE ? &slots->module : &slots->descriptor;
}

/*
 * Offset of the variable that a relocation is for, in this module's block. 0, or -ENODATA when it
 * is for a variable of another module.
 */
static int variable_of(struct search *search, const struct ep_elf_section *section,
		       const Elf64_Rela *rela, uint64_t *ret_off)
{
	uint64_t index = ELF64_R_SYM(rela->r_info);
	struct ep_elf_section symbols;
	Elf64_Sym symbol = {0};
	int r;

	if (index) {
		if (++search->n_symbols > MAX_TLS_SYMBOLS)
			return -E2BIG;
		r = ep_elf_section_at(search->elf, section->link, &symbols);
		if (r < 0 || !ep_in_bounds(index * sizeof(symbol), sizeof(symbol), symbols.bytes) ||
		    __builtin_add_overflow(symbols.file_off, index * sizeof(symbol),
					   &symbols.file_off))
			return -EBADMSG;
		r = ep_elf_read_at(search->elf, symbols.file_off, &symbol, sizeof(symbol));
		if (r < 0)
			return r;
		if (symbol.st_shndx == SHN_UNDEF)
			return -ENODATA;
	}
	*ret_off = symbol.st_value + (uint64_t)rela->r_addend;
	return 0;
}

/*
 * The surest is the variable's own slot. A slot without a symbol is surely this module's; one with
 * a symbol is, unless another module defines the same and comes first.
 */
static int take(struct search *search, const struct ep_elf_section *section, const Elf64_Rela *rela,
		uint16_t kind)
{
	struct ep_tls_slot *slot = slot_of(search->slots, kind);
	uint64_t off = 0;
	int rank, r;

	r = variable_of(search, section, rela, &off);
	if (r < 0)
		return r == -ENODATA ? 0 : r;
	rank = ELF64_R_SYM(rela->r_info) ? 1 : 2;
	if (off == search->tls_off && kind != SLOT_MODULE)
		rank = 3;
	if (rank <= slot->rank)
		return 0;
	*slot = (struct ep_tls_slot){
		.va = rela->r_offset,
		.tls_off = kind == SLOT_MODULE ? 0 : off,
		.rank = rank,
	};
	return 0;
}

static int search_section(struct search *search, const struct ep_elf_section *section)
{
	uint64_t n = section->bytes / sizeof(Elf64_Rela);
	Elf64_Rela relas[READ_STEP];
	int r;

	if (section->entry_bytes != sizeof(Elf64_Rela))
		return -EBADMSG;
	if (n > MAX_RELOCATIONS)
		return -E2BIG;
	if (!ep_in_bounds(section->file_off, section->bytes, ep_elf_file_bytes(search->elf)))
		return -EBADMSG;
	for (uint64_t i = 0; i < n; i += READ_STEP) {
		size_t step = EP_MIN(n - i, (uint64_t)READ_STEP);

		r = ep_elf_read_at(search->elf, section->file_off + i * sizeof(*relas), relas,
				   step * sizeof(*relas));
		for (size_t j = 0; r == 0 && j < step; j++) {
			const struct tls_relocation *known = relocation_of(
				ep_elf_machine(search->elf), ELF64_R_TYPE(relas[j].r_info));

			if (known)
				r = take(search, section, &relas[j], known->kind);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int ep_tls_slots_find(const struct ep_elf *elf, uint64_t tls_off, struct ep_tls_slots *ret)
{
	static const char *const names[] = {".rela.dyn", ".rela.plt"};
	struct ep_tls_slots slots = {0};
	struct search search = {.elf = elf, .tls_off = tls_off, .slots = &slots};
	uint16_t machine = ep_elf_machine(elf);
	struct ep_elf_section section;

	if (machine != EM_X86_64 && machine != EM_AARCH64)
		return -ENOTSUP;
	for (size_t i = 0; i < EP_LEN(names); i++) {
		int r = ep_elf_find_section(elf, names[i], &section);

		if (r == 0 && section.type == SHT_RELA)
			r = search_section(&search, &section);
		if (r < 0 && r != -ENODATA)
			return r;
	}
	*ret = slots;
	return 0;
}
