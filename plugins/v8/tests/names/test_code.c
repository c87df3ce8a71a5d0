/* SPDX-License-Identifier: Apache-2.0 */
/* Names of compiled code, what is inlined in it, and what it would deoptimize to, over heaps that
 * are made up. */
#include "plugins/v8/tests/names/made_names.h"
#include "tests/kit/test.h"

#define F_RETURN "f 2:3 /a.js [1]"
#define F_CALL	 "f 2:10 /a.js [1]"
#define G	 "g 4:17 /a.js [4]"

VERSION_TEST(names_inlined_functions)
{
	uint64_t start = make_optimized(world, NULL);
	struct ep_raw_frame frame = frame_of(&world->heap, V8_FRAME_COMPILED, world->f, start, 0);
#define AT_RETURN(off)                                                                             \
	(frame.words[2] = start + (off), frame.flags = V8_FRAME_COMPILED << V8_FRAME_SHIFT)
#define AT_LEAF(off) (AT_RETURN(off), frame.flags |= EP_FRAME_INTERRUPTED)
	AT_RETURN(15);
	assert_named(world, &frame, G "; " F_RETURN);
	AT_RETURN(20); /* the call before it is the first one's */
	assert_named(world, &frame, G "; " F_RETURN);
	AT_RETURN(25);
	assert_named(world, &frame, G "; " F_CALL);
	AT_RETURN(35);
	assert_named(world, &frame, F_CALL);
	AT_RETURN(5);
	assert_named(world, &frame, F_START);
	/* Between two that do not agree: only what both share. */
	AT_LEAF(15);
	assert_named(world, &frame, F_RETURN);
	AT_LEAF(42);
	assert_named(world, &frame, G "; " F_CALL);
	AT_LEAF(50);
	assert_named(world, &frame, F_CALL);
	frame.words[2] = start + 4000; /* in no code */
	assert_named(world, &frame, "f 1:0 /a.js [1]?");
}

/*
 * Who asks again may mean other code: the core asks once for the same words, and again when its
 * table was full. Of a process that has gone a function that was known has its name.
 */
VERSION_TEST(reads_compiled_frames_each_time)
{
	uint64_t start = make_optimized(world, NULL);
	struct ep_raw_frame frame =
		frame_of(&world->heap, V8_FRAME_COMPILED, world->f, start + 15, 0);
	struct taken taken;
	uint8_t *code =
		world->heap.bytes + (start - BASE - (uint32_t)world->heap.layout.code_first);
	uint8_t head[8];

	assert_named(world, &frame, G "; " F_RETURN);
	memcpy(head, code, sizeof(head));
	memset(code, 0xcc, sizeof(head)); /* it is no code object any more */
	assert_named(world, &frame, "f 1:0 /a.js [1]?");
	memcpy(code, head, sizeof(head));
	assert_named(world, &frame, G "; " F_RETURN);
	world->heap.fail_with = -ESRCH;
	world->heap.fail_at = world->heap.n_reads + 1;
	assert_named(world, &frame, "f 1:0 /a.js [1]?");
	put32(&world->heap, world->f, world->heap.layout.sfi_literal_id, 99);
	put32(&world->heap, world->f, world->heap.layout.sfi_unique_id, 99);
	assert_int_equal(name(world, &frame, &taken), EP_FRAME_GONE);
}

/*
 * 6.2, 6.8: the interpreter may not be known to BPF; its code is a builtin's, the offset comes
 * along. Later ones are always known, aux is none: the function has a line, but not a bytecode's.
 */
VERSION_TEST(places_what_the_heaps_interpreter_runs)
{
	struct made_code made = {.bytes = 64, .kind = world->heap.layout.code_builtin_kind};
	struct ep_raw_frame frame;
	uint64_t code, start = new_code(&world->heap, &made, &code);

	frame = frame_of(&world->heap, V8_FRAME_COMPILED, world->f, start + 9, 7);
	assert_named(world, &frame, world->heap.layout.version.major < 7 ? F_CALL :
									   "f 1:0 /a.js [1]?");
	frame.aux = V8_OFFSET_UNKNOWN;
	assert_named(world, &frame, "f 1:0 /a.js [1]?");
}

VERSION_TEST(names_no_inlined_function_of_other_code)
{
	uint64_t start = make_optimized(world, NULL);
	struct made_function made = {.script = world->script, .literal = 9, .unique_id = 99,
				     .bytecodes = world->bytecodes,
				     .scope = {.start = AT("(a)"), .end = 30}};
	struct ep_raw_frame frame;

	made.scope.name = one_byte(&world->heap, "other");
	frame = frame_of(&world->heap, V8_FRAME_COMPILED, new_function(&world->heap, &made),
			 start + 15, 0);
	assert_named(world, &frame, "other 1:0 /a.js [1]?");
}

