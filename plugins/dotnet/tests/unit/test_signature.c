/* SPDX-License-Identifier: Apache-2.0 */
/* What tells a method from others of its name: type arguments by MethodTables, parameters by signatures. */
#include "core/base/util.h"
#include "plugins/dotnet/tests/unit/made_signature.h"
#include "tests/kit/test.h"

static struct made_signature made;

static void check(const char *text)
{
	char buf[2048];

	assert_int_equal(made_text(&made, buf, sizeof(buf)), 0);
	assert_string_equal(buf, text);
}

/* --- parameters ------------------------------------------------------------------------------------------------- */

static const struct {
	const char *text;
	size_t n;
	uint8_t bytes[40];
} signatures[] = {
	{"N.Value.Run()", 3, {0, 0, 1}},
	{"N.Value.Run(bool,char,sbyte,byte,short,ushort)", 9, {0, 6, 1, 2, 3, 4, 5, 6, 7}},
	{"N.Value.Run(int,uint,long,ulong,float,double,string)", 10, {0, 7, 1, 8, 9, 10, 11, 12, 13, 14}},
	{"N.Value.Run(typedref,nint,nuint,object)", 7, {0, 4, 1, 0x16, 0x18, 0x19, 0x1c}},
	/* An instance's; what it returns is no parameter: a pointer, an array of a class. */
	{"N.Value.Run(int)", 5, {0x20, 1, 0x0f, 8, 8}},
	{"N.Value.Run(int)", 6, {0x20, 1, 0x1d, 0x12, 4, 8}},
	/* TypeDef, TypeRef, one in another, what is a TypeSpec. */
	{"N.Value.Run(N.Value,R.Ref,R.Ref+Part,N.Outer`1+Inner,?)", 13,
	 {0, 5, 1, 0x11, 3 << 2, 0x12, 1 << 2 | 1, 0x12, 2 << 2 | 1, 0x12, 2 << 2, 0x12, 1 << 2 | 2}},
	/* Pointer, reference, vector, pointer to pointer, array of arrays. */
	{"N.Value.Run(int*,string&,byte[],void**,char[][])", 15,
	 {0, 5, 1, 0x0f, 8, 0x10, 14, 0x1d, 5, 0x0f, 0x0f, 1, 0x1d, 0x1d, 3}},
	/* Three dimensions, two with sizes and bounds, and then the next parameter. */
	{"N.Value.Run(int[,,],long[,],bool)", 17, {0, 3, 1, 0x14, 8, 3, 0, 0, 0x14, 10, 2, 2, 4, 4, 1, 0, 2}},
	/* Type parameters of the type and of the method, which has one; number 200 has two bytes. */
	{"N.Value.Run(!0,!!1,!!200)", 11, {0x10, 1, 3, 1, 0x13, 0, 0x1e, 1, 0x1e, 0x80, 200}},
	/* Generics: over two types, in each other, over an array of one. */
	{"N.Value.Run(N.Outer`1[int,string],bool)", 10, {0, 2, 1, 0x15, 0x12, 4, 2, 8, 14, 2}},
	{"N.Value.Run(N.Outer`1[N.Outer`1[!0][],R.Ref])", 15, {0, 1, 1, 0x15, 0x11, 4, 2, 0x1d, 0x15, 0x12, 4, 1, 0x13, 0, 0x12}},
	/* Modifiers, pinned, and where optional arguments begin. */
	{"N.Value.Run(int,string&,byte)", 12, {5, 3, 1, 0x1f, 5, 8, 0x45, 0x10, 14, 0x41, 5}},
};

EP_TEST_EACH(a_signature_has_the_types_of_its_parameters, size_t, i, EP_LEN(signatures))
{
	uint8_t bytes[sizeof(signatures[0].bytes) + 1];

	made_signature_init(&made, 10);
	memcpy(bytes, signatures[i].bytes, signatures[i].n);
	bytes[signatures[i].n] = 1 << 2 | 1; /* of the one that ends in a class */
	made_say(&made, bytes, signatures[i].n + (bytes[signatures[i].n - 1] == 0x12));
	check(signatures[i].text);
	made.metadata.blobs_bytes--; /* shorter than it says: without parameters, as all that cannot be read */
	check("N.Value.Run");
}

