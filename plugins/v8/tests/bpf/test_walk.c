/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The walk of V8's frames (v8_unwind.bpf.c), compiled for user space, over memory that is made up here: a
 * stack, functions, code, and an Isolate. Tail calls are noted and fail, which ends a stack with an error.
 *
 * A stack is compared as text, a frame a line:
 *
 *	native EXECUTABLE VA [behind]
 *	KIND [construct] [register] [interrupted] [aux N]: WORDS
 *	gap | error N
 */
#define EP_SHIM_OBJECT "test"
#include "plugins/v8/v8_unwind.bpf.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
enum { ENTRY = 1, EXIT = 3, WASM = 4, WASM_TO_JS = 5, SWITCH = 8, STUB = 17, INTERNAL = 22, CONSTRUCT = 23, REGEXP = 29 };

static struct {
	struct ep_record rec;
	struct ep_memo_set memo[EP_MEMO_SETS];
	union {
		struct ep_state_cell cell;
		struct v8_state state;
	};
	struct v8_scratch scratch;
	struct v8_buffers buffers;
	struct v8_thread threads[V8_THREADS];
	uint64_t counters[8];
	uint64_t chunk[EP_CHUNK_BYTES / 8];
	uint64_t stack[512], heap[512];
	uint8_t jit[4096], blob[BLOB_BYTES];
	uint32_t called[8], entered[8], n_called;
	char text[4096];
} world;

#define REC  (&world.rec)
#define WALK (&world.rec.walk)

void *ep_shim_map_lookup(const char *object, const char *name, const void *map, const void *key)
{
	uint32_t index = *(const uint32_t *)key;

	(void)object, (void)map;
	if (strcmp(name, "&ep_records") == 0)
		return REC;
	if (strcmp(name, "&ep_memo") == 0)
		return &world.memo[index];
	if (strcmp(name, "&ep_chunks") == 0 || strcmp(name, "chunk") == 0)
		return world.chunk;
	if (strcmp(name, "&ep_states") == 0)
		return &world.cell;
	if (strcmp(name, "&ep_scratch") == 0)
		return &world.scratch;
	if (strcmp(name, "&v8_bytes") == 0)
		return &world.buffers;
	if (strcmp(name, "&v8_threads") == 0)
		return &world.threads[index];
	return strcmp(name, "&ep_lang_counts") == 0 ? &world.counters[index & 7] : NULL;
}

long ep_shim_tail_call(const char *object, const char *name, void *ctx, __u32 slot)
{
	(void)object, (void)name, (void)ctx;
	assert_true(world.n_called < 8);
	world.entered[world.n_called] = WALK->entered;
	world.called[world.n_called++] = slot;
	return -1;
}

static uint8_t *find_memory(uint64_t addr, uint64_t bytes)
{
	const struct {
		uint64_t start;
		uint64_t bytes;
		void *at;
	} regions[] = {
		{STACK, sizeof(world.stack), world.stack}, {HEAP, sizeof(world.heap), world.heap},
		{JIT, sizeof(world.jit), world.jit},	   {BLOB, sizeof(world.blob), world.blob},
		{COPY, sizeof(world.blob), world.blob},
		{NEW_COPY, sizeof(world.blob), world.blob},
	};

	for (size_t i = 0; i < sizeof(regions) / sizeof(regions[0]); i++) {
		uint64_t off = addr - regions[i].start;

		if (off <= regions[i].bytes && regions[i].bytes - off >= bytes)
			return (uint8_t *)regions[i].at + off;
	}
	return NULL;
}

long ep_shim_read_user(void *to, __u32 bytes, const void *from)
{
	const uint8_t *at = find_memory((uint64_t)(uintptr_t)from, bytes);

	if (!at) {
		memset(to, 0, bytes); /* bpf-helpers(7) */
		return -14;
	}
	memcpy(to, at, bytes);
	return 0;
}

long ep_shim_read_kernel(void *to, __u32 bytes, const void *from)
{
	(void)from;
	memset(to, 0, bytes);
	return -14;
}

__u64 ep_shim_task(void)
{
	return 0;
}

/* --- what is made up ------------------------------------------------------------------------------ */

static void put(uint64_t addr, uint64_t word)
{
	uint8_t *at = find_memory(addr, 8);

	assert_non_null(at);
	memcpy(at, &word, 8);
}

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
		put(function_of(i) - TAG + SHARED, shared_of(i) + TAG);
		put(shared_of(i) + UNIQUE_ID, 0xabcd00000000 + 0x1000 + i);
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

	memcpy(world.chunk, rows, sizeof(rows));
	WALK->n_rows = 4;
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

static void set_self(void)
{
	*(uint32_t *)(uintptr_t)&ep_self.slot = SLOT;
	*(uint32_t *)(uintptr_t)&ep_self.kind = EP_FRAME_FIRST_DYNAMIC + SLOT;
	*(uint32_t *)(uintptr_t)&ep_self.first_error = 100;
	*(uint32_t *)(uintptr_t)&ep_self.frames_per_run = V8_MAX_FRAMES_PER_RUN;
}

static int begin(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	set_self();
	put_rows();
	put_state();
	put_functions();
	put(ARRAY + LENGTH, smi(100));
	REC->sample.pid = REC->sample.tid = 77;
	REC->sample.n_frames = 3; /* not the first one that is walked: where it matters a test says so */
	WALK->sequence = 1;
	WALK->slots[0] = SLOT + 1;
	WALK->slots[1] = SLOT;
	WALK->states[1] = 1;
	WALK->max_calls = 26;
	WALK->memo_tag = 0x100000001ull;
	WALK->entered = EP_ENTERED;
	WALK->known_regs = EP_KNOWN_ALL;
	WALK->return_address = 1;
	WALK->regs[EP_REG_SP] = SP;
	return 0;
}

/* The frame at STACK + off, and what it returns to. */
static uint64_t put_frame(uint32_t off, uint64_t pc, uint64_t caller, uint64_t word)
{
	put(STACK + off, STACK + caller);
	put(STACK + off + 8, pc);
	put(STACK + off - 8, word);
	return STACK + off;
}

static void put_function_frame(uint32_t off, uint64_t pc, uint64_t caller, uint32_t function)
{
	uint64_t fp = put_frame(off, pc, caller, CONTEXT);

	put(fp - 16, function_of(function));
}

