/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metadata of a few types and one method, and MethodTables of theirs, without an image and a heap around them: what
 * signatures and type arguments are read from.
 *
 *	TypeDef 1 N.Outer`1   2 Inner, in it   3 N.Value	TypeRef 1 R.Ref   2 Part, in it
 */
#ifndef DOTNET_MADE_SIGNATURE_H
#define DOTNET_MADE_SIGNATURE_H

#include "plugins/dotnet/symbolize/signature.h"
#include "tests/kit/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MADE_HEAP_AT   0x10000ull /* names and rows */
#define MADE_BLOB_AT   0x20000ull /* a method's signature */
#define MADE_TYPES_AT  0x40000ull /* MethodTables, 0x100 each */
#define MADE_METHOD_AT (MADE_TYPES_AT + 0xa00) /* InstantiatedMethodDesc */
#define MADE_MODULE_AT 0x80000ull /* never read */
#define MADE_PARTS     0x10000u	  /* bytes of the last three */

#define MADE_COMPONENTS 0x80000000u /* vm/methodtable.h: WFLAGS_HIGH_ENUM, v8.0.0: it has elements */
#define MADE_AN_ARRAY	0x00080000u
#define MADE_IS_GENERIC 0x30u

struct made_signature {
	struct fake_memory memory;
	struct dotnet_layout layout;
	struct dotnet_reader reader;
	struct dotnet_metadata metadata;
	struct dotnet_method method;
	uint32_t n_asked; /* for types */
	uint8_t heap[0x200], blob[MADE_PARTS + 4], types[MADE_PARTS];
};

static inline void made_rows(struct made_signature *made, uint32_t at, const uint16_t *rows, size_t bytes)
{
	memcpy(made->heap + at, rows, bytes);
}

static inline int made_put_type(void *arg, uint64_t module, uint32_t token, struct text_writer *writer)
{
	struct made_signature *made = arg;
	struct dotnet_type type;
	int r = -EBADMSG;

	made->n_asked++;
	if (module == MADE_MODULE_AT)
		r = (token & 3) == 0 ? dotnet_type_read(&made->reader, &made->metadata, token >> 2, false, &type)
				     : dotnet_type_read_ref(&made->reader, &made->metadata, token >> 2, &type);
	if (r == 0)
		dotnet_type_put(&type, writer);
	return r;
}

/* The signature of the method: its length, in four bytes, is put before it. */
static inline void made_say(struct made_signature *made, const uint8_t *bytes, size_t n)
{
	made->blob[0] = (uint8_t)(0xc0 | n >> 24);
	made->blob[1] = (uint8_t)(n >> 16);
	made->blob[2] = (uint8_t)(n >> 8);
	made->blob[3] = (uint8_t)n;
	memcpy(made->blob + 4, bytes, n);
	made->metadata.blobs_bytes = (uint32_t)n + 4;
}

static inline void made_signature_init(struct made_signature *made, uint32_t major)
{
	static const char names[] = "\0N\0Outer`1\0Inner\0Value\0R\0Ref\0Part\0Run"; /* 1, 3, 11, 17, 23, 25, 29, 34 */
	static const uint16_t types[3][4] = {{0, 0, 3, 1}, {2, 0, 11, 0}, {0, 0, 17, 1}}; /* flags, name, namespace */
	static const uint16_t refs[2][3] = {{2, 25, 23}, {1 << 2 | 3, 29, 0}}; /* scope, name, namespace */
	static const uint16_t methods[2] = {34, 0}, nested[2] = {2, 1};
	static const uint8_t nothing[] = {0, 0, 1}; /* void () */

	memset(made, 0, sizeof(*made));
	if (!dotnet_layout_find(major, &made->layout))
		abort();
	made->reader = (struct dotnet_reader){.memory = {fake_memory_read, &made->memory}, .layout = &made->layout};
	memcpy(made->heap, names, sizeof(names));
	made_rows(made, 0x100, types[0], sizeof(types));
	made_rows(made, 0x140, refs[0], sizeof(refs));
	made_rows(made, 0x160, methods, sizeof(methods));
	made_rows(made, 0x170, nested, sizeof(nested));
	made->metadata = (struct dotnet_metadata){
		.strings = MADE_HEAP_AT,
		.strings_bytes = sizeof(names),
		.blobs = MADE_BLOB_AT,
		.types = {.addr = MADE_HEAP_AT + 0x100, .n = 3, .bytes = 8, .at = {4, 6}, .width = {2, 2}},
		.refs = {.addr = MADE_HEAP_AT + 0x140, .n = 2, .bytes = 6, .at = {0, 2, 4}, .width = {2, 2, 2}},
		.methods = {.addr = MADE_HEAP_AT + 0x160, .n = 1, .bytes = 4, .at = {0, 2}, .width = {2, 2}},
		.nested = {.addr = MADE_HEAP_AT + 0x170, .n = 1, .bytes = 4, .at = {0, 2}, .width = {2, 2}},
	};
	made->method = (struct dotnet_method){
		.kind = DOTNET_METHOD_IL, .rid = 1, .type_rid = 3, .module = MADE_MODULE_AT, .table = MADE_TYPES_AT};
	made_say(made, nothing, sizeof(nothing));
	fake_memory_add(&made->memory, MADE_HEAP_AT, made->heap, sizeof(made->heap));
	fake_memory_add(&made->memory, MADE_BLOB_AT, made->blob, sizeof(made->blob));
	fake_memory_add(&made->memory, MADE_TYPES_AT, made->types, sizeof(made->types));
}

