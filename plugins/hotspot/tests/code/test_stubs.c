/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter of two codelets and a heap of four blocks: names, ranges, and memory that is
 * wrong. */
#include "plugins/hotspot/code/stubs_internal.h"
#include "plugins/hotspot/hotspot_shared.h"
#include "tests/kit/memory.h"
#include "tests/kit/test.h"

#define WORLD_ADDR  0x7f0000000000ull
#define WORLD_BYTES 65536u

enum {
	/* Statics, one word each. */
	AT_INTERPRETER = 0,
	AT_HEAPS = 8,
	AT_CALL_STUB = 16,
	AT_SIN = 24,
	QUEUE = 0x100,
	CODELETS = 0x1000,
	ARRAY = 0x200,
	HEAP = 0x300,
	NAMES = 0x600,
	BLOCKS = 0x4000,
};

static uint8_t world[WORLD_BYTES];
static struct fake_memory fake;
static const struct memory memory = { fake_memory_read, &fake };
static struct hotspot_layout layout;

static void set_field(enum hotspot_field_id id, uint16_t off, uint8_t bytes)
{
	layout.fields[id] = (struct hotspot_member){
		.off = off, .bytes = bytes, .is_signed = bytes == 4, .has = true};
}

/* As 21 has it. */
static void set_layout(void)
{
	layout = (struct hotspot_layout){ 0 };
	layout.statics[HOTSPOT_S_interpreter] = WORLD_ADDR + AT_INTERPRETER;
	layout.statics[HOTSPOT_S_heaps] = WORLD_ADDR + AT_HEAPS;
	layout.statics[HOTSPOT_S_call_stub_return] = WORLD_ADDR + AT_CALL_STUB;
	layout.statics[HOTSPOT_S_stub_dsin] = WORLD_ADDR + AT_SIN;
	set_field(HOTSPOT_F_queue_buffer, 8, 8);
	set_field(HOTSPOT_F_queue_end, 28, 4);
	set_field(HOTSPOT_F_codelet_description, 0, 8);
	set_field(HOTSPOT_F_codelet_size, 8, 4);
	layout.sizes[HOTSPOT_Z_codelet_bytes] = 16;
	set_field(HOTSPOT_F_array_len, 0, 4);
	set_field(HOTSPOT_F_array_data, 8, 8);
	set_field(HOTSPOT_F_heap_memory, 0, 0);
	set_field(HOTSPOT_F_heap_log2_segment, 248, 4);
	set_field(HOTSPOT_F_space_low, 16, 8);
	set_field(HOTSPOT_F_space_high, 24, 8);
	set_field(HOTSPOT_F_block_length, 0, 8);
	set_field(HOTSPOT_F_block_used, 8, 1);
	layout.sizes[HOTSPOT_Z_block_bytes] = 16;
	set_field(HOTSPOT_F_blob_code_begin, 8, 8);
	set_field(HOTSPOT_F_blob_code_end, 16, 8);
	set_field(HOTSPOT_F_blob_name, 64, 8);
}

static void put(size_t at, uint64_t value, size_t bytes)
{
	memcpy(world + at, &value, bytes);
}

static uint64_t put_name(size_t at, const char *name)
{
	memcpy(world + NAMES + at, name, strlen(name) + 1);
	return WORLD_ADDR + NAMES + at;
}

static void put_codelet(size_t at, size_t size, uint64_t name, const uint8_t *code, size_t bytes)
{
	put(CODELETS + at, name, 8);
	put(CODELETS + at + 8, size, 4);
	memcpy(world + CODELETS + at + 32, code, bytes);
}

/* A block of n segments of 128 bytes; code begins 128 bytes after its CodeBlob. */
static void put_block(size_t at, size_t n, uint64_t name, const uint8_t *code, size_t bytes)
{
	size_t blob = BLOCKS + at + 16;

	put(BLOCKS + at, n, 8);
	put(BLOCKS + at + 8, name != 0, 1);
	put(blob + 8, WORLD_ADDR + blob + 112, 8);
	put(blob + 16, WORLD_ADDR + blob + 112 + bytes, 8);
	put(blob + 64, name, 8);
	memcpy(world + blob + 112, code, bytes);
}