static void put_interpreted_frame(uint32_t off, uint64_t pc, uint64_t caller, uint32_t function, uint32_t bytes)
{
	put_function_frame(off, pc, caller, function);
	put(STACK + off - 32, ARRAY + TAG);
	put(STACK + off - 40, smi(bytes + 63));
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

static void put_code(uint64_t addr, const uint8_t *code, size_t bytes)
{
	uint8_t *at = find_memory(addr, bytes);

	assert_non_null(at);
	memcpy(at, code, bytes);
}

/* A call of `target` whose return address is at `addr`. */
static void put_call(uint64_t addr, uint64_t target)
{
	uint8_t code[5] = {0xe8};
	int32_t off = (int32_t)(target - addr);

	memcpy(code + 1, &off, 4);
	put_code(addr - 5, code, sizeof(code));
}

static void remember(uint64_t addr, uint32_t rule)
{
	struct ep_memo_set *set = &world.memo[EP_MEMO_SET(0, addr, WALK->memo_tag)];

	set->ways[0] = (struct ep_memo){addr, WALK->memo_tag, BLOB_VA - BLOB, EXECUTABLE, rule};
}

#define RULE_FRAMELESS (EP_RULE_IMMEDIATE | EP_RULE_KEEPS | 8u >> 3 << 1)
#define RULE_FRAME     (EP_RULE_IMMEDIATE | EP_RULE_BASE_FP | 2u << 13 | 16u >> 3 << 1)

/* --- what was pushed ------------------------------------------------------------------------------- */

static void add_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add_text(const char *format, ...)
{
	size_t used = strlen(world.text);
	va_list args;

	va_start(args, format);
	vsnprintf(world.text + used, sizeof(world.text) - used, format, args);
	va_end(args);
}

static void say_frame(__u64 header, const __u64 *words)
{
	static const char *const kinds[] = {"interpreted", "compiled", "wasm", "regexp",
					    "code",	   "exit",     "gc",   "?"};
	uint32_t flags = EP_FRAME_FLAGS(header), aux = EP_FRAME_AUX(header);
	uint64_t thread = (uint64_t)REC->sample.tid << V8_THREAD_SHIFT;

	add_text("%s%s%s%s", kinds[V8_FRAME(flags)], flags & V8_FRAME_CONSTRUCT ? " construct" : "",
		 flags & V8_FRAME_FROM_REGISTER ? " register" : "",
		 flags & EP_FRAME_INTERRUPTED ? " interrupted" : "");
	if (aux)
		add_text(" aux %d", (int)aux);
	for (uint32_t i = 0; i < EP_FRAME_WORDS(header); i++)
		add_text("%s %llx", i ? "" : ":", words[i] - (i == 2 ? thread : 0));
	add_text("\n");
}

static const char *say_stack(void)
{
	world.text[0] = 0;
	for (uint32_t at = 0; at < REC->sample.n_words; at += 1 + EP_FRAME_WORDS(REC->words[at])) {
		__u64 header = REC->words[at];

		if (EP_FRAME_KIND(header) == EP_FRAME_NATIVE)
			add_text("native %u %llx%s\n", EP_FRAME_AUX(header), REC->words[at + 1],
				 EP_FRAME_FLAGS(header) & EP_FRAME_RETURN_ADDRESS ? " behind" : "");
		else if (EP_FRAME_KIND(header) == EP_FRAME_ERROR)
			add_text("error %u\n", EP_FRAME_AUX(header));
		else if (EP_FRAME_KIND(header) == EP_FRAME_GAP)
			add_text("gap\n");
		else
			say_frame(header, REC->words + at + 1);
	}
	return world.text;
}

/* Walks until the native unwinder is to go on; what it was to begin with is left in the walk. */
static const char *walk_to_native(void)
{
	v8_unwind(NULL);
	assert_true(world.n_called >= 1);
	assert_int_equal(world.called[0], EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_ENTERED);
	assert_int_equal(REC->sample.error, EP_ERROR_TAIL_CALLS);
	REC->sample.n_words -= 2; /* that error */
	return say_stack();
}

/* The trace's hash is that of its words: a frame that was taken back has left nothing. */
static void check_hash(void)
{
	uint64_t hash = 0;

	for (uint32_t at = 0; at < REC->sample.n_words + 2u; at++)
		hash = ep_hash_word(hash, REC->words[at]);
	assert_int_equal(hash, REC->walk.hash);
}

/* --- frames that called ---------------------------------------------------------------------------- */

/* CEntry <- a handler with a frame <- interpreted <- optimized <- JSEntry <- C++. */
static void put_usual_stack(void)
{
	uint64_t fp = put_frame(0x100, BLOB + HANDLER + 0x20, 0x180, EXIT << 1);

	put(fp - 16, STACK + 0x80);
	put_frame(0x180, COPY + IET_RETURN, 0x200, STUB << 1);
	put_interpreted_frame(0x200, JIT + 0x50, 0x280, 1, 17);
	put_function_frame(0x280, BLOB + JSENTRY + 0x10, 0x300, 2);
	fp = put_frame(0x300, NATIVE + 0x20, 0x400, ENTRY << 1);
	for (int i = 3; i <= 7; i++)
		put(fp - 8 * i, 0xc00 + i);
	put(fp - 64, STACK + 0x600);
	be_at(BLOB + CENTRY + 0x10, 0x100);
}

static void frames_are_walked_by_rbp(void **state)
{
	(void)state;
	put_usual_stack();
	assert_string_equal(walk_to_native(), "native 5 902810 behind\n"
					      "interpreted aux 17: 20000440 1001 20000800\n"
					      "compiled: 20000480 1002 30000050\n"
					      "native 5 903810 behind\n");
	check_hash();
	assert_int_equal(REC->sample.n_frames, 3 + 4 + 1);
	assert_int_equal(WALK->left_at, 4 & 0xffff); /* words of two native frames */
}

static void native_caller_has_its_registers(void **state)
{
	(void)state;
	put_usual_stack();
	walk_to_native();
	assert_int_equal(WALK->pc, NATIVE + 0x20);
	assert_int_equal(WALK->regs[EP_REG_SP], STACK + 0x310);
	assert_int_equal(WALK->regs[EP_REG_FP], STACK + 0x400);
	assert_int_equal(WALK->regs[12], 0xc03);
	assert_int_equal(WALK->regs[13], 0xc04);
	assert_int_equal(WALK->regs[14], 0xc05);
	assert_int_equal(WALK->regs[15], 0xc06);
	assert_int_equal(WALK->regs[3], 0xc07);
	assert_int_equal(WALK->known_regs, EP_KNOWN_ALWAYS | EP_CALLEE_REGS);
	assert_int_equal(WALK->return_address, 1);
}

static void construct_frame_is_said_of_its_callee(void **state)
{
	(void)state;
	put_function_frame(0x100, BLOB + 0x3c10, 0x180, 1);
	put_frame(0x180, JIT + 0x60, 0x200, CONSTRUCT << 1);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	be_at(JIT + 0x50, 0x100);
	assert_string_equal(walk_to_native(), "compiled construct: 20000440 1001 30000050\n"
					      "native 5 903c10 behind\n"
					      "compiled: 20000480 1002 30000060\n");
}

static void arguments_adaptor_is_between(void **state)
{
	(void)state;
	world.state.types[30] = V8_TYPE_ADAPTOR;
	put_function_frame(0x100, BLOB + 0x3d10, 0x180, 1);
	put_frame(0x180, BLOB + 0x3c10, 0x200, 30 << 1);
	put_frame(0x200, JIT + 0x60, 0x280, CONSTRUCT << 1);
	put_function_frame(0x280, NATIVE + 0x40, 0x300, 2);
	be_at(JIT + 0x50, 0x100);
	assert_string_equal(walk_to_native(), "compiled construct: 20000440 1001 30000050\n"
					      "native 5 903d10 behind\n"
					      "native 5 903c10 behind\n"
					      "compiled: 20000480 1002 30000060\n");
}

static void webassembly_has_its_instance(void **state)
{
	uint64_t fp;

	(void)state;
	fp = put_frame(0x100, JIT + 0x90, 0x180, WASM_TO_JS << 1);
	(void)fp;
	fp = put_frame(0x180, BLOB + JSENTRY, 0x200, WASM << 1);
	put(fp - 16, HEAP + 0x300 + TAG);
	put_frame(0x200, NATIVE + 0x40, 0x280, ENTRY << 1);
	be_at(JIT + 0x50, 0x100);
	assert_string_equal(walk_to_native(), "code: 30000050\n"
					      "wasm: 20000300 30000090\n"
					      "native 5 903800 behind\n");
}

static void regexp_code_leads_to_native_code(void **state)
{
	uint64_t fp = put_frame(0x100, NATIVE + 0x30, 0x180, REGEXP << 1);

	(void)state;
	put(fp - 64, 0xbb);
	WALK->regs[12] = 0x12;
	be_at(JIT + 0x50, 0x100);
	assert_string_equal(walk_to_native(), "regexp: 30000050\n");
	assert_int_equal(WALK->regs[3], 0xbb);
	assert_int_equal(WALK->regs[12], 0x12);
	assert_int_equal(WALK->known_regs, EP_KNOWN_ALWAYS | EP_CALLEE_REGS);
}

static void regexp_code_without_a_type(void **state)
{
	uint64_t fp = put_frame(0x100, NATIVE + 0x30, 0x180, HEAP + 0x300 + TAG);

	(void)state;
	put(fp - 16, 5); /* start index */
	put(fp - 56, 0xbb);
	world.state.flags = V8_STATE_REGEXP_UNMARKED;
	world.state.regexp_rbx_slot = -7;
	be_at(JIT + 0x50, 0x100);
	assert_string_equal(walk_to_native(), "regexp: 30000050\n");
	assert_int_equal(WALK->regs[3], 0xbb);
}

static void deoptimizer_has_no_frame_of_its_own(void **state)
{
	(void)state;
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 3);
	be_at(BLOB + DEOPT + 0x80, 0x200);
	assert_string_equal(walk_to_native(), "native 5 902080 behind\n"
					      "compiled register: 200004c0 1003 40002080\n");
	/*
	 * It has taken that off the stack, into a FrameDescription: of three words below rbp, and with two
	 * arguments. What was there is where C++ has its own now.
	 */
	begin(state);
	world.state.deopt_input = 0x50;
	world.state.deopt_content = 0x1c8;
	put(STACK + 0x118, HEAP + 0xb00);
	put(HEAP + 0xb50, HEAP + 0xc00);
	put(HEAP + 0xc00, 7 * 8);
	put(HEAP + 0xdc8 + 8, function_of(3));
	put(HEAP + 0xdc8 + 16, CONTEXT);
	put(HEAP + 0xdc8 + 24, STACK + 0x180);
	put(HEAP + 0xdc8 + 32, JIT + 0x60);
	put_function_frame(0x180, NATIVE + 0x40, 0x200, 1);
	be_at(BLOB + DEOPT + 0x120, 0x100);
	WALK->regs[EP_REG_SP] = STACK + 0x110;
	put(STACK + 0x110, STACK + 0x118);
	assert_string_equal(walk_to_native(), "native 5 902120 behind\n"
					      "compiled register: 200004c0 1003 40002120\n"
					      "compiled: 20000440 1001 30000060\n");
	/* The same, of no frame. */
	begin(state);
	put_function_frame(0x100, BLOB + DEOPT + 0x120, 0x180, 1);
	put_function_frame(0x80, JIT + 0x50, 0x180, 3);
	put(STACK + 0x100, STACK + 0x80);
	be_at(JIT + 0x50, 0x100);
	v8_unwind(NULL);
	assert_int_equal(REC->sample.error, 100 + V8_ERROR_DEOPT);
}

