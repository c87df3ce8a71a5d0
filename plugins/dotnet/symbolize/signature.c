/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types in types are a stack of what is still to be written: of each level how many types follow,
 * and what closes it. It has a bound, and so has the number of all of them.
 */
#include "plugins/dotnet/symbolize/signature.h"

#include "core/base/util.h"

#include <errno.h>
#include <string.h>

#define MAX_DEPTH 8
#define MAX_TYPES 64 /* of a method */
#define MAX_ARGS  32 /* of one type */
#define MAX_DICTS 64

/* --- type arguments, by MethodTables -------------------------------------------------------- */

/* vm/methodtable.h: WFLAGS_HIGH_ENUM, v8.0.0, v10.0.0. */
#define HAS_COMPONENT_SIZE 0x80000000u
#define CATEGORY	   0x000c0000u
#define CATEGORY_ARRAY	   0x00080000u
#define GENERICS	   0x30u
#define IS_TYPE_DESC                                                                               \
	2u /* bit of a TypeHandle: a parameter, a pointer; never seen as an argument of code */

struct arguments {
	uint64_t addr;	 /* of the words */
	uint64_t direct; /* of one that is an array's: it itself */
	uint32_t n, at;
	const char *closer;
};

static uint32_t flags_of(const struct dotnet_reader *reader, const struct dotnet_method *owner)
{
	return ep_get_u32((const char *)owner->table_words + reader->layout->table_flags);
}

/* Of a generic type: its last dictionary; before the pointer to it how many there are, and
 * arguments. */
static int find_arguments(const struct dotnet_reader *reader, const struct dotnet_method *owner,
			  uint64_t *ret, uint32_t *ret_n)
{
	uint32_t flags = flags_of(reader, owner);
	uint16_t counts[2];
	uint64_t dicts;
	int r;

	*ret_n = 0;
	if (flags & HAS_COMPONENT_SIZE || !(flags & GENERICS))
		return 0;
	r = dotnet_read_word(reader, owner->table + reader->layout->table_args, &dicts);
	if (r == 0)
		r = memory_read(&reader->memory, dicts - 4, counts, sizeof(counts));
	if (r < 0)
		return r;
	if (counts[0] == 0 || counts[0] > MAX_DICTS || counts[1] > MAX_ARGS)
		return -EBADMSG;
	*ret_n = counts[1];
	return dotnet_read_word(reader, dicts + 8ull * (counts[0] - 1), ret);
}

/* A type's name, and what follows it. */
static int put_table(const struct dotnet_reader *reader, uint64_t table,
		     const struct dotnet_types *types, struct text_writer *writer,
		     struct arguments *next)
{
	struct dotnet_method owner = {.table = table};
	uint32_t flags;
	int r = dotnet_method_read_table(reader, &owner);

	*next = (struct arguments){0};
	if (r < 0)
		return r;
	flags = flags_of(reader, &owner);
	if (flags & HAS_COMPONENT_SIZE && (flags & CATEGORY) == CATEGORY_ARRAY) {
		*next = (struct arguments){.n = 1, .closer = "[]"};
		return dotnet_read_word(reader, table + reader->layout->table_args, &next->direct);
	}
	r = dotnet_method_find_owner(reader, &owner);
	if (r == 0)
		r = types->put(types->arg, owner.module, DOTNET_TOKEN_DEF(owner.type_rid), writer);
	if (r == 0)
		r = find_arguments(reader, &owner, &next->addr, &next->n);
	next->closer = "]";
	return r;
}

static int put_arguments(const struct dotnet_reader *reader, uint64_t addr, uint32_t n,
			 const struct dotnet_types *types, struct text_writer *writer)
{
	struct arguments levels[MAX_DEPTH] = {{.addr = addr, .n = n, .closer = "]"}};
	uint32_t depth = 1, total = 0;

	if (n > MAX_ARGS)
		return -EBADMSG;
	if (n)
		text_put(writer, '[');
	while (n && depth) {
		struct arguments *level = &levels[depth - 1];
		uint64_t table = level->direct;
		int r = 0;

		if (level->at == level->n) {
			text_put_string(writer, level->closer);
			depth--;
			continue;
		}
		if (level->at)
			text_put(writer, ',');
		if (!table)
			r = dotnet_read_word(reader, level->addr + 8ull * level->at, &table);
		level->at++;
		if (r == 0 && (table & IS_TYPE_DESC || depth == MAX_DEPTH || ++total > MAX_TYPES)) {
			text_put(writer, '?');
			continue;
		}
		if (r == 0)
			r = put_table(reader, table, types, writer, &levels[depth]);
		if (r < 0)
			return r;
		if (!levels[depth].n)
			continue;
		if (!levels[depth].direct)
			text_put(writer, '[');
		depth++;
	}
	return 0;
}

