/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The walk of V8's frames (v8_unwind.bpf.c), compiled for user space, over memory that is made up
 * here: a stack, functions, code, and an Isolate.
 *
 * A stack is compared as text (tests/kit/world.h); V8's frames are
 *
 *	KIND [construct] [register] [interrupted] [aux N]: WORDS
 */
#ifndef V8_WALK_WORLD_H
#define V8_WALK_WORLD_H

#define EP_SHIM_OBJECT "test"
#include "plugins/v8/v8_unwind.bpf.c"

#define WORLD_STATE struct v8_state
#include "tests/kit/world.h"

#define SLOT	   7u
#define STACK	   0x7f0000000000ull
#define SP	   (STACK + 0x10)
#define HEAP	   0x20000000ull
#define JIT	   0x30000000ull
#define BLOB	   0x40000000ull /* its begin; the file's second mapping of it is COPY */
#define COPY	   0x60000000ull
#define NEW_COPY   (JIT + 0x20000) /* of no row yet */
#define NATIVE	   0x50000000ull
#define BLOB_VA	   0x900000ull
#define BLOB_BYTES 0x4000ull
#define EXECUTABLE 5u
#define TAG	   1u

/* Offsets in the blob. */
#define IET	   0x1000u
#define IET_PUSH   (IET + 0x40)
#define IET_RETURN (IET + 0xc0)
#define IET_END	   (IET + 0x140)
#define BEHIND	   0xdc4d8b44e0658b4cull /* mov -0x20(%rbp),%r12; mov -0x24(%rbp),%r9d */
#define ENTER	   0x1800u
#define ENTER_NEXT 0x1840u
#define DEOPT	   0x2000u
#define CENTRY	   0x2800u
#define HANDLER	   0x3000u
#define JSENTRY	   0x3800u

/* Numbers of types: those of 22. */
enum {
	ENTRY = 1,
	EXIT = 3,
	WASM = 4,
	SWITCH = 8,
	STUB = 17,
	INTERNAL = 22,
	CONSTRUCT = 23,
	REGEXP = 29
};

static uint64_t smi(uint32_t value)
{
	return (uint64_t)value << 32;
}

#define SHARED	  24 /* JSFunction::shared_function_info */
#define UNIQUE_ID 56
#define LENGTH	  8

/* Function i, with its tag; its SharedFunctionInfo is at shared_of(i), its cookie 0x1000 + i. */
static uint64_t function_of(uint32_t i)
{
	return HEAP + 0x40 * i + TAG;
}

static uint64_t shared_of(uint32_t i)
{
	return HEAP + 0x400 + 0x40 * i;
}

static void put_functions(void)
{
	for (uint32_t i = 0; i < 8; i++) {
		world_put(function_of(i) - TAG + SHARED, shared_of(i) + TAG);
		world_put(shared_of(i) + UNIQUE_ID, 0xabcd00000000 + 0x1000 + i);
	}
}

#define ARRAY	(HEAP + 0x800) /* a BytecodeArray of 100 bytes */
#define CONTEXT (HEAP + 0x900 + TAG)
#define ISOLATE (HEAP + 0xa00)
#define C_ENTRY_FP 0x10
#define VM_STATE   0x30

static void put_rows(void)
{
	static const struct ep_row rows[] = {
		{.start = JIT, .end = JIT + 0x1000, .executable = EP_ROW_ANONYMOUS},
		{.start = BLOB, .end = BLOB + BLOB_BYTES, .va = BLOB_VA,
		 .executable = EXECUTABLE | SLOT << EP_ROW_SLOT_SHIFT | EP_ROW_ENTER},
		{.start = NATIVE, .end = NATIVE + 0x1000, .va = 0x2000, .executable = EXECUTABLE},
		{.start = COPY, .end = COPY + BLOB_BYTES, .va = BLOB_VA,
		 .executable = EXECUTABLE | SLOT << EP_ROW_SLOT_SHIFT | EP_ROW_ENTER},
	};

	world_put_rows(rows, 4);
}