static void builtin_with_a_function_is_native(void **state)
{
	(void)state;
	put_function_frame(0x100, NATIVE + 0x40, 0x180, 3);
	be_at(COPY + 0x100, 0x100);
	assert_string_equal(walk_to_native(), "native 5 900100 behind\n");
}

/* In no mapping that is known: a page that V8 has made just now. */
static void new_code_is_walked(void **state)
{
	(void)state;
	put_function_frame(0x100, JIT + 0x2000, 0x180, 1);
	put_function_frame(0x180, NATIVE + 0x40, 0x200, 2);
	be_at(JIT + 0x50, 0x100);
	assert_string_equal(walk_to_native(), "compiled: 20000440 1001 30000050\n"
					      "compiled: 20000480 1002 30002000\n");
}

/* The builtins, a second time. */
static void new_builtins_are_walked(void **state)
{
	(void)state;
	put(BLOB + IET_RETURN, BEHIND);
	put_function_frame(0x100, NEW_COPY + HANDLER + 0x20, 0x180, 1);
	put_frame(0x180, NEW_COPY + IET_RETURN, 0x200, STUB << 1);
	put_interpreted_frame(0x200, NATIVE + 0x40, 0x280, 2, 9);
	be_at(JIT + 0x50, 0x100);
	assert_string_equal(walk_to_native(), "compiled: 20000440 1001 30000050\n"
					      "native 0 30023020 behind\n"
					      "interpreted aux 9: 20000480 1002 20000800\n");
	assert_int_equal(REC->sample.flags & EP_SAMPLE_RAW, EP_SAMPLE_RAW);
}

static void cookie_is_mixed_where_there_is_no_id(void **state)
{
	const __u64 words[] = {0, 0, 0, 0xabcd00001001};
	const __u64 masks[] = {0xff, 0, 0, 0xffff};

	(void)state;
	world.state.flags = 0;
	memcpy(world.state.cookie_masks, masks, sizeof(masks));
	put_function_frame(0x100, NATIVE + 0x40, 0x180, 1);
	be_at(JIT + 0x50, 0x100);
	walk_to_native();
	assert_int_equal(REC->words[2], v8_cookie(words, masks, 0));
	assert_int_not_equal(REC->words[2], 0x1001);
}

/* Those of two isolates, of which the second one has what the first one had where that was. */
static void functions_of_other_threads_are_others(void **state)
{
	(void)state;
	REC->sample.tid = 0x51234;
	put_function_frame(0x100, BLOB + IET_RETURN, 0x180, 1);
	put_interpreted_frame(0x180, NATIVE + 0x40, 0x200, 2, 9);
	be_at(JIT + 0x50, 0x100);
	assert_string_equal(walk_to_native(), "compiled: 20000440 1001 30000050\n"
					      "interpreted aux 9: 20000480 1002 20000800\n");
	assert_int_equal(REC->words[3], 0x1234000030000050);
	assert_int_equal(REC->words[7], 0x1234000020000800);
}

static void function_that_cannot_be_read_is_code(void **state)
{
	(void)state;
	put_frame(0x100, JIT + 0x60, 0x180, CONTEXT);
	put(STACK + 0x100 - 16, 0x99990001);
	put_function_frame(0x180, NATIVE + 0x40, 0x200, 2);
	be_at(JIT + 0x50, 0x100);
	assert_string_equal(walk_to_native(), "code: 30000050\n"
					      "compiled: 20000480 1002 30000060\n");
}

static void heap_interpreter_is_told_by_its_address(void **state)
{
	(void)state;
	world.state.flags |= V8_STATE_HEAP_BUILTINS;
	world.state.iet_return = JIT + 0x700;
	put_frame(0x100, JIT + 0x700, 0x180, STUB << 1);
	put_interpreted_frame(0x180, NATIVE + 0x40, 0x200, 1, 5);
	be_at(JIT + 0x50, 0x100);
	assert_string_equal(walk_to_native(), "interpreted aux 5: 20000440 1001 20000800\n");
	check_hash();
}

static void heap_interpreter_that_is_not_known_leaves_the_offset(void **state)
{
	(void)state;
	world.state.flags |= V8_STATE_HEAP_BUILTINS | V8_STATE_IET_UNKNOWN;
	put_interpreted_frame(0x100, JIT + 0x60, 0x180, 1, 5);
	put_function_frame(0x180, NATIVE + 0x40, 0x200, 2);
	put(STACK + 0x180 - 40, 0x1234); /* no Smi */
	be_at(JIT + 0x50, 0x100);
	assert_string_equal(walk_to_native(), "compiled aux 5: 20000440 1001 30000050\n"
					      "compiled aux -1: 20000480 1002 30000060\n");
}

