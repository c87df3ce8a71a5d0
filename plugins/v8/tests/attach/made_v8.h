/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file with V8 in it, and a process that runs it, both made up:
 *
 *	file	.text, .data, .bss, .rodata, and symbols
 *	process	the file, at MADE_BIAS; its builtins once more; a page of V8's heap; a page of code
 */
#ifndef MADE_V8_H
#define MADE_V8_H

#include "plugins/v8/v8.h"
#include "tests/kit/host.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define MADE_BIAS	0x555500000000ull
#define MADE_TEXT	0x100000ull
#define MADE_TEXT_BYTES (8u << 20)
#define MADE_BLOB	(MADE_TEXT + 0x4000)
#define MADE_BLOB_BYTES 0x200u
#define MADE_TEXT_OFF	0x1000ull /* of the text in the file */
#define MADE_DATA	0x10000ull
#define MADE_BSS	0x20000ull
#define MADE_RODATA	0x30000ull
#define MADE_BYTES	0x1000u /* of each */
#define MADE_HEAP	0x3c00000000ull
#define MADE_HEAP_BYTES 0x8000u
#define MADE_CODE	0x3d00000000ull
#define MADE_CODE_BYTES 0x1000u
#define MADE_COPY	0x7f0000004000ull /* the builtins, mapped again */
#define MADE_SYMBOLS	48
#define MADE_FUNCTIONS	12

/* In the heap's page. */
enum {
	MADE_SCRIPT = 0x400,
	MADE_STRING = 0x500,
	MADE_META = 0x2258,
	MADE_SFI_MAP = 0x2400,
	MADE_SCRIPT_MAP = 0x2480,
	MADE_STRING_MAP = 0x2500,
	MADE_BYTECODE_MAP = 0x2580,
	MADE_ODDBALL_MAP = 0x2600,
	MADE_TABLE_MAP = 0x2680,
	MADE_UNDEFINED = 0x2700,
	MADE_TABLE = 0x2780,
	MADE_BYTECODES = 0x2800, /* two, 256 bytes each */
	MADE_SFIS = 0x3000, /* 256 bytes each */
};

extern bool made_builtins; /* does the file have embedded ones? */

struct made_v8 {
	struct fake_host host; /* the first: functions get its address */
	struct fake_symbol symbols[MADE_SYMBOLS], sections[4]; /* .text first */
	uint8_t text[0x8000], data[MADE_BYTES], rodata[MADE_BYTES], bss[MADE_BYTES];
	uint8_t heap[MADE_HEAP_BYTES], code[MADE_CODE_BYTES];
	bool has_heap, has_blob;
	bool runs_nothing; /* the file is mapped to be read alone */
	uint64_t heap_extent; /* of the heap's mapping: after its page are zeros */
	const char *heap_name;
	struct v8_state state;
};

/* --- bytes ------------------------------------------------------------------------------------ */

static inline void made_put(uint8_t *bytes, size_t off, uint64_t word)
{
	memcpy(bytes + off, &word, sizeof(word));
}

/* What is after the heap's page is zeros. */
static inline int made_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct made_v8 *v8 = arg;
	uint64_t off = addr - MADE_HEAP;

	if (!v8->has_heap || addr < MADE_HEAP || !ep_in_bounds(off, bytes, v8->heap_extent))
		return fake_memory_read(&v8->host.memory, addr, buf, bytes);
	v8->host.memory.n_bytes += bytes;
	memset(buf, 0, bytes);
	if (off < MADE_HEAP_BYTES)
		memcpy(buf, v8->heap + off, EP_MIN(bytes, MADE_HEAP_BYTES - off));
	return 0;
}

/* --- the process ------------------------------------------------------------------------------ */