/* push rbp; mov rbp, rsp; leave; ret */
static const uint8_t with_fp[] = { 0x55, 0x48, 0x8b, 0xec, 0xc9, 0xc3 };
/* pop rax; push rax; jmp rax */
static const uint8_t entry[] = { 0x58, 0x50, 0xff, 0xe0 };
/* inc r13; jmp rax */
static const uint8_t bytecode[] = { 0x49, 0xff, 0xc5, 0xff, 0xe0 };

static void put_world(void)
{
	uint8_t stubs[64];

	memset(world, 0, sizeof(world));
	put(AT_INTERPRETER, WORLD_ADDR + QUEUE, 8);
	put(QUEUE + 8, WORLD_ADDR + CODELETS, 8);
	put(QUEUE + 28, 256, 4);
	put_codelet(0, 128, put_name(0, "iload_0"), bytecode, sizeof(bytecode));
	put_codelet(128, 128, put_name(32, "method entry point (kind = zerolocals)"), entry,
		    sizeof(entry));
	put(AT_HEAPS, WORLD_ADDR + ARRAY, 8);
	put(ARRAY, 1, 4);
	put(ARRAY + 8, WORLD_ADDR + ARRAY + 32, 8);
	put(ARRAY + 32, WORLD_ADDR + HEAP, 8);
	put(HEAP + 16, WORLD_ADDR + BLOCKS, 8);
	put(HEAP + 24, WORLD_ADDR + BLOCKS + 0x2000, 8);
	put(HEAP + 248, 7, 4);
	/* Two stubs, 16 bytes apart: the first is the call stub. */
	memset(stubs, 0x90, sizeof(stubs));
	memcpy(stubs, with_fp, sizeof(with_fp));
	memcpy(stubs + 16, with_fp, sizeof(with_fp));
	memcpy(stubs + 32, with_fp, sizeof(with_fp));
	put_block(0, 2, put_name(96, "StubRoutines (1)"), stubs, 48);
	put(AT_CALL_STUB, WORLD_ADDR + BLOCKS + 128 + 4, 8);
	put(AT_SIN, WORLD_ADDR + BLOCKS + 128 + 16, 8);
	put_block(256, 2, put_name(128, "nmethod"), with_fp, sizeof(with_fp));
	put_block(512, 2, 0, with_fp, sizeof(with_fp));
	put_block(768, 2, put_name(160, "new_instance Runtime1 stub"), with_fp, sizeof(with_fp));
}

static int begin(void **state)
{
	fake = (struct fake_memory){ 0 };
	fake_memory_add(&fake, WORLD_ADDR, world, WORLD_BYTES);
	set_layout();
	put_world();
	return 0;
}

EP_TEST_RELEASES(hotspot_stubs_free)

static struct hotspot_stubs *read_stubs(const struct hotspot_named_address *names, size_t n,
					const struct hotspot_stubs *earlier)
{
	struct hotspot_stubs *stubs = NULL;

	assert_int_equal(hotspot_stubs_read(&memory, &layout, names, n, earlier, &stubs), 0);
	ep_test_owns(stubs, hotspot_stubs_free_made);
	return stubs;
}

static uint64_t data_at(const struct hotspot_stubs *stubs, uint64_t addr)
{
	const struct ep_range *ranges;
	size_t n = hotspot_stubs_ranges(stubs, &ranges);

	for (size_t i = 0; i < n; i++)
		if (addr >= ranges[i].start && addr < ranges[i].end)
			return ranges[i].data;
	return 0;
}