static void put_le(uint8_t *to, uint32_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

/* Two returns at 15 and 25, whose trampolines are at 56 and 60. */
static uint32_t make_safepoints(const struct v8_layout *layout, uint8_t table[128])
{
	static const uint8_t pairs[][2] = {{15, 56}, {25, 60}};
	uint32_t at = layout->safepoint_shape == 2 ? 4 : 0;

	memset(table, 0, 128);
	put_le(table + at, 2, 4);
	if (layout->safepoint_shape == 0) {
		for (uint32_t i = 0; i < 2; i++) {
			put_le(table + 8 + 12 * i, pairs[i][0], 4);
			put_le(table + 16 + 12 * i, pairs[i][1], 4);
		}
		return 32;
	}
	put_le(table + at + 4, 1 | 1 << 1 | 2 << 4 | 1 << 7, 4); /* registers 1, pc 2, index 1 */
	for (uint32_t i = 0; i < 2; i++) {
		put_le(table + at + 8 + 6 * i, pairs[i][0], 2);
		put_le(table + at + 8 + 6 * i + 2, i + 1, 1);
		put_le(table + at + 8 + 6 * i + 3, pairs[i][1] + 1u, 2);
	}
	return at + 8 + 12;
}

/* ---- what code would deoptimize to ---- */

#define N_EXITS 3
#define EXIT(i) (48 + 5 * (i)) /* of a code's 64 bytes */

/* A translation's opcodes, how many operands they have, and how it is written: 6.2 to 14.6. */
static const struct writing {
	uint8_t begin, begin_operands, frame, frame_operands;
	bool low_bit, is_byte;
} writings[N_VERSIONS] = {
	{0, 2, 1, 3, true, false},  {0, 3, 1, 3, true, false},	{0, 3, 1, 5, true, false},
	{0, 3, 1, 5, true, false},  {3, 3, 18, 5, false, false}, {3, 3, 18, 5, false, false},
	{2, 3, 23, 5, false, true}, {12, 3, 0, 5, false, true}, {14, 3, 0, 6, false, true},
	{14, 3, 0, 6, false, true},
};

struct written {
	const struct writing *how;
	uint8_t bytes[128];
	uint32_t n;
};

static void write_number(struct written *to, uint32_t value)
{
	do {
		uint8_t more = value > 0x7f;

		to->bytes[to->n++] = to->how->low_bit ? (uint8_t)(value << 1 | more) :
							(uint8_t)((value & 0x7f) | more << 7);
		value >>= 7;
	} while (value);
}

static void write_opcode(struct written *to, uint32_t opcode)
{
	if (to->how->is_byte)
		to->bytes[to->n++] = (uint8_t)opcode;
	else
		write_number(to, opcode << 1);
}

/* A function at a bytecode. */
static void write_frame(struct written *to, uint32_t bytecode_off, uint32_t literal)
{
	write_opcode(to, to->how->frame);
	write_number(to, bytecode_off << 1);
	write_number(to, literal << 1);
	for (uint32_t i = 2; i < to->how->frame_operands; i++)
		write_number(to, 0);
}

/* Functions at bytecodes, of these literals, outermost first. Where it begins. */
static uint32_t write_translation(struct written *to, const uint32_t (*frames)[2], uint32_t n)
{
	uint32_t at = to->n;

	write_opcode(to, to->how->begin);
	if (to->how->is_byte)
		write_number(to, 0); /* looks back at none */
	write_number(to, n << 1);
	write_number(to, n << 1);
	if (to->how->begin_operands == 3 && !to->how->is_byte)
		write_number(to, 0);
	for (uint32_t i = 0; i < n; i++)
		write_frame(to, frames[i][0], frames[i][1]);
	return at;
}

/* g within f from 10 on, and another g from 30 on, both called at "g(a)" by the table of
 * positions. */
static uint64_t make_inlined(struct world *world, int32_t kind, uint64_t *ret_deopt,
			     const struct made_code *more)
{
	struct made_heap *heap = &world->heap;
	const struct v8_layout *layout = &heap->layout;
	const int32_t pairs[][2] = {{2, AT("return 1")}};
	const uint8_t codes[8] = {11, 0};
	struct made_function g = {.script = world->script, .literal = 4, .unique_id = 44,
				  .scope = {.start = AT("m()"), .end = AT(" }\n")}};
	const struct inlining inlining[] = {{raw_position(layout, AT("g(a)"), -1), 0, 0},
					    {raw_position(layout, AT("g(a)"), -1), 0, 0}};
	struct made_code code = {.kind = kind, .bytes = 64};
	struct table table = {0};
	uint64_t functions[2] = {0, world->f}, object;

	g.scope.name = one_byte(heap, "g");
	g.bytecodes = new_bytecodes(heap, codes, sizeof(codes), positions_of(heap, pairs, 1));
	functions[0] = new_function(heap, &g);
	for (uint32_t i = 0; i < 4; i++)
		add_position(&table, layout, 10 + 10 * i, AT("return 1"), i > 1, true);
	code.deopt = *ret_deopt = new_deopt(heap, world->f, functions, 2,
					    new_bytes(heap, inlining, sizeof(inlining)));
	code.positions = new_bytes(heap, table.bytes, table.n);
	if (more) {
		code.safepoints = more->safepoints;
		code.n_safepoints = more->n_safepoints;
	}
	return new_code(heap, &code, &object);
}

/* Of each entry the bytecode of f; 0: the callee is not g. */
static void put_entries(struct world *world, size_t version, uint64_t deopt, const uint32_t *offs,
			uint32_t n)
{
	const struct v8_layout *layout = &world->heap.layout;
	struct written written = {.how = &writings[version]};

	for (uint32_t i = 0; i < N_EXITS; i++) {
		int32_t at = layout->array_data + 8 * (layout->deopt_first_entry + 3 * (int32_t)i);
		const uint32_t frames[][2] = {{i < n && offs[i] ? offs[i] : 2, 1},
					      {2, i < n && !offs[i]}};
		uint32_t begin = i < n ? write_translation(&written, frames, 2) : 0;

		put64(&world->heap, deopt, at + 8, i < n ? (uint64_t)begin << 32 : 1);
		put64(&world->heap, deopt, at + 16, (uint64_t)EXIT(i) << 32);
	}
	put64(&world->heap, deopt, layout->array_data,
	      new_bytes(&world->heap, written.bytes, written.n));
}

VERSION_TEST(translates_returns)
{
	static const uint32_t offs[] = {2, 6};
	uint8_t points[128];
	struct made_code more = {.safepoints = points,
				 .n_safepoints = make_safepoints(&world->heap.layout, points)};
	uint64_t deopt,
		start = make_inlined(world, world->heap.layout.code_optimized, &deopt, &more);
	struct ep_raw_frame frame =
		frame_of(&world->heap, V8_FRAME_COMPILED, world->f, start + 15, 0);

	put_entries(world, version, deopt, offs, 2);
	assert_named(world, &frame, G "; " F_RETURN);
	frame.words[2] = start + 56; /* where it goes once it was deoptimized */
	assert_named(world, &frame, G "; " F_RETURN);
	frame.words[2] = start + 20; /* no entry's */
	assert_named(world, &frame, version < 4 ? G "; " F_RETURN : G "; " F_CALL);
}

/* What is right of code that the world has, with these entries, interrupted in the first g. */
static void assert_leaf(size_t version, const uint32_t *offs, uint32_t n, bool with_jumps,
			const char *want)
{
	ep_cleanup(world_fini) struct world world;
	struct ep_raw_frame frame;
	uint64_t deopt, start;
	bool has_maglev;

	world_init(&world, version);
	has_maglev = v8_has(world.heap.layout.code_maglev);
	start = make_inlined(&world, has_maglev ? world.heap.layout.code_maglev :
						  world.heap.layout.code_optimized, &deopt, NULL);
	for (uint32_t i = 0; i < 2 && with_jumps; i++) { /* jne to the exits, one in each g */
		uint32_t from = i ? 34 : 14;
		const uint8_t jne[6] = {0x0f, 0x85, (uint8_t)(EXIT(i) - from - 6), 0, 0, 0};

		put_bytes(&world.heap, start + from, jne, sizeof(jne));
	}
	put_entries(&world, version, deopt, offs, n);
	frame = frame_of(&world.heap, V8_FRAME_COMPILED, world.f, start + 12, 0);
	frame.flags |= EP_FRAME_INTERRUPTED;
	assert_named(&world, &frame, want);
	frame.words[2] = start + 31; /* in the other */
	if (with_jumps && has_maglev)
		assert_named(&world, &frame, G "; " F_CALL);
}

/* Entries' bytecodes: the table's place is right where one has it that may be the same call. */
EP_TEST(mends_places_of_inlined_calls)
{
	static const uint32_t one[] = {2}, both[] = {2, 6}, none[] = {0};

	for (size_t v = 0; v < N_VERSIONS; v++) {
		const struct v8_layout layout = layout_of(v);
		bool mends = v8_has(layout.code_maglev) || layout.version.major < 9;

		assert_leaf(v, one, 1, false, mends ? G "; " F_RETURN : G "; " F_CALL);
		assert_leaf(v, both, 2, false, G "; " F_CALL);
		assert_leaf(v, none, 1, false, G "; " F_CALL);
		assert_leaf(v, both, 2, true,
			    v8_has(layout.code_maglev) ? G "; " F_RETURN : G "; " F_CALL);
	}
}

/* 6.2: the table has g in f, at a place that is not in f; an entry has it in h, which is in f. */
EP_TEST(finds_callers_that_are_left_out)
{
	static const uint32_t frames[][2] = {{2, 1}, {6, 2}, {2, 0}};
	struct world world;

	for (size_t v = 0; v < 2; v++) {
		struct written written = {.how = &writings[v]};
		const struct v8_layout *layout = &world.heap.layout;
		uint64_t deopt, start, functions[3], literals, inlining;
		struct made_function h = {.literal = 6, .unique_id = 66};
		struct ep_raw_frame frame;
		uint64_t raw;

		world_init(&world, v);
		start = make_inlined(&world, layout->code_optimized, &deopt, NULL);
		h.script = world.script;
		h.bytecodes = world.bytecodes;
		h.scope = (struct made_scope){
			.name = one_byte(&world.heap, "h"), .start = AT("(a)"), .end = 40};
		literals =
			get64(&world.heap, deopt, layout->array_data + 8 * layout->deopt_literals);
		functions[0] = get64(&world.heap, literals, layout->array_data);
		functions[1] = world.f;
		functions[2] = new_function(&world.heap, &h);
		put64(&world.heap, deopt, layout->array_data + 8 * layout->deopt_literals,
		      new_array(&world.heap, layout->type_fixed_array, functions, 3));
		frame = frame_of(&world.heap, V8_FRAME_COMPILED, world.f, start + 12, 0);
		frame.flags |= EP_FRAME_INTERRUPTED;
		put_entries(&world, v, deopt, NULL, 0);
		(void)write_translation(&written, frames, 3);
		put64(&world.heap, deopt, layout->array_data,
		      new_bytes(&world.heap, written.bytes, written.n));
		put64(&world.heap, deopt, layout->array_data + 8 * (layout->deopt_first_entry + 1),
		      0);
		/* Its place is one of f's: then it is in f. */
		assert_named(&world, &frame, G "; " F_CALL);
		inlining =
			get64(&world.heap, deopt, layout->array_data + 8 * layout->deopt_positions);
		raw = raw_position(layout, AT("class"), -1);
		put64(&world.heap, inlining, layout->array_data, raw);
		frame.words[2]++; /* not what is known */
		assert_named(&world, &frame, G "; h 2:10 /a.js [1]; " F_RETURN);
		world_fini(&world);
	}
}

VERSION_TEST(places_baseline_code)
{
	/* Of each version two bytecodes of one byte and then Wide: LdaZero is 12 from 9.4 on */
	static const uint8_t codes[] = {12, 12, 12, 12, 12, 12, 12, 12};
	static const uint8_t sizes[] = {10, 5, 5, 5, 5, 5, 5, 5, 5};
	const int32_t pairs[][2] = {{2, AT("return g")}, {6, AT("g(a)")}};
	struct made_heap *heap = &world->heap;
	const struct v8_layout *layout = &heap->layout;
	struct made_code made = {.kind = layout->code_baseline, .bytes = 64};
	struct ep_raw_frame frame;
	uint64_t start, code;

	if (!v8_has(layout->code_baseline))
		return;
	made.deopt = new_bytecodes(heap, codes, sizeof(codes), positions_of(heap, pairs, 2));
	made.positions = new_bytes(heap, sizes, sizeof(sizes));
	start = new_code(heap, &made, &code);
	if (v8_has(layout->type_baseline_data)) {
		uint64_t data = new_object(heap, layout->type_baseline_data, 24);

		put64(heap, data, layout->baseline_data_code, code);
		put64(heap, data, layout->baseline_data_data, made.deopt);
		code = data;
	}
	put64(heap, world->f, layout->sfi_data, code);
	frame = frame_of(heap, V8_FRAME_COMPILED, world->f, start + 25, 0); /* after the third */
	assert_named(world, &frame, F_RETURN);
	frame.words[2] = start + 45;
	assert_named(world, &frame, F_CALL);
	frame.words[2] = start + 40;
	assert_named(world, &frame, F_RETURN);
	frame.flags |= EP_FRAME_INTERRUPTED;
	assert_named(world, &frame, F_CALL);
	frame.words[2] = start + 5;
	assert_named(world, &frame, F_START);
}
