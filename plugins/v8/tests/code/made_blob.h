/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up file with embedded builtins: few, small, in any of the layouts, with symbols or
 * without, as an executable or as a library whose pointers relocations fill in. Nothing of V8 is in
 * it.
 */
#ifndef V8_MADE_BLOB_H
#define V8_MADE_BLOB_H

#include "core/base/util.h"
#include "core/plugin/unwinder.h"
#include "plugins/v8/code/builtins.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MADE_BUILTINS 300
#define MADE_SECTION  (384u << 10)

enum made_section { MADE_TEXT, MADE_RODATA, MADE_DATA, MADE_RELA, MADE_SECTIONS };

enum made_flag {
	MADE_SYMBOLS = 1 << 0,
	MADE_LIBRARY = 1 << 1, /* builtin_metadata's pointers are relocations */
	MADE_NAMELESS = 1 << 2, /* some rows of builtin_metadata are empty */
	MADE_LARGE = 1 << 3,	/* one builtin is larger than any is */
};

#define MADE_LARGE_ID	 150
#define MADE_LARGE_BYTES (300u << 10)

/* Node 12; 16; 18; 20; 22 and up. */
enum made_layout { MADE_12, MADE_16, MADE_18, MADE_20, MADE_22, MADE_LAYOUTS };

struct made_file {
	struct ep_file file;
	uint8_t bytes[MADE_SECTIONS][MADE_SECTION];
	size_t len[MADE_SECTIONS];
	enum made_layout layout;
	unsigned int flags;
	uint64_t metadata_va, data_va, code_va, pointer_va;
	uint64_t zeros;	     /* so many are reported to be after each section */
	uint64_t read_bytes, n_reads; /* so far */
	uint32_t offs[MADE_BUILTINS], sizes[MADE_BUILTINS]; /* of code, by id */
	char names[MADE_BUILTINS][64];
};

static const char *const made_names[MADE_SECTIONS] = {".text", ".rodata", ".data.rel.ro",
						      ".rela.dyn"};

/* Far from each other: after each there may be zeros. */
static inline uint64_t made_va(unsigned int section)
{
	return 0x400000 + ((uint64_t)section << 44);
}

/* --- code of builtins; the numbers are looked for by the tests */

#define MADE_C_ENTRY_FP	 0x90
#define MADE_JS_ENTRY_SP 0x128

static const uint8_t made_leaf[] = { 0x31, 0xc0, 0xc3 }; /* xor eax, eax | ret */
static const uint8_t made_framed[] = {
	0x55, 0x48, 0x89, 0xe5, 0x6a, 0x24, /* push rbp | mov rbp, rsp | push 0x24 */
	0x48, 0x89, 0xec, 0x5d, 0xc3,	    /* mov rsp, rbp | pop rbp | ret */
};
static const uint8_t made_trampoline[] = {
	0x55, 0x48, 0x89, 0xe5, 0x56, 0x57, /* push rbp | mov rbp, rsp | push rsi | push rdi */
	0x4b, 0x8b, 0x0c, 0xdf, 0xff, 0xd1, /* mov rcx, [r15 + r11 * 8] | call rcx */
	0xc9, 0xc3,
};
#define MADE_DISPATCH 12
static const uint8_t made_js_entry[] = {
	0x55, 0x48, 0x89, 0xe5, 0x6a, 0x02,
	0x41, 0xff, 0xb5, MADE_C_ENTRY_FP, 0, 0, 0,	 /* push [r13 + ..] */
	0x49, 0x8b, 0x85, MADE_JS_ENTRY_SP & 255, 1, 0, 0, /* mov rax, [r13 + ..] */
	0x48, 0x85, 0xc0, 0xc9, 0xc3,			 /* test rax, rax | leave | ret */
};
static const uint8_t made_c_entry[] = {
	0x55, 0x48, 0x89, 0xe5, 0x49, 0x8d, 0x55, 0x80, 0xc9, 0xc3, /* lea rdx, [r13 - 0x80] */
};

struct made_code {
	const char *name;
	const uint8_t *code;
	size_t bytes;
};

static const struct made_code made_special[] = {
	{ "RecordWrite", made_leaf, sizeof(made_leaf) },
	{ "InterpreterEntryTrampoline", made_trampoline, sizeof(made_trampoline) },
	{ "JSEntry", made_js_entry, sizeof(made_js_entry) },
	{ "CEntry_Return1_ArgvOnStack_NoBuiltinExit", made_c_entry, sizeof(made_c_entry) },
	{ "LdaZeroHandler", made_leaf, sizeof(made_leaf) },
	{ "WideLdaZeroHandler", made_framed, sizeof(made_framed) },
};

