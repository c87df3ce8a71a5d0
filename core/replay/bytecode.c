/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/bytecode.h"
#include "core/replay/bytecode_internal.h"
#include "core/base/vec.h"
#include "core/elf/file.h"

#include <errno.h>
#include <string.h>

#include <linux/bpf.h>

#define SECTION	     "perf_event"
#define FUNCTIONS    ".text"
#define MAX_PROGRAMS 16
#define MAX_DATA     8 /* sections of constants */

/* Relocation types of BPF, llvm/include/llvm/BinaryFormat/ELFRelocs/BPF.def. */
#define R_BPF_64_64 1
#define R_BPF_64_32 10

struct data_section {
	uint32_t index;
	uint8_t *bytes;
	size_t n;
};

struct ep_bytecode {
	struct bpf_insn *insns; /* of all programs, then of the functions that they call; relocated */
	size_t n_insns;
	struct ep_bytecode_program programs[MAX_PROGRAMS];
	size_t n_programs;
	struct data_section data[MAX_DATA];
	size_t n_data;
	struct constant {
		char name[16];
		uint8_t *at;
		size_t bytes;
	} constants[MAX_PROGRAMS];
	size_t n_constants;
};

/* --- loading --------------------------------------------------------------------------------- */

struct loader {
	struct ep_bytecode *bytecode;
	const struct ep_elf *elf;
	struct ep_elf_section code, functions, maps;
	size_t n_code; /* instructions of `code` */
	struct ep_elf_bytes symbols, strings;
	ep_bytecode_map map;
	void *arg;
};

void ep_bytecode_free(struct ep_bytecode *bytecode)
{
	if (!bytecode)
		return;
	for (size_t i = 0; i < bytecode->n_data; i++)
		free(bytecode->data[i].bytes);
	free(bytecode->insns);
	free(bytecode);
}

static const Elf64_Sym *symbol_at(const struct loader *loader, size_t i)
{
	return i < loader->symbols.bytes / sizeof(Elf64_Sym)
		       ? (const Elf64_Sym *)loader->symbols.data + i
		       : NULL;
}

/* "" when it is not within the strings. */
static const char *symbol_name(const struct loader *loader, const Elf64_Sym *symbol)
{
	const char *strings = (const char *)loader->strings.data;
	size_t left;

	if (symbol->st_name >= loader->strings.bytes)
		return "";
	left = loader->strings.bytes - symbol->st_name;
	return memchr(strings + symbol->st_name, 0, left) ? strings + symbol->st_name : "";
}

static bool take_name(char to[16], const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > 15)
		return false;
	memcpy(to, name, n + 1);
	return true;
}

/* Gives what is written to later. */
static int copy_section(const struct ep_elf *elf, const struct ep_elf_section *section, void **ret,
			size_t *ret_bytes)
{
	struct ep_elf_bytes bytes = {0};
	int r = ep_elf_read_section(elf, section, &bytes);

	if (r < 0)
		return r;
	*ret = malloc(bytes.bytes + 1);
	if (*ret)
		memcpy(*ret, bytes.data, bytes.bytes);
	*ret_bytes = bytes.bytes;
	ep_elf_bytes_fini(&bytes);
	return *ret ? 0 : -ENOMEM;
}

/* A section of constants, copied when it is first asked for. */
static int get_data(struct loader *loader, uint32_t index, struct data_section **ret)
{
	struct ep_bytecode *bytecode = loader->bytecode;
	struct data_section *data;
	struct ep_elf_section section;
	int r;

	for (size_t i = 0; i < bytecode->n_data; i++) {
		data = &bytecode->data[i];
		if (data->index == index) {
			*ret = data;
			return 0;
		}
	}
	if (bytecode->n_data == MAX_DATA || ep_elf_section_at(loader->elf, index, &section) < 0 ||
	    section.type != SHT_PROGBITS)
		return -EBADMSG;
	data = &bytecode->data[bytecode->n_data];
	*data = (struct data_section){.index = index};
	r = copy_section(loader->elf, &section, (void **)&data->bytes, &data->n);
	if (r < 0)
		return r;
	bytecode->n_data++;
	*ret = data;
	return 0;
}

static int add_program(struct loader *loader, const Elf64_Sym *symbol)
{
	struct ep_bytecode *bytecode = loader->bytecode;
	struct ep_bytecode_program *program = &bytecode->programs[bytecode->n_programs];
	size_t size = sizeof(struct bpf_insn);

	if (bytecode->n_programs == MAX_PROGRAMS || symbol->st_value % size ||
	    symbol->st_size % size || symbol->st_size == 0 ||
	    !ep_in_bounds(symbol->st_value, symbol->st_size, loader->n_code * size) ||
	    !take_name(program->name, symbol_name(loader, symbol)))
		return -EBADMSG;
	program->insns = bytecode->insns;
	program->first = symbol->st_value / size;
	program->n = bytecode->n_insns;
	bytecode->n_programs++;
	return 0;
}