static inline int made_mappings(void *arg,
				int (*visit)(void *arg, const struct ep_target_mapping *mapping),
				void *visit_arg)
{
	const struct made_v8 *v8 = arg;
	const struct ep_target_mapping mappings[] = {
		{MADE_HEAP, MADE_HEAP + v8->heap_extent, 0, PROT_READ, 0, v8->heap_name},
		{MADE_CODE, MADE_CODE + MADE_CODE_BYTES, 0, PROT_READ | PROT_EXEC, 0, ""},
		{MADE_BIAS + MADE_TEXT, MADE_BIAS + MADE_TEXT + MADE_TEXT_BYTES, MADE_TEXT_OFF,
		 PROT_READ | PROT_EXEC, 1, "/opt/made"},
		{MADE_COPY, MADE_COPY + 0x1000, MADE_TEXT_OFF + (MADE_BLOB - MADE_TEXT),
		 PROT_READ | PROT_EXEC, 1, "/opt/made"},
		{MADE_COPY + 0x10000, MADE_COPY + 0x20000, MADE_TEXT_OFF, PROT_READ | PROT_EXEC, 1,
		 "/opt/other"},
	};

	for (size_t i = v8->has_heap ? 0 : 1; i < EP_LEN(mappings); i++) {
		struct ep_target_mapping mapping = mappings[i];

		if (mapping.is_file && !v8->has_blob)
			continue;
		if (mapping.is_file && v8->runs_nothing)
			mapping.prot = PROT_READ;
		if (visit(visit_arg, &mapping) != 0)
			break;
	}
	return 0;
}

/* --- to begin with ---------------------------------------------------------------------------- */

static inline void made_add_symbol(struct made_v8 *v8, const char *name, uint64_t va)
{
	v8->symbols[v8->host.n_symbols++] = (struct fake_symbol){name, {.va = va, .bytes = 4}};
}

/* Each constant is at a place of its own; 0 is in .bss. */
static inline void made_publish(struct made_v8 *v8, const char *name, int32_t value)
{
	size_t off = 8 * v8->host.n_symbols;

	memcpy(v8->data + off, &value, sizeof(value));
	made_add_symbol(v8, name, value ? MADE_DATA + off : MADE_BSS + off);
}

static inline void made_set_version(struct made_v8 *v8, int32_t major, int32_t minor)
{
	made_publish(v8, "_ZN2v88internal7Version6major_E", major);
	made_publish(v8, "_ZN2v88internal7Version6minor_E", minor);
	made_publish(v8, "_ZN2v88internal7Version6build_E", 275);
	made_publish(v8, "_ZN2v88internal7Version6patch_E", 32);
}

static inline void made_put_map(struct made_v8 *v8, size_t at, int32_t type)
{
	made_put(v8->heap, at, MADE_HEAP + MADE_META + V8_TAG);
	made_put(v8->heap, at + 8, (uint64_t)type << 32);
}

static inline void made_put_heap(struct made_v8 *v8, const struct v8_layout *layout)
{
	memset(v8->heap, 0, sizeof(v8->heap));
	made_put_map(v8, MADE_META, layout->type_map);
	made_put_map(v8, MADE_SFI_MAP, layout->type_sfi);
	made_put_map(v8, MADE_SCRIPT_MAP, layout->type_script);
	made_put_map(v8, MADE_STRING_MAP, 8);
	made_put_map(v8, MADE_BYTECODE_MAP, layout->type_bytecode_array);
	made_put_map(v8, MADE_ODDBALL_MAP, layout->type_oddball);
	made_put_map(v8, MADE_TABLE_MAP, layout->type_byte_array);
	made_put(v8->heap, MADE_UNDEFINED, MADE_HEAP + MADE_ODDBALL_MAP + V8_TAG);
	made_put(v8->heap, MADE_TABLE, MADE_HEAP + MADE_TABLE_MAP + V8_TAG);
	for (size_t i = 0; i < 2; i++) {
		made_put(v8->heap, MADE_BYTECODES + i * 256,
			 MADE_HEAP + MADE_BYTECODE_MAP + V8_TAG);
		made_put(v8->heap, MADE_BYTECODES + i * 256 + (size_t)layout->bytecode_positions,
			 MADE_HEAP + MADE_TABLE + V8_TAG);
	}
	made_put(v8->heap, MADE_SCRIPT, MADE_HEAP + MADE_SCRIPT_MAP + V8_TAG);
	made_put(v8->heap, MADE_STRING, MADE_HEAP + MADE_STRING_MAP + V8_TAG);
	for (size_t i = 0; i < MADE_FUNCTIONS; i++) {
		size_t sfi = MADE_SFIS + i * 256;

		made_put(v8->heap, sfi, MADE_HEAP + MADE_SFI_MAP + V8_TAG);
		made_put(v8->heap, sfi + (size_t)layout->sfi_name,
			 MADE_HEAP + MADE_STRING + V8_TAG);
		made_put(v8->heap, sfi + (size_t)layout->sfi_script,
			 MADE_HEAP + MADE_SCRIPT + V8_TAG);
	}
}

