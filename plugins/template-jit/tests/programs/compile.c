/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function's ops become a block: machine code, and for each instruction that changes the depth,
 * the line or the scope an entry in the table. The same function comes out different each time:
 * the size of its frame, what is pushed around calls, how long its code is.
 *
 * Registers: r15 is the thread, rdi the argument, which is kept at slot - 8; all others are
 * nobody's across a call, rbp too. At a call sp is a multiple of 16, so depth is 8 more than one.
 */
#include "runtime.h"

#include <string.h>

#define MAX_CODE_BYTES (JIT_MAX_BLOCK_BYTES - 4096)
#define MAX_INLINED    4
#define ROUND_UP(n, to) (((n) + (to) - 1) / (to) * (to))

_Static_assert(offsetof(struct jit_thread, anchor) == 0, "in the stubs");
_Static_assert(offsetof(struct jit_anchor, sp) == 8, "in the stubs");
_Static_assert(offsetof(struct jit_thread, spins) == 16, "in loops");

/* What one block is made of, before it has a place: no instruction depends on that. */
struct maker {
	struct jit_pc pcs[JIT_MAX_PCS];
	struct jit_scope scopes[JIT_MAX_SCOPES];
	uint32_t n_pcs, n_scopes;
	uint32_t n; /* bytes of code */
	struct jit_pc now;
	uint32_t frame_bytes;
	uint8_t code[MAX_CODE_BYTES];
};
static struct maker maker;

long (*jit_enter)(struct jit_thread *thread, uint64_t entry, long argument);
static uint64_t last_unique_id;

/* Xorshift, by Marsaglia: the same numbers in each run. */
uint32_t jit_random(uint32_t below)
{
	static uint32_t state = 2463534242u;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % below;
}

/* --- the assembler --- */

static void put_bytes(struct maker *m, const void *bytes, uint32_t n)
{
	if (m->n + n > sizeof(m->code))
		__builtin_trap();
	memcpy(m->code + m->n, bytes, n);
	m->n += n;
}
#define PUT(m, bytes) put_bytes(m, bytes, sizeof(bytes) - 1)

static void put_u32(struct maker *m, uint32_t value)
{
	put_bytes(m, &value, sizeof(value));
}

static void put_u64(struct maker *m, uint64_t value)
{
	put_bytes(m, &value, sizeof(value));
}

static bool is_alike(const struct jit_pc *a, const struct jit_pc *b)
{
	return a->depth == b->depth && a->line == b->line && a->scope == b->scope &&
	       a->flags == b->flags;
}

/* m->now holds from the next instruction on. */
static void mark(struct maker *m)
{
	m->now.code_off = m->n;
	if (m->n_pcs && m->pcs[m->n_pcs - 1].code_off == m->n)
		m->n_pcs--;
	if (m->n_pcs && is_alike(&m->pcs[m->n_pcs - 1], &m->now))
		return;
	if (m->n_pcs == JIT_MAX_PCS)
		__builtin_trap();
	m->pcs[m->n_pcs++] = m->now;
}

static void set_depth(struct maker *m, uint32_t depth)
{
	m->now.depth = depth;
	mark(m);
}

static void sub_sp(struct maker *m, uint32_t bytes)
{
	PUT(m, "\x48\x81\xec"); /* sub $bytes, %rsp */
	put_u32(m, bytes);
	set_depth(m, m->now.depth + bytes);
}

static void add_sp(struct maker *m, uint32_t bytes)
{
	PUT(m, "\x48\x81\xc4"); /* add $bytes, %rsp */
	put_u32(m, bytes);
	set_depth(m, m->now.depth - bytes);
}

/* A push or pop of one register, which is `n` bytes long. */
static void move_sp(struct maker *m, const char *bytes, uint32_t n, int by)
{
	put_bytes(m, bytes, n);
	set_depth(m, m->now.depth + (uint32_t)by);
}
#define PUSH(m, bytes) move_sp(m, bytes, sizeof(bytes) - 1, 8)
#define POP(m, bytes)  move_sp(m, bytes, sizeof(bytes) - 1, -8)

static void begin(struct maker *m, const struct jit_function *function)
{
	m->n_pcs = m->n_scopes = m->n = m->frame_bytes = 0;
	m->now = (struct jit_pc){.line = function->line};
	m->scopes[m->n_scopes++] = (struct jit_scope){(uintptr_t)function, JIT_NO_SCOPE, 0};
	mark(m);
}