/* What ends early, in each place, is no half of a list. */
EP_TEST(what_is_not_whole_is_left_out)
{
	static const uint8_t whole[] = {0, 3, 1, 0x15, 0x12, 4, 1, 0x1d, 8, 0x14, 10, 2, 1, 4, 0, 0x10, 0x12, 5};

	made_signature_init(&made, 10);
	made_say(&made, whole, sizeof(whole));
	check("N.Value.Run(N.Outer`1[int[]],long[,],R.Ref&)");
	for (size_t n = 0; n < sizeof(whole); n++) {
		made_say(&made, whole, n);
		check("N.Value.Run");
	}
	/* A function pointer, of which it is not looked for where it ends; no such type; a generic over nothing. */
	made_say(&made, (uint8_t[]){0, 2, 1, 8, 0x1b, 0, 0, 1}, 8);
	check("N.Value.Run");
	made_say(&made, (uint8_t[]){0, 2, 1, 8, 0x77}, 5);
	check("N.Value.Run");
	made_say(&made, (uint8_t[]){0, 1, 1, 0x15, 0x12, 4, 0}, 7);
	check("N.Value.Run");
	made_say(&made, (uint8_t[]){0, 1, 1, 0x12, 33 << 2}, 5); /* a row that is not there */
	check("N.Value.Run");
}

/* Types in types up to a depth, and so many in all; more are read of no signature. */
EP_TEST(hostile_signatures_have_an_end)
{
	uint8_t bytes[4000] = {0, 1, 1};
	char text[512] = "N.Value.Run(int";

	made_signature_init(&made, 10);
	memset(bytes + 3, 0x1d, 6); /* arrays of arrays */
	bytes[9] = 8;
	made_say(&made, bytes, 10);
	check("N.Value.Run(int[][][][][][])");
	memset(bytes + 3, 0x1d, sizeof(bytes) - 3);
	made_say(&made, bytes, sizeof(bytes));
	made.memory.n_bytes = 0;
	check("N.Value.Run");
	assert_true(made.memory.n_bytes < 2000);
	memset(bytes + 3, 8, sizeof(bytes) - 3);
	bytes[1] = 64;
	for (size_t i = 1; i < 64; i++)
		strcat(text, ",int");
	made_say(&made, bytes, 3 + 64);
	check(strcat(text, ")"));
	bytes[1] = 65;
	made_say(&made, bytes, 3 + 65);
	check("N.Value.Run");
	/* Numbers of four bytes that say how many there are, of parameters, dimensions and sizes. */
	made_say(&made, (uint8_t[]){0, 0xdf, 0xff, 0xff, 0xff, 1, 8, 8, 8}, 9);
	check("N.Value.Run");
	made_say(&made, (uint8_t[]){0, 1, 1, 0x14, 8, 0xdf, 0xff, 0xff, 0xff, 0, 0}, 11);
	check("N.Value.Run(int[,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,])");
	made_say(&made, (uint8_t[]){0, 1, 1, 0x14, 8, 1, 0xdf, 0xff, 0xff, 0xff}, 10);
	check("N.Value.Run");
}

/* It fits, or ends in "…": never more than the buffer has. */
EP_TEST(a_long_text_is_cut)
{
	static const uint8_t signature[] = {0, 3, 1, 14, 14, 14};
	char buf[64];

	made_signature_init(&made, 10);
	made_say(&made, signature, sizeof(signature));
	for (size_t size = 8; size < 40; size++) {
		memset(buf, 'x', sizeof(buf));
		assert_int_equal(made_text(&made, buf, size), 0);
		assert_true(strlen(buf) < size);
		assert_int_equal(strcmp(buf, "N.Value.Run(string,string,string)") == 0, size >= 34);
		assert_int_equal(buf[size], 'x');
	}
}