/* What an interpreted frame of 6.8 returns to is 16 bytes after `off`. */
static inline void made_put_trampoline(struct made_v8 *v8, size_t off)
{
	static const uint8_t code[] = {0x4b, 0x8b, 0x0c, 0xdf, 0xff, 0xd1, 0x4c, 0x8b, 0x75,
				       0xe8, 0x4c, 0x8b, 0x4d, 0xe0, 0x49, 0xc1, 0xe9, 0x20};

	memcpy(v8->code + off + 10, code, sizeof(code));
}

static inline void made_put_host(struct made_v8 *v8)
{
	const struct {
		uint64_t va, bytes;
		uint8_t *at;
		const char *section;
		uint64_t section_bytes;
	} pieces[] = {
		{MADE_TEXT, sizeof(v8->text), v8->text, ".text", MADE_TEXT_BYTES},
		{MADE_DATA, MADE_BYTES, v8->data, ".data", MADE_BYTES},
		{MADE_RODATA, MADE_BYTES, v8->rodata, ".rodata", MADE_BYTES},
		{MADE_BSS, MADE_BYTES, v8->bss, ".bss", MADE_BYTES}, /* not in the file */
	};
	struct fake_host *host = &v8->host;

	fake_host_init(host, &v8->state, sizeof(v8->state));
	for (size_t i = 0; i < EP_LEN(pieces); i++) {
		v8->sections[i] = (struct fake_symbol){pieces[i].section,
						       {pieces[i].va, pieces[i].section_bytes}};
		fake_memory_add(&host->memory, MADE_BIAS + pieces[i].va, pieces[i].at,
				pieces[i].bytes);
		if (pieces[i].at != v8->bss)
			fake_memory_add(&host->contents, pieces[i].va, pieces[i].at,
					pieces[i].bytes);
	}
	fake_memory_add(&host->memory, MADE_CODE, v8->code, MADE_CODE_BYTES);
	host->target.bias = MADE_BIAS;
	host->symbols = v8->symbols;
	host->sections = v8->sections;
	host->n_sections = EP_LEN(v8->sections);
	host->no_variable = -ENOTSUP;
	host->ops.read = made_read;
	host->ops.mappings = made_mappings;
}

/* One that has this version, its heap, and a trampoline where it has no embedded builtins. */
static inline void made_init(struct made_v8 *v8, uint16_t major, uint16_t minor)
{
	static const uint8_t prologue[] = {0x55, 0x48, 0x89, 0xe5, 0x56, 0x57};
	const struct v8_version version = {.major = major, .minor = minor};
	struct v8_published none;
	struct v8_layout layout;

	memset(v8, 0, sizeof(*v8));
	v8->has_heap = v8->has_blob = true;
	v8->heap_extent = MADE_HEAP_BYTES;
	v8->heap_name = "";
	made_builtins = major >= 7;
	made_put_host(v8);
	made_publish(v8, "v8dbg_SmiShiftSize", 31);
	made_set_version(v8, major, minor);
	v8_published_init(&none);
	v8_layout_fill(&layout, &version, &none);
	made_put_heap(v8, &layout);
	if (major < 7)
		made_put_trampoline(v8, 0x100);
	memcpy(v8->text + (MADE_BLOB - MADE_TEXT) + 0x108, prologue, sizeof(prologue));
}

#endif