static int add_constant(struct loader *loader, const Elf64_Sym *symbol)
{
	struct ep_bytecode *bytecode = loader->bytecode;
	struct constant *constant = &bytecode->constants[bytecode->n_constants];
	struct data_section *data;
	int r;

	if (bytecode->n_constants == EP_LEN(bytecode->constants) ||
	    !take_name(constant->name, symbol_name(loader, symbol)))
		return 0;
	r = get_data(loader, symbol->st_shndx, &data);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (!ep_in_bounds(symbol->st_value, symbol->st_size, data->n))
		return -EBADMSG;
	constant->at = data->bytes + symbol->st_value;
	constant->bytes = symbol->st_size;
	bytecode->n_constants++;
	return 0;
}

static int add_symbols(struct loader *loader)
{
	const Elf64_Sym *symbol;
	int r = 0;

	for (size_t i = 1; r == 0 && (symbol = symbol_at(loader, i)) != NULL; i++) {
		uint32_t type = ELF64_ST_TYPE(symbol->st_info);

		if (type == STT_FUNC && symbol->st_shndx == loader->code.index)
			r = add_program(loader, symbol);
		else if (type == STT_OBJECT && symbol->st_shndx != loader->maps.index)
			r = add_constant(loader, symbol);
	}
	return r;
}

/* A load of an address: of a map, or of a place among constants, where the addend is in imm. */
static int relocate_load(struct loader *loader, const Elf64_Sym *symbol, struct bpf_insn *insn)
{
	struct data_section *data;
	uint64_t addr, off;
	int r;

	if (insn->code != (BPF_LD | BPF_IMM | BPF_DW) ||
	    insn + 2 > loader->bytecode->insns + loader->bytecode->n_insns)
		return -EBADMSG;
	if (symbol->st_shndx == loader->maps.index) {
		addr = (uint64_t)(uintptr_t)loader->map(loader->arg, symbol_name(loader, symbol));
		if (!addr)
			return -ENOENT;
	} else {
		r = get_data(loader, symbol->st_shndx, &data);
		off = symbol->st_value + (uint32_t)insn->imm;
		if (r < 0 || off > data->n)
			return r < 0 ? r : -EBADMSG;
		addr = (uint64_t)(uintptr_t)(data->bytes + off);
	}
	insn[0].imm = (int32_t)addr;
	insn[1].imm = (int32_t)(addr >> 32);
	return 0;
}

/* A call of a function, from one section to another; the addend counts from after the call. */
static int relocate_call(const struct loader *loader, const Elf64_Sym *symbol, struct bpf_insn *insn)
{
	const struct ep_bytecode *bytecode = loader->bytecode;
	int64_t target = (int64_t)loader->n_code + insn->imm + 1;

	target += (int64_t)(symbol->st_value / sizeof(*insn));
	if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg != BPF_PSEUDO_CALL ||
	    loader->functions.index == SHN_UNDEF || symbol->st_shndx != loader->functions.index ||
	    target < (int64_t)loader->n_code || target >= (int64_t)bytecode->n_insns)
		return -EBADMSG;
	insn->imm = (int32_t)(target - (insn - bytecode->insns) - 1);
	return 0;
}

/* `first`, `n`: the instructions of its section. */
static int relocate(struct loader *loader, const Elf64_Rel *rel, size_t first, size_t n)
{
	const Elf64_Sym *symbol = symbol_at(loader, ELF64_R_SYM(rel->r_info));
	size_t at = rel->r_offset / sizeof(struct bpf_insn);
	struct bpf_insn *insn;

	if (!symbol || rel->r_offset % sizeof(*insn) || at >= n)
		return -EBADMSG;
	insn = loader->bytecode->insns + first + at;
	switch (ELF64_R_TYPE(rel->r_info)) {
	case R_BPF_64_64:
		return relocate_load(loader, symbol, insn);
	case R_BPF_64_32:
		return relocate_call(loader, symbol, insn);
	default:
		return -ENOTSUP;
	}
}

