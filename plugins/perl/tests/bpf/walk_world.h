/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The walk of Perl's contexts (perl_unwind.bpf.c), compiled for user space, over an interpreter
 * that is made up here: of 5.36, with threads.
 *
 * A stack is compared as text, a frame a line, "entry" where C called it:
 *
 *	KIND [entry] [leaf] WHAT: statement NUMBER | line NUMBER
 *
 * Line: what may be freed when names are asked for has no statement, but its place.
 */
#ifndef TEST_PERL_WALK_WORLD_H
#define TEST_PERL_WALK_WORLD_H

#define EP_SHIM_OBJECT "test"
#include "plugins/perl/perl_unwind.bpf.c"

#define WORLD_STATE struct pl_state
#include "tests/kit/world.h"

#define SLOT	3u
#define HEAP	0x20000000ull
#define HOLDER	(HEAP + 0x10)
#define INTERP	(HEAP + 0x1000)
#define STACKS	(HEAP + 0x2000)	 /* stackinfos */
#define COPS	(HEAP + 0x3000)	 /* statements, 96 bytes each */
#define SUBS	(HEAP + 0x8000)	 /* 0x400 bytes each: CV, body, GV, its body, HEK */
#define TEXTS	(HEAP + 0x18000)
#define CONTEXTS (HEAP + 0x20000) /* of each stackinfo, 0x4000 bytes; the last one has the rest */
#define HEAP_BYTES 0x80000u
#define PAGE	   0x1000u

/* 5.36: layout.c. */
#define CX_BYTES 104
#define SUB_CV	 72
#define EVAL_CV	 88
#define EVAL_ENV 96
#define OP_OFF	 8
#define COP_OFF	 208
#define STACK_OFF 224
#define STASH_OFF 192
#define DBSUB_OFF 1656
#define COMPILING 1936
enum { ENTERSUB = 184, REQUIRE = 342, ENTEREVAL = 345, NEXTSTATE = 195 };

static uint32_t n_stacks; /* stackinfos */

static uint64_t text(const char *string)
{
	static uint32_t used;
	uint64_t addr = TEXTS + used % 0x7000;

	used = (used + (uint32_t)strlen(string) + 8) & ~7u;
	world_put_bytes(addr, string, strlen(string) + 1);
	return addr;
}

/* Statement i, on line 10 * i. */
static uint64_t cop(uint32_t i)
{
	return i ? COPS + 96ull * i : 0;
}

static void put_cop(uint32_t i, const char *file)
{
	world_put_int(cop(i) + OP_TYPE, NEXTSTATE);
	world_put_int(cop(i) + PL_COP_AT, 10 * i);
	world_put(cop(i) + 48, text(file));
	world_put_int(cop(i) + 60, i);
}

/* Op `i` of a statement. */
static uint64_t op(uint32_t statement, uint32_t i)
{
	return cop(statement) + 96 * 64 + 8 * i;
}

/* Sub i: its CV, body, GV, the GV's body and GP, and the name's HEK are 0x80 bytes apart. */
static uint64_t sub(uint32_t i)
{
	return SUBS + 0x400ull * i;
}

#define BODY 0x80
#define GLOB 0x180
#define GLOB_BODY 0x1c0
#define GLOB_GP 0x200
#define HEK_AT 0x280

static void put_sub(uint32_t i, const char *name, uint32_t flags, uint32_t depth)
{
	uint64_t cv = sub(i), body = cv + BODY, hek = cv + HEK_AT;

	world_put(cv, body);
	world_put_int(cv + 12, SV_TYPE_CV);
	world_put(body + PL_CV_AT + 8 * PL_CV_STASH, HEAP + 0x800);
	world_put(body + PL_CV_AT + 8 * PL_CV_START, cop(40 + i));
	world_put(body + PL_CV_AT + 8 * PL_CV_ROOT, 0x100 * i + 0x77000);
	world_put(body + PL_CV_AT + 8 * PL_CV_GV, flags & PL_CVF_NAMED ? hek : cv + GLOB);
	world_put_int(body + PL_CV_AT + 8 * PL_CV_SEQ_FLAGS, 1000 + i);
	world_put_int(body + PL_CV_AT + 8 * PL_CV_SEQ_FLAGS + 4, flags);
	world_put_int(body + PL_CV_AT + 8 * PL_CV_DEPTH, depth);
	world_put(cv + GLOB, cv + GLOB_BODY);
	world_put(cv + GLOB + SV_U, cv + GLOB_GP);
	world_put(cv + GLOB_GP + GP_EGV, cv + GLOB);
	world_put(cv + GLOB_BODY + PL_GV_NAME_AT, hek);
	world_put_int(hek, 0x5000 + i);
	world_put_int(hek + 4, (uint32_t)strlen(name));
	world_put_bytes(hek + HEK_KEY, name, strlen(name) + 1);
}