static inline struct made_code made_code_of(unsigned int id)
{
	if (id < EP_LEN(made_special))
		return made_special[id];
	return id % 3 ? (struct made_code){ NULL, made_framed, sizeof(made_framed) } :
			(struct made_code){ NULL, made_leaf, sizeof(made_leaf) };
}

/* --- what is written where */

static inline uint64_t made_put(struct made_file *made, unsigned int section, const void *data,
				size_t bytes)
{
	uint64_t va = made_va(section) + made->len[section];

	memcpy(made->bytes[section] + made->len[section], data, bytes);
	made->len[section] += bytes;
	return va;
}

static inline void made_align(struct made_file *made, unsigned int section, size_t to, uint8_t fill)
{
	while (made->len[section] % to)
		made->bytes[section][made->len[section]++] = fill;
}

/* 22 and up: builtins are in another order than their ids, but the first is. */
static inline unsigned int made_nth(const struct made_file *made, unsigned int i)
{
	return made->layout == MADE_22 && i ? MADE_BUILTINS - i : i;
}

static inline uint32_t made_size_of(const struct made_file *made, unsigned int id)
{
	return made->flags & MADE_LARGE && id == MADE_LARGE_ID ? MADE_LARGE_BYTES
							       : (uint32_t)made_code_of(id).bytes;
}

static inline void made_place_code(struct made_file *made)
{
	uint32_t at = 0;

	for (unsigned int i = 0; i < MADE_BUILTINS; i++) {
		unsigned int id = made_nth(made, i);

		made->offs[id] = at;
		made->sizes[id] = made_size_of(made, id);
		at += (made->sizes[id] + 64) & ~63u;
	}
}

static inline void made_put_code(struct made_file *made)
{
	made->code_va = made_va(MADE_TEXT) + made->len[MADE_TEXT];
	for (unsigned int i = 0; i < MADE_BUILTINS; i++) {
		unsigned int id = made_nth(made, i);
		struct made_code code = made_code_of(id);

		(void)made_put(made, MADE_TEXT, code.code, code.bytes);
		made->len[MADE_TEXT] += made->sizes[id] - code.bytes;
		made->bytes[MADE_TEXT][made->len[MADE_TEXT]++] = 0xcc;
		while ((made_va(MADE_TEXT) + made->len[MADE_TEXT] - made->code_va) % 64)
			made->bytes[MADE_TEXT][made->len[MADE_TEXT]++] = 0xcc;
	}
}

static inline void made_put_table(struct made_file *made, unsigned int section)
{
	static const uint8_t headers[] = { 16, 24, 24, 24, 24 }, strides[] = { 8, 16, 28, 32, 12 };
	uint32_t row[8] = { 0 }, header[6] = { 0x1111, 0x2222, 0x3333, 0x4444, 0x5555, 0x6666 };

	made_align(made, section, 64, 0);
	made->data_va = made_put(made, section, header, headers[made->layout]);
	for (unsigned int i = 0; i < MADE_BUILTINS; i++) {
		row[0] = made->offs[i];
		row[1] = made->sizes[i];
		row[2] = i * 20;
		(void)made_put(made, section, row, strides[made->layout]);
	}
	for (unsigned int i = 0; i < MADE_BUILTINS && made->layout == MADE_22; i++) {
		unsigned int id = made_nth(made, i);

		row[0] = made->offs[id] + ((made->sizes[id] + 64) & ~63u);
		row[1] = id;
		(void)made_put(made, section, row, 8);
	}
}

static inline bool made_is_nameless(const struct made_file *made, unsigned int id)
{
	return made->flags & MADE_NAMELESS && id > 100 && id < 120;
}

static inline void made_put_metadata(struct made_file *made)
{
	unsigned int section = made->flags & MADE_LIBRARY ? MADE_DATA : MADE_RODATA;
	uint64_t names[MADE_BUILTINS];

	for (unsigned int i = 0; i < MADE_BUILTINS; i++) {
		snprintf(made->names[i], sizeof(made->names[i]), "Made%u", i);
		if (made_code_of(i).name)
			snprintf(made->names[i], sizeof(made->names[i]), "%s",
				 made_code_of(i).name);
		names[i] = made_put(made, MADE_RODATA, made->names[i], strlen(made->names[i]) + 1);
	}
	made_align(made, MADE_RODATA, 64, 0);
	made->len[section] += 16;
	made->metadata_va = made_va(section) + made->len[section];
	for (unsigned int i = 0; i < MADE_BUILTINS; i++) {
		uint64_t row[3] = {made->flags & MADE_LIBRARY ? 0 : names[i],
				   i == 4 || i == 5 ? 7 : 6, 1};
		Elf64_Rela rela = { made->metadata_va + i * 24, ELF64_R_INFO(0, R_X86_64_RELATIVE),
				    (int64_t)names[i] };

		if (made_is_nameless(made, i))
			memset(row, 0, sizeof(row));
		(void)made_put(made, section, row, sizeof(row));
		if (made->flags & MADE_LIBRARY && !made_is_nameless(made, i))
			(void)made_put(made, MADE_RELA, &rela, sizeof(rela));
	}
	made->len[section] += 64;
}

