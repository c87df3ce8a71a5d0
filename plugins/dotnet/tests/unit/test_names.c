/* SPDX-License-Identifier: Apache-2.0 */
/* Names of frames in a process that is made up. */
#include "core/base/clock.h"
#include "core/base/util.h"
#include "plugins/dotnet/symbolize/plain.h"
#include "plugins/dotnet/tests/unit/made_dotnet.h"
#include "plugins/dotnet/tests/unit/made_pdb.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <zlib.h>

static struct made_dotnet made;
static void *instance;

static void begin(uint32_t major)
{
	made_init(&made, major);
	assert_int_equal(dotnet_attach(&made.exe, &made.host.target, &instance), 0);
}

static int name(uint32_t what, uint64_t word0, uint64_t word1)
{
	const struct ep_raw_frame frame = {
		.n_words = what == DOTNET_FRAME_COLLECTIBLE ? 2 : 1,
		.flags = what << DOTNET_FRAME_SHIFT,
		.aux = what == DOTNET_FRAME_STUB ? (uint32_t)word1 : 0,
		.words = {word0, word1},
	};

	made.host.n_names = 0;
	return dotnet_symbolize(instance, &frame, &made.host.names);
}

static struct dotnet_reader reader(void)
{
	return (struct dotnet_reader){.memory = {fake_memory_read, &made.host.memory},
				      .layout = &made.layout,
				      .range_map = MADE_DATA + AT_TABLES};
}

EP_TEST_EACH(a_method_has_its_types_and_namespace, uint32_t, i, 3)
{
	begin(8 + i);
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
	/* Once more, from what is remembered. */
	made.host.memory.n_reads = 0;
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
	assert_int_equal(made.host.memory.n_reads, 0);
	dotnet_detach(instance);
}

