/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What of the walk no recorded process shows, compiled for user space: compiled code that was
 * interrupted at each instruction where its frame is half made or gone, and how long what was read
 * of a Method holds.
 *
 *	heap	two blocks: the method that was interrupted, and the one that called it
 *	stack	each word that may be taken for the return address leads to another place in
 *		the caller
 */
#define EP_SHIM_OBJECT "test"
#include "plugins/hotspot/hotspot_unwind.bpf.c"

#define WORLD_STATE struct hotspot_state
#include "core/base/util.h"
#include "tests/kit/world.h"

#define SLOT	    5u
#define INTERPRETER 0x10000000ull
#define HEAP	    0x20000000ull
#define SEGMAP	    0x30000000ull
#define OBJECTS	    0x40000000ull
#define STACK	    0x7f0000000000ull
#define NATIVE	    0x500000ull /* remembered nowhere */
#define BLOCK_BYTES 0x200u
#define LOG2	    6	  /* of a segment's bytes */
#define CODE_OFF    0x80u /* from the CodeBlob, which begins 8 bytes after its block does */
#define LEAF	    (HEAP + 8)
#define CALLER	    (HEAP + BLOCK_BYTES + 8)

/* Structures of the VM, and in them what the state says. */
#define COUNTER (OBJECTS + 0x10)
#define METHOD	(OBJECTS + 0x100)
#define CONST	(OBJECTS + 0x200)
#define QUAD	(CONST + 32)

static struct hotspot_field field(uint16_t off, uint8_t bytes)
{
	return (struct hotspot_field){.off = off, .shift = (uint8_t)(64 - 8 * bytes)};
}

static void put_state(void)
{
	world.state = (struct hotspot_state){
		.safepoints_at = COUNTER,
		.name = field(8, 8),
		.kind = field(52, 1),
		.has_kind = 1,
		.blobs = {[1] = HOTSPOT_BLOB_METHOD},
		.code_begin = field(24, 4),
		.code_end = field(28, 4),
		.relative = 1,
		.frame_complete = field(48, 2),
		.frame_size = field(32, 4),
		.method = field(64, 8),
		.compile_id = field(72, 4),
		.deopt = field(0, 0),
		.deopt_mh = field(0, 0),
		.orig_pc = field(0, 0),
		.block_bytes = 8 + 76,
		.block_header_bytes = 8,
		.block_length_shift = 32,
		.block_used_off = 4,
		.sender_sp_slot = -1,
		.method_slot = -3,
		.bcp_slot = -8,
		.method_const = 8,
		.const_bytes = 48,
		.const_code_size = QUAD - CONST,
	};
}

/* A method whose frame has so many words. */
static void put_block(uint64_t blob, uint32_t words, uint32_t id)
{
	world_put(blob - 8, 1ull << 32 | BLOCK_BYTES >> LOG2);
	world_put_int(blob + 24, CODE_OFF);
	world_put_int(blob + 28, BLOCK_BYTES - 8);
	world_put_int(blob + 32, words);
	world_put_int(blob + 48, 16);
	world_put(blob + 64, METHOD + id * 8);
	world_put_int(blob + 72, id);
	world_put_int(blob + 52, 1);
	for (uint32_t i = 1; i < BLOCK_BYTES >> LOG2; i++)
		world_put_bytes(SEGMAP + ((blob - HEAP) >> LOG2) + i, &(uint8_t){1}, 1);
}

static void put_ranges(void)
{
	struct ep_code_index *index = (void *)world.chunk;
	struct ep_code *codes = (void *)(world.chunk + 4);

	index->of[0].first = 1;
	index->of[0].n = 2;
	codes[0] = (struct ep_code){
		.start = INTERPRETER,
		.end = INTERPRETER + 0x1000,
		.data = (uint64_t)HOTSPOT_CODE_INTERPRETER << HOTSPOT_CODE_SHIFT |
			HOTSPOT_RULE(2, EP_REG_FP, 2, HOTSPOT_RULE_ON_STACK, HOTSPOT_METHOD_FRAME)};
	codes[1] = (struct ep_code){.start = HEAP,
				    .end = HEAP + 2 * BLOCK_BYTES,
				    .data = (uint64_t)LOG2 << HOTSPOT_SEGMENT_SHIFT |
					    ((SEGMAP - (HEAP >> LOG2)) & HOTSPOT_SEGMAP_MASK)};
}

/* Interrupted at pc. */
static void begin_sample(uint64_t pc)
{
	world_begin_sample();
	WALK->core.entered = EP_ENTERED;
	WALK->known_regs = EP_KNOWN_ALL;
	WALK->interrupted = 1;
	WALK->pc = pc;
	WALK->regs[EP_REG_SP] = STACK + 0x240;
	WALK->regs[EP_REG_FP] = STACK + 0x300;
}