/* --- MethodTables ----------------------------------------------------------------------------------------- */

static inline uint64_t made_table(uint32_t i)
{
	return MADE_TYPES_AT + 0x100 * i;
}

static inline void made_type_put(struct made_signature *made, uint64_t addr, const void *bytes, size_t n)
{
	fake_memory_put(&made->memory, addr, bytes, n);
}

/* A type of metadata. */
static inline void made_type(struct made_signature *made, uint32_t i, uint32_t rid)
{
	const struct dotnet_layout *layout = &made->layout;
	const uint64_t module = MADE_MODULE_AT;
	const uint32_t word = layout->major == 8 ? rid << 16 : rid << 8; /* 8: the upper half of flags2 */

	made_type_put(made, made_table(i) + layout->table_flags2, &word, sizeof(word));
	made_type_put(made, made_table(i) + layout->table_module, &module, sizeof(module));
}

/* Its arguments are n tables, `args`: of its last dictionary of two. */
static inline void made_generic(struct made_signature *made, uint32_t i, uint32_t rid, const uint64_t *args, uint16_t n)
{
	const uint64_t dicts = made_table(i) + 0xc8, own = made_table(i) + 0x80;
	const uint32_t flags = MADE_IS_GENERIC;
	const uint16_t counts[2] = {2, n};

	made_type(made, i, rid);
	made_type_put(made, made_table(i) + made->layout.table_flags, &flags, sizeof(flags));
	made_type_put(made, made_table(i) + made->layout.table_args, &dicts, sizeof(dicts));
	made_type_put(made, dicts - 4, counts, sizeof(counts));
	made_type_put(made, dicts + 8, &own, sizeof(own));
	made_type_put(made, own, args, sizeof(*args) * (n > 8 ? 8 : n));
}

static inline void made_array(struct made_signature *made, uint32_t i, uint64_t element)
{
	const uint32_t flags = MADE_COMPONENTS | MADE_AN_ARRAY;

	made_type_put(made, made_table(i) + made->layout.table_flags, &flags, sizeof(flags));
	made_type_put(made, made_table(i) + made->layout.table_args, &element, sizeof(element));
}

/* The method itself is generic: its arguments, and what kind of one it is. */
static inline void made_instance(struct made_signature *made, uint64_t args, uint16_t n, uint16_t kind)
{
	const struct dotnet_layout *layout = &made->layout;

	made->method.kind = DOTNET_METHOD_INSTANTIATED;
	made_type_put(made, MADE_METHOD_AT + layout->instance_args, &args, sizeof(args));
	made_type_put(made, MADE_METHOD_AT + layout->instance_n, &n, sizeof(n));
	made_type_put(made, MADE_METHOD_AT + layout->instance_flags, &kind, sizeof(kind));
}

/* The text, which ends. */
static inline int made_text(struct made_signature *made, char *buf, size_t size)
{
	const struct dotnet_types types = {made_put_type, made};
	struct text_writer writer = {.buf = buf, .size = size};
	struct dotnet_definition definition;
	struct dotnet_type type;
	int r = dotnet_method_read_table(&made->reader, &made->method);

	if (r == 0)
		r = dotnet_type_read(&made->reader, &made->metadata, made->method.type_rid, false, &type);
	if (r == 0)
		r = dotnet_definition_read(&made->reader, &made->metadata, made->method.rid, &definition);
	if (r == 0)
		r = dotnet_signature_put(&made->reader, MADE_METHOD_AT, &made->method, &type, &definition, &types, &writer);
	text_end(&writer, false);
	return r;
}

#endif