EP_TEST_WITH(what_is_there_is_found, begin, NULL)
{
	struct hotspot_stubs *stubs = read_stubs(NULL, 0, NULL);
	const struct ep_range *ranges;
	uint64_t code = WORLD_ADDR + BLOCKS + 128;
	size_t n;

	assert_string_equal(hotspot_stubs_name(stubs, WORLD_ADDR + CODELETS + 33), "Interpreter");
	assert_string_equal(hotspot_stubs_name(stubs, WORLD_ADDR + CODELETS + 160),
			    "method entry point (kind = zerolocals)");
	assert_string_equal(hotspot_stubs_name(stubs, code), "call_stub");
	assert_string_equal(hotspot_stubs_name(stubs, code + 16), "dsin");
	assert_string_equal(hotspot_stubs_name(stubs, code + 33), "StubRoutines (1)");
	assert_string_equal(hotspot_stubs_name(stubs, code + 768), "new_instance Runtime1 stub");
	assert_null(hotspot_stubs_name(stubs, code + 256)); /* a method */
	assert_null(hotspot_stubs_name(stubs, code + 512)); /* free */
	assert_null(hotspot_stubs_name(stubs, 0));
	assert_int_equal(data_at(stubs, WORLD_ADDR + CODELETS + 33) >> HOTSPOT_CODE_SHIFT,
			 HOTSPOT_CODE_INTERPRETER);
	assert_int_equal(HOTSPOT_RULE_METHOD(data_at(stubs, WORLD_ADDR + CODELETS + 33)),
			 HOTSPOT_METHOD_FRAME);
	assert_int_equal(HOTSPOT_RULE_METHOD(data_at(stubs, WORLD_ADDR + CODELETS + 160)),
			 HOTSPOT_METHOD_ENTRY);
	assert_int_equal(HOTSPOT_RULE_RETURN_IN(data_at(stubs, WORLD_ADDR + CODELETS + 161)), 0);
	assert_int_equal(data_at(stubs, code + 16 + 4) >> HOTSPOT_CODE_SHIFT, HOTSPOT_CODE_STUB);
	assert_int_equal(HOTSPOT_RULE_BASE(data_at(stubs, code + 16 + 4)), 6);
	n = hotspot_stubs_ranges(stubs, &ranges);
	for (size_t i = 0; i < n; i++) {
		assert_true(ranges[i].start < ranges[i].end);
		assert_true(!i || ranges[i - 1].end <= ranges[i].start);
		assert_int_equal(ranges[i].mode, EP_RANGE_ENTER);
	}
}

EP_TEST_WITH(names_of_symbols_are_taken, begin, NULL)
{
	struct hotspot_stubs *stubs = NULL;
	uint64_t code = WORLD_ADDR + BLOCKS + 128;
	const struct hotspot_named_address names[] = {
		{ code, "_ZN12StubRoutines16_call_stub_entryE" },
		{ code + 16, "StubRoutines::x86::_k256_adr" },
		{ code + 32, "StubRoutines::_sha256_implCompress" },
		{ code + 40, "_ZN99" },
	};

	layout.statics[HOTSPOT_S_stub_dsin] = 0;
	stubs = read_stubs(names, 4, NULL);
	assert_string_equal(hotspot_stubs_name(stubs, code), "call_stub");
	assert_string_equal(hotspot_stubs_name(stubs, code + 16), "StubRoutines (1)");
	assert_string_equal(hotspot_stubs_name(stubs, code + 32), "sha256_implCompress");
}

/* Its code begins in a frame that another stub has made: the rule of its first instruction is by
 * fp. */
EP_TEST_WITH(exceptions_are_forwarded_in_a_frame, begin, NULL)
{
	static const char *const names[] = {"forward_exception Runtime1 stub",
					    "C1 Runtime forward_exception_blob",
					    "forward_exception_blob (C1 runtime)"};
	uint64_t code = WORLD_ADDR + BLOCKS + 128;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct hotspot_stubs *stubs;

		begin(NULL);
		put_block(1024, 2, put_name(192, names[i]), with_fp, sizeof(with_fp));
		stubs = read_stubs(NULL, 0, NULL);
		assert_string_equal(hotspot_stubs_name(stubs, code + 1024), names[i]);
		assert_int_equal(HOTSPOT_RULE_BASE(data_at(stubs, code + 1024)), 6);
		assert_int_equal(HOTSPOT_RULE_BASE(data_at(stubs, code + 768)), 7);
	}
}