/* --- ops --- */

static void load_argument(struct maker *m)
{
	PUT(m, "\x48\x8b\xbc\x24"); /* mov depth-8(%rsp), %rdi */
	put_u32(m, m->now.depth - 8);
}

/* rbp is a number, or looks as if it were a frame pointer. */
static void spoil_rbp(struct maker *m)
{
	if (jit_random(2)) {
		PUT(m, "\xbd"); /* mov $..., %ebp */
		put_u32(m, jit_random(1u << 31));
	} else {
		PUT(m, "\x48\x8d\x6c\x24\x10"); /* lea 16(%rsp), %rbp */
	}
}

static void put_prologue(struct maker *m)
{
	m->frame_bytes = 24 + 16 * jit_random(20);
	sub_sp(m, m->frame_bytes);
	PUT(m, "\x48\x89\xbc\x24"); /* mov %rdi, depth-8(%rsp) */
	put_u32(m, m->now.depth - 8);
	spoil_rbp(m);
}

static void put_epilogue(struct maker *m)
{
	add_sp(m, m->frame_bytes);
	PUT(m, "\xc3");			/* ret */
	set_depth(m, m->frame_bytes);	/* of what comes after it */
}

static void put_burn(struct maker *m)
{
	PUT(m, "\x49\x8b\x4f\x10");	    /* mov spins(%r15), %rcx */
	PUT(m, "\x48\x8d\x2c\x09");	    /* 1: lea (%rcx,%rcx), %rbp */
	PUT(m, "\x48\xff\xc9\x75\xf7");	    /* dec %rcx; jnz 1b */
}

/* A quarter of the turns, as each takes as many times longer. */
static void put_spill(struct maker *m)
{
	uint32_t bytes = 4096 + 16 * jit_random(256), start;

	sub_sp(m, bytes);
	PUT(m, "\x49\x8b\x4f\x10\x48\xc1\xe9\x02"); /* mov spins(%r15), %rcx; shr $2, %rcx */
	start = m->n;
	PUSH(m, "\x51"); /* push %rcx */
	sub_sp(m, 40);
	PUT(m, "\x48\x89\x0c\x24"); /* mov %rcx, (%rsp) */
	add_sp(m, 40);
	POP(m, "\x59");		    /* pop %rcx */
	PUT(m, "\x48\xff\xc9\x75"); /* dec %rcx; jnz start */
	put_bytes(m, &(int8_t){(int8_t)(start - (m->n + 1))}, 1);
	add_sp(m, bytes);
}

/* With arguments on the stack, or not: then the call may be the last instruction of its line. */
static void put_call(struct maker *m, const struct jit_function *function)
{
	bool arguments = jit_random(2);

	load_argument(m);
	if (arguments) {
		PUSH(m, "\x68\x11\x22\x33\x44"); /* push $... */
		PUSH(m, "\x57");		 /* push %rdi */
	}
	PUT(m, "\x48\xb8"); /* mov $entry, %rax */
	put_u64(m, (uintptr_t)&function->entry);
	PUT(m, "\xff\x10"); /* call *(%rax) */
	if (arguments)
		add_sp(m, 16);
}

static void put_native(struct maker *m, const struct jit_native *native)
{
	const struct jit_block *stub = (const void *)(uintptr_t)jit_about.call_stub;

	load_argument(m);
	PUT(m, "\x48\xb8"); /* mov $native, %rax */
	put_u64(m, (uintptr_t)native->call);
	PUT(m, "\x49\xbb"); /* mov $call_stub, %r11 */
	put_u64(m, (uintptr_t)stub + stub->code_off);
	PUT(m, "\x41\xff\xd3"); /* call *%r11 */
}

/* if the argument is not 0: [calls function with one less,] and returns */
static void put_return_early(struct maker *m, const struct jit_function *function)
{
	uint32_t from, to;

	load_argument(m);
	PUT(m, "\x48\x85\xff\x0f\x84"); /* test %rdi, %rdi; jz over */
	put_u32(m, 0);
	from = m->n;
	if (function) {
		PUT(m, "\x48\xff\xcf\x48\xb8"); /* dec %rdi; mov $entry, %rax */
		put_u64(m, (uintptr_t)&function->entry);
		PUT(m, "\xff\x10"); /* call *(%rax) */
	}
	put_epilogue(m);
	to = m->n - from;
	memcpy(m->code + from - 4, &to, sizeof(to));
}

