/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The walk of Perl's contexts (perl_unwind.bpf.c), compiled for user space, over an interpreter that is
 * made up here: of 5.36, with threads. A tail call to itself runs it again, as the kernel does.
 *
 * A stack is compared as text, a frame a line, "entry" where C called it:
 *
 *	KIND [entry] [leaf] WHAT: statement NUMBER | line NUMBER
 *
 * Line: what may be freed when names are asked for has no statement, but its place.
 */
#define EP_SHIM_OBJECT "test"
#include "plugins/perl/perl_unwind.bpf.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
#define TLS	0x10000000ull /* the thread pointer */

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

static struct {
	struct ep_record rec;
	union {
		struct ep_state_cell cell;
		struct pl_state state;
	};
	struct pl_scratch scratch;
	uint64_t counters[8];
	uint8_t heap[HEAP_BYTES];
	uint32_t n_stacks, n_runs, n_reads;
	uint64_t hole; /* a page that is not there */
	jmp_buf called;
	char text[8192];
} world;

#define REC (&world.rec)

enum { AGAIN = 1, FINISHED };

void *ep_shim_map_lookup(const char *object, const char *name, const void *map, const void *key)
{
	(void)object, (void)map;
	if (strcmp(name, "&ep_records") == 0)
		return REC;
	if (strcmp(name, "&ep_states") == 0)
		return &world.cell;
	if (strcmp(name, "&pl_scratches") == 0)
		return &world.scratch;
	return strcmp(name, "&ep_lang_counts") == 0 ? &world.counters[*(const uint32_t *)key & 7] : NULL;
}

/* It does not come back. */
long ep_shim_tail_call(const char *object, const char *name, void *ctx, __u32 slot)
{
	(void)object, (void)name, (void)ctx;
	longjmp(world.called, slot == SLOT ? AGAIN : FINISHED);
}

static uint8_t *find_memory(uint64_t addr, uint64_t bytes)
{
	uint64_t off = addr - HEAP;

	if (world.hole && addr < world.hole + PAGE && addr + bytes > world.hole)
		return NULL;
	return off <= HEAP_BYTES && HEAP_BYTES - off >= bytes ? world.heap + off : NULL;
}

long ep_shim_read_user(void *to, __u32 bytes, const void *from)
{
	const uint8_t *at = find_memory((uint64_t)(uintptr_t)from, bytes);

	world.n_reads++;
	if (!at) {
		memset(to, 0, bytes); /* bpf-helpers(7) */
		return -14;
	}
	memcpy(to, at, bytes);
	return 0;
}

long ep_shim_read_user_str(void *to, __u32 bytes, const void *from)
{
	const char *at = (const char *)find_memory((uint64_t)(uintptr_t)from, bytes);

	return at ? (long)snprintf(to, bytes, "%s", at) + 1 : -14;
}

/* The thread pointer is all that is read there. */
long ep_shim_read_kernel(void *to, __u32 bytes, const void *from)
{
	const uint64_t pointer = HEAP;

	(void)from;
	assert_int_equal(bytes, sizeof(pointer));
	memcpy(to, &pointer, sizeof(pointer));
	return 0;
}

__u64 ep_shim_task(void)
{
	return TLS;
}

/* --- what is made up ------------------------------------------------------------------------------ */

static void put_bytes(uint64_t addr, const void *bytes, size_t n)
{
	uint8_t *at = find_memory(addr, n);

	assert_non_null(at);
	memcpy(at, bytes, n);
}

static void put(uint64_t addr, uint64_t word)
{
	put_bytes(addr, &word, sizeof(word));
}

static void put_int(uint64_t addr, uint32_t word)
{
	put_bytes(addr, &word, sizeof(word));
}

static uint64_t text(const char *string)
{
	static uint32_t used;
	uint64_t addr = TEXTS + used % 0x7000;

	used = (used + (uint32_t)strlen(string) + 8) & ~7u;
	put_bytes(addr, string, strlen(string) + 1);
	return addr;
}

/* Statement i, on line 10 * i. */
static uint64_t cop(uint32_t i)
{
	return i ? COPS + 96ull * i : 0;
}