/* It returns to where a builtin begins: what is before that has nothing to do with it. */
static void deoptimized_frame_is_the_interpreters(void **state)
{
	static const uint32_t offs[] = {ENTER, ENTER_NEXT};

	for (size_t i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
		begin(state);
		put_function_frame(0x100, BLOB + offs[i], 0x180, 1);
		put_interpreted_frame(0x180, NATIVE + 0x40, 0x200, 2, 5);
		be_at(JIT + 0x50, 0x100);
		assert_string_equal(walk_to_native(), "compiled: 20000440 1001 30000050\n"
						      "interpreted aux 5: 20000480 1002 20000800\n");
		check_hash();
	}
}

static void trampoline_of_a_function_is_the_interpreter(void **state)
{
	(void)state;
	world.state.flags |= V8_STATE_IET_COPIES;
	put_interpreted_frame(0x100, NATIVE + 0x40, 0x180, 1, 5);
	be_at(JIT + 0x200 + IET_RETURN - IET, 0x100);
	put(WALK->pc, BEHIND);
	assert_string_equal(walk_to_native(), "interpreted aux 5: 20000440 1001 20000800\n");
}

/* Maglev keeps what it likes where the interpreter has its array and its offset. */
static void compiled_code_at_the_place_of_a_trampolines_is_none(void **state)
{
	(void)state;
	world.state.flags |= V8_STATE_IET_COPIES;
	put_interpreted_frame(0x100, NATIVE + 0x40, 0x180, 1, 5);
	be_at(JIT + 0x200 + IET_RETURN - IET, 0x100);
	assert_string_equal(walk_to_native(), "compiled: 20000440 1001 300002c0\n");
}

/* --- where it was interrupted ---------------------------------------------------------------------- */

static void handler_without_a_frame_is_the_function(void **state)
{
	(void)state;
	be_interrupted(BLOB + HANDLER + 8, 0x200);
	put(SP, BLOB + IET_RETURN);
	put_interpreted_frame(0x200, NATIVE + 0x40, 0x280, 1, 17);
	WALK->regs[9] = 33 + 63;
	WALK->regs[12] = ARRAY + TAG;
	remember(BLOB + HANDLER + 8, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(), "interpreted interrupted aux 33: 20000440 1001 20000800\n");
	check_hash();
}

static void offset_in_a_register_must_be_one(void **state)
{
	static const struct {
		uint64_t array, offset;
	} bad[] = {{ARRAY + TAG, 100 + 63}, {ARRAY + TAG, 62}, {ARRAY + 8 + TAG, 33 + 63}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(state);
		be_interrupted(BLOB + HANDLER + 8, 0x200);
		put(SP, BLOB + IET_RETURN);
		put_interpreted_frame(0x200, NATIVE + 0x40, 0x280, 1, 17);
		WALK->regs[9] = bad[i].offset;
		WALK->regs[12] = bad[i].array;
		remember(BLOB + HANDLER + 8, RULE_FRAMELESS);
		assert_string_equal(walk_to_native(),
				    "interpreted interrupted aux 17: 20000440 1001 20000800\n");
	}
}

/* A handler's last call is a jump: what it leads to returns to where the handler would. */
static void builtin_that_a_handler_jumps_to_is_shown(void **state)
{
	(void)state;
	put_frame(0x100, BLOB + IET_RETURN, 0x180, EXIT << 1);
	put_interpreted_frame(0x180, NATIVE + 0x40, 0x200, 1, 17);
	be_at(BLOB + CENTRY + 0x10, 0x100);
	assert_string_equal(walk_to_native(), "native 5 902810 behind\n"
					      "interpreted aux 17: 20000440 1001 20000800\n");
	begin(state);
	be_interrupted(BLOB + 0x200, 0x200);
	put(SP, BLOB + IET_RETURN);
	put_interpreted_frame(0x200, NATIVE + 0x40, 0x280, 1, 17);
	remember(BLOB + 0x200, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(), "native 5 900200\n"
					      "interpreted aux 17: 20000440 1001 20000800\n");
}

/* The native unwinder has pushed it: no frame of this run. */
static void handler_is_taken_back_from_the_native_unwinder(void **state)
{
	(void)state;
	REC->sample.n_frames = 0;
	ep_push_words(REC, EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, EXECUTABLE), 1, BLOB_VA + HANDLER, 0, 0);
	WALK->left_at = 2;
	put_interpreted_frame(0x200, NATIVE + 0x40, 0x280, 1, 17);
	be_at(BLOB + IET_RETURN, 0x200);
	assert_string_equal(walk_to_native(), "interpreted interrupted aux 17: 20000440 1001 20000800\n");
	check_hash();
	assert_int_equal(WALK->left_at, 0);
}

static void builtin_is_stepped_by_its_rows(void **state)
{
	(void)state;
	be_interrupted(BLOB + 0x200, 0x200);
	put(SP, JIT + 0x50);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 1);
	remember(BLOB + 0x200, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(), "native 5 900200\n"
					      "compiled: 20000440 1001 30000050\n");
}

static void builtin_without_a_remembered_row_is_given_back(void **state)
{
	(void)state;
	be_interrupted(BLOB + 0x200, 0x200);
	v8_unwind(NULL);
	assert_int_equal(world.entered[0], EP_GIVEN_BACK);
	assert_int_equal(WALK->pc, BLOB + 0x200);
}

/* Neither has it rows: it is asked again for the same place. */
static void builtin_without_rows_is_guessed(void **state)
{
	(void)state;
	put_call(JIT + 0x50, BLOB + 0x200);
	be_interrupted(BLOB + 0x210, 0x200);
	put(SP, JIT + 0x50);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 1);
	v8_unwind(NULL);
	assert_int_equal(world.entered[0], EP_GIVEN_BACK);
	world.n_called = REC->sample.n_words = 0;
	REC->sample.error = 0;
	WALK->entered = EP_ENTERED;
	assert_string_equal(walk_to_native(), "native 5 900210\n"
					      "compiled: 20000440 1001 30000050\n");
	assert_int_equal(world.counters[V8_COUNT_GUESSED], 1);
}

#define PROLOGUE 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57, 0x50, 0x48, 0x83, 0xec, 0x20
#define EPILOGUE 0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x83, 0xf9, 0x02, 0x7f, 0x03, 0xc2, 0x10, 0x00, 0x41, 0x5a, \
	0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3

/* Where the return address is, and the function. */
enum { AT_SP, PUSHED, MADE, WHOLE, R10 };

struct leaf {
	const char *label;
	uint8_t code[32];
	uint8_t at; /* the pc */
	uint8_t where, below; /* words to the function below rsp; 0: rdi's, or in its slot */
};