/* Stackinfos: the first one is the main one, each later one the innermost. */
static uint64_t stackinfo(uint32_t i)
{
	return STACKS + 0x40ull * i;
}

static uint32_t n_contexts(void)
{
	uint32_t n;

	memcpy(&n, fake_memory_find(&world.memory, stackinfo(n_stacks - 1) + SI_INDEX, 4), 4);
	return n + 1;
}

static void push_stackinfo(void)
{
	uint32_t i = n_stacks++;

	world_put(stackinfo(i) + SI_CONTEXTS, CONTEXTS + 0x4000ull * i);
	world_put(stackinfo(i) + SI_PREVIOUS, i ? stackinfo(i - 1) : 0);
	world_put_int(stackinfo(i) + SI_INDEX, UINT32_MAX);
	world_put_int(stackinfo(i) + SI_INDEX + 4, 1 << 20);
	world_put(INTERP + STACK_OFF, stackinfo(i));
}

/* A context of the innermost stackinfo; the caller's statement and op. */
static uint64_t push(uint32_t type, uint32_t caller, uint64_t retop)
{
	uint32_t at = n_contexts(), i = n_stacks - 1;
	uint64_t cx = CONTEXTS + 0x4000ull * i + CX_BYTES * (uint64_t)at;

	world_put(cx, 0);
	world_put_bytes(cx, &(uint8_t){(uint8_t)type}, 1);
	world_put(cx + CX_COP, cop(caller));
	world_put(cx + CX_RETOP, retop);
	world_put_int(stackinfo(i) + SI_INDEX, at);
	return cx;
}

static void push_sub(uint32_t i, uint32_t caller, uint64_t retop)
{
	world_put(push(CX_SUB, caller, retop) + SUB_CV, sub(i));
}

static void push_eval(uint32_t type, uint32_t caller, uint64_t retop, uint64_t env)
{
	world_put(push(CX_EVAL | type, caller, retop) + EVAL_ENV, env);
}

static void push_load(uint32_t i, uint32_t caller, uint32_t op_number, uint64_t retop)
{
	uint64_t cx = push(CX_EVAL, caller, retop);
	uint16_t bits = (uint16_t)(op_number << CX_OP_SHIFT);

	world_put_bytes(cx + CX_U16, &bits, sizeof(bits));
	world_put(cx + EVAL_CV, sub(i));
}

/* What PL_op and PL_curcop are. */
static void be_at(uint32_t statement, uint64_t op_addr, uint32_t op_type, uint64_t next)
{
	world_put(INTERP + COP_OFF, cop(statement));
	world_put(INTERP + OP_OFF, op_addr);
	if (op_addr) {
		world_put(op_addr + OP_NEXT, next);
		world_put_int(op_addr + OP_TYPE, op_type);
	}
}

static void put_state(void)
{
	world.state = (struct pl_state){
		.holder_addr = HOLDER,
		.op_off = OP_OFF,
		.cop_off = COP_OFF,
		.stack_off = STACK_OFF,
		.defstash_off = STASH_OFF,
		.dbsub_off = DBSUB_OFF,
		.compiling_off = COMPILING,
		.cx_bytes = CX_BYTES,
		.cx_sub_cv = SUB_CV,
		.cx_eval_cv = EVAL_CV,
		.cx_eval_env = EVAL_ENV,
		.op_entersub = ENTERSUB,
		.op_require = REQUIRE,
		.op_entereval = ENTEREVAL,
		.threads = 1,
	};
}