/* Ranges of what was read earlier say 1 more than the code does: who takes them has that, too. */
#define MARK ((uint64_t)1 << HOTSPOT_CODE_SHIFT)

static struct hotspot_stubs *read_marked(void)
{
	struct hotspot_stubs *stubs = read_stubs(NULL, 0, NULL);

	for (size_t i = 0; i < stubs->n_ranges; i++)
		stubs->ranges[i].data ^= MARK;
	return stubs;
}

EP_TEST_WITH(what_did_not_change_is_taken, begin, NULL)
{
	struct hotspot_stubs *earlier = read_marked(), *again = read_stubs(NULL, 0, earlier);

	assert_int_equal(again->n_ranges, earlier->n_ranges);
	assert_memory_equal(again->ranges, earlier->ranges,
			    again->n_ranges * sizeof(*again->ranges));
	assert_int_equal(again->n_pieces, earlier->n_pieces);
	for (size_t i = 0; i < again->n_pieces; i++) {
		assert_int_equal(again->pieces[i].start, earlier->pieces[i].start);
		assert_int_equal(again->pieces[i].end, earlier->pieces[i].end);
		assert_string_equal(again->names + again->pieces[i].name,
				    earlier->names + earlier->pieces[i].name);
	}
	assert_int_equal(again->kept.len, earlier->kept.len);
}

/* One byte of a stub, of a codelet, or the name that another blob has at the same place. */
EP_TEST_WITH(what_changed_is_followed, begin, NULL)
{
	struct hotspot_stubs *whole = read_stubs(NULL, 0, NULL);
	struct hotspot_stubs *earlier = read_marked(), *again;
	uint64_t code = WORLD_ADDR + BLOCKS + 128, codelet = WORLD_ADDR + CODELETS + 33;

	world[BLOCKS + 128 + 47] ^= 1; /* padding after the last stub */
	again = read_stubs(NULL, 0, earlier);
	assert_int_equal(data_at(again, code + 16 + 4), data_at(whole, code + 16 + 4));
	assert_int_equal(data_at(again, codelet), data_at(whole, codelet) ^ MARK);
	assert_int_equal(data_at(again, code + 768), data_at(whole, code + 768) ^ MARK);
	world[CODELETS + 127] ^= 1; /* the last of the first codelet */
	put_name(160, "forward_exception Runtime1 stub");
	again = read_stubs(NULL, 0, earlier);
	assert_int_equal(data_at(again, codelet), data_at(whole, codelet));
	assert_int_equal(data_at(again, codelet + 127), data_at(whole, codelet + 127) ^ MARK);
	assert_string_equal(hotspot_stubs_name(again, code + 768),
			    "forward_exception Runtime1 stub");
	assert_int_not_equal(data_at(again, code + 768), data_at(earlier, code + 768));
	put(AT_SIN, 0, 8); /* a variable that is set later */
	earlier = read_stubs(NULL, 0, NULL);
	assert_string_equal(hotspot_stubs_name(earlier, code + 16), "StubRoutines (1)");
	put(AT_SIN, code + 16, 8);
	assert_string_equal(hotspot_stubs_name(read_stubs(NULL, 0, earlier), code + 16), "dsin");
}

EP_TEST_WITH(an_interpreter_that_is_not_there_is_waited_for, begin, NULL)
{
	struct hotspot_stubs *stubs = NULL;

	put(AT_INTERPRETER, 0, 8);
	assert_int_equal(hotspot_stubs_read(&memory, &layout, NULL, 0, NULL, &stubs), EP_NOT_YET);
	put(AT_INTERPRETER, 0x10, 8);
	assert_int_equal(hotspot_stubs_read(&memory, &layout, NULL, 0, NULL, &stubs), -EFAULT);
	layout.statics[HOTSPOT_S_interpreter] = 0;
	assert_int_equal(hotspot_stubs_read(&memory, &layout, NULL, 0, NULL, &stubs), -ENOTSUP);
	assert_null(stubs);
}