/* --- as the host sees it */

static inline int made_symbol(void *arg, const char *name, struct ep_symbol *ret)
{
	const struct made_file *made = arg;
	bool pointed =
		made->layout == MADE_12 || made->layout == MADE_16 || made->layout == MADE_18;

	if (!(made->flags & MADE_SYMBOLS))
		return -ENODATA;
	*ret = (struct ep_symbol){ 0 };
	if (!strcmp(name, "_ZN2v88internal12_GLOBAL__N_116builtin_metadataE"))
		*ret = (struct ep_symbol){ made->metadata_va, (uint64_t)MADE_BUILTINS * 24 };
	else if (!strcmp(name, "v8_Default_embedded_blob_") && made->layout == MADE_12)
		ret->va = made->pointer_va;
	else if (!strcmp(name, "v8_Default_embedded_blob_data_") && made->layout != MADE_12)
		ret->va = pointed ? made->pointer_va : made->data_va;
	else if (!strcmp(name, "v8_Default_embedded_blob_code_") && made->layout != MADE_12)
		ret->va = pointed ? made->pointer_va + 8 : made->code_va;
	return ret->va ? 0 : -ENODATA;
}

static inline int made_find_section(void *arg, const char *name, struct ep_symbol *ret)
{
	const struct made_file *made = arg;

	for (unsigned int i = 0; i < MADE_SECTIONS; i++)
		if (!strcmp(name, made_names[i]) && made->len[i]) {
			*ret = (struct ep_symbol){ made_va(i), made->len[i] + made->zeros };
			return 0;
		}
	return -ENODATA;
}

static inline int made_read_section(const struct made_file *made, unsigned int section,
				    uint64_t off, uint8_t *buf, size_t bytes)
{
	size_t stored =
		off < made->len[section] ? EP_MIN(made->len[section] - off, (uint64_t)bytes) : 0;

	if (!ep_in_bounds(off, bytes, made->len[section] + made->zeros))
		return -ENODATA;
	memcpy(buf, made->bytes[section] + off, stored);
	memset(buf + stored, 0, bytes - stored);
	return 0;
}

static inline int made_read(void *arg, uint64_t va, void *buf, size_t bytes)
{
	struct made_file *made = arg;

	made->read_bytes += bytes;
	made->n_reads++;
	for (unsigned int i = MADE_SECTIONS; i-- > 0;)
		if (va >= made_va(i))
			return made_read_section(made, i, va - made_va(i), buf, bytes);
	return -ENODATA;
}

static const struct ep_file_ops made_ops = {
	.symbol = made_symbol, .section = made_find_section, .read = made_read,
};

static inline void made_init(struct made_file *made, enum made_layout layout, unsigned int flags)
{
	uint64_t pointers[2];

	memset(made, 0, sizeof(*made));
	made->layout = layout;
	made->flags = flags;
	made->len[MADE_TEXT] = made->len[MADE_RODATA] = 192; /* what is not V8's */
	made_place_code(made);
	made_put_metadata(made);
	made_put_table(made, layout == MADE_12 ? MADE_TEXT : MADE_RODATA);
	if (layout == MADE_12) /* RawDataOffset */
		made->len[MADE_TEXT] = (size_t)(made->data_va - made_va(MADE_TEXT)) +
				       ((16 + 8 * MADE_BUILTINS + 32) & ~31u);
	made_put_code(made);
	made->len[MADE_TEXT] += 192;
	made->len[MADE_RODATA] += 64;
	pointers[0] = made->data_va;
	pointers[1] = made->code_va;
	made_align(made, MADE_DATA, 8, 0);
	made->pointer_va = made_put(made, MADE_DATA, pointers, sizeof(pointers));
	made->file = (struct ep_file){
		.ops = &made_ops, .arg = made, .path = "/made", .machine = EM_X86_64};
}

#endif