/* A jump over as much as makes the way to the block's start longer than a byte of the map. */
static void put_filler(struct maker *m)
{
	uint32_t bytes = 12000 + jit_random(40000);

	_Static_assert(12000 + 40000 + 4096 < MAX_CODE_BYTES, "there is room for it");
	PUT(m, "\xe9"); /* jmp after it */
	put_u32(m, bytes);
	memset(m->code + m->n, 0x90, bytes);
	m->n += bytes;
}

static void begin_inlined(struct maker *m, const struct jit_function *function)
{
	if (m->n_scopes == JIT_MAX_SCOPES)
		__builtin_trap();
	m->scopes[m->n_scopes] = (struct jit_scope){(uintptr_t)function, m->now.scope, m->now.line};
	m->now.scope = (uint16_t)m->n_scopes++;
	m->now.line = function->line;
}

static void end_inlined(struct maker *m)
{
	const struct jit_scope *scope = &m->scopes[m->now.scope];

	m->now.line = scope->line;
	m->now.scope = (uint16_t)scope->caller;
}

/* One that does not change which ops are next. */
static void put_op(struct maker *m, const struct jit_op *op, const struct jit_function *function)
{
	m->now.line = op->line;
	mark(m);
	switch (op->kind) {
	case JIT_BURN:
		put_burn(m);
		break;
	case JIT_SPILL:
		put_spill(m);
		break;
	case JIT_CALL:
		put_call(m, op->what);
		break;
	case JIT_NATIVE:
		put_native(m, op->what);
		break;
	case JIT_DEEPER:
		put_return_early(m, function);
		break;
	case JIT_LAST:
		put_return_early(m, NULL);
		break;
	case JIT_INLINE:
	case JIT_RETURN:
		break;
	}
}

static void put_ops(struct maker *m, const struct jit_function *function)
{
	const struct jit_op *next[MAX_INLINED] = {function->ops}, *op;
	int inlined = 0;

	for (;;) {
		op = next[inlined]++;
		put_op(m, op, function);
		if (op->kind == JIT_INLINE) {
			if (inlined + 1 == MAX_INLINED)
				__builtin_trap();
			begin_inlined(m, op->what);
			next[++inlined] = ((const struct jit_function *)op->what)->ops;
		} else if (op->kind == JIT_RETURN && inlined-- > 0) {
			end_inlined(m);
		} else if (op->kind == JIT_RETURN) {
			put_epilogue(m);
			return;
		}
	}
}

/* --- blocks --- */

static struct jit_block head_of(const struct maker *m, enum jit_block_kind kind)
{
	struct jit_block head = {.magic = JIT_MAGIC,
				 .unique_id = ++last_unique_id,
				 .function = m->scopes[0].function,
				 .kind = kind,
				 .code_bytes = m->n,
				 .pcs_off = sizeof(struct jit_block),
				 .n_pcs = m->n_pcs,
				 .n_scopes = m->n_scopes,
				 .frame_bytes = m->frame_bytes};

	head.scopes_off = head.pcs_off + m->n_pcs * (uint32_t)sizeof(struct jit_pc);
	head.code_off = head.scopes_off + m->n_scopes * (uint32_t)sizeof(struct jit_scope);
	head.bytes = ROUND_UP(head.code_off + m->n, JIT_UNIT_BYTES);
	return head;
}

/* What is after the last ret is no instruction, and has no entry. */
static struct jit_block *finish(struct maker *m, enum jit_block_kind kind, enum jit_place place)
{
	struct jit_block head, *block;

	if (m->pcs[m->n_pcs - 1].code_off == m->n)
		m->n_pcs--;
	head = head_of(m, kind);
	block = jit_place_new(place, head.bytes);
	if (!block)
		return NULL;
	memcpy((uint8_t *)block + head.pcs_off, m->pcs, m->n_pcs * sizeof(m->pcs[0]));
	memcpy((uint8_t *)block + head.scopes_off, m->scopes, m->n_scopes * sizeof(m->scopes[0]));
	memcpy((uint8_t *)block + head.code_off, m->code, m->n);
	*block = head;
	return block;
}

struct jit_block *jit_compile(const struct jit_function *function, enum jit_place place)
{
	struct maker *m = &maker;