static int begin(void **state)
{
	static struct hotspot_scratch scratch;

	world_begin(SLOT, EP_ENTER_FRAMES);
	world_add_memory(HEAP - 0x100, 2 * BLOCK_BYTES + 0x200);
	world_add_memory(SEGMAP - HOTSPOT_HOPS, 2 * HOTSPOT_HOPS);
	world_add_memory(OBJECTS, 0x1000);
	world_add_memory(STACK, 0x1000);
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	put_state();
	put_ranges();
	for (uint64_t at = STACK; at < STACK + 0x1000; at += 8)
		world_put(at, NATIVE);
	return 0;
}

static void say_frame(uint64_t header, const __u64 *words)
{
	world_add_text("%x %llx+%x\n", HOTSPOT_FRAME(EP_FRAME_FLAGS(header)), words[0],
		       EP_FRAME_AUX(header));
}

/* --- compiled code --- */

/* Where the return address is: at sp, above the saved rbp, or where the whole frame has it. */
enum at { LEFT = 0, PUSHED = 8, WHOLE = 40 };

#define ROW(at, before, after)                                                                     \
	{                                                                                          \
		at, before, sizeof(before) - 1, after, sizeof(after) - 1                           \
	}

EP_TEST(half_made_frames_are_told_by_their_code)
{
	static const struct {
		enum at at;
		const char *before;
		size_t n_before;
		const char *after; /* the pc */
		size_t n_after;
	} rows[] = {
		ROW(WHOLE, "\x90", "\x90"),
		/* push rbp | sub rsp, n; push rbp | mov rbp, rsp | sub rsp, n */
		ROW(LEFT, "", "\x55\x48\x83\xec\x20"),
		ROW(PUSHED, "\x55", "\x48\x83\xec\x20"),
		ROW(LEFT, "", "\x55\x48\x81\xec\0\1\0\0"),
		ROW(PUSHED, "\x55", "\x48\x81\xec\0\1\0\0"),
		ROW(LEFT, "", "\x55\x48\x8b\xec\x48\x83\xec\x20"),
		ROW(PUSHED, "\x55", "\x48\x8b\xec\x48\x83\xec\x20"),
		ROW(PUSHED, "\x55\x48\x8b\xec", "\x48\x83\xec\x20"),
		ROW(LEFT, "", "\x89\x84\x24\0\0\xff\xff\x55"),
		/* add rsp, n | pop rbp | poll of 17 and newer | ret */
		ROW(WHOLE, "", "\x48\x83\xc4\x20\x5d\x49\x3b\xa7\1\2\3\4\x0f\x87\1\2\3\4\xc3"),
		ROW(PUSHED, "\x48\x83\xc4\x20", "\x5d\x49\x3b\xa7\1\2\3\4\x0f\x87\1\2\3\4\xc3"),
		ROW(LEFT, "\x48\x83\xc4\x20\x5d", "\x49\x3b\xa7\1\2\3\4\x0f\x87\1\2\3\4\xc3"),
		ROW(LEFT, "\x49\x3b\xa7\1\2\3\4", "\x0f\x87\1\2\3\4\xc3"),
		ROW(LEFT, "\x90", "\xc3"),
		/* of 8 and 11 */
		ROW(LEFT, "\x48\x83\xc4\x20\x5d", "\x85\x05\1\2\3\4\xc3"),
		ROW(LEFT, "\x5d", "\x85\x05\1\2\3\4\xc3"),
		ROW(LEFT, "\x5d", "\x49\xba\1\2\3\4\5\6\7\x08\x41\x85\x02\xc3"),
		ROW(LEFT, "\x5d", "\x4d\x8b\x97\1\2\3\4\x41\x85\x02\xc3"),
		ROW(LEFT, "\x90", "\x41\x85\x02\xc3"),
		/* with REX2; a jump in place of the return */
		ROW(PUSHED, "\x48\x83\xc4\x20", "\xd5\x08\x5d\xe9"),
		ROW(LEFT, "\x48\x83\xc4\x20\xd5\x08\x5d", "\xe9"),
		ROW(LEFT, "\x48\x81\xc4\0\1\0\0\x5d", "\xe9"),
		/* leave, after a mov dword [rcx + x], 0 */
		ROW(LEFT, "\0\0\0\0\xc9", "\x90"),
		/* the polls' stub */
		ROW(LEFT, "", "\x4c\x8d\x15\1\2\3\4\x4d\x89\x97\1\2\3\4\xe9"),
		ROW(LEFT, "\x4c\x8d\x15\1\2\3\4", "\x4d\x89\x97\1\2\3\4\xe9"),
		/* the stub of a call to the interpreter, before another one or the handler */
		ROW(LEFT, "\xf4", "\x48\xbb\1\2\3\4\5\6\7\x08\xe9\1\2\3\4\xe9"),
		ROW(LEFT, "\xf4", "\x48\xbb\1\2\3\4\5\6\7\x08\xe9\1\2\3\4\x48\xbb"),
		ROW(LEFT, "\x48\xbb\1\2\3\4\5\6\7\x08", "\xe9\1\2\3\4\xe9"),
		ROW(LEFT, "\x48\xbb\1\2\3\4\5\6\7\x08", "\xe9\1\2\3\4\x48\xbb"),
		ROW(WHOLE, "\x90", "\x48\xbb\1\2\3\4\5\6\7\x08\xe9\1\2\3\4\x48\x8b"),
		/* is there an exception? */
		ROW(LEFT, "\x90", "\x49\x83\x7f\x08\0\x0f\x85\1\2\3\4\xc3"),
		ROW(LEFT, "\x90", "\x75\x10\xc3"),
	};
	const uint64_t pc = LEAF + CODE_OFF + 0x60;

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		char expected[128];

		begin(NULL);
		put_block(LEAF, 6, 1);
		put_block(CALLER, 4, 2);
		begin_sample(pc);
		for (uint32_t at = 0; at < 64; at += 8) {
			uint64_t to = CALLER + CODE_OFF + 0x20 + at;
			int32_t rel = (int32_t)(LEAF + CODE_OFF - to);

			world_put(STACK + 0x240 + at, to);
			world_put_bytes(to - 5, "\xe8", 1);
			world_put_bytes(to - 4, &rel, 4);
		}
		for (uint64_t at = pc - 32; at < pc + 32; at++)
			world_put_bytes(at, "\x90", 1);
		world_put_bytes(pc - rows[i].n_before, rows[i].before, rows[i].n_before);
		world_put_bytes(pc, rows[i].after, rows[i].n_after);
		(void)world_run(hotspot_unwind);
		snprintf(expected, sizeof(expected), "0 %llx+%x\n0 %llx+%x\n", LEAF,
			 CODE_OFF + 0x60, CALLER, CODE_OFF + 0x20 + rows[i].at);
		/* No Java has called the caller. */
		if (strncmp(world_say(say_frame), expected, strlen(expected)) != 0)
			fail_msg("row %zu: %s", i, world.text);
	}
}