/*
 * Eight types in each other with names of 511 bytes: as much as there is space for, and each has
 * its part.
 */
EP_TEST(names_of_types_have_a_bound)
{
	static uint8_t heap[0x800];
	static char text[8192];
	struct dotnet_type type;
	struct text_writer writer = {.buf = text, .size = sizeof(text)};
	uint32_t n = 0;

	made_signature_init(&made, 10);
	memset(heap, 'x', 600);
	for (uint16_t i = 0; i < DOTNET_MAX_NESTED; i++) {
		const uint16_t row[4] = {i < DOTNET_MAX_NESTED - 1 ? 2 : 0, 0, 1, 1}, nested[2] = {(uint16_t)(i + 1), (uint16_t)(i + 2)};

		memcpy(heap + 0x400 + 8 * i, row, 8);
		memcpy(heap + 0x500 + 4 * i, nested, 4);
	}
	fake_memory_add(&made.memory, 0x8000, heap, sizeof(heap));
	made.metadata.strings = 0x8000;
	made.metadata.strings_bytes = 0x400;
	made.metadata.types.addr = 0x8400;
	made.metadata.nested.addr = 0x8500;
	made.metadata.types.n = made.metadata.nested.n = DOTNET_MAX_NESTED;
	assert_int_equal(dotnet_type_read(&made.reader, &made.metadata, 1, true, &type), 0);
	assert_true(type.bytes <= sizeof(type.texts));
	dotnet_type_put(&type, &writer);
	text_end(&writer, false);
	for (const char *at = text; *at; at++)
		n += *at == '+';
	assert_int_equal(n, DOTNET_MAX_NESTED - 1);
	assert_in_range(strlen(text), DOTNET_TYPE_BYTES - 64, DOTNET_TYPE_BYTES);
}

/* --- type arguments --------------------------------------------------------------------------------------------- */

/* A type over a value, one over a type in a type and itself over one, a method over both; arrays of each. */
EP_TEST_EACH(arguments_are_written_as_deep_as_they_go, uint32_t, i, 3)
{
	const uint64_t value[] = {made_table(1)}, both[] = {made_table(2), made_table(4)};

	made_signature_init(&made, 8 + i);
	made.method.table = made_table(0);
	made.method.type_rid = 1;
	made_type(&made, 1, 3);
	made_generic(&made, 0, 1, value, 1);
	check("N.Outer`1[N.Value].Run()");
	made_generic(&made, 2, 2, value, 1);
	made_array(&made, 3, made_table(1));
	made_array(&made, 4, made_table(3));
	made_generic(&made, 0, 1, both, 2);
	check("N.Outer`1[N.Outer`1+Inner[N.Value],N.Value[][]].Run()");
	made_instance(&made, made_table(5), 2, 3);
	made_type_put(&made, made_table(5), (uint64_t[]){made_table(4), made_table(1)}, 16);
	check("N.Outer`1[N.Outer`1+Inner[N.Value],N.Value[][]].Run[N.Value[][],N.Value]()");
	made.method.type_rid = 3; /* its owner is no generic type */
	made_type(&made, 0, 3);
	made_type_put(&made, made_table(0), (uint32_t[]){0}, 4);
	check("N.Value.Run[N.Value[][],N.Value]()");
}

/* The method's own definition, and one without arguments, has none. */
EP_TEST(a_definition_has_no_arguments)
{
	made_signature_init(&made, 9);
	made_type(&made, 1, 3);
	made_type_put(&made, made_table(5), (uint64_t[]){made_table(1)}, 8);
	made_instance(&made, made_table(5), 1, 2);
	check("N.Value.Run[N.Value]()");
	made_instance(&made, made_table(5), 1, 1);
	check("N.Value.Run()");
	made_instance(&made, 0, 1, 2);
	check("N.Value.Run()");
	made_instance(&made, made_table(5), 0, 2);
	check("N.Value.Run()");
	made_instance(&made, made_table(5), 1, 2);
	made.method.kind = DOTNET_METHOD_IL;
	check("N.Value.Run()");
}