static int relocate_section(struct loader *loader, const char *name, size_t first, size_t n)
{
	struct ep_elf_section section;
	struct ep_elf_bytes bytes = {0};
	int r;

	if (ep_elf_find_section(loader->elf, name, &section) < 0)
		return 0;
	r = ep_elf_read_section(loader->elf, &section, &bytes);
	for (size_t i = 0; r == 0 && i < bytes.bytes / sizeof(Elf64_Rel); i++)
		r = relocate(loader, (const Elf64_Rel *)bytes.data + i, first, n);
	ep_elf_bytes_fini(&bytes);
	return r;
}

static int relocate_all(struct loader *loader)
{
	size_t n_code = loader->n_code;
	int r = relocate_section(loader, ".rel" SECTION, 0, n_code);

	return r < 0 ? r
		     : relocate_section(loader, ".rel" FUNCTIONS, n_code, loader->bytecode->n_insns - n_code);
}

/* Both sections, one after the other. */
static int read_instructions(struct loader *loader)
{
	struct ep_bytecode *bytecode = loader->bytecode;
	struct ep_elf_bytes code = {0}, functions = {0};
	int r = ep_elf_read_section(loader->elf, &loader->code, &code);

	if (r == 0 && loader->functions.index != SHN_UNDEF && loader->functions.bytes)
		r = ep_elf_read_section(loader->elf, &loader->functions, &functions);
	loader->n_code = code.bytes / sizeof(*bytecode->insns);
	bytecode->n_insns = loader->n_code + functions.bytes / sizeof(*bytecode->insns);
	if (r == 0)
		bytecode->insns = calloc(bytecode->n_insns + 1, sizeof(*bytecode->insns));
	if (r == 0 && !bytecode->insns)
		r = -ENOMEM;
	if (r == 0) {
		memcpy(bytecode->insns, code.data, loader->n_code * sizeof(*bytecode->insns));
		if (functions.data)
			memcpy(bytecode->insns + loader->n_code, functions.data,
			       (bytecode->n_insns - loader->n_code) * sizeof(*bytecode->insns));
	}
	ep_elf_bytes_fini(&code);
	ep_elf_bytes_fini(&functions);
	return r;
}

static int read_symbols(struct loader *loader)
{
	struct ep_elf_section symbols, strings;
	int r = ep_elf_find_section_type(loader->elf, SHT_SYMTAB, &symbols);

	if (r == 0)
		r = ep_elf_section_at(loader->elf, symbols.link, &strings);
	if (r == 0)
		r = ep_elf_read_section(loader->elf, &symbols, &loader->symbols);
	if (r == 0)
		r = ep_elf_read_section(loader->elf, &strings, &loader->strings);
	return r == -ENODATA ? -EBADMSG : r;
}

static int load(struct loader *loader)
{
	int r;

	if (ep_elf_find_section(loader->elf, SECTION, &loader->code) < 0)
		return -EBADMSG;
	if (ep_elf_find_section(loader->elf, FUNCTIONS, &loader->functions) < 0)
		loader->functions.index = SHN_UNDEF;
	if (ep_elf_find_section(loader->elf, ".maps", &loader->maps) < 0)
		loader->maps.index = SHN_UNDEF;
	r = read_symbols(loader);
	if (r == 0)
		r = read_instructions(loader);
	if (r == 0)
		r = relocate_all(loader);
	if (r == 0)
		r = add_symbols(loader);
	ep_elf_bytes_fini(&loader->symbols);
	ep_elf_bytes_fini(&loader->strings);
	return r;
}

int ep_bytecode_load(const void *image, size_t bytes, ep_bytecode_map map, void *arg,
		     struct ep_bytecode **ret_bytecode)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	struct loader loader = {.map = map, .arg = arg};
	int r = ep_elf_open_memory(image, bytes, &elf);

	if (r < 0)
		return r;
	loader.elf = elf;
	loader.bytecode = calloc(1, sizeof(*loader.bytecode));
	r = loader.bytecode ? load(&loader) : -ENOMEM;
	if (r < 0)
		ep_bytecode_free(loader.bytecode);
	else
		*ret_bytecode = loader.bytecode;
	return r;
}

const struct ep_bytecode_program *ep_bytecode_find(const struct ep_bytecode *bytecode,
						   const char *name)
{
	for (size_t i = 0; i < bytecode->n_programs; i++) {
		if (strcmp(bytecode->programs[i].name, name) == 0)
			return &bytecode->programs[i];
	}
	return NULL;
}

void *ep_bytecode_constant(const struct ep_bytecode *bytecode, const char *name, size_t *ret_bytes)
{
	for (size_t i = 0; i < bytecode->n_constants; i++) {
		if (strcmp(bytecode->constants[i].name, name) == 0) {
			*ret_bytes = bytecode->constants[i].bytes;
			return bytecode->constants[i].at;
		}
	}
	return NULL;
}