static void put_state(void)
{
	struct v8_state *state = &world.state;

	*state = (struct v8_state){
		.cookie_masks = {0, 0, 0, 0xffffffff},
		.cookie_at = 32,
		.iet_begin = IET,
		.iet_push = IET_PUSH,
		.iet_end = IET_END,
		.iet_return_off = IET_RETURN,
		.enter_offs = {ENTER, ENTER_NEXT},
		.iet_behind = BEHIND,
		.deopt_begin = DEOPT,
		.deopt_end = DEOPT + 0x200,
		.handlers_begin = HANDLER,
		.handlers_end = HANDLER + 0x400,
		.blob_va = BLOB_VA,
		.blob_bytes = BLOB_BYTES,
		.c_entry_fp = C_ENTRY_FP,
		.vm_state = VM_STATE,
		.root_off = 0x80,
		.js_function_shared = SHARED,
		.bytecode_header = 64,
		.bytecode_length = LENGTH,
		.function_slot = -2,
		.array_slot = -4,
		.offset_slot = -5,
		.regexp_rbx_slot = -8,
		.array_reg = 12,
		.offset_reg = 9,
		.flags = V8_STATE_UNIQUE_ID,
		.gc_state = 1,
	};
	state->types[ENTRY] = V8_TYPE_ENTRY;
	state->types[EXIT] = V8_TYPE_EXIT;
	state->types[WASM] = V8_TYPE_WASM;
	state->types[STUB] = V8_TYPE_STUB;
	state->types[SWITCH] = V8_TYPE_SWITCH;
	state->types[INTERNAL] = V8_TYPE_INTERNAL;
	state->types[CONSTRUCT] = V8_TYPE_CONSTRUCT;
	state->types[REGEXP] = V8_TYPE_REGEXP;
}

static void begin_sample(void)
{
	world_begin_sample();
	put_rows();
	REC->sample.n_frames =
		3; /* not the first one that is walked: where it matters a test says so */
	WALK->core.slots[0] = SLOT + 1;
	WALK->core.slots[1] = SLOT;
	WALK->core.states[0] = 0;
	WALK->core.states[1] = 1;
	WALK->core.entered = EP_ENTERED;
	WALK->known_regs = EP_KNOWN_ALL;
	WALK->return_address = 1;
	WALK->regs[EP_REG_SP] = SP;
}

static int begin(void **state)
{
	static struct v8_scratch scratch;
	static struct v8_thread threads[V8_THREADS];

	world_begin(SLOT, EP_ENTER_FRAMES);
	world_add_memory(STACK, 4096);
	world_add_memory(HEAP, 4096);
	world_add_memory(JIT, 4096);
	world_add_memory(BLOB, BLOB_BYTES);
	fake_memory_add(&world.memory, COPY, fake_memory_find(&world.memory, BLOB, 1), BLOB_BYTES);
	fake_memory_add(&world.memory, NEW_COPY, fake_memory_find(&world.memory, BLOB, 1),
			BLOB_BYTES);
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	world_add_map("&v8_threads", threads, sizeof(threads[0]), V8_THREADS);
	put_state();
	put_functions();
	world_put(ARRAY + LENGTH, smi(100));
	begin_sample();
	return 0;
}

/* The frame at STACK + off, and what it returns to. */
static uint64_t put_frame(uint32_t off, uint64_t pc, uint64_t caller, uint64_t word)
{
	world_put(STACK + off, STACK + caller);
	world_put(STACK + off + 8, pc);
	world_put(STACK + off - 8, word);
	return STACK + off;
}

static void put_function_frame(uint32_t off, uint64_t pc, uint64_t caller, uint32_t function)
{
	uint64_t fp = put_frame(off, pc, caller, CONTEXT);

	world_put(fp - 16, function_of(function));
}

