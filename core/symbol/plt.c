/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which function a stub of the PLT jumps to, x86-64. A stub begins, whatever linker made it, with
 *
 *	[f3 0f 1e fa]  [f2]  ff 25 disp32        endbr64; bnd jmp *disp32(%rip)
 *
 * (x86-64 psABI 1.0, 5.2 "Procedure Linkage Table" and 13.2 "-z ibtplt"), and the word it jumps
 * through is r_offset of a relocation, whose symbol is the function. .plt and .plt.sec go by
 * R_X86_64_JUMP_SLOT of .rela.plt, .plt.got by R_X86_64_GLOB_DAT of .rela.dyn. Stubs that begin
 * otherwise (the first of .plt, the lazy half of an IBT PLT) are left unnamed.
 */
#include "core/symbol/symtab_internal.h"

#include <errno.h>
#include <string.h>

#define MAX_PLT_BYTES	 ((uint64_t)16 << 20)
#define MAX_RELOCATIONS	 ((size_t)1 << 20) /* that a stub may jump through */
#define MAX_READ	 ((size_t)8 << 20) /* of any kind; Chromium has 1.1 million */
#define RELOCATION_STEPS 4
#define STUB_STEPS	 40
#define STEP_RELOCATIONS 2048

struct slot {
	uint64_t va;
	uint32_t symbol;
};

struct plt {
	const struct ep_elf *elf;
	struct ep_elf_section dynsym;
	struct ep_vec slots; /* struct slot, sorted by va */
	struct ep_vec *stubs;
};