#define INSTANCE_KIND	    7u /* vm/method.hpp: InstantiatedMethodDesc, v8.0.0 */
#define INSTANCE_DEFINITION 1u

static int put_instance(const struct dotnet_reader *reader, uint64_t method,
			const struct dotnet_types *types, struct text_writer *writer)
{
	const struct dotnet_layout *layout = reader->layout;
	uint16_t flags, n;
	uint64_t args;
	int r = memory_read(&reader->memory, method + layout->instance_flags, &flags,
			    sizeof(flags));

	if (r == 0)
		r = memory_read(&reader->memory, method + layout->instance_n, &n, sizeof(n));
	if (r == 0)
		r = dotnet_read_word(reader, method + layout->instance_args, &args);
	if (r < 0 || !args || (flags & INSTANCE_KIND) == INSTANCE_DEFINITION)
		return r;
	return put_arguments(reader, args, n, types, writer);
}

/* --- signatures (ECMA-335, II.23.2) --------------------------------------------------------- */

enum element {
	ELEMENT_PTR = 0x0f,
	ELEMENT_BYREF = 0x10,
	ELEMENT_VALUETYPE = 0x11,
	ELEMENT_CLASS = 0x12,
	ELEMENT_VAR = 0x13,
	ELEMENT_ARRAY = 0x14,
	ELEMENT_GENERIC = 0x15,
	ELEMENT_OBJECT = 0x1c,
	ELEMENT_SZARRAY = 0x1d,
	ELEMENT_MVAR = 0x1e,
	ELEMENT_MODIFIER = 0x1f,
	ELEMENT_OPTIONAL = 0x20,
	ELEMENT_SENTINEL = 0x41,
	ELEMENT_PINNED = 0x45,
};

static const char *const simple[ELEMENT_OBJECT + 1] = {
	[0x01] = "void",   [0x02] = "bool",   [0x03] = "char",	   [0x04] = "sbyte",
	[0x05] = "byte",   [0x06] = "short",  [0x07] = "ushort",   [0x08] = "int",
	[0x09] = "uint",   [0x0a] = "long",   [0x0b] = "ulong",	   [0x0c] = "float",
	[0x0d] = "double", [0x0e] = "string", [0x16] = "typedref", [0x18] = "nint",
	[0x19] = "nuint",  [0x1c] = "object",
};

/* After the one type that they have in them. */
static const char *const closers[] = {
	[ELEMENT_PTR] = "*", [ELEMENT_BYREF] = "&", [ELEMENT_ARRAY] = "", [ELEMENT_SZARRAY] = "[]",
};

struct pending {
	uint32_t n, at;
	const char *closer;
	bool has_shape; /* of an array: after its element */
};

/* Where tokens are of, and how they are written. */
struct tokens {
	uint64_t module;
	const struct dotnet_types *types;
};

static int put_token(const struct tokens *tokens, uint32_t token, struct text_writer *writer)
{
	if ((token & 3) < 2)
		return tokens->types->put(tokens->types->arg, tokens->module, token, writer);
	text_put(writer, '?');
	return 0;
}