/* The program, outside of all subs, at statement 1, whose op 3 runs. */
static int begin(void **state)
{
	static struct pl_scratch scratch;

	n_stacks = 0;
	world_begin(SLOT, 144);
	world.task = 0x10000000;
	world.thread_pointer = HEAP;
	world_add_memory(HEAP, HEAP_BYTES);
	world_add_map("&ep_scratch", &scratch, sizeof(scratch), 1);
	put_state();
	for (uint32_t i = 1; i < 48; i++)
		put_cop(i, "prog.pl");
	for (uint32_t i = 1; i < 16; i++)
		put_sub(i, "named", 0, 1);
	world_put(HOLDER, INTERP);
	world_put(INTERP + STASH_OFF, HEAP + 0x800);
	world_put_int(HEAP + 0x800 + 12, SV_TYPE_HASH);
	push_stackinfo();
	push(CX_BLOCK, 0, 0);
	be_at(1, op(1, 3), 50, 0);
	return 0;
}

/* The same, in sub 1, which statement 1 calls. */
static int begin_in_sub(void **state)
{
	begin(state);
	push_sub(1, 1, op(1, 4));
	return 0;
}

/* --- what was pushed -------------------------------------------------------------------------- */

static void say_what(uint64_t what, uint32_t kind, uint32_t flags)
{
	uint64_t addr = what << 3;

	if (kind == PL_KIND_SUB || kind == PL_KIND_FORMAT)
		world_add_text(" %llu", (unsigned long long)(addr - SUBS) / 0x400);
	if (kind == PL_KIND_CLOSURE && flags & PL_FRAME_NAMED)
		world_add_text(" hek %llu", (unsigned long long)(addr - SUBS) / 0x400);
	else if (kind == PL_KIND_CLOSURE)
		world_add_text(" glob %llu", (unsigned long long)(addr - SUBS) / 0x400);
	else if (flags & PL_FRAME_TEXT && kind != PL_KIND_SUB)
		world_add_text(" text %llu", (unsigned long long)what & ((1u << PL_TEXT_BITS) - 1));
}

static void say_frame(uint64_t header, const __u64 *words)
{
	static const char *const kinds[] = {
		"?",   "sub",  "format", "block", "text", "file",  "try",     "defer",
		"sort", "regex", "main",  "begin", "closure", "?", "?", "?",
	};
	uint32_t flags = EP_FRAME_FLAGS(header), kind = (uint32_t)(words[0] >> PL_KIND_SHIFT & 0xf);
	uint64_t statement = (words[1] & PL_ADDRESS_MASK) << 3;

	if (EP_FRAME_WORDS(header) == 1) {
		world_add_text("%s%s%s ?\n", kinds[kind], flags & EP_FRAME_ENTRY ? " entry" : "",
			 flags & PL_FRAME_LEAF ? " leaf" : "");
		return;
	}

	world_add_text("%s%s%s", kinds[kind], flags & EP_FRAME_ENTRY ? " entry" : "",
		 flags & PL_FRAME_LEAF ? " leaf" : "");
	say_what(words[0] & PL_ADDRESS_MASK, kind, flags);
	if (flags & PL_FRAME_FILE)
		world_add_text(": line %u\n", EP_FRAME_AUX(header) & PL_OP_MASK);
	else if (statement)
		world_add_text(": statement %llu\n", (unsigned long long)(statement - COPS) / 96);
	else
		world_add_text("\n");
}

/* The frames outside of all subs, and of sub 1 that is called there. */
#define MAIN  "main entry: statement 1\n"
#define SUB_1 "sub 1: statement 2\n" MAIN

static const char *walk_stack(void)
{
	world_run(perl_unwind);
	return world_say(say_frame);
}

/* Within an op of the statement. */
static const char *walk_at(uint32_t statement)
{
	be_at(statement, op(statement, 3), 50, 0);
	return walk_stack();
}

/* Sub 1 at statement 1 of the program, sub 2 at statement 2 of that one, and so on. */
static void push_subs(uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++)
		push_sub(i, i, op(i, 4));
}

#endif