static const struct leaf leaves[] = {
	{"10: is it to be deoptimized?", {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x0f, 0x85, 1, 2, 3, 4, PROLOGUE}, 0, AT_SP, 0},
	{"10: test", {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x0f, 0x85, 1, 2, 3, 4, PROLOGUE}, 4, AT_SP, 0},
	{"10: jnz", {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x0f, 0x85, 1, 2, 3, 4, PROLOGUE}, 8, AT_SP, 0},
	{"10: push rbp", {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x0f, 0x85, 1, 2, 3, 4, PROLOGUE}, 14, AT_SP, 0},
	{"18: jz", {0x48, 0x8b, 0x59, 0xa0, 0xf6, 0x43, 0x0f, 1, 0x74, 5, 0xe9, 1, 2, 3, 4, PROLOGUE}, 8, AT_SP, 0},
	{"18: jmp", {0x48, 0x8b, 0x59, 0xa0, 0xf6, 0x43, 0x0f, 1, 0x74, 5, 0xe9, 1, 2, 3, 4, PROLOGUE}, 10, AT_SP, 0},
	{"12: mov r10", {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x74, 13, 0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, 0x41, 0xff, 0xe2, 0x55}, 10, AT_SP, 0},
	{"12: jmp r10", {0x48, 0x8b, 0x59, 0xe0, 0xf6, 0x43, 0x0f, 1, 0x74, 13, 0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, 0x41, 0xff, 0xe2, 0x55}, 20, AT_SP, 0},
	{"push rbp", {PROLOGUE}, 0, AT_SP, 0},
	{"mov rbp, rsp", {PROLOGUE}, 1, PUSHED, 0},
	{"push rsi", {PROLOGUE}, 4, MADE, 0},
	{"push rdi", {PROLOGUE}, 5, MADE, 0},
	{"push rax", {PROLOGUE}, 6, WHOLE, 0},
	{"sub rsp", {PROLOGUE}, 7, WHOLE, 0},
	{"mov rsp, rbp", {EPILOGUE}, 0, WHOLE, 0},
	{"pop rbp", {EPILOGUE}, 3, WHOLE, 0},
	{"cmp", {EPILOGUE}, 4, AT_SP, 3},
	{"jg", {EPILOGUE}, 8, AT_SP, 3},
	{"ret n", {EPILOGUE}, 10, AT_SP, 3},
	{"pop r10", {EPILOGUE}, 13, AT_SP, 3},
	{"lea rsp", {EPILOGUE}, 15, R10, 4},
	{"push r10", {EPILOGUE}, 19, R10, 4 + 3}, /* rcx is 3 */
	{"ret", {EPILOGUE}, 21, AT_SP, 3 + 3},
	{"8: ret", {0x48, 0x8b, 0xe5, 0x5d, 0xc3}, 4, AT_SP, 3},
	{"Maglev: jg", {0x48, 0x8b, 0xe5, 0x5d, 0x49, 0x83, 0xf8, 1, 0x0f, 0x8f, 1, 2, 3, 4, 0xc2, 8, 0}, 8, AT_SP, 3},
	{"Maglev: ret n", {0x48, 0x8b, 0xe5, 0x5d, 0x49, 0x83, 0xf8, 1, 0x0f, 0x8f, 1, 2, 3, 4, 0xc2, 8, 0}, 14, AT_SP, 3},
	{"Sparkplug: xor ebx", {0x33, 0xdb, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4}, 0, AT_SP, 0},
	{"Sparkplug: mov r12", {0x33, 0xdb, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4}, 2, AT_SP, 0},
	{"Sparkplug: call", {0x33, 0xdb, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4}, 12, AT_SP, 0},
	{"Sparkplug: mov ebx", {0xbb, 4, 0, 0, 0, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4}, 0, AT_SP, 0},
	{"Sparkplug 16: call", {0xbb, 4, 0, 0, 0, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0x41, 0xff, 0x95}, 15, AT_SP, 0},
};

#define LEAF (JIT + 0x100)

/* rsp at STACK + 0x80; the caller's frame at 0x200. */
static void put_leaf(const struct leaf *leaf)
{
	uint64_t sp = STACK + 0x80;

	put_code(LEAF, leaf->code, sizeof(leaf->code));
	be_interrupted(LEAF + leaf->at, 0x200);
	WALK->regs[EP_REG_SP] = sp;
	WALK->regs[V8_REG_RCX] = 3;
	WALK->regs[V8_REG_RDI] = leaf->where == WHOLE || leaf->below ? 0x5551 : function_of(1);
	if (leaf->where == AT_SP)
		put(sp, JIT + 0x50);
	if (leaf->where == R10)
		WALK->regs[V8_REG_R10] = JIT + 0x50;
	if (leaf->where == PUSHED) {
		put(sp, STACK + 0x200);
		put(sp + 8, JIT + 0x50);
	}
	if (leaf->where == MADE || leaf->where == WHOLE) {
		put_frame(0x100, JIT + 0x50, 0x200, leaf->where == WHOLE ? CONTEXT : 0x1230);
		put(STACK + 0x100 - 16, leaf->where == WHOLE ? function_of(1) : 0x77);
		WALK->regs[EP_REG_FP] = STACK + 0x100;
	}
	if (leaf->below)
		put(sp - 8 * leaf->below, function_of(1));
	if (leaf->below)
		put(sp - 8 * leaf->below + 8, CONTEXT);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
}

static void interrupted_function_and_its_caller_are_there(void **state)
{
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		const struct leaf *leaf = &leaves[i];
		char expected[200];

		begin(state);
		put_leaf(leaf);
		snprintf(expected, sizeof(expected),
			 "%s: compiled%s interrupted: 20000440 1001 %llx\n"
			 "compiled: 20000480 1002 30000050\n",
			 leaf->label, leaf->where == WHOLE ? "" : " register", LEAF + leaf->at);
		walk_to_native();
		memmove(world.text + strlen(leaf->label) + 2, world.text, strlen(world.text) + 1);
		memcpy(world.text, leaf->label, strlen(leaf->label));
		memcpy(world.text + strlen(leaf->label), ": ", 2);
		assert_string_equal(world.text, expected);
	}
}

static void webassembly_that_begins_has_its_instance_in_a_register(void **state)
{
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x6a, WASM << 1, 0x56, 0x48, 0x83, 0xec};
	static const uint8_t at[] = {0, 1, 4, 6};

	for (size_t i = 0; i < sizeof(at); i++) {
		struct leaf leaf = {.at = at[i], .where = i == 0 ? AT_SP : i == 1 ? PUSHED : MADE};
		char expected[200];

		begin(state);
		memcpy(leaf.code, code, sizeof(code));
		put_leaf(&leaf);
		WALK->regs[V8_REG_RSI] = HEAP + 0x300 + TAG;
		snprintf(expected, sizeof(expected),
			 "wasm interrupted: 20000300 %llx\ncompiled: 20000480 1002 30000050\n",
			 LEAF + at[i]);
		assert_string_equal(walk_to_native(), expected);
	}
}

/* What its frame had is below rsp. */
static void what_ends_is_what_its_frame_was(void **state)
{
	struct leaf leaf = {.code = {EPILOGUE}, .at = 4, .where = AT_SP, .below = 3};

	(void)state;
	put_leaf(&leaf);
	put(STACK + 0x80 - 16, WASM << 1);
	put(STACK + 0x80 - 24, HEAP + 0x300 + TAG);
	assert_string_equal(walk_to_native(), "wasm interrupted: 20000300 30000104\n"
					      "compiled: 20000480 1002 30000050\n");
	begin(state);
	put_leaf(&leaf);
	world.state.flags |= V8_STATE_REGEXP_UNMARKED;
	put(STACK + 0x80 - 24, 5);
	assert_string_equal(walk_to_native(), "regexp interrupted: 30000104\n"
					      "compiled: 20000480 1002 30000050\n");
	begin(state);
	put_leaf(&leaf);
	put(STACK + 0x80 - 16, 0x12340);
	assert_string_equal(walk_to_native(), "code interrupted: 30000104\n"
					      "compiled: 20000480 1002 30000050\n");
}

static void regexp_code_without_a_type_begins(void **state)
{
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x57, 0x56, 0x52, 0x51};
	static const uint8_t at[] = {0, 1, 4, 5};

	for (size_t i = 0; i < sizeof(at); i++) {
		struct leaf leaf = {.at = at[i], .where = i == 0 ? AT_SP : i == 1 ? PUSHED : MADE};
		char expected[200];

		begin(state);
		memcpy(leaf.code, code, sizeof(code));
		put_leaf(&leaf);
		snprintf(expected, sizeof(expected),
			 "regexp interrupted: %llx\ncompiled: 20000480 1002 30000050\n", LEAF + at[i]);
		assert_string_equal(walk_to_native(), expected);
	}
}

