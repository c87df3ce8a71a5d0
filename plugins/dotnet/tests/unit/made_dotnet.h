/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CoreCLR that is made up: a process of one image and one heap with two methods, in one piece of
 * memory. Numbers of fields are those of the layout, so each release is made by its own table.
 *
 *	g_dacTable ──► five tables ──► fragments ──► ranges: JIT heap, image
 *	MethodDesc 1: Made.Outer.Inner.Run, 2: a DynamicMethod "lcg"
 */
#ifndef DOTNET_MADE_H
#define DOTNET_MADE_H

#include "plugins/dotnet/dotnet.h"
#include "plugins/dotnet/symbolize/metadata.h"
#include "plugins/dotnet/symbolize/names.h"
#include "tests/kit/host.h"

#include <string.h>

#define MADE_BIAS    0x7f0000000000ull
#define MADE_DATA    0x10000000ull /* everything but code */
#define MADE_BYTES   0x20000u
#define MADE_CODE    0x40000000ull /* the heap; its first method */
#define MADE_HEAP    0x1000u
#define MADE_IMAGE   (MADE_DATA + 0x18000) /* an image, flat */
#define MADE_TABLE_VA 0x3000u
#define MADE_START   (MADE_CODE + 0x40) /* of the method */
#define MADE_OTHER   (MADE_CODE + 0x200) /* of the dynamic one */

/* Where things are, in the data. */
enum {
	AT_DAC = 0x0,
	AT_TABLES = 0x1000, /* five, of 2 KiB; the last ones of two branches */
	AT_FRAGMENTS = 0x6000,
	AT_RANGES = 0x6100,
	AT_HEAP = 0x6200,
	AT_NIBBLES = 0x6300,
	AT_HEADER = 0x6800,
	AT_CHUNK = 0x7000,
	AT_TYPE = 0x7400,
	AT_MODULE = 0x8000,
	AT_ASSEMBLY = 0x9000,
	AT_PEIMAGE = 0x9100,
	AT_LAYOUT = 0x9200,
	AT_INFO = 0xa000,
	AT_MAP = 0xb000,
	AT_FUNCTIONS = 0xb200,
	AT_NAME = 0xc000,
	AT_SIMPLE = 0xc100,
	AT_DESCRIPTOR = 0xd000,
	AT_TEXT = 0xd100,
};

/* Of the image: its offsets of functions, and where its rows lie. */
#define MADE_FUNCTION 0x400u
#define MADE_FUNCLET  0x480u

struct made_dotnet {
	struct fake_host host;
	struct dotnet_state state;
	struct dotnet_layout layout;
	struct dotnet_executable exe;
	uint8_t data[MADE_BYTES], code[MADE_HEAP];
};

static inline void made_put(struct made_dotnet *made, uint64_t at, const void *bytes, size_t n)
{
	memcpy(made->data + at, bytes, n);
}

static inline void made_word(struct made_dotnet *made, uint64_t at, uint64_t word)
{
	made_put(made, at, &word, 8);
}

static inline void made_int(struct made_dotnet *made, uint64_t at, uint32_t word)
{
	made_put(made, at, &word, 4);
}

static inline void made_half(struct made_dotnet *made, uint64_t at, uint16_t word)
{
	made_put(made, at, &word, 2);
}

static inline uint64_t made_method(const struct made_dotnet *made, uint32_t i)
{
	return MADE_DATA + AT_CHUNK + made->layout.chunk_bytes + 0x40 * i;
}

/* The way to an address, by tables `first` and the next ones. */
static inline void made_map(struct made_dotnet *made, uint64_t addr, uint32_t last, uint64_t fragments)
{
	uint64_t at = AT_TABLES;

	for (uint32_t i = 0; i < DOTNET_MAP_LEVELS; i++) {
		uint32_t shift = DOTNET_MAP_SHIFT + 8 * (DOTNET_MAP_LEVELS - 1 - i);
		uint64_t entry = at + 8 * (addr >> shift & 255), next = AT_TABLES + 0x800 * (i + 1);

		if (i == DOTNET_MAP_LEVELS - 2)
			next = AT_TABLES + 0x800 * last;
		at = next;
		made_word(made, entry, i == DOTNET_MAP_LEVELS - 1 ? MADE_DATA + fragments : MADE_DATA + next);
	}
}

static inline void made_range(struct made_dotnet *made, uint32_t i, uint64_t begin, uint64_t bytes, uint32_t flags)
{
	const struct dotnet_layout *layout = &made->layout;
	uint64_t fragment = AT_FRAGMENTS + 32 * i, range = AT_RANGES + 0x80 * i;

	made_word(made, fragment + 8, begin);
	made_word(made, fragment + 16, begin + bytes);
	made_word(made, fragment + 24, MADE_DATA + range);
	made_word(made, range + layout->range_begin, begin);
	made_word(made, range + layout->range_end, begin + bytes);
	made_word(made, range + layout->range_flags, flags | 0xfefefefe00000000ull); /* garbage above */
	if (flags)
		made_word(made, range + layout->range_heap, MADE_DATA + AT_HEAP);
	else
		made_word(made, range + layout->range_module, MADE_DATA + AT_MODULE);
	made_map(made, begin, 4 + i, fragment);
}