/* A type over itself, and arrays of themselves, end at a depth; many arguments at a number. */
EP_TEST(hostile_arguments_have_an_end)
{
	const uint64_t itself[] = {made_table(0)}, one[] = {made_table(1)};
	uint64_t args[8];
	static char text[4096];

	made_signature_init(&made, 10);
	made.method.type_rid = 1;
	made_generic(&made, 0, 1, itself, 1);
	check("N.Outer`1[N.Outer`1[N.Outer`1[N.Outer`1[N.Outer`1[N.Outer`1[N.Outer`1[N.Outer`1[?]]]]]]]].Run()");
	made_generic(&made, 0, 1, one, 1);
	made_array(&made, 1, made_table(1));
	check("N.Outer`1[?[][][][][][][]].Run()");
	/* 8 types over 8 each, over 8 each: 64 are asked for. */
	for (uint32_t i = 0; i < 8; i++)
		args[i] = made_table(1);
	made_generic(&made, 1, 1, args, 8);
	made_generic(&made, 0, 1, args, 8);
	made.n_asked = 0;
	assert_int_equal(made_text(&made, text, sizeof(text)), 0);
	assert_int_equal(made.n_asked, 64);
	assert_string_equal(text + strlen(text) - 15, ",?,?,?,?].Run()");
}

/* What cannot be: counts, a TypeHandle of no MethodTable, no module. The name stays, its arguments do not. */
EP_TEST(wrong_arguments_are_left_out)
{
	const uint64_t one[] = {made_table(1)};

	for (uint32_t i = 0; i < 4; i++) {
		static const uint16_t counts[4][2] = {{0, 1}, {65, 1}, {2, 33}, {2, 0xffff}};

		made_signature_init(&made, 10);
		made.method.type_rid = 1;
		made_type(&made, 1, 3);
		made_generic(&made, 0, 1, one, 1);
		made_type_put(&made, made_table(0) + 0xc8 - 4, counts[i], 4);
		check("N.Outer`1.Run()");
	}
	made_type_put(&made, made_table(0) + 0xc8 - 4, (uint16_t[]){2, 1}, 4);
	check("N.Outer`1[N.Value].Run()");
	made_type_put(&made, made_table(0) + 0x80, (uint64_t[]){made_table(1) | 2}, 8);
	check("N.Outer`1[?].Run()");
	made_type_put(&made, made_table(0) + 0x80, one, 8);
	made_type_put(&made, made_table(1) + made.layout.table_module, (uint64_t[]){0x18}, 8);
	check("N.Outer`1.Run()");
	made_instance(&made, made_table(0) + 0x80, 33, 2);
	check("N.Outer`1.Run()");
}

/* What cannot be read may be there a moment later: there is no name without it. */
EP_TEST(what_cannot_be_read_is_no_name)
{
	const uint64_t one[] = {made_table(1)};
	char buf[256];
	uint32_t n;

	made_signature_init(&made, 8);
	made.method.type_rid = 1;
	made_type(&made, 1, 3);
	made_generic(&made, 0, 1, one, 1);
	made_instance(&made, made_table(0) + 0x80, 1, 2);
	made_say(&made, (uint8_t[]){0, 2, 1, 0x12, 5, 8}, 6);
	check("N.Outer`1[N.Value].Run[N.Value](R.Ref,int)");
	n = made.memory.n_reads;
	assert_true(n > 20);
	for (uint32_t i = 1; i <= n; i++) {
		made.memory.n_reads = 0;
		made.memory.fail_at = i;
		made.memory.fail_with = -EFAULT;
		assert_int_equal(made_text(&made, buf, sizeof(buf)), -EFAULT);
	}
}