static int slot_compare(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

static int slots_push(struct plt *plt, const Elf64_Rela *relocations, size_t n, uint32_t type)
{
	for (size_t i = 0; i < n; i++) {
		struct slot *slot;

		if (ELF64_R_TYPE(relocations[i].r_info) != type ||
		    !ELF64_R_SYM(relocations[i].r_info))
			continue;
		slot = ep_vec_push(&plt->slots);
		if (!slot)
			return plt->slots.len == MAX_RELOCATIONS ? -E2BIG : -ENOMEM;
		slot->va = relocations[i].r_offset;
		slot->symbol = (uint32_t)ELF64_R_SYM(relocations[i].r_info);
	}
	return 0;
}

static int slots_read(struct plt *plt, const char *section_name, uint32_t type)
{
	ep_autofree Elf64_Rela *relocations = NULL;
	struct ep_elf_section section;
	size_t n;
	int r;

	if (ep_elf_find_section(plt->elf, section_name, &section) < 0 || section.type != SHT_RELA ||
	    (section.flags & SHF_COMPRESSED))
		return 0;
	n = section.bytes / sizeof(*relocations);
	if (n > MAX_READ)
		return -E2BIG;
	relocations = malloc(STEP_RELOCATIONS * sizeof(*relocations));
	if (!relocations)
		return -ENOMEM;
	for (size_t i = 0; i < n; i += STEP_RELOCATIONS) {
		size_t step = EP_MIN(n - i, (size_t)STEP_RELOCATIONS);

		r = ep_elf_read_at(plt->elf, section.file_off + i * sizeof(*relocations),
				   relocations, step * sizeof(*relocations));
		if (r == 0)
			r = ep_work_take(ep_elf_work(plt->elf), step * RELOCATION_STEPS);
		if (r < 0)
			return r;
		r = slots_push(plt, relocations, step, type);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The word a stub jumps through. False when the code is no stub. */
static bool stub_decode(const uint8_t *code, size_t bytes, uint64_t va, uint64_t *ret_slot_va)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t off = 0;
	int32_t disp;

	if (bytes >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		off = sizeof(endbr64);
	if (off < bytes && code[off] == 0xf2)
		off++;
	if (!ep_in_bounds(off, 6, bytes) || code[off] != 0xff || code[off + 1] != 0x25)
		return false;
	memcpy(&disp, code + off + 2, sizeof(disp));
	*ret_slot_va = va + off + 6 + (uint64_t)(int64_t)disp;
	return true;
}

static int stub_push(struct plt *plt, uint64_t va, uint32_t bytes, uint32_t symbol_index)
{
	uint64_t off = (uint64_t)symbol_index * sizeof(Elf64_Sym);
	struct plt_stub *stub;
	Elf64_Sym symbol;

	if (!ep_in_bounds(off, sizeof(symbol), plt->dynsym.bytes) ||
	    ep_elf_read_at(plt->elf, plt->dynsym.file_off + off, &symbol, sizeof(symbol)) < 0)
		return 0;
	stub = ep_vec_push(plt->stubs);
	if (!stub)
		return plt->stubs->len == plt->stubs->max ? -E2BIG : -ENOMEM;
	*stub = (struct plt_stub){.va = va, .bytes = bytes, .name_off = symbol.st_name};
	return 0;
}

static int stubs_scan(struct plt *plt, const struct ep_elf_section *section,
		      const struct ep_elf_bytes *code, uint32_t stub_bytes)
{
	int r = 0;

	for (size_t off = 0; off + stub_bytes <= code->bytes && r == 0; off += stub_bytes) {
		struct slot key, *slot;

		if (!stub_decode(code->data + off, stub_bytes, section->va + off, &key.va))
			continue;
		slot = bsearch(&key, plt->slots.data, plt->slots.len, sizeof(*slot), slot_compare);
		if (slot)
			r = stub_push(plt, section->va + off, stub_bytes, slot->symbol);
	}
	return r;
}

static int stubs_read(struct plt *plt, const char *section_name, uint32_t stub_bytes)
{
	struct ep_elf_section section;
	struct ep_elf_bytes code = {0};
	int r;

	if (ep_elf_find_section(plt->elf, section_name, &section) < 0)
		return 0;
	if (section.bytes > MAX_PLT_BYTES)
		return -E2BIG;
	if (section.entry_bytes == 8 || section.entry_bytes == 16)
		stub_bytes = (uint32_t)section.entry_bytes;
	r = ep_elf_read_section(plt->elf, &section, &code);
	if (r < 0)
		return r;
	r = ep_work_take(ep_elf_work(plt->elf), code.bytes / stub_bytes * STUB_STEPS);
	if (r == 0)
		r = stubs_scan(plt, &section, &code, stub_bytes);
	ep_elf_bytes_fini(&code);
	return r;
}

static int plt_read(struct plt *plt)
{
	struct ep_elf_section section;
	int r;

	r = slots_read(plt, ".rela.plt", R_X86_64_JUMP_SLOT);
	/* .rela.dyn can be long: only where a stub needs it */
	if (r == 0 && ep_elf_find_section(plt->elf, ".plt.got", &section) == 0)
		r = slots_read(plt, ".rela.dyn", R_X86_64_GLOB_DAT);
	if (r < 0 || !plt->slots.len)
		return r;
	qsort(plt->slots.data, plt->slots.len, sizeof(struct slot), slot_compare);
	r = stubs_read(plt, ".plt", 16);
	if (r == 0)
		r = stubs_read(plt, ".plt.sec", 16);
	if (r == 0)
		r = stubs_read(plt, ".plt.got", 8);
	return r;
}

int ep_plt_collect(const struct ep_elf *elf, struct ep_vec *stubs)
{
	struct plt plt = {.elf = elf, .stubs = stubs};
	int r;

	if (ep_elf_machine(elf) != EM_X86_64 ||
	    ep_elf_find_section_type(elf, SHT_DYNSYM, &plt.dynsym) < 0 ||
	    (plt.dynsym.flags & SHF_COMPRESSED))
		return 0;
	ep_vec_init(&plt.slots, sizeof(struct slot), MAX_RELOCATIONS);
	r = plt_read(&plt);
	ep_vec_fini(&plt.slots);
	return r;
}