/* BaselineOutOfLinePrologue was interrupted, whose frame is to be its caller's. */
static void baseline_function_is_there_before_its_frame(void **state)
{
	static const uint8_t code[] = {0x33, 0xdb, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4};

	(void)state;
	put_code(LEAF, code, sizeof(code));
	put_call(JIT + 0x50, LEAF);
	be_interrupted(BLOB + 0x300, 0x200);
	put(SP, LEAF + sizeof(code));
	put(SP + 8, JIT + 0x50);
	WALK->regs[V8_REG_RDI] = function_of(1);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	remember(BLOB + 0x300, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(), "native 5 900300\n"
					      "compiled register: 20000440 1001 30000111\n"
					      "compiled: 20000480 1002 30000050\n");
}

/* The same, when it is made: what called it is no return address at rsp any more. */
static void baseline_function_is_there_with_its_frame(void **state)
{
	static const uint8_t code[] = {0x33, 0xdb, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4};

	(void)state;
	put_code(LEAF, code, sizeof(code));
	be_interrupted(BLOB + 0x300, 0x100);
	put(SP, LEAF + sizeof(code));
	put(SP + 8, HEAP + TAG);
	put_function_frame(0x100, JIT + 0x50, 0x200, 1);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	remember(BLOB + 0x300, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(), "native 5 900300\n"
					      "compiled: 20000440 1001 30000111\n"
					      "compiled: 20000480 1002 30000050\n");
	/* As the native unwinder leaves it: rsp is above rbp. */
	begin(state);
	put_code(LEAF, code, sizeof(code));
	be_at(LEAF + sizeof(code), 0x100);
	REC->sample.n_frames = 1;
	WALK->regs[EP_REG_SP] = STACK + 0x108;
	WALK->known_regs = EP_KNOWN_ALWAYS;
	put_function_frame(0x100, JIT + 0x50, 0x200, 1);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	assert_string_equal(walk_to_native(), "compiled: 20000440 1001 30000111\n"
					      "compiled: 20000480 1002 30000050\n");
}

/* What is there yet of the frame that it makes are rbp and the return address. */
static void baseline_function_is_there_as_its_frame_is_made(void **state)
{
	static const uint8_t code[] = {0x33, 0xdb, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4};

	(void)state;
	put_code(LEAF, code, sizeof(code));
	be_at(LEAF + sizeof(code), 0x100);
	REC->sample.n_frames = 1;
	WALK->regs[EP_REG_SP] = STACK + 0x108;
	WALK->regs[V8_REG_RDI] = function_of(1);
	put_frame(0x100, JIT + 0x50, 0x200, 0x12340);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	assert_string_equal(walk_to_native(), "compiled register: 20000440 1001 30000111\n"
					      "compiled: 20000480 1002 30000050\n");
}

/* It was called by way of a builtin, which is far from it. */
static void baseline_function_is_there_however_it_was_called(void **state)
{
	static const uint8_t code[] = {0x33, 0xdb, 0x49, 0xbc, 1, 2, 3, 4, 5, 6, 7, 8, 0xe8, 1, 2, 3, 4};

	(void)state;
	put_code(LEAF, code, sizeof(code));
	put_call(JIT + 0x50, BLOB + 0x400);
	be_interrupted(BLOB + 0x300, 0x200);
	put(SP, LEAF + sizeof(code));
	put(SP + 8, JIT + 0x50);
	WALK->regs[V8_REG_RDI] = function_of(1);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	remember(BLOB + 0x300, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(), "native 5 900300\n"
					      "compiled register: 20000440 1001 30000111\n"
					      "compiled: 20000480 1002 30000050\n");
}

static void put_trampoline_leaf(uint32_t off)
{
	put_call(JIT + 0x50, BLOB + IET);
	be_interrupted(BLOB + off, 0x200);
	WALK->regs[EP_REG_SP] = STACK + 0x80;
	WALK->regs[V8_REG_RDI] = function_of(1);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
}

#define ENTERED "interpreted register interrupted aux -1: 20000440 1001 0\ncompiled: 20000480 1002 30000050\n"

static void interpreter_that_begins_has_its_function(void **state)
{
	(void)state;
	put_trampoline_leaf(IET + 4);
	put(STACK + 0x80, JIT + 0x50);
	assert_string_equal(walk_to_native(), ENTERED);
	begin(state);
	put_trampoline_leaf(IET_PUSH + 1);
	put(STACK + 0x80, STACK + 0x200);
	put(STACK + 0x88, JIT + 0x50);
	assert_string_equal(walk_to_native(), ENTERED);
	begin(state);
	put_trampoline_leaf(IET_PUSH + 4);
	put_frame(0x100, JIT + 0x50, 0x200, 0x1230);
	WALK->regs[EP_REG_FP] = STACK + 0x100;
	assert_string_equal(walk_to_native(), ENTERED);
	begin(state);
	put_trampoline_leaf(IET_PUSH + 0x20);
	put_function_frame(0x100, JIT + 0x50, 0x200, 1);
	WALK->regs[EP_REG_FP] = STACK + 0x100;
	assert_string_equal(walk_to_native(), ENTERED);
}

static void interpreter_that_is_left_has_its_function_while_its_frame_stands(void **state)
{
	(void)state;
	put_trampoline_leaf(IET_RETURN + 8);
	put_function_frame(0x100, JIT + 0x50, 0x200, 1);
	WALK->regs[EP_REG_FP] = STACK + 0x100;
	remember(BLOB + IET_RETURN + 8, RULE_FRAME);
	assert_string_equal(walk_to_native(), ENTERED);
	begin(state);
	put_trampoline_leaf(IET_RETURN + 0x20);
	put(STACK + 0x80, JIT + 0x50);
	remember(BLOB + IET_RETURN + 0x20, RULE_FRAMELESS);
	assert_string_equal(walk_to_native(), "native 5 9010e0\ncompiled: 20000480 1002 30000050\n");
}

/* It asks for better code first, in a frame of its own: nothing is at rsp. */
static void interpreter_that_asks_has_its_function(void **state)
{
	(void)state;
	put_trampoline_leaf(IET + 0x20);
	put_frame(0x100, JIT + 0x50, 0x200, INTERNAL << 1);
	put(STACK + 0x100 - 16, function_of(1));
	WALK->regs[EP_REG_FP] = STACK + 0x100;
	assert_string_equal(walk_to_native(), ENTERED);
	begin(state); /* 12: the number of arguments is before it */
	put_trampoline_leaf(IET + 0x20);
	put_frame(0x100, JIT + 0x50, 0x200, INTERNAL << 1);
	put(STACK + 0x100 - 16, smi(2));
	put(STACK + 0x100 - 24, function_of(1));
	WALK->regs[EP_REG_FP] = STACK + 0x100;
	assert_string_equal(walk_to_native(), ENTERED);
}

static void interpreter_that_calls_has_its_function(void **state)
{
	uint64_t fp = put_frame(0x100, BLOB + IET_PUSH + 0x30, 0x180, EXIT << 1);

	(void)state;
	put(fp - 16, STACK + 0x80);
	put_function_frame(0x180, NATIVE + 0x40, 0x200, 1);
	be_at(BLOB + CENTRY + 0x10, 0x100);
	assert_string_equal(walk_to_native(), "native 5 902810 behind\n"
					      "interpreted register aux -1: 20000440 1001 0\n");
}