EP_TEST_EACH(code_of_an_image_is_named_by_its_entry, uint32_t, i, 3)
{
	begin(8 + i);
	assert_int_equal(name(DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCTION, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner..ctor");
	/* A funclet is its method's. */
	assert_int_equal(name(DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCLET, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner..ctor");
	/* What the map does not have is unknown. */
	made_word(&made, AT_MAP + 64, 1);
	made_word(&made, AT_MAP + 128, 1);
	assert_int_equal(name(DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCLET + 0x10, 0), EP_FRAME_GONE);
	assert_int_equal(name(DOTNET_FRAME_R2R, MADE_CODE + 0x40, 0), EP_FRAME_GONE);
	assert_int_equal(name(DOTNET_FRAME_R2R, 0x1234, 0), EP_FRAME_GONE);
	assert_int_equal(made.host.counts[DOTNET_COUNT_GONE], 3);
	dotnet_detach(instance);
}

/* What a type is called is known from its first method on; not that of what may be freed. */
EP_TEST_EACH(a_type_is_read_once, uint32_t, i, 3)
{
	struct dotnet_reader r;

	begin(8 + i);
	r = reader();
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START, 0), 0);
	memcpy(made.data + MADE_IMAGE - MADE_DATA + MADE_STRINGS + 6, "Other", 5);
	assert_int_equal(name(DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCTION, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner..ctor");
	assert_int_equal(name(DOTNET_FRAME_COLLECTIBLE, MADE_START, dotnet_method_check(&r, made_method(&made, 0))), 0);
	assert_string_equal(made.host.function, "Made.Other.Inner.Run");
	dotnet_detach(instance);
}

static uint8_t was_read[MADE_BYTES];
static uint32_t n_again; /* bytes that were read once more, but of names, which are read in pieces */

static int read_and_note(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct fake_host *host = arg;

	for (size_t i = 0; i < bytes && addr + i - MADE_DATA < MADE_IMAGE - MADE_DATA + MADE_STRINGS; i++)
		n_again += was_read[addr + i - MADE_DATA]++ > 0;
	return fake_memory_read(&host->memory, addr, buf, bytes);
}

static void be_of_type(uint32_t rid)
{
	if (made.layout.major == 8)
		made_half(&made, AT_TYPE + made.layout.table_flags2 + 2, (uint16_t)rid);
	else
		made_int(&made, AT_TYPE + made.layout.table_flags2, rid << 8);
}

/* The host fetches what is near by one system call, and once more where the same is asked for again. */
EP_TEST_EACH(a_name_takes_no_byte_twice, uint32_t, i, 3)
{
	begin(8 + i);
	be_of_type(2); /* so that the module is known, and the other type is not */
	assert_int_equal(name(DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCTION, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer..ctor");
	be_of_type(3);
	memset(was_read, 0, sizeof(was_read));
	n_again = 0;
	made.host.ops.read = read_and_note;
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
	assert_int_equal(n_again, 0);
	dotnet_detach(instance);
}

/* A DynamicMethod has its own name, as long as it is the one that was sampled. */
EP_TEST(what_was_freed_has_no_name)
{
	struct dotnet_reader r;
	uint64_t method, check;

	begin(10);
	r = reader();
	method = made_method(&made, 1);
	check = dotnet_method_check(&r, method);
	assert_int_not_equal(check, 0);
	assert_int_equal(name(DOTNET_FRAME_COLLECTIBLE, MADE_OTHER, check), 0);
	assert_string_equal(made.host.function, "lcg");
	memcpy(made.data + AT_NAME, "lcx", 4); /* another one's name in the same memory */
	assert_int_equal(name(DOTNET_FRAME_COLLECTIBLE, MADE_OTHER, check), EP_FRAME_GONE);
	memcpy(made.data + AT_NAME, "lcg", 4);
	method = made_method(&made, 0);
	check = dotnet_method_check(&r, method);
	assert_int_equal(name(DOTNET_FRAME_COLLECTIBLE, MADE_START, check), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
	memcpy(made.data + AT_SIMPLE, "Mode", 5);
	assert_int_equal(name(DOTNET_FRAME_COLLECTIBLE, MADE_START, check), EP_FRAME_GONE);
	dotnet_detach(instance);
}

static void free_name(void *arg)
{
	(void)arg;
	memcpy(made.data + AT_NAME, "new", 4);
}

/* It is replaced while its name is read, at each read. */
EP_TEST(what_is_replaced_meanwhile_has_no_name)
{
	for (uint32_t at = 1; at < 8; at++) {
		struct dotnet_reader r;
		uint64_t check;
		int result;

		begin(9);
		r = reader();
		check = dotnet_method_check(&r, made_method(&made, 1));
		made.host.memory.n_reads = 0;
		made.host.memory.change_at = at;
		made.host.memory.change = free_name;
		result = name(DOTNET_FRAME_COLLECTIBLE, MADE_OTHER, check);
		if (result == 0)
			assert_string_equal(made.host.function, "lcg");
		else
			assert_int_equal(result, EP_FRAME_GONE);
		dotnet_detach(instance);
	}
}

EP_TEST(stubs_of_il_and_of_code_say_what_they_are)
{
	struct dotnet_reader r;
	uint64_t method;

	begin(10);
	r = reader();
	method = made_method(&made, 1);
	memcpy(made.data + AT_NAME, "IL_STUB_PInvoke", 16);
	assert_int_equal(name(DOTNET_FRAME_COLLECTIBLE, MADE_OTHER, dotnet_method_check(&r, method)), 0);
	assert_string_equal(made.host.function, "[IL stub]");
	assert_int_equal(name(DOTNET_FRAME_STUB, MADE_OTHER, 7), 0);
	assert_string_equal(made.host.function, "[resolve stub]");
	assert_int_equal(name(DOTNET_FRAME_STUB, MADE_OTHER, 99), 0);
	assert_string_equal(made.host.function, "[stub]");
	dotnet_detach(instance);
}

/* --- precodes --------------------------------------------------------------------------------------------------- */

#define STUBS	    0x50000000ull
#define STUBS_BYTES 0x10000u
static uint8_t stub_bytes[STUBS_BYTES];

/* A precode at `at`, of pages of 16 KiB: its code, and its record in the next page. */
static void put_precode(uint32_t at, uint32_t kind, uint64_t method)
{
	static const uint8_t stub[] = {0x4c, 0x8b, 0x15, 0xf9, 0x3f, 0, 0, 0xff, 0x25, 0xfb, 0x3f, 0, 0};
	static const uint8_t fixup[] = {0xff, 0x25, 0xfa, 0x3f, 0, 0, 0x4c, 0x8b, 0x15, 0xfb, 0x3f, 0, 0, 0xff, 0x25, 0xfd, 0x3f, 0, 0};
	const uint64_t target = 0x1234;
	bool is_fixup = kind == DOTNET_STUB_FIXUP_PRECODE;

	memcpy(stub_bytes + at, is_fixup ? fixup : stub, is_fixup ? sizeof(fixup) : sizeof(stub));
	memcpy(stub_bytes + at + 0x4000, is_fixup ? &target : &method, 8);
	memcpy(stub_bytes + at + 0x4008, is_fixup ? &method : &target, 8);
}

static void begin_stubs(uint32_t major, uint32_t flags)
{
	made_init(&made, major);
	memset(stub_bytes, 0, sizeof(stub_bytes));
	fake_memory_add(&made.host.memory, STUBS, stub_bytes, sizeof(stub_bytes));
	made_range(&made, 2, STUBS, STUBS_BYTES, flags);
	put_precode(24 * 5, DOTNET_STUB_FIXUP_PRECODE, made_method(&made, 0));
	put_precode(0x8000 + 24 * 681, DOTNET_STUB_PRECODE, made_method(&made, 2));
	assert_int_equal(dotnet_attach(&made.exe, &made.host.target, &instance), 0);
}

static void check_stub(uint64_t at, uint32_t kind, const char *text)
{
	assert_int_equal(name(DOTNET_FRAME_STUB, STUBS + at, kind), 0);
	assert_string_equal(made.host.function, text);
}

EP_TEST_EACH(precodes_have_the_name_of_their_target, uint32_t, i, 3)
{
	begin_stubs(8 + i, DOTNET_RANGE_STUBS);
	check_stub(24 * 5, DOTNET_STUB_FIXUP_PRECODE, "[precode stub] Made.Outer.Inner.Run");
	check_stub(24 * 5 + 19, DOTNET_STUB_FIXUP_PRECODE, "[precode stub] Made.Outer.Inner.Run");
	check_stub(0x8000 + 24 * 681 + 7, DOTNET_STUB_PRECODE, "[precode stub] Made.Outer.Inner..ctor");
	/* None at all, one of the other kind, data, what is another stub. */
	check_stub(24 * 6, DOTNET_STUB_FIXUP_PRECODE, "[precode stub]");
	check_stub(24 * 5, DOTNET_STUB_PRECODE, "[precode stub]");
	check_stub(0x4000 + 24 * 5, DOTNET_STUB_FIXUP_PRECODE, "[precode stub]");
	check_stub(0x4000 - 2, DOTNET_STUB_FIXUP_PRECODE, "[precode stub]");
	check_stub(24 * 5, 7, "[resolve stub]");
	dotnet_detach(instance);
}

/* What may be another's, or is no method, has its kind; what may be there a moment later is asked for again. */
EP_TEST(a_precode_without_a_sure_target_has_its_kind)
{
	begin_stubs(10, DOTNET_RANGE_STUBS | DOTNET_RANGE_COLLECTIBLE);
	check_stub(24 * 5, DOTNET_STUB_FIXUP_PRECODE, "[precode stub]");
	dotnet_detach(instance);
	begin_stubs(10, DOTNET_RANGE_STUBS);
	put_precode(24 * 7, DOTNET_STUB_FIXUP_PRECODE, made_method(&made, 1)); /* a DynamicMethod */
	put_precode(24 * 8, DOTNET_STUB_FIXUP_PRECODE, MADE_DATA + AT_NIBBLES);
	put_precode(24 * 9, DOTNET_STUB_FIXUP_PRECODE, 0);
	check_stub(24 * 7, DOTNET_STUB_FIXUP_PRECODE, "[precode stub]");
	check_stub(24 * 8, DOTNET_STUB_FIXUP_PRECODE, "[precode stub]");
	check_stub(24 * 9, DOTNET_STUB_FIXUP_PRECODE, "[precode stub]");
	made.host.memory.n_reads = 0;
	made.host.memory.fail_at = 9;
	made.host.memory.fail_with = -ESRCH;
	assert_int_equal(name(DOTNET_FRAME_STUB, STUBS + 24 * 5, DOTNET_STUB_FIXUP_PRECODE), -ESRCH);
	dotnet_detach(instance);
}

/* Memory of anything else gives no name, and no endless search. */
EP_TEST(rows_that_are_not_there_are_no_names)
{
	begin(10);
	made_half(&made, made_method(&made, 0) - MADE_DATA + made.layout.method_token, 77);
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START, 0), EP_FRAME_GONE);
	assert_int_equal(name(DOTNET_FRAME_JIT, 0x10, 0), EP_FRAME_GONE);
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START + 4, 0), EP_FRAME_GONE);
	dotnet_detach(instance);
}

/* In 8 the word of a MethodTable may be the loader's module: then a slot has the definition's. */
EP_TEST(a_module_of_8_may_be_in_a_slot)
{
	const uint64_t other = AT_TYPE + 0x100;

	begin(8);
	made_int(&made, AT_TYPE, 0x10); /* generic; of what is not there */
	made_word(&made, AT_TYPE + made.layout.table_args, MADE_DATA + other + 0x80);
	made_word(&made, AT_TYPE + made.layout.table_canonical, (MADE_DATA + other) | 1);
	made_word(&made, AT_TYPE + made.layout.table_module, 0x18);
	made_half(&made, other + made.layout.table_flags2, 0x10 | 0x3);
	made_half(&made, other + made.layout.table_virtuals, 9);
	made_word(&made, other + 0x40 + 8 * 2, MADE_DATA + AT_MODULE);
	assert_int_equal(name(DOTNET_FRAME_JIT, MADE_START, 0), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
	dotnet_detach(instance);
}

/* --- lines ------------------------------------------------------------------------------------------------------ */

static const uint8_t pdb_id[20] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 0x11, 0x22, 0x33, 0x44};
static uint8_t pdb[4096];

/* In the image: a debug directory of one entry, that names a file. */
static void say_pdb(const char *path)
{
	const uint64_t image = MADE_IMAGE - MADE_DATA, pe = image + 0x80, at = image + 0xb00;

	made_int(&made, pe + 24 + 112 + 6 * 8, MADE_RVA + 0xb00);
	made_int(&made, pe + 24 + 112 + 6 * 8 + 4, 28);
	made_put(&made, at + 4, pdb_id + 16, 4);
	made_int(&made, at + 8, 0x504d0100);
	made_int(&made, at + 12, 2);
	made_int(&made, at + 20, MADE_RVA + 0xb40);
	made_put(&made, image + 0xb40, "RSDS", 4);
	made_put(&made, image + 0xb44, pdb_id, 16);
	made_put(&made, image + 0xb58, path, strlen(path) + 1);
}

/* Native 8 is IL 0, 0x20 is IL 3; of 10 packed. */
static void say_bounds(uint32_t major)
{
	struct made_bytes bounds = {0}, info = {0};

	made_nibbles(&bounds, 2);
	if (major >= 10) {
		made_nibbles(&bounds, 5);
		made_nibbles(&bounds, 3);
		made_align(&bounds);
	}
	for (uint32_t i = 0; i < 2; i++) {
		if (major >= 10) {
			made_bits(&bounds, 0, 2);
			made_bits(&bounds, i ? 0x18 : 8, 6);
			made_bits(&bounds, i ? 6 : 3, 4);
		} else {
			made_nibbles(&bounds, i ? 0x18 : 8);
			made_nibbles(&bounds, i ? 6 : 3);
			made_nibbles(&bounds, 0);
		}
	}
	made_byte(&info, 0);
	made_nibbles(&info, bounds.n);
	made_nibbles(&info, 0);
	made_put(&made, AT_NAME + 0x400, info.at, info.n);
	made_put(&made, AT_NAME + 0x400 + info.n, bounds.at, bounds.n);
	made_word(&made, AT_HEADER + made.layout.header_debug, MADE_DATA + AT_NAME + 0x400);
}

static int name_at(uint32_t off)
{
	const struct ep_raw_frame frame = {.n_words = 1, .aux = off, .words = {MADE_START}};

	made.host.n_names = 0;
	return dotnet_symbolize(instance, &frame, &made.host.names);
}

static void begin_lines(uint32_t major, const char *path)
{
	made_init(&made, major);
	say_pdb(path);
	say_bounds(major);
	memset(pdb, 0, sizeof(pdb));
	made_pdb(pdb, pdb_id);
	made.host.beside_name = "made.pdb";
	made.host.beside_content = 5;
	fake_memory_add(&made.host.beside, 0, pdb, sizeof(pdb));
	assert_int_equal(dotnet_attach(&made.exe, &made.host.target, &instance), 0);
}

EP_TEST_EACH(a_frame_has_the_line_of_its_offset, uint32_t, i, 3)
{
	begin_lines(8 + i, i == 1 ? "C:\\src\\made.pdb" : "/src/obj/made.pdb");
	assert_int_equal(name_at(0x10), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
	assert_string_equal(made.host.file_name, "/src/one.cs");
	assert_int_equal(made.host.line, 10);
	assert_int_equal(made.host.start_line, 10);
	assert_int_equal(name_at(0x20), 0);
	assert_int_equal(made.host.line, 12);
	dotnet_detach(instance);
}

/* Another one's, or none at all: the name stays. */
EP_TEST(without_its_pdb_a_frame_has_no_line)
{
	begin_lines(10, "made.pdb");
	pdb[MADE_PDB_PDB]++;
	assert_int_equal(name_at(0x10), 0);
	assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
	assert_string_equal(made.host.file_name, "");
	assert_int_equal(made.host.line, 0);
	dotnet_detach(instance);
	begin_lines(10, "other.pdb");
	assert_int_equal(name_at(0x10), 0);
	assert_int_equal(made.host.line, 0);
	dotnet_detach(instance);
}

/* It was written anew while the process runs: it is opened again, and is its own, or not. */
EP_TEST(a_pdb_that_is_replaced_is_read_anew)
{
	begin_lines(10, "made.pdb");
	assert_int_equal(name_at(0x10), 0);
	assert_int_equal(made.host.line, 10);
	made.host.beside_content = 6;
	pdb[MADE_PDB_PDB]++;
	assert_int_equal(name_at(0x10), 0);
	assert_int_equal(made.host.line, 0);
	assert_int_equal(name_at(0x10), 0);
	assert_int_equal(made.host.line, 0);
	dotnet_detach(instance);
}

/* Without a PDB, and with nothing inlined, another offset of a method reads nothing. */
EP_TEST_EACH(offsets_without_lines_are_not_looked_up, uint8_t, is_rich, 2)
{
	const uint8_t flags = (uint8_t)(2 * is_rich);

	begin_lines(10, "made.pdb");
	made.host.beside_name = NULL;
	assert_int_equal(name_at(0x10), 0);
	made_put(&made, AT_NAME + 0x400, &flags, 1);
	for (uint32_t i = 0; i < 2; i++) {
		made.host.memory.n_reads = 0;
		assert_int_equal(name_at(0x20 + 0x10 * i), 0);
		assert_string_equal(made.host.function, "Made.Outer.Inner.Run");
		assert_int_equal(made.host.line, 0);
	}
	assert_int_equal(made.host.memory.n_reads > 0, is_rich);
	dotnet_detach(instance);
}

/* As large as all may be together. */
static const struct dotnet_plain *put_large(void)
{
	uint8_t *bytes = calloc(1, DOTNET_PLAIN_BYTES);

	assert_non_null(bytes);
	return dotnet_plain_put(bytes, DOTNET_PLAIN_BYTES, ep_clock_mono_ns());
}

/* In the image: a second entry, and the PDB deflated after it. */
static void embed_pdb(void)
{
	const uint64_t image = MADE_IMAGE - MADE_DATA, pe = image + 0x80, at = image + 0xb00 + 28;
	uint8_t packed[1024];
	z_stream stream = {.next_in = pdb, .avail_in = MADE_PDB_BYTES, .next_out = packed, .avail_out = sizeof(packed)};

	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	made_int(&made, pe + 24 + 112 + 6 * 8 + 4, 2 * 28);
	made_int(&made, at + 12, 17);
	made_int(&made, at + 16, (uint32_t)stream.total_out + 8);
	made_int(&made, at + 20, MADE_RVA + 0xc00);
	made_put(&made, image + 0xc00, "MPDB", 4);
	made_int(&made, image + 0xc04, MADE_PDB_BYTES);
	made_put(&made, image + 0xc08, packed, stream.total_out);
}

/* Two processes of the same program have its PDB once, and again when it had to go; none is left. */
EP_TEST(processes_share_a_pdb_in_their_image)
{
	const struct dotnet_plain *plain;
	void *other;

	begin_lines(10, "made.pdb");
	made.host.beside_name = NULL;
	embed_pdb();
	other = instance;
	assert_int_equal(dotnet_attach(&made.exe, &made.host.target, &instance), 0);
	for (uint32_t i = 0; i < 2; i++) {
		void *swap = instance;

		assert_int_equal(name_at(0x10), 0);
		assert_string_equal(made.host.file_name, "/src/one.cs");
		assert_int_equal(made.host.line, 10);
		assert_int_equal(dotnet_plain_total(), MADE_PDB_BYTES);
		instance = other;
		other = swap;
	}
	plain = put_large();
	assert_int_equal(dotnet_plain_total(), DOTNET_PLAIN_BYTES);
	dotnet_plain_unref(plain);
	assert_int_equal(name_at(0x20), 0);
	assert_int_equal(made.host.line, 12);
	assert_int_equal(dotnet_plain_total(), MADE_PDB_BYTES);
	dotnet_detach(instance);
	assert_int_equal(dotnet_plain_total(), MADE_PDB_BYTES);
	dotnet_detach(other);
	assert_int_equal(dotnet_plain_total(), 0);
}

/* --- doctor ----------------------------------------------------------------------------------------------------- */

static char advice[512];

static void say(void *arg, const char *found, const char *fix)
{
	(void)arg;
	assert_true(strlen(found) <= 160 && strlen(fix) <= 160);
	strcat(strcat(advice, found), "\n");
}

/* Of its own assembly, if it has none; what comes with the runtime is left out. */
EP_TEST(doctor_says_whose_lines_are_missing)
{
	static const char inlined[] = "methods that the JIT has inlined are part of their callers\n";

	begin_lines(10, "made.pdb");
	*advice = 0;
	assert_int_equal(dotnet_advise(instance, say, NULL), 0);
	assert_string_equal(advice, inlined);
	dotnet_detach(instance);
	begin_lines(10, "other.pdb");
	*advice = 0;
	assert_int_equal(dotnet_advise(instance, say, NULL), 0);
	assert_memory_equal(advice, "the assembly Made has no PDB: its frames have no lines\n", 55);
	assert_string_equal(advice + 55, inlined);
	memcpy(made.data + AT_SIMPLE, "System", 7);
	made.data[AT_NAME + 0x400] = 2; /* rich */
	*advice = 0;
	assert_int_equal(dotnet_advise(instance, say, NULL), 0);
	assert_string_equal(advice, "");
	dotnet_detach(instance);
}