	begin(m, function);
	put_prologue(m);
	if (place != JIT_IN_PAGE && jit_random(6) == 0)
		put_filler(m);
	put_ops(m, function);
	return finish(m, JIT_FUNCTION, place);
}

static void set_flags(struct maker *m, uint16_t flags)
{
	m->now.flags = flags;
	mark(m);
}

/* rdi: the thread, rsi: the entry, rdx: the argument. See JIT_FP_DEPTH and JIT_ANCHOR_DEPTH. */
static void put_entry_stub(struct maker *m)
{
	PUSH(m, "\x55"); /* push %rbp */
	set_flags(m, JIT_PC_FP_SAVED);
	PUSH(m, "\x53");     /* push %rbx */
	PUSH(m, "\x41\x54"); /* push %r12 */
	PUSH(m, "\x41\x55"); /* push %r13 */
	PUSH(m, "\x41\x56"); /* push %r14 */
	PUSH(m, "\x41\x57"); /* push %r15 */
	PUT(m, "\x49\x89\xff"); /* mov %rdi, %r15 */
	PUSH(m, "\x41\xff\x77\x08"); /* push anchor.sp(%r15) */
	PUSH(m, "\x41\xff\x37");     /* push anchor.pc(%r15) */
	set_flags(m, JIT_PC_FP_SAVED | JIT_PC_ANCHOR_SAVED);
	sub_sp(m, 8);
	PUT(m, "\x49\xc7\x47\x08\0\0\0\0"); /* movq $0, anchor.sp(%r15) */
	PUT(m, "\x49\xc7\x07\0\0\0\0");	    /* movq $0, anchor.pc(%r15) */
	PUT(m, "\x48\x89\xd7\xff\xd6");	    /* mov %rdx, %rdi; call *%rsi */
	PUT(m, "\x48\x8b\x4c\x24\x08\x49\x89\x0f"); /* anchor.pc(%r15) = 8(%rsp) */
	PUT(m, "\x48\x8b\x4c\x24\x10\x49\x89\x4f\x08"); /* anchor.sp(%r15) = 16(%rsp) */
	add_sp(m, 24);
	set_flags(m, JIT_PC_FP_SAVED);
	POP(m, "\x41\x5f");
	POP(m, "\x41\x5e");
	POP(m, "\x41\x5d");
	POP(m, "\x41\x5c");
	POP(m, "\x5b");
	POP(m, "\x5d"); /* pop %rbp */
	set_flags(m, 0);
	PUT(m, "\xc3");
}

/* rax: the C function, rdi: its argument. */
static void put_call_stub(struct maker *m)
{
	sub_sp(m, 8);
	PUT(m, "\x4c\x8d\x15\x09\0\0\0"); /* lea after the call(%rip), %r10 */
	PUT(m, "\x4d\x89\x17");		  /* mov %r10, anchor.pc(%r15) */
	PUT(m, "\x49\x89\x67\x08");	  /* mov %rsp, anchor.sp(%r15) */
	PUT(m, "\xff\xd0");		  /* call *%rax */
	PUT(m, "\x49\xc7\x47\x08\0\0\0\0"); /* movq $0, anchor.sp(%r15) */
	PUT(m, "\x49\xc7\x07\0\0\0\0");	    /* movq $0, anchor.pc(%r15) */
	add_sp(m, 8);
	PUT(m, "\xc3");
}

static uint64_t make_stub(const struct jit_function *name, void (*put)(struct maker *m),
			  enum jit_block_kind kind)
{
	struct jit_block *block;

	begin(&maker, name);
	put(&maker);
	block = finish(&maker, kind, JIT_IN_HEAP_0);
	if (!block)
		__builtin_trap();
	return (uintptr_t)block;
}

void jit_make_stubs(void)
{
	static const struct jit_function entry = {"entry_stub", "stubs.jit", 1, 0, 0, NULL};
	static const struct jit_function call = {"call_stub", "stubs.jit", 2, 0, 0, NULL};
	const struct jit_block *block;

	jit_about.entry_stub = make_stub(&entry, put_entry_stub, JIT_ENTRY_STUB);
	jit_about.call_stub = make_stub(&call, put_call_stub, JIT_CALL_STUB);
	block = (const void *)(uintptr_t)jit_about.entry_stub;
	jit_enter = (long (*)(struct jit_thread *, uint64_t, long))(jit_about.entry_stub +
								    block->code_off);
}