static void heap_builtin_without_a_frame_is_guessed(void **state)
{
	(void)state;
	world.state.flags |= V8_STATE_HEAP_BUILTINS;
	put_call(JIT + 0x50, JIT + 0x300);
	put(SP, JIT + 0x50);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	be_interrupted(JIT + 0x310, 0x200);
	assert_string_equal(walk_to_native(), "code interrupted: 30000310\n"
					      "compiled: 20000480 1002 30000050\n");
	assert_int_equal(world.counters[V8_COUNT_GUESSED], 1);
}

/* What lies at rsp is old: that call leads elsewhere. */
static void heap_builtin_is_not_called_by_a_call_of_another(void **state)
{
	(void)state;
	world.state.flags |= V8_STATE_HEAP_BUILTINS;
	put_call(JIT + 0x50, JIT + 0x800);
	put(SP, JIT + 0x50);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	be_interrupted(JIT + 0x310, 0x200);
	assert_string_equal(walk_to_native(), "compiled interrupted: 20000480 1002 30000310\n");
}

/* --- the Isolate ----------------------------------------------------------------------------------- */

static void collector_is_said_by_the_isolate(void **state)
{
	(void)state;
	put_usual_stack();
	world.state.isolate = ISOLATE;
	put(ISOLATE + C_ENTRY_FP, STACK + 0x100);
	put(ISOLATE + VM_STATE, 1);
	walk_to_native();
	assert_memory_equal(world.text, "gc\nnative 5 902810 behind\ninterpreted", 30);
	check_hash();
}

/* Another thread's, or another time's. */
static void collector_of_another_is_not_said(void **state)
{
	(void)state;
	put_usual_stack();
	world.state.isolate = ISOLATE;
	put(ISOLATE + C_ENTRY_FP, STACK + 0x108);
	put(ISOLATE + VM_STATE, 1);
	assert_memory_equal(walk_to_native(), "native", 6);
	begin(state);
	put_usual_stack();
	world.state.isolate = ISOLATE;
	put(ISOLATE + C_ENTRY_FP, STACK + 0x100);
	put(ISOLATE + VM_STATE, 6);
	assert_memory_equal(walk_to_native(), "native", 6);
	begin(state);
	put_usual_stack();
	world.state.isolate = ISOLATE;
	REC->sample.tid++;
	put(ISOLATE + C_ENTRY_FP, STACK + 0x100);
	put(ISOLATE + VM_STATE, 1);
	assert_memory_equal(walk_to_native(), "native", 6);
}

static void isolate_of_a_thread_is_remembered(void **state)
{
	(void)state;
	REC->sample.tid++;
	REC->sample.start_ns = 5;
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	be_interrupted(JIT + 0x50, 0x200);
	WALK->regs[V8_REG_ROOT] = ISOLATE + 0x80;
	walk_to_native();
	memset(REC, 0, sizeof(*REC));
	world.n_called = 0;
	WALK->sequence = 2;
	WALK->slots[0] = SLOT + 1;
	REC->sample.pid = 77;
	REC->sample.tid = 78;
	REC->sample.start_ns = 5;
	WALK->slots[1] = SLOT;
	WALK->states[1] = 1;
	WALK->max_calls = 26;
	WALK->entered = EP_ENTERED;
	WALK->n_rows = 4;
	WALK->return_address = 1;
	WALK->regs[EP_REG_SP] = SP;
	WALK->known_regs = EP_KNOWN_ALWAYS;
	put_usual_stack();
	put(ISOLATE + C_ENTRY_FP, STACK + 0x100);
	put(ISOLATE + VM_STATE, 1);
	assert_memory_equal(walk_to_native(), "gc", 2);
}

static void put_exit(uint32_t off)
{
	put(STACK + off - 16, STACK + off - 0x80);
	put(STACK + off - 0x88, BLOB + CENTRY + 0x10);
}

static void check_resumed(uint32_t off)
{
	assert_int_equal(world.called[0], EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_RESUMED);
	assert_int_equal(WALK->next_pc, BLOB + CENTRY + 0x10);
	assert_int_equal(WALK->next_sp, STACK + off - 0x80);
	assert_int_equal(WALK->next_fp, STACK + off);
}

static void walk_without_rules_goes_on_at_the_exit_frame(void **state)
{
	(void)state;
	world.state.isolate = ISOLATE;
	put(ISOLATE + C_ENTRY_FP, STACK + 0x500);
	put_exit(0x500);
	WALK->entered = EP_FAILED;
	v8_unwind(NULL);
	check_resumed(0x500);
}

static void walk_goes_on_at_what_the_last_entry_says(void **state)
{
	(void)state;
	put_usual_stack();
	world.state.isolate = ISOLATE;
	put(ISOLATE + C_ENTRY_FP, STACK + 0x500);
	put_exit(0x500);
	put_exit(0x600);
	walk_to_native();
	world.n_called = 0;
	WALK->entered = EP_FAILED;
	v8_unwind(NULL);
	check_resumed(0x600);
}

static void outermost_entry_has_nothing_behind_it(void **state)
{
	(void)state;
	put_usual_stack();
	put(STACK + 0x300 - 64, 0);
	world.state.isolate = ISOLATE;
	put(ISOLATE + C_ENTRY_FP, STACK + 0x500);
	put_exit(0x500);
	walk_to_native();
	world.n_called = 0;
	WALK->entered = EP_FAILED;
	v8_unwind(NULL);
	assert_int_equal(world.entered[0], EP_FAILED); /* ep_next: another language may know */
}

static void native_code_is_skipped_where_no_calls_are_left(void **state)
{
	(void)state;
	put_usual_stack();
	put_exit(0x600);
	put_frame(0x600, JIT + 0x60, 0x680, EXIT << 1);
	put_function_frame(0x680, NATIVE + 0x40, 0x700, 3);
	WALK->tail_calls = 22;
	put_exit(0x600);
	assert_string_equal(walk_to_native(), "native 5 902810 behind\n"
					      "interpreted aux 17: 20000440 1001 20000800\n"
					      "compiled: 20000480 1002 30000050\n"
					      "native 5 903810 behind\n"
					      "gap\n"
					      "native 5 902810 behind\n"
					      "compiled: 200004c0 1003 30000060\n");
	assert_int_equal(WALK->pc, NATIVE + 0x40);
}

static void outermost_entry_is_left_where_no_calls_are_left(void **state)
{
	(void)state;
	put_usual_stack();
	put(STACK + 0x300 - 64, 0);
	WALK->tail_calls = 22;
	walk_to_native();
	assert_int_equal(WALK->pc, NATIVE + 0x20);
	assert_int_equal(WALK->regs[EP_REG_FP], STACK + 0x400);
	assert_int_equal(WALK->regs[EP_REG_SP], STACK + 0x310);
}

/* --- what is wrong --------------------------------------------------------------------------------- */

static void code_of_another_is_given_back(void **state)
{
	(void)state;
	put_frame(0x100, NATIVE + 0x40, 0x180, 0x12340); /* neither type nor context */
	be_at(JIT + 0x50, 0x100);
	v8_unwind(NULL);
	assert_int_equal(world.called[0], EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_GIVEN_BACK);
	assert_int_equal(EP_FRAME_KIND(REC->words[0]), EP_FRAME_ERROR); /* that it could not */
	world.n_called = REC->sample.n_words = 0;
	REC->sample.error = 0;
	WALK->entered = EP_ENTERED;
	v8_unwind(NULL); /* nobody knows it */
	assert_int_equal(REC->sample.error, 100 + V8_ERROR_FRAME);
}