/* A word of the nibble map: the method at `delta` of the heap. */
static inline void made_nibble(struct made_dotnet *made, uint32_t delta)
{
	uint32_t at = AT_NIBBLES + 4 * (delta >> 8), word;

	memcpy(&word, made->data + at, 4);
	word |= ((delta & 31) / 4 + 1) << (28 - 4 * (delta >> 5 & 7));
	made_int(made, at, word);
}

static inline void made_code(struct made_dotnet *made, uint32_t i, uint64_t start, uint32_t bytes)
{
	const struct dotnet_layout *layout = &made->layout;
	uint64_t header = AT_HEADER + 0x100 * i, word = MADE_DATA + header;
	uint32_t delta = (uint32_t)(start - MADE_CODE);

	made_nibble(made, delta);
	memcpy(made->code + delta - 8, &word, 8);
	made_word(made, header + layout->header_method, made_method(made, i));
	made_int(made, header + layout->header_n_unwinds, 1);
	made_int(made, header + layout->header_unwinds, 0);
	made_int(made, header + layout->header_unwinds + 4, bytes);
	made_int(made, header + layout->header_unwinds + 8, bytes);
}

static inline void made_methods(struct made_dotnet *made)
{
	const struct dotnet_layout *layout = &made->layout;

	made_word(made, AT_CHUNK + layout->chunk_table, MADE_DATA + AT_TYPE);
	made_half(made, AT_CHUNK + layout->chunk_token, 0); /* rids below 4096 */
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t method = made_method(made, i) - MADE_DATA;

		made->data[method + layout->method_chunk] = (uint8_t)(0x40 * i / 8);
		made_half(made, method + layout->method_token, (uint16_t)(i == 2 ? 1 : 2)); /* rid */
		made_half(made, method + layout->method_flags, i == 1 ? DOTNET_METHOD_DYNAMIC : DOTNET_METHOD_IL);
	}
	made_word(made, made_method(made, 1) - MADE_DATA + layout->dynamic_name, MADE_DATA + AT_NAME);
	memcpy(made->data + AT_NAME, "lcg", 4);
	made_word(made, AT_TYPE + layout->table_module, MADE_DATA + AT_MODULE);
	if (layout->major == 8)
		made_half(made, AT_TYPE + layout->table_flags2 + 2, 3);
	else
		made_int(made, AT_TYPE + layout->table_flags2, 3u << 8); /* rid of the TypeDef */
}

static inline void made_module(struct made_dotnet *made)
{
	const struct dotnet_layout *layout = &made->layout;

	made_word(made, AT_MODULE + layout->module_name, MADE_DATA + AT_SIMPLE);
	memcpy(made->data + AT_SIMPLE, "Made", 5);
	made_word(made, AT_MODULE + layout->module_assembly, MADE_DATA + AT_ASSEMBLY);
	made_word(made, AT_MODULE + layout->module_r2r, MADE_DATA + AT_INFO);
	made_word(made, AT_ASSEMBLY + layout->assembly_image, MADE_DATA + AT_PEIMAGE);
	made_word(made, AT_PEIMAGE + layout->image_layout, MADE_DATA + AT_LAYOUT);
	made_word(made, AT_LAYOUT + layout->layout_base, MADE_IMAGE);
	made_int(made, AT_LAYOUT + layout->layout_flags, 0);
	/* Its code, and who is at the entry: 2 buckets, the key is in one of them. */
	made_word(made, AT_INFO + layout->r2r_composite, MADE_DATA + AT_INFO);
	made_word(made, AT_INFO + layout->r2r_functions, MADE_DATA + AT_FUNCTIONS);
	made_int(made, AT_INFO + layout->r2r_n_functions, 2);
	made_word(made, AT_INFO + layout->r2r_map + layout->map_buckets, MADE_DATA + AT_MAP);
	made_int(made, AT_FUNCTIONS, MADE_FUNCTION);
	made_int(made, AT_FUNCTIONS + 4, MADE_FUNCTION + 0x40);
	made_int(made, AT_FUNCTIONS + 12, MADE_FUNCLET);
	made_int(made, AT_FUNCTIONS + 16, MADE_FUNCLET + 0x40);
	made_word(made, AT_MAP, 2);
	for (uint32_t i = 0; i < 2; i++) {
		made_word(made, AT_MAP + 64 * (i + 1), MADE_IMAGE + MADE_FUNCTION);
		made_word(made, AT_MAP + 64 * (i + 1) + 32, made_method(made, 2) >> 1);
	}
}