static void put_number(struct text_writer *writer, uint32_t value)
{
	char digits[11];
	size_t n = sizeof(digits);

	do {
		digits[--n] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	text_put_utf8(writer, (const uint8_t *)digits + n, sizeof(digits) - n);
}

/* II.23.2.13: rank, sizes, lower bounds. */
static void put_shape(struct dotnet_bytes *bytes, struct text_writer *writer)
{
	uint32_t rank = dotnet_compressed(bytes), n;

	text_put(writer, '[');
	for (uint32_t i = 1; i < rank && i < MAX_ARGS; i++)
		text_put(writer, ',');
	text_put(writer, ']');
	for (uint32_t list = 0; list < 2; list++) {
		n = dotnet_compressed(bytes);
		for (uint32_t i = 0; i < n && i < MAX_ARGS; i++)
			(void)dotnet_compressed(bytes);
	}
}

/* One type's first part. *ret: the types that it has in it, if n is not 0. */
static int put_element(const struct tokens *tokens, struct dotnet_bytes *bytes,
		       struct text_writer *writer, struct pending *ret)
{
	uint32_t element = dotnet_byte(bytes);
	int r;

	*ret = (struct pending){0};
	while (element == ELEMENT_MODIFIER || element == ELEMENT_OPTIONAL ||
	       element == ELEMENT_PINNED || element == ELEMENT_SENTINEL) {
		if (element == ELEMENT_MODIFIER || element == ELEMENT_OPTIONAL)
			(void)dotnet_compressed(bytes);
		element = dotnet_byte(bytes);
	}
	if (bytes->result < 0)
		return bytes->result;
	if (element < EP_LEN(simple) && simple[element]) {
		text_put_string(writer, simple[element]);
		return 0;
	}
	if (element < EP_LEN(closers) && closers[element]) {
		*ret = (struct pending){
			.n = 1, .closer = closers[element], .has_shape = element == ELEMENT_ARRAY};
		return 0;
	}
	switch (element) {
	case ELEMENT_VALUETYPE:
	case ELEMENT_CLASS:
		return put_token(tokens, dotnet_compressed(bytes), writer);
	case ELEMENT_VAR:
	case ELEMENT_MVAR:
		text_put_string(writer, element == ELEMENT_VAR ? "!" : "!!");
		put_number(writer, dotnet_compressed(bytes));
		return 0;
	case ELEMENT_GENERIC:
		(void)dotnet_byte(bytes);
		r = put_token(tokens, dotnet_compressed(bytes), writer);
		text_put(writer, '[');
		*ret = (struct pending){.n = dotnet_compressed(bytes), .closer = "]"};
		return r == 0 && !ret->n ? -EBADMSG : r;
	default: /* function pointers: where they end is not looked for */
		return -ENOTSUP;
	}
}

static int put_parameters(const struct tokens *tokens, struct dotnet_bytes *bytes, uint32_t n,
			  struct text_writer *writer)
{
	struct pending levels[MAX_DEPTH] = {{.n = n, .closer = ")"}};
	uint32_t depth = 1, total = 0;

	while (depth) {
		struct pending *level = &levels[depth - 1];
		int r;

		if (level->at == level->n) {
			if (level->has_shape)
				put_shape(bytes, writer);
			text_put_string(writer, level->closer);
			depth--;
			continue;
		}
		if (level->at++)
			text_put(writer, ',');
		if (depth == MAX_DEPTH || ++total > MAX_TYPES)
			return -E2BIG;
		r = put_element(tokens, bytes, writer, &levels[depth]);
		if (r < 0)
			return r;
		depth += levels[depth].n > 0;
	}
	return bytes->result;
}

#define CALL_GENERIC 0x10

/* (parameters): the type that is returned comes before them, and is passed over. */
static int put_signature(const struct tokens *tokens, struct dotnet_bytes bytes,
			 struct text_writer *writer)
{
	char ignored[8];
	struct text_writer nowhere = {.buf = ignored, .size = sizeof(ignored)};
	uint32_t n;
	int r;

	if (dotnet_byte(&bytes) & CALL_GENERIC)
		(void)dotnet_compressed(&bytes);
	n = dotnet_compressed(&bytes);
	r = put_parameters(tokens, &bytes, 1, &nowhere);
	text_put(writer, '(');
	return r == 0 ? put_parameters(tokens, &bytes, n, writer) : r;
}

/* What cannot be read may be there a moment later: a name without it would be another one. */
static bool must_end(int r)
{
	return r == -ESRCH || r == -ETIME || r == -EFAULT;
}

/* A list that ends early is not shown by half. */
static void take_back(struct text_writer *writer, size_t used, int r)
{
	if (r < 0 && !writer->is_full)
		writer->used = used;
}

int dotnet_signature_put(const struct dotnet_reader *reader, uint64_t addr,
			 const struct dotnet_method *method, const struct dotnet_type *type,
			 const struct dotnet_definition *definition,
			 const struct dotnet_types *types, struct text_writer *writer)
{
	const struct tokens tokens = {method->module, types};
	uint64_t args;
	uint32_t n = 0;
	size_t used;
	int r;

	dotnet_type_put(type, writer);
	used = writer->used;
	r = find_arguments(reader, method, &args, &n);
	if (r == 0)
		r = put_arguments(reader, args, n, types, writer);
	take_back(writer, used, r);
	if (must_end(r))
		return r;
	text_put(writer, '.');
	text_put_string(writer, definition->name);
	used = writer->used;
	r = method->kind == DOTNET_METHOD_INSTANTIATED ? put_instance(reader, addr, types, writer)
						       : 0;
	take_back(writer, used, r);
	if (must_end(r))
		return r;
	used = writer->used;
	r = put_signature(&tokens, definition->signature, writer);
	take_back(writer, used, r);
	return must_end(r) ? r : 0;
}