static void frames_that_are_none_end_the_stack(void **state)
{
	static const struct {
		const char *label;
		uint64_t caller, word, function, pc;
		uint32_t error;
	} bad[] = {
		{"fp is odd", 0x184, CONTEXT, 0, JIT, V8_ERROR_FRAME},
		{"fp is below sp", 0x80, CONTEXT, 0, JIT, V8_ERROR_FRAME},
		{"fp cannot be read", 0x2000, CONTEXT, 0, JIT, V8_ERROR_FRAME},
		{"neither type nor context", 0x180, 0x10000, 0, JIT, V8_ERROR_FRAME},
		{"no function", 0x180, CONTEXT, 0x123, JIT, V8_ERROR_FUNCTION},
		{"no caller", 0x180, SWITCH << 1, 0, 0, V8_ERROR_STACK},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(state);
		put_function_frame(0x100, JIT + 0x60, bad[i].caller, 1);
		put_frame(0x180, bad[i].pc, 0x200, bad[i].word);
		put(STACK + 0x180 - 16, bad[i].function);
		be_at(JIT + 0x50, 0x100);
		v8_unwind(NULL);
		if (REC->sample.error != 100 + bad[i].error)
			fail_msg("%s: error %u", bad[i].label, REC->sample.error);
	}
}

static void stack_that_does_not_grow_ends(void **state)
{
	(void)state;
	put_function_frame(0x100, JIT + 0x60, 0x100, 1);
	be_at(JIT + 0x50, 0x100);
	v8_unwind(NULL);
	assert_int_equal(REC->sample.error, 100 + V8_ERROR_FRAME);
	assert_string_equal(say_stack(), "compiled: 20000440 1001 30000050\nerror 100\n");
}

static void long_stacks_are_walked_in_several_runs(void **state)
{
	(void)state;
	*(uint32_t *)(uintptr_t)&ep_self.frames_per_run = 1; /* and V8_LEAF_FRAMES */
	for (uint32_t i = 0; i < 8; i++)
		put_function_frame(0x100 + 0x80 * i, i < 7 ? JIT + 0x60 : NATIVE + 0x40, 0x180 + 0x80 * i, i);
	be_at(JIT + 0x50, 0x100);
	v8_unwind(NULL);
	assert_int_equal(world.called[0], SLOT);
	REC->sample.n_words -= 2;
	WALK->entered = EP_ENTERED;
	REC->sample.error = 0;
	v8_unwind(NULL);
	REC->sample.n_words -= 2;
	WALK->entered = EP_ENTERED;
	REC->sample.error = 0;
	world.n_called = 0;
	assert_string_equal(walk_to_native(), "compiled: 20000400 1000 30000050\n"
					      "compiled: 20000440 1001 30000060\n"
					      "compiled: 20000480 1002 30000060\n"
					      "compiled: 200004c0 1003 30000060\n"
					      "compiled: 20000500 1004 30000060\n"
					      "compiled: 20000540 1005 30000060\n"
					      "compiled: 20000580 1006 30000060\n"
					      "compiled: 200005c0 1007 30000060\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_are_walked_by_rbp, begin),
		cmocka_unit_test_setup(native_caller_has_its_registers, begin),
		cmocka_unit_test_setup(construct_frame_is_said_of_its_callee, begin),
		cmocka_unit_test_setup(arguments_adaptor_is_between, begin),
		cmocka_unit_test_setup(webassembly_has_its_instance, begin),
		cmocka_unit_test_setup(regexp_code_leads_to_native_code, begin),
		cmocka_unit_test_setup(regexp_code_without_a_type, begin),
		cmocka_unit_test_setup(deoptimizer_has_no_frame_of_its_own, begin),
		cmocka_unit_test_setup(builtin_with_a_function_is_native, begin),
		cmocka_unit_test_setup(new_code_is_walked, begin),
		cmocka_unit_test_setup(new_builtins_are_walked, begin),
		cmocka_unit_test_setup(cookie_is_mixed_where_there_is_no_id, begin),
		cmocka_unit_test_setup(functions_of_other_threads_are_others, begin),
		cmocka_unit_test_setup(function_that_cannot_be_read_is_code, begin),
		cmocka_unit_test_setup(heap_interpreter_is_told_by_its_address, begin),
		cmocka_unit_test_setup(heap_interpreter_that_is_not_known_leaves_the_offset, begin),
		cmocka_unit_test_setup(deoptimized_frame_is_the_interpreters, begin),
		cmocka_unit_test_setup(trampoline_of_a_function_is_the_interpreter, begin),
		cmocka_unit_test_setup(compiled_code_at_the_place_of_a_trampolines_is_none, begin),
		cmocka_unit_test_setup(handler_without_a_frame_is_the_function, begin),
		cmocka_unit_test_setup(offset_in_a_register_must_be_one, begin),
		cmocka_unit_test_setup(builtin_that_a_handler_jumps_to_is_shown, begin),
		cmocka_unit_test_setup(handler_is_taken_back_from_the_native_unwinder, begin),
		cmocka_unit_test_setup(builtin_is_stepped_by_its_rows, begin),
		cmocka_unit_test_setup(builtin_without_a_remembered_row_is_given_back, begin),
		cmocka_unit_test_setup(builtin_without_rows_is_guessed, begin),
		cmocka_unit_test_setup(interrupted_function_and_its_caller_are_there, begin),
		cmocka_unit_test_setup(webassembly_that_begins_has_its_instance_in_a_register, begin),
		cmocka_unit_test_setup(what_ends_is_what_its_frame_was, begin),
		cmocka_unit_test_setup(regexp_code_without_a_type_begins, begin),
		cmocka_unit_test_setup(baseline_function_is_there_before_its_frame, begin),
		cmocka_unit_test_setup(baseline_function_is_there_with_its_frame, begin),
		cmocka_unit_test_setup(baseline_function_is_there_as_its_frame_is_made, begin),
		cmocka_unit_test_setup(baseline_function_is_there_however_it_was_called, begin),
		cmocka_unit_test_setup(interpreter_that_begins_has_its_function, begin),
		cmocka_unit_test_setup(interpreter_that_is_left_has_its_function_while_its_frame_stands, begin),
		cmocka_unit_test_setup(interpreter_that_asks_has_its_function, begin),
		cmocka_unit_test_setup(interpreter_that_calls_has_its_function, begin),
		cmocka_unit_test_setup(heap_builtin_without_a_frame_is_guessed, begin),
		cmocka_unit_test_setup(heap_builtin_is_not_called_by_a_call_of_another, begin),
		cmocka_unit_test_setup(collector_is_said_by_the_isolate, begin),
		cmocka_unit_test_setup(collector_of_another_is_not_said, begin),
		cmocka_unit_test_setup(isolate_of_a_thread_is_remembered, begin),
		cmocka_unit_test_setup(walk_without_rules_goes_on_at_the_exit_frame, begin),
		cmocka_unit_test_setup(walk_goes_on_at_what_the_last_entry_says, begin),
		cmocka_unit_test_setup(outermost_entry_has_nothing_behind_it, begin),
		cmocka_unit_test_setup(native_code_is_skipped_where_no_calls_are_left, begin),
		cmocka_unit_test_setup(outermost_entry_is_left_where_no_calls_are_left, begin),
		cmocka_unit_test_setup(code_of_another_is_given_back, begin),
		cmocka_unit_test_setup(frames_that_are_none_end_the_stack, begin),
		cmocka_unit_test_setup(stack_that_does_not_grow_ends, begin),
		cmocka_unit_test_setup(long_stacks_are_walked_in_several_runs, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