static void put_cop(uint32_t i, const char *file)
{
	put_int(cop(i) + OP_TYPE, NEXTSTATE);
	put_int(cop(i) + PL_COP_AT, 10 * i);
	put(cop(i) + 48, text(file));
	put_int(cop(i) + 60, i);
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

	put(cv, body);
	put_int(cv + 12, SV_TYPE_CV);
	put(body + PL_CV_AT + 8 * PL_CV_STASH, HEAP + 0x800);
	put(body + PL_CV_AT + 8 * PL_CV_START, cop(40 + i));
	put(body + PL_CV_AT + 8 * PL_CV_ROOT, 0x100 * i + 0x77000);
	put(body + PL_CV_AT + 8 * PL_CV_GV, flags & PL_CVF_NAMED ? hek : cv + GLOB);
	put_int(body + PL_CV_AT + 8 * PL_CV_SEQ_FLAGS, 1000 + i);
	put_int(body + PL_CV_AT + 8 * PL_CV_SEQ_FLAGS + 4, flags);
	put_int(body + PL_CV_AT + 8 * PL_CV_DEPTH, depth);
	put(cv + GLOB, cv + GLOB_BODY);
	put(cv + GLOB + SV_U, cv + GLOB_GP);
	put(cv + GLOB_GP + GP_EGV, cv + GLOB);
	put(cv + GLOB_BODY + PL_GV_NAME_AT, hek);
	put_int(hek, 0x5000 + i);
	put_int(hek + 4, (uint32_t)strlen(name));
	put_bytes(hek + HEK_KEY, name, strlen(name) + 1);
}

/* Stackinfos: the first one is the main one, each later one the innermost. */
static uint64_t stackinfo(uint32_t i)
{
	return STACKS + 0x40ull * i;
}

static uint32_t n_contexts(void)
{
	uint32_t n;

	memcpy(&n, find_memory(stackinfo(world.n_stacks - 1) + SI_INDEX, 4), 4);
	return n + 1;
}

static void push_stackinfo(void)
{
	uint32_t i = world.n_stacks++;

	put(stackinfo(i) + SI_CONTEXTS, CONTEXTS + 0x4000ull * i);
	put(stackinfo(i) + SI_PREVIOUS, i ? stackinfo(i - 1) : 0);
	put_int(stackinfo(i) + SI_INDEX, UINT32_MAX);
	put_int(stackinfo(i) + SI_INDEX + 4, 1 << 20);
	put(INTERP + STACK_OFF, stackinfo(i));
}

/* A context of the innermost stackinfo; the caller's statement and op. */
static uint64_t push(uint32_t type, uint32_t caller, uint64_t retop)
{
	uint32_t at = n_contexts(), i = world.n_stacks - 1;
	uint64_t cx = CONTEXTS + 0x4000ull * i + CX_BYTES * (uint64_t)at;

	put(cx, 0);
	put_bytes(cx, &(uint8_t){(uint8_t)type}, 1);
	put(cx + CX_COP, cop(caller));
	put(cx + CX_RETOP, retop);
	put_int(stackinfo(i) + SI_INDEX, at);
	return cx;
}

static void push_sub(uint32_t i, uint32_t caller, uint64_t retop)
{
	put(push(CX_SUB, caller, retop) + SUB_CV, sub(i));
}

static void push_eval(uint32_t type, uint32_t caller, uint64_t retop, uint64_t env)
{
	put(push(CX_EVAL | type, caller, retop) + EVAL_ENV, env);
}