static void put_interpreted_frame(uint32_t off, uint64_t pc, uint64_t caller, uint32_t function,
				  uint32_t bytes)
{
	put_function_frame(off, pc, caller, function);
	world_put(STACK + off - 32, ARRAY + TAG);
	world_put(STACK + off - 40, smi(bytes + 63));
}

static void be_at(uint64_t pc, uint64_t fp_off)
{
	WALK->pc = pc;
	WALK->regs[EP_REG_FP] = STACK + fp_off;
}

static void be_interrupted(uint64_t pc, uint64_t fp_off)
{
	be_at(pc, fp_off);
	WALK->interrupted = 1;
	WALK->return_address = 0;
	REC->sample.n_frames = 0;
}

/* A call of `target` whose return address is at `addr`. */
static void put_call(uint64_t addr, uint64_t target)
{
	uint8_t code[5] = {0xe8};
	int32_t off = (int32_t)(target - addr);

	memcpy(code + 1, &off, 4);
	world_put_bytes(addr - 5, code, sizeof(code));
}

static void remember(uint64_t addr, uint32_t rule)
{
	world_remember(addr, EXECUTABLE, BLOB_VA - BLOB, rule);
}

#define RULE_FRAMELESS (EP_RULE_IMMEDIATE | EP_RULE_KEEPS | 8u >> 3 << 1)
#define RULE_FRAME     (EP_RULE_IMMEDIATE | EP_RULE_BASE_FP | 2u << 13 | 16u >> 3 << 1)

/* --- what was pushed -------------------------------------------------------------------------- */

static void say_frame(uint64_t header, const __u64 *words)
{
	static const char *const kinds[] = {"interpreted", "compiled", "wasm", "regexp",
					    "code",	   "exit",     "gc",   "?"};
	uint32_t flags = EP_FRAME_FLAGS(header), aux = EP_FRAME_AUX(header);
	uint64_t thread = (uint64_t)REC->sample.tid << V8_THREAD_SHIFT;

	world_add_text("%s%s%s%s", kinds[V8_FRAME(flags)],
		       flags & V8_FRAME_CONSTRUCT ? " construct" : "",
		       flags & V8_FRAME_FROM_REGISTER ? " register" : "",
		       flags & EP_FRAME_INTERRUPTED ? " interrupted" : "");
	if (aux)
		world_add_text(" aux %d", (int)aux);
	for (uint32_t i = 0; i < EP_FRAME_WORDS(header); i++)
		world_add_text("%s %llx", i ? "" : ":", words[i] - (i == 2 ? thread : 0));
	world_add_text("\n");
}

/* Walks until the native unwinder is to go on; what it was to begin with is left in the walk. */
static const char *walk_to_native(void)
{
	assert_int_equal(world_run(v8_unwind), EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_ENTERED);
	return world_say(say_frame);
}

/* From compiled code whose frame is at STACK + 0x100. */
static __attribute__((unused)) const char *walk_code(void)
{
	be_at(JIT + 0x50, 0x100);
	return walk_to_native();
}

/* CEntry <- a handler with a frame <- interpreted <- optimized <- JSEntry <- C++. */
static void put_usual_stack(void)
{
	uint64_t fp = put_frame(0x100, BLOB + HANDLER + 0x20, 0x180, EXIT << 1);

	world_put(fp - 16, STACK + 0x80);
	put_frame(0x180, COPY + IET_RETURN, 0x200, STUB << 1);
	put_interpreted_frame(0x200, JIT + 0x50, 0x280, 1, 17);
	put_function_frame(0x280, BLOB + JSENTRY + 0x10, 0x300, 2);
	fp = put_frame(0x300, NATIVE + 0x20, 0x400, ENTRY << 1);
	for (int i = 3; i <= 7; i++)
		world_put(fp - 8 * i, 0xc00 + i);
	world_put(fp - 64, STACK + 0x600);
	be_at(BLOB + CENTRY + 0x10, 0x100);
}

#endif