/* --- the image ---------------------------------------------------------------------------------------- */

#define MADE_CLI      0x300u /* offsets in the file; sections begin 0x1000 higher */
#define MADE_METADATA 0x800u
#define MADE_TABLES   0x880u
#define MADE_STRINGS  0xa00u
#define MADE_RVA      0x1000u

static inline void made_image(struct made_dotnet *made)
{
	/* "" Made 1, Outer`1 6, Inner 14, Run 20, .ctor 24 */
	static const char strings[] = "\0Made\0Outer`1\0Inner\0Run\0.ctor";
	const uint64_t image = MADE_IMAGE - MADE_DATA, pe = image + 0x80, section = pe + 24 + 240;
	uint64_t at = image + MADE_TABLES, stream = image + MADE_METADATA + 16 + 12;

	memcpy(made->data + image, "MZ", 2);
	made_int(made, image + 60, 0x80);
	memcpy(made->data + pe, "PE\0", 4);
	made_half(made, pe + 6, 1);    /* sections */
	made_half(made, pe + 20, 240); /* bytes of the optional header */
	made_half(made, pe + 24, 0x20b);
	made_int(made, pe + 24 + 112 + 14 * 8, MADE_RVA + MADE_CLI);
	made_int(made, section + 8, 0x2000);
	made_int(made, section + 12, MADE_RVA);
	made_int(made, section + 16, 0x2000);
	made_int(made, section + 20, 0);
	made_int(made, image + MADE_CLI, 72);
	made_int(made, image + MADE_CLI + 8, MADE_RVA + MADE_METADATA);
	memcpy(made->data + image + MADE_METADATA, "BSJB", 4);
	made_int(made, image + MADE_METADATA + 12, 12); /* bytes of the version */
	made_half(made, stream + 2, 2);
	made_int(made, stream + 4, MADE_TABLES - MADE_METADATA);
	made_int(made, stream + 8, 0x100);
	memcpy(made->data + stream + 12, "#~", 3);
	made_int(made, stream + 16, MADE_STRINGS - MADE_METADATA);
	made_int(made, stream + 20, sizeof(strings));
	memcpy(made->data + stream + 24, "#Strings", 9);
	/* TypeDef, MethodDef, NestedClass: three, two and one rows */
	made_word(made, at + 8, 1ull << 2 | 1ull << 6 | 1ull << 41);
	made_int(made, at + 24, 3);
	made_int(made, at + 28, 2);
	made_int(made, at + 32, 1);
	at += 36;
	/* rows of TypeDef: flags, name, namespace, extends, fields, methods; the first one is <Module> */
	made_half(made, at + 14 + 4, 6);
	made_half(made, at + 14 + 6, 1);
	made_int(made, at + 28, 2); /* nested public */
	made_half(made, at + 28 + 4, 14);
	at += 3 * 14;
	made_half(made, at + 8, 24);
	made_half(made, at + 14 + 8, 20);
	at += 2 * 14;
	made_half(made, at, 3);
	made_half(made, at + 2, 2);
	memcpy(made->data + image + MADE_STRINGS, strings, sizeof(strings));
}

/* Of a release; all its structures are in `data`, which a test may change. */
static inline void made_init(struct made_dotnet *made, uint32_t major)
{
	memset(made, 0, sizeof(*made));
	fake_host_init(&made->host, &made->state, sizeof(made->state));
	if (!dotnet_layout_find(major, &made->layout))
		abort();
	made->exe = (struct dotnet_executable){
		.host = fake_host_services(&made->host),
		.major = major,
		.table_va = MADE_TABLE_VA,
	};
	made->host.target.bias = MADE_DATA + AT_DAC - MADE_TABLE_VA;
	fake_memory_add(&made->host.memory, MADE_DATA, made->data, sizeof(made->data));
	fake_memory_add(&made->host.memory, MADE_CODE, made->code, sizeof(made->code));
	made_word(made, AT_DAC, MADE_DATA + AT_TABLES);
	made_range(made, 0, MADE_CODE, MADE_HEAP, DOTNET_RANGE_HEAP);
	made_range(made, 1, MADE_IMAGE, 0x4000, 0);
	made_word(made, AT_HEAP + made->layout.heap_start, MADE_CODE + 0x10);
	made_word(made, AT_HEAP + made->layout.heap_end, MADE_CODE + MADE_HEAP);
	made_word(made, AT_HEAP + made->layout.heap_map_base, MADE_CODE);
	made_word(made, AT_HEAP + made->layout.heap_map, MADE_DATA + AT_NIBBLES);
	made_code(made, 0, MADE_START, 0x100);
	made_code(made, 1, MADE_OTHER, 0x80);
	made_methods(made);
	made_module(made);
	made_image(made);
}

#endif