/* What PL_op and PL_curcop are. */
static void be_at(uint32_t statement, uint64_t op_addr, uint32_t op_type, uint64_t next)
{
	put(INTERP + COP_OFF, cop(statement));
	put(INTERP + OP_OFF, op_addr);
	if (op_addr) {
		put(op_addr + OP_NEXT, next);
		put_int(op_addr + OP_TYPE, op_type);
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

static void set_self(uint32_t frames_per_run)
{
	*(uint32_t *)(uintptr_t)&ep_self.slot = SLOT;
	*(uint32_t *)(uintptr_t)&ep_self.kind = EP_FRAME_FIRST_DYNAMIC + SLOT;
	*(uint32_t *)(uintptr_t)&ep_self.first_error = 100;
	*(uint32_t *)(uintptr_t)&ep_self.frames_per_run = frames_per_run;
}

/* The program, outside of all subs, at statement 1, whose op 3 runs. */
static int begin(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	set_self(144);
	put_state();
	for (uint32_t i = 1; i < 48; i++)
		put_cop(i, "prog.pl");
	for (uint32_t i = 1; i < 16; i++)
		put_sub(i, "named", 0, 1);
	put(HOLDER, INTERP);
	put(INTERP + STASH_OFF, HEAP + 0x800);
	put_int(HEAP + 0x800 + 12, SV_TYPE_HASH);
	REC->sample.pid = REC->sample.tid = 77;
	REC->walk.sequence = 1;
	REC->walk.slots[0] = SLOT;
	REC->walk.states[0] = 1;
	push_stackinfo();
	push(CX_BLOCK, 0, 0);
	be_at(1, op(1, 3), 50, 0);
	return 0;
}

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

static void say_what(uint64_t what, uint32_t kind, uint32_t flags)
{
	uint64_t addr = what << 3;

	if (kind == PL_KIND_SUB || kind == PL_KIND_FORMAT)
		add_text(" %llu", (unsigned long long)(addr - SUBS) / 0x400);
	if (kind == PL_KIND_CLOSURE && flags & PL_FRAME_NAMED)
		add_text(" hek %llu", (unsigned long long)(addr - SUBS) / 0x400);
	else if (kind == PL_KIND_CLOSURE)
		add_text(" glob %llu", (unsigned long long)(addr - SUBS) / 0x400);
	else if (flags & PL_FRAME_TEXT && kind != PL_KIND_SUB)
		add_text(" text %llu", (unsigned long long)what & ((1u << PL_TEXT_BITS) - 1));
}

static void say_frame(__u64 header, const __u64 *words)
{
	static const char *const kinds[] = {
		"?",   "sub",  "format", "block", "text", "file",  "try",     "defer",
		"sort", "regex", "main",  "begin", "closure", "?", "?", "?",
	};
	uint32_t flags = EP_FRAME_FLAGS(header), kind = (uint32_t)(words[0] >> PL_KIND_SHIFT & 0xf);
	uint64_t statement = (words[1] & PL_ADDRESS_MASK) << 3;

	if (EP_FRAME_WORDS(header) == 1) {
		add_text("%s%s%s ?\n", kinds[kind], flags & EP_FRAME_ENTRY ? " entry" : "",
			 flags & PL_FRAME_LEAF ? " leaf" : "");
		return;
	}

	add_text("%s%s%s", kinds[kind], flags & EP_FRAME_ENTRY ? " entry" : "",
		 flags & PL_FRAME_LEAF ? " leaf" : "");
	say_what(words[0] & PL_ADDRESS_MASK, kind, flags);
	if (flags & PL_FRAME_FILE)
		add_text(": line %u\n", EP_FRAME_AUX(header) & PL_OP_MASK);
	else if (statement)
		add_text(": statement %llu\n", (unsigned long long)(statement - COPS) / 96);
	else
		add_text("\n");
}

static const char *say_stack(void)
{
	world.text[0] = 0;
	for (uint32_t at = 0; at < REC->sample.n_words; at += 1 + EP_FRAME_WORDS(REC->words[at])) {
		__u64 header = REC->words[at];

		if (EP_FRAME_KIND(header) == EP_FRAME_ERROR)
			add_text("error %u\n", EP_FRAME_AUX(header));
		else
			say_frame(header, REC->words + at + 1);
	}
	return world.text;
}

static void run(void)
{
	do {
		int called = setjmp(world.called);

		if (called == FINISHED)
			return;
		world.n_runs++;
		perl_unwind(NULL);
	} while (world.n_runs < 200);
}

static const char *walk_stack(void)
{
	run();
	return say_stack();
}

/* --- subs -------------------------------------------------------------------------------------------- */

static void callers_statement_is_in_the_context(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push_sub(2, 2, op(2, 4));
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub leaf 2: statement 3\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
	assert_int_equal(REC->sample.error, 0);
}

static void loops_and_blocks_are_passed(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push(CX_BLOCK, 2, 0);
	push(6, 2, 0); /* CXt_LOOP_LIST */
	push(6, 2, 0);
	push_sub(2, 2, op(2, 4));
	push(CX_BLOCK, 3, 0);
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub leaf 2: statement 3\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void c_calls_what_has_no_op_to_go_on_with(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push_sub(2, 2, 0);
	push_sub(3, 3, op(3, 4));
	be_at(4, op(4, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub leaf 3: statement 4\n"
					  "sub entry 2: statement 3\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

/* A destructor, a signal's handler, BEGIN. */
static void call_sv_that_catches_has_an_eval_around_it(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push_eval(CX_EVALBLOCK, 2, 0, 0x900);
	push_sub(2, 2, 0);
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub leaf 2: statement 3\n"
					  "block entry: line 20\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void sub_that_has_not_begun_is_no_frame(void **state)
{
	(void)state;
	put_sub(2, "named", 0, 0);
	push_sub(1, 1, op(1, 4));
	push_sub(2, 2, op(2, 4));
	be_at(2, op(2, 3), ENTERSUB, op(2, 4));
	assert_string_equal(walk_stack(), "sub leaf 1: statement 2\n"
					  "main entry: statement 1\n");
	begin(NULL);
	push_sub(1, 1, op(1, 4));
	push_sub(2, 2, op(2, 4)); /* its depth has grown already */
	be_at(2, op(2, 3), ENTERSUB, op(2, 4));
	assert_string_equal(walk_stack(), "sub leaf 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void sub_that_is_left_is_no_frame(void **state)
{
	(void)state;
	put_sub(2, "named", 0, 0);
	push_sub(1, 1, op(1, 4));
	push_sub(2, 2, op(2, 4));
	be_at(2, op(3, 9), 60, op(2, 4));
	assert_string_equal(walk_stack(), "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

/* It is at the statement that called it: before its first one, or behind its last one. */
static void statement_of_the_caller_is_not_its_own(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push_sub(2, 2, op(2, 4));
	be_at(2, op(3, 1), 60, 0);
	assert_string_equal(walk_stack(), "sub leaf 2\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
	begin(NULL);
	push_sub(1, 1, op(1, 4));
	push_sub(1, 2, op(2, 4)); /* it calls itself there */
	be_at(2, op(2, 1), 60, 0);
	assert_string_equal(walk_stack(), "sub leaf 1: statement 2\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void debugger_is_hidden(void **state)
{
	(void)state;
	put(INTERP + DBSUB_OFF, sub(9) + GLOB);
	put(sub(9) + GLOB_GP + GP_CV, sub(9));
	push_sub(1, 1, op(1, 4));
	push_sub(9, 2, 0); /* called by C, and calls what was to be called */
	push_sub(2, 3, op(3, 4));
	be_at(4, op(4, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub entry leaf 2: statement 4\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void xs_has_no_frame_of_its_own(void **state)
{
	(void)state;
	put_sub(2, "named", PL_CVF_ISXSUB, 1);
	push_sub(1, 1, op(1, 4));
	push_stackinfo();
	push_sub(2, 2, 0); /* sort calls it for each comparison */
	be_at(2, op(2, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void closures_are_told_by_their_name(void **state)
{
	(void)state;
	put_sub(1, "__ANON__", PL_CVF_ANON | PL_CVF_CLONED, 1);
	put_sub(2, "inner", PL_CVF_CLONED | PL_CVF_NAMED | PL_CVF_LEXICAL, 1);
	push_sub(1, 1, op(1, 4));
	push_sub(2, 2, op(2, 4));
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "closure leaf hek 2: statement 3\n"
					  "closure glob 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void closure_that_has_not_begun_is_at_its_start(void **state)
{
	(void)state;
	put_sub(1, "__ANON__", PL_CVF_ANON, 1);
	push_sub(1, 1, op(1, 4));
	be_at(1, op(2, 3), 50, 0);
	assert_string_equal(walk_stack(), "closure leaf glob 1: statement 41\n"
					  "main entry: statement 1\n");
}

static void format_is_a_frame(void **state)
{
	(void)state;
	put(push(CX_FORMAT, 1, op(1, 4)) + SUB_CV, sub(3));
	be_at(2, op(2, 3), 50, 0);
	assert_string_equal(walk_stack(), "format leaf 3: statement 2\n"
					  "main entry: statement 1\n");
}

/* --- loading --------------------------------------------------------------------------------------- */

static void push_load(uint32_t i, uint32_t caller, uint32_t op_number, uint64_t retop)
{
	uint64_t cx = push(CX_EVAL, caller, retop);
	uint16_t bits = (uint16_t)(op_number << CX_OP_SHIFT);

	put_bytes(cx + CX_U16, &bits, sizeof(bits));
	put(cx + EVAL_CV, sub(i));
}

static void begin_blocks_have_their_line(void **state)
{
	(void)state;
	put_sub(2, "BEGIN", 0, 1);
	push_load(1, 1, REQUIRE, op(1, 4));
	push_eval(CX_EVALBLOCK, 2, 0, 0x900);
	push_sub(2, 2, 0);
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "begin leaf: line 30\n"
					  "block entry: line 20\n"
					  "file: line 20\n"
					  "main entry: statement 1\n");
}

static void files_and_texts_run(void **state)
{
	(void)state;
	put_cop(3, "(eval 12)");
	push_load(1, 1, REQUIRE, op(1, 4));
	push_load(2, 2, ENTEREVAL, op(2, 4));
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "text leaf text 12: statement 3\n"
					  "file: line 20\n"
					  "main entry: statement 1\n");
}

/* Its text is compiled: no run loop of its own. */
static void file_that_is_compiled_has_no_loop(void **state)
{
	(void)state;
	put_sub(1, "", 0, 0);
	push_load(1, 1, REQUIRE, op(1, 4));
	be_at(2, op(1, 3), REQUIRE, op(1, 4));
	assert_string_equal(walk_stack(), "file leaf: line 20\n"
					  "main entry: statement 1\n");
}

/* An eval that was docatch's has died: the sub goes on in its run loop, which the text is compiled in. */
static void text_that_is_compiled_behind_docatch_is_in_its_loop(void **state)
{
	(void)state;
	put_cop(3, "(eval 12)");
	put_sub(3, "", 0, 0);
	push_sub(2, 1, 0);
	push_load(3, 2, ENTEREVAL, op(2, 4));
	be_at(3, op(2, 3), ENTEREVAL, op(2, 4));
	assert_string_equal(walk_stack(), "text entry leaf text 12: statement 3\n"
					  "sub entry 2: statement 2\n"
					  "main entry: statement 1\n");
}

/* The statement is the caller's again. */
static void file_that_is_left_is_no_frame(void **state)
{
	(void)state;
	push_load(1, 1, REQUIRE, op(1, 4));
	be_at(1, op(2, 3), 50, 0);
	assert_string_equal(walk_stack(), "main entry: statement 1\n");
}

/* --- who called a run loop --------------------------------------------------------------------------- */

/* eval {} within what catches nothing has a run loop of its own (pp_ctl.c: docatch). */
static void eval_with_a_jump_buffer_of_its_own_is_docatchs(void **state)
{
	(void)state;
	push_eval(CX_EVALBLOCK, 1, op(1, 4), 0x900);
	push_sub(1, 2, op(2, 4));
	push_eval(CX_EVALBLOCK, 3, op(3, 4), 0x900);
	be_at(4, op(4, 3), 50, 0);
	assert_string_equal(walk_stack(), "block leaf: statement 4\n"
					  "sub 1: statement 3\n"
					  "block: statement 2\n"
					  "main entry: statement 1\n");
	begin(NULL);
	push_eval(CX_EVALBLOCK, 1, op(1, 4), 0x900);
	push_sub(1, 2, op(2, 4));
	push_eval(CX_EVALBLOCK, 3, op(3, 4), 0xa00);
	be_at(4, op(4, 3), 50, 0);
	assert_string_equal(walk_stack(), "block entry leaf: statement 4\n"
					  "sub 1: statement 3\n"
					  "block: statement 2\n"
					  "main entry: statement 1\n");
}

static void first_eval_in_a_loop_that_catches_nothing_is_docatchs(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push_sub(2, 2, 0); /* overload */
	push_sub(3, 3, op(3, 4));
	push_eval(CX_EVALBLOCK, 4, op(4, 4), 0x900);
	be_at(5, op(5, 3), 50, 0);
	assert_string_equal(walk_stack(), "block entry leaf: statement 5\n"
					  "sub 3: statement 4\n"
					  "sub entry 2: statement 3\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
	begin(NULL);
	push_sub(1, 1, op(1, 4));
	push_eval(CX_EVALBLOCK, 2, 0, 0x800); /* it catches */
	push_sub(2, 2, 0);
	push_eval(CX_EVALBLOCK, 4, op(4, 4), 0x900);
	be_at(5, op(5, 3), 50, 0);
	assert_string_equal(walk_stack(), "block leaf: statement 5\n"
					  "sub 2: statement 4\n"
					  "block entry: line 20\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void try_is_shown_where_it_has_a_loop(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push_eval(CX_EVALBLOCK | CX_TRY, 2, op(2, 4), 0x900);
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub leaf 1: statement 3\n"
					  "main entry: statement 1\n");
	begin(NULL);
	push_sub(1, 1, op(1, 4));
	push_sub(2, 2, 0);
	push_eval(CX_EVALBLOCK | CX_TRY, 3, op(3, 4), 0x900);
	be_at(4, op(4, 3), 50, 0);
	assert_string_equal(walk_stack(), "try entry leaf: statement 4\n"
					  "sub entry leaf 2: statement 4\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void defer_has_a_loop(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push(CX_DEFER, 2, 0);
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "defer entry leaf: line 30\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void sort_block_is_there_while_it_compares(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push_stackinfo();
	push(CX_NULL, 2, 0);
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "sort entry leaf: line 30\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
	begin(NULL);
	push_sub(1, 1, op(1, 4));
	push_stackinfo();
	push(CX_NULL, 2, 0);
	be_at(2, 0, 0, 0);
	assert_string_equal(walk_stack(), "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void multicall_is_there_while_it_runs(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push_stackinfo();
	push_sub(2, 2, 0);
	put_bytes(CONTEXTS + 0x4000, &(uint8_t){CX_SUB | CX_MULTICALL}, 1);
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub entry leaf 2: statement 3\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
	begin(NULL);
	push_sub(1, 1, op(1, 4));
	push_stackinfo();
	push_sub(2, 2, 0);
	put_bytes(CONTEXTS + 0x4000, &(uint8_t){CX_SUB | CX_MULTICALL}, 1);
	be_at(2, op(2, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void code_in_a_pattern_is_told_from_its_sub(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push_stackinfo();
	push_sub(1, 2, 0);
	put_bytes(CONTEXTS + 0x4000, &(uint8_t){CX_SUB | CX_MULTICALL | CX_RE_FAKE}, 1);
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "regex entry leaf: line 30\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

/* --- the interpreter ----------------------------------------------------------------------------------- */

static void other_threads_wait_until_theirs_is_known(void **state)
{
	(void)state;
	world.state.holder_of_main = 1;
	assert_string_equal(walk_stack(), "main entry leaf: statement 1\n");
	begin(NULL);
	world.state.holder_of_main = 1;
	REC->sample.tid = 78;
	assert_string_equal(walk_stack(), "");
	assert_int_equal(world.counters[PL_COUNT_NO_INTERPRETER], 1);
	begin(NULL);
	world.state.interp = (struct ep_tls){.steps = 1, .off = {0x10}};
	world.state.holder_addr = 0;
	world.state.holder_of_main = 1;
	REC->sample.tid = 78;
	assert_string_equal(walk_stack(), "main entry leaf: statement 1\n");
}

static void members_may_be_variables(void **state)
{
	(void)state;
	world.state.holder_addr = 0;
	world.state.op_off += INTERP;
	world.state.cop_off += INTERP;
	world.state.stack_off += INTERP;
	world.state.dbsub_off += INTERP;
	world.state.threads = 0;
	assert_string_equal(walk_stack(), "main entry leaf: statement 1\n");
}

static void what_nobody_has_looked_at_must_be_likely(void **state)
{
	(void)state;
	world.state.unproven = 1;
	assert_string_equal(walk_stack(), "main entry leaf: statement 1\n");
	assert_true(REC->sample.flags & EP_SAMPLE_REFRESH);
	for (int i = 0; i < 4; i++) {
		begin(NULL);
		world.state.unproven = 1;
		if (i == 0)
			put(INTERP + STASH_OFF, 0);
		else if (i == 1)
			put_int(HEAP + 0x800 + 12, SV_TYPE_CV);
		else if (i == 2)
			put_int(stackinfo(0) + SI_INDEX, 1 << 21);
		else
			put_int(stackinfo(0) + SI_INDEX, (uint32_t)-2);
		assert_string_equal(walk_stack(), "");
		assert_int_equal(REC->sample.error, 0);
	}
	begin(NULL);
	assert_string_equal(walk_stack(), "main entry leaf: statement 1\n");
	assert_false(REC->sample.flags & EP_SAMPLE_REFRESH);
}

static void contexts_that_cannot_be_read_end_the_stack(void **state)
{
	(void)state;
	push_sub(1, 1, op(1, 4));
	push_stackinfo();
	push_sub(2, 2, 0);
	put(stackinfo(0) + SI_CONTEXTS, 0x100);
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub entry leaf 2: statement 3\nerror 100\n");
	begin(NULL);
	push_stackinfo();
	put(stackinfo(1) + SI_PREVIOUS, 0x100);
	push_sub(2, 2, 0);
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub entry leaf 2: statement 3\nerror 100\n");
}

/* What it runs, or where: said by its kind alone, and never by what was read before. */
static void frames_that_cannot_be_read_say_so(void **state)
{
	(void)state;
	put_cop(3, "(eval 12)");
	push_sub(1, 1, op(1, 4));
	put(push(CX_SUB, 2, op(2, 4)) + SUB_CV, 0x7000);
	push_load(2, 2, ENTEREVAL, op(2, 4));
	put(INTERP + COP_OFF, 0x7000);
	assert_string_equal(walk_stack(), "text leaf ?\n"
					  "sub ?\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
	begin(NULL);
	push_sub(1, 1, op(1, 4));
	put(push(CX_SUB, 2, op(2, 4)) + SUB_CV, 0x7000);
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "sub leaf ?\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

static void list_without_an_end_ends(void **state)
{
	(void)state;
	push_stackinfo();
	push_sub(2, 2, 0);
	put(stackinfo(1) + SI_PREVIOUS, stackinfo(1));
	be_at(3, op(3, 3), 50, 0);
	run();
	assert_int_equal(REC->sample.error, 100 + PL_ERROR_DEEP);
	assert_true(world.n_runs <= 1 + EP_MAX_TAIL_CALLS);
}

/* A sub in a loop in itself: three contexts each. */
static void thousand_frames_are_whole(void **state)
{
	uint32_t subs = 0;
	const char *at;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		push_sub(1, i ? 2 : 1, op(2, 4));
		push(6, 2, 0);
		push(CX_BLOCK, 2, 0);
	}
	be_at(2, op(2, 3), 50, 0);
	run();
	assert_int_equal(REC->sample.error, 0);
	assert_int_equal(REC->sample.n_frames, 1001);
	assert_true(world.n_runs <= EP_MAX_TAIL_CALLS);
	for (at = say_stack(); (at = strstr(at, "sub")); at++)
		subs++;
	assert_true(subs > 100); /* what the text has room for */
}

/* --- what it reads ------------------------------------------------------------------------------------ */

/* What is read for `n` calls of closures or subs, of so many that each has a CV of its own. */
static uint32_t count_reads(uint32_t n, uint32_t n_cvs, uint32_t flags)
{
	begin(NULL);
	for (uint32_t i = 1; i <= n_cvs; i++) {
		put_sub(i, "__ANON__", flags, 1);
		put(sub(i) + BODY + PL_CV_AT + 8 * PL_CV_GV, sub(1) + GLOB);
	}
	for (uint32_t i = 0; i < n; i++)
		push_sub(1 + i % n_cvs, i ? 2 : 1, op(2, 4));
	be_at(2, op(2, 3), 50, 0);
	run();
	assert_int_equal(REC->sample.error, 0);
	assert_int_equal(REC->sample.n_frames, n + 1);
	return world.n_reads;
}

#define PER_WINDOW(n) (((n) + PL_WINDOW_CONTEXTS - 1) / PL_WINDOW_CONTEXTS)

static void sub_that_calls_itself_is_read_once(void **state)
{
	(void)state;
	assert_int_equal(count_reads(440, 1, 0) - count_reads(40, 1, 0), PER_WINDOW(400));
	assert_int_equal(count_reads(440, 5, 0) - count_reads(40, 5, 0), PER_WINDOW(400));
	/* Two that have the same place in the table take turns. */
	assert_in_range(count_reads(440, 15, 0) - count_reads(40, 15, 0), PER_WINDOW(400),
			PER_WINDOW(400) + 400 / 15 * 2 * 2 + 4);
}

/* Of each closure that is not in the table its CV and that one's body. */
static void closures_of_one_text_are_named_once(void **state)
{
	uint32_t one, both;

	(void)state;
	one = count_reads(20, 1, PL_CVF_ANON | PL_CVF_CLONED);
	both = count_reads(20, 15, PL_CVF_ANON | PL_CVF_CLONED);
	assert_in_range(both - one, 2 * 14, 2 * 19);
}

#define HEADS  (SUBS + 0x4000)
#define BODIES (SUBS + 0x8000)
#define N_MADE 100u

/* Closures of sub 1's text that were made one after the other, each called by the one before. */
static void push_made(void)
{
	put_sub(1, "__ANON__", PL_CVF_ANON | PL_CVF_CLONED, 1);
	for (uint32_t i = 0; i < N_MADE; i++) {
		uint64_t cv = HEADS + 96 * i, body = BODIES + 136 * i;

		put_bytes(cv, find_memory(sub(1), 24), 24);
		put_bytes(body, find_memory(sub(1) + BODY, 136), 136);
		put(cv, body);
		put(push(CX_SUB, i ? 2 : 1, op(2, 4)) + SUB_CV, cv);
	}
	be_at(2, op(2, 3), 50, 0);
}

static void closures_made_in_turn_are_read_together(void **state)
{
	static char whole[sizeof(world.text)];

	(void)state;
	push_made();
	snprintf(whole, sizeof(whole), "%s", walk_stack());
	assert_int_equal(REC->sample.n_frames, N_MADE + 1);
	assert_true(world.n_reads < N_MADE / 2);
	/* The page before them is missing: the first ones are read alone. */
	for (uint32_t i = 0; i < 2; i++) {
		begin(NULL);
		push_made();
		world.hole = (i ? HEADS : BODIES) - PAGE;
		assert_string_equal(walk_stack(), whole);
	}
}

/* What was there in the sample before says nothing. */
static void each_sample_reads_anew(void **state)
{
	char before[256];

	(void)state;
	put_sub(1, "__ANON__", PL_CVF_ANON | PL_CVF_CLONED, 1);
	push_sub(1, 1, op(1, 4));
	push_sub(2, 2, op(2, 4));
	be_at(3, op(3, 3), 50, 0);
	snprintf(before, sizeof(before), "%s", walk_stack());
	assert_string_equal(before, "sub leaf 2: statement 3\n"
				    "closure glob 1: statement 2\n"
				    "main entry: statement 1\n");
	put_sub(1, "named", 0, 1);
	put_sub(2, "__ANON__", PL_CVF_ANON | PL_CVF_CLONED, 1);
	put_cop(2, "(eval 7)");
	REC->walk.sequence = 2;
	REC->sample.n_words = 0;
	world.n_runs = 0;
	assert_string_equal(walk_stack(), "closure leaf glob 2: statement 3\n"
					  "sub 1: statement 2\n"
					  "main entry: statement 1\n");
}

/* A page of contexts that are further out: those before it are frames. */
static void contexts_are_read_alone_where_a_page_is_missing(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 60; i++)
		push_sub(1, i ? 2 : 1, op(2, 4));
	be_at(2, op(2, 3), 50, 0);
	world.hole = CONTEXTS;
	run();
	assert_int_equal(REC->sample.error, 100 + PL_ERROR_CONTEXT);
	/* 60 subs and the program; the context at 39 * 104 is in both pages. The last frame is lost: it may be C's. */
	assert_int_equal(REC->sample.n_frames, 60 - 39);
}

/* A HEK and the glob of a lexical sub may have the same words. */
static void names_are_told_apart_by_what_has_them(void **state)
{
	(void)state;
	put_sub(1, "__ANON__", PL_CVF_ANON | PL_CVF_CLONED, 1);
	put_sub(2, "inner", PL_CVF_CLONED | PL_CVF_LEXICAL, 1);
	put(sub(2) + BODY + PL_CV_AT + 8 * PL_CV_GV, sub(1) + GLOB);
	push_sub(1, 1, op(1, 4));
	push_sub(2, 2, op(2, 4));
	be_at(3, op(3, 3), 50, 0);
	assert_string_equal(walk_stack(), "closure leaf hek 1: statement 3\n"
					  "closure glob 1: statement 2\n"
					  "main entry: statement 1\n");
}

/* However few contexts a run may have, the stack is the same. */
static void short_runs_make_the_same_stack(void **state)
{
	(void)state;
	for (uint32_t n = 1; n < 12; n++) {
		begin(NULL);
		set_self(n);
		push_eval(CX_EVALBLOCK, 1, op(1, 4), 0x900);
		push_sub(1, 2, op(2, 4));
		push_sub(2, 3, 0);
		push(CX_BLOCK, 4, 0);
		push_eval(CX_EVALBLOCK, 4, op(4, 4), 0xa00);
		be_at(5, op(5, 3), 50, 0);
		assert_string_equal(walk_stack(), "block entry leaf: statement 5\n"
						  "sub entry 2: statement 4\n"
						  "sub 1: statement 3\n"
						  "block: statement 2\n"
						  "main entry: statement 1\n");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(callers_statement_is_in_the_context, begin),
		cmocka_unit_test_setup(loops_and_blocks_are_passed, begin),
		cmocka_unit_test_setup(c_calls_what_has_no_op_to_go_on_with, begin),
		cmocka_unit_test_setup(call_sv_that_catches_has_an_eval_around_it, begin),
		cmocka_unit_test_setup(sub_that_has_not_begun_is_no_frame, begin),
		cmocka_unit_test_setup(sub_that_is_left_is_no_frame, begin),
		cmocka_unit_test_setup(statement_of_the_caller_is_not_its_own, begin),
		cmocka_unit_test_setup(debugger_is_hidden, begin),
		cmocka_unit_test_setup(xs_has_no_frame_of_its_own, begin),
		cmocka_unit_test_setup(closures_are_told_by_their_name, begin),
		cmocka_unit_test_setup(closure_that_has_not_begun_is_at_its_start, begin),
		cmocka_unit_test_setup(format_is_a_frame, begin),
		cmocka_unit_test_setup(begin_blocks_have_their_line, begin),
		cmocka_unit_test_setup(files_and_texts_run, begin),
		cmocka_unit_test_setup(file_that_is_compiled_has_no_loop, begin),
		cmocka_unit_test_setup(text_that_is_compiled_behind_docatch_is_in_its_loop, begin),
		cmocka_unit_test_setup(file_that_is_left_is_no_frame, begin),
		cmocka_unit_test_setup(eval_with_a_jump_buffer_of_its_own_is_docatchs, begin),
		cmocka_unit_test_setup(first_eval_in_a_loop_that_catches_nothing_is_docatchs, begin),
		cmocka_unit_test_setup(try_is_shown_where_it_has_a_loop, begin),
		cmocka_unit_test_setup(defer_has_a_loop, begin),
		cmocka_unit_test_setup(sort_block_is_there_while_it_compares, begin),
		cmocka_unit_test_setup(multicall_is_there_while_it_runs, begin),
		cmocka_unit_test_setup(code_in_a_pattern_is_told_from_its_sub, begin),
		cmocka_unit_test_setup(other_threads_wait_until_theirs_is_known, begin),
		cmocka_unit_test_setup(members_may_be_variables, begin),
		cmocka_unit_test_setup(what_nobody_has_looked_at_must_be_likely, begin),
		cmocka_unit_test_setup(contexts_that_cannot_be_read_end_the_stack, begin),
		cmocka_unit_test_setup(frames_that_cannot_be_read_say_so, begin),
		cmocka_unit_test_setup(list_without_an_end_ends, begin),
		cmocka_unit_test_setup(thousand_frames_are_whole, begin),
		cmocka_unit_test_setup(sub_that_calls_itself_is_read_once, begin),
		cmocka_unit_test_setup(closures_of_one_text_are_named_once, begin),
		cmocka_unit_test_setup(closures_made_in_turn_are_read_together, begin),
		cmocka_unit_test_setup(each_sample_reads_anew, begin),
		cmocka_unit_test_setup(contexts_are_read_alone_where_a_page_is_missing, begin),
		cmocka_unit_test_setup(names_are_told_apart_by_what_has_them, begin),
		cmocka_unit_test_setup(short_runs_make_the_same_stack, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