/* --- interpreted code --- */

/* Word 1 of the frame, which says what the Method is. */
static uint64_t interpreted_word(uint32_t image, uint32_t counter, uint64_t quad)
{
	const uint64_t fp = STACK + 0x300;

	world_put(METHOD + 8, CONST);
	world_put(QUAD, quad);
	world_put(COUNTER, counter);
	world_put(fp, STACK + 0x400);
	world_put(fp - 8, STACK + 0x320);
	world_put(fp - 24, METHOD);
	world_put(fp - 64, CONST + 48 + 5);
	begin_sample(INTERPRETER + 0x100);
	REC->sample.image = image;
	(void)world_run(hotspot_unwind);
	assert_int_equal(HOTSPOT_FRAME(EP_FRAME_FLAGS(REC->words[0])), HOTSPOT_FRAME_INTERPRETED);
	assert_int_equal(EP_FRAME_AUX(REC->words[0]), 5);
	assert_int_equal(REC->words[1], METHOD);
	return REC->words[2];
}

EP_TEST_WITH(a_method_holds_for_its_process_until_a_safepoint, begin, NULL)
{
	uint64_t word = interpreted_word(1, 7, 0x10);

	assert_int_equal(interpreted_word(1, 7, 0x20), word); /* is not read again */
	assert_int_not_equal(interpreted_word(1, 8, 0x20), word);
	word = interpreted_word(1, 9, 0x30);
	assert_int_not_equal(interpreted_word(2, 9, 0x40), word);
	/* Without a counter it holds for one sample. */
	world.state.safepoints_at = 0;
	word = interpreted_word(2, 9, 0x50);
	assert_int_not_equal(interpreted_word(2, 9, 0x60), word);
}

/* What was read of a stack holds no longer where a read has failed since. */
EP_TEST(a_window_that_could_not_be_read_is_empty)
{
	struct ep_window window = {.sequence = 1};
	uint64_t words[4];

	begin(NULL);
	assert_true(ep_window_see(&window, (__u64 *)words, sizeof(words), 1, STACK, 16));
	assert_false(ep_window_see(&window, (__u64 *)words, sizeof(words), 1, NATIVE, 16));
	assert_false(ep_window_see(&window, (__u64 *)words, sizeof(words), 1, NATIVE, 16));
	assert_true(ep_window_see(&window, (__u64 *)words, sizeof(words), 1, STACK, 16));
}
