/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JIT as small as they come, for an unwinder to be tried with: jitted functions without
 * frame pointers, which call each other and C, and move all the time.
 *
 *	jit SECONDS plain               two heaps, inlined functions, C that calls back; two threads
 *	jit SECONDS turns N             N times jitted code, C, jitted code, ...
 *	jit SECONDS deep N_JIT N_C      N_C frames of C, N_JIT of one jitted function, N_C of C
 *	jit SECONDS apart N the same, and each C frame has a rule that few functions have
 *	jit SECONDS gap                 C without unwind rules between jitted code and C
 *	jit SECONDS anywhere            as plain, in anonymous pages
 *	jit SECONDS fresh               as plain, each time in memory that was not executable before
 *
 * Prints the stacks there can be, as tests/kit/stacks.py reads them. JIT_KEEP_MS in the
 * environment: for how many milliseconds at least a block that is no longer used stays readable; 0
 * without it. JIT_REST_MS: so long it pauses before it burns, for a profiler to be attached.
 *
 *	cc -O2 -fomit-frame-pointer -D_GNU_SOURCE -Wall -Wextra -pthread -o jit *.c
 */
#include "runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifndef __x86_64__
#error "machine code for x86-64 only"
#endif

#define SPINS	    1500000 /* about half a millisecond */
#define MOVE_NS	    1000000
#define MAX_TURNS   400
#define MAX_DEEP    1500
#define MAX_C	    1000

__thread struct jit_thread *jit_self;

#define OFFSET(type, field) ((uint32_t)offsetof(struct type, field))
volatile struct jit_about jit_about = {
	.version = JIT_VERSION,
	.unit_bytes = JIT_UNIT_BYTES,
	.max_block_bytes = JIT_MAX_BLOCK_BYTES,
	.thread_anchor = OFFSET(jit_thread, anchor),
	.anchor_pc = OFFSET(jit_anchor, pc),
	.anchor_sp = OFFSET(jit_anchor, sp),
	.block_bytes = sizeof(struct jit_block),
	.block_magic = OFFSET(jit_block, magic),
	.block_unique_id = OFFSET(jit_block, unique_id),
	.block_function = OFFSET(jit_block, function),
	.block_size = OFFSET(jit_block, bytes),
	.block_kind = OFFSET(jit_block, kind),
	.block_code_off = OFFSET(jit_block, code_off),
	.block_code_bytes = OFFSET(jit_block, code_bytes),
	.block_pcs_off = OFFSET(jit_block, pcs_off),
	.block_n_pcs = OFFSET(jit_block, n_pcs),
	.block_scopes_off = OFFSET(jit_block, scopes_off),
	.block_n_scopes = OFFSET(jit_block, n_scopes),
	.pc_bytes = sizeof(struct jit_pc),
	.pc_code_off = OFFSET(jit_pc, code_off),
	.pc_depth = OFFSET(jit_pc, depth),
	.pc_line = OFFSET(jit_pc, line),
	.pc_scope = OFFSET(jit_pc, scope),
	.pc_flags = OFFSET(jit_pc, flags),
	.scope_bytes = sizeof(struct jit_scope),
	.scope_function = OFFSET(jit_scope, function),
	.scope_caller = OFFSET(jit_scope, caller),
	.scope_line = OFFSET(jit_scope, line),
	.function_name = OFFSET(jit_function, name),
	.function_file = OFFSET(jit_function, file),
	.function_line = OFFSET(jit_function, line),
	.fp_depth = JIT_FP_DEPTH,
	.anchor_depth = JIT_ANCHOR_DEPTH,
};

struct jit_program jit_program;
static bool is_fresh, is_stopped;
static uint64_t end_ns;

/* --- the C functions that jitted code calls --- */

KEEP void native_spin(long argument);
KEEP void native_callback(long argument);
KEEP void dive(long argument);
extern volatile uint64_t jit_lure;
void apart(long argument);
void no_rules_spin(long argument);
void no_rules_callback(long argument);

KEEP void native_spin(long argument)
{
	(void)argument;
	for (uint64_t i = jit_self->spins; i > 0; i--)
		__asm__ volatile("");
}

/* Not a frame of its own. */
static inline __attribute__((always_inline)) void enter(const struct jit_function *function,
							long argument)
{
	jit_enter(jit_self, __atomic_load_n(&function->entry, __ATOMIC_ACQUIRE), argument);
}

KEEP void native_callback(long argument)
{
	if (argument > 0)
		enter(jit_program.called_back, argument - 1);
	else
		native_spin(0);
	BARRIER();
}

KEEP void dive(long argument)
{
	if (argument + 1 < jit_program.between)
		dive(argument + 1);
	else
		native_spin(0);
	BARRIER();
}

/*
 * Without .cfi directives: no unwind rules. What they push looks like return addresses, so that a
 * guess is wrong; five words, since sp is a multiple of 16 at a call. And rbp is no frame pointer
 * of theirs, but one that a profiler may well follow: no_rules_spin's leads to a frame that is
 * none, and no_rules_callback's past all jitted frames.
 */
#define NO_RULES(name, fp, target)                                                                 \
	__asm__(".text\n\t.globl " name "\n\t.type " name ", @function\n" name ":\n\t"             \
		"lea dive+4(%rip), %rax\n\t"                                                       \
		"push %rax\n\tpush %rbx\n\tpush $0x1234567\n\tpush %rax\n\tpush $0\n\t"            \
		"mov " fp ", %rbp\n\t"                                                             \
		"call " target "\n"                                                                \
		"\tadd $40, %rsp\n\tret\n\t.size " name ", .-" name "\n")
NO_RULES("no_rules_spin", "%rsp", "native_spin");
NO_RULES("no_rules_callback", "jit_lure(%rip)", "native_callback");

/* Two words as a frame pointer leads to them: the next one, and a return address; in a frame of
 * C. */
volatile uint64_t jit_lure;

/*
 * Its CFA is what lies at sp: a rule that profilers have, and that no shortcut of theirs is for.
 * .cfi_escape: DW_CFA_def_cfa_expression, DW_OP_breg7 (rsp) with an offset, DW_OP_deref.
 */
__asm__(".text\n\t.globl apart\n\t.type apart, @function\napart:\n\t.cfi_startproc\n\t"
	"push %rbx\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbx, -16\n\t"
	"lea 16(%rsp), %rax\n\tpush %rax\n\t.cfi_escape 0x0f, 3, 0x77, 0, 6\n\t"
	"sub $8, %rsp\n\t.cfi_escape 0x0f, 3, 0x77, 8, 6\n\t"
	"call native_callback\n\t"
	"add $8, %rsp\n\t.cfi_escape 0x0f, 3, 0x77, 0, 6\n\t"
	"pop %rax\n\t.cfi_def_cfa %rsp, 16\n\t"
	"pop %rbx\n\t.cfi_def_cfa_offset 8\n\tret\n\t.cfi_endproc\n\t.size apart, .-apart\n");

/* --- the jitted programs --- */

static const struct jit_native spin_native = {"native_spin", NULL, native_spin, NATIVE_SPINS};
static const struct jit_native callback_native = {"native_callback", NULL, native_callback,
						  NATIVE_CALLS_BACK};
static const struct jit_native dive_native = {"dive", NULL, dive, NATIVE_DIVES};
static const struct jit_native apart_native = {"native_callback|[gap*", "?apart", apart,
					       NATIVE_CALLS_BACK};
static const struct jit_native gap_spin_native = {"native_spin", "no_rules_spin ?GAP",
						  no_rules_spin, NATIVE_SPINS};
static const struct jit_native gap_callback_native = {
	"native_callback", "no_rules_callback ?GAP", no_rules_callback, NATIVE_CALLS_BACK};

#define FUNCTION(name, line, id, ...)                                                              \
	static const struct jit_op name##_ops[] = {__VA_ARGS__, {JIT_RETURN, (line) + 9, NULL}};   \
	static struct jit_function name = {#name, "program.jit", line, id, 0, name##_ops}

/* plain: outer [glue] ─► middle [twist [turn]] ─► C ─► inner [heat [glow]] ─► finish ─► C */
FUNCTION(finish, 90, 1, {JIT_NATIVE, 92, &spin_native});
FUNCTION(glow, 80, 2, {JIT_BURN, 82, NULL});
FUNCTION(heat, 40, 3, {JIT_INLINE, 42, &glow});
FUNCTION(inner, 30, 4, {JIT_INLINE, 31, &heat}, {JIT_SPILL, 32, NULL}, {JIT_CALL, 33, &finish});
FUNCTION(turn, 70, 5, {JIT_NATIVE, 71, &callback_native});
FUNCTION(twist, 60, 6, {JIT_INLINE, 62, &turn});
FUNCTION(middle, 20, 7, {JIT_BURN, 21, NULL}, {JIT_INLINE, 22, &twist});
FUNCTION(glue, 50, 8, {JIT_CALL, 51, &middle});
FUNCTION(outer, 10, 9, {JIT_INLINE, 11, &glue});

/* turns: bounce ─► C ─► bounce ─► C ─► ... bounce ─► C, and after that busy */
FUNCTION(busy, 110, 10, {JIT_BURN, 111, NULL});
FUNCTION(bounce, 100, 11, {JIT_NATIVE, 101, &callback_native}, {JIT_LAST, 102, NULL},
	 {JIT_CALL, 103, &busy});

/* apart: the same with another C */
FUNCTION(skip, 150, 15, {JIT_NATIVE, 151, &apart_native}, {JIT_LAST, 152, NULL},
	 {JIT_CALL, 153, &busy});

/* deep */
FUNCTION(deep, 120, 12, {JIT_DEEPER, 121, NULL}, {JIT_NATIVE, 122, &dive_native},
	 {JIT_SPILL, 123, NULL});

/* gap: gap_outer ─► no_rules_callback ─► C ─► gap_inner ─► no_rules_spin ─► C */
FUNCTION(gap_inner, 130, 13, {JIT_SPILL, 131, NULL}, {JIT_NATIVE, 132, &gap_spin_native});
FUNCTION(gap_outer, 140, 14, {JIT_NATIVE, 141, &gap_callback_native});

static struct jit_function *const plain_functions[] = {&outer, &middle, &inner, &finish};
static struct jit_function *const turns_functions[] = {&bounce, &busy};
static struct jit_function *const apart_functions[] = {&skip, &busy};
static struct jit_function *const deep_functions[] = {&deep};
static struct jit_function *const gap_functions[] = {&gap_outer, &gap_inner};

static const struct mode {
	const char *name;
	struct jit_function *const *functions;
	size_t n_functions;
	struct jit_program program;
} modes[] = {
	{"plain", plain_functions, LEN(plain_functions), {&outer, &inner, 1, 0, 0, 2, 1}},
	{"turns", turns_functions, LEN(turns_functions), {&bounce, &bounce, 0, 0, 0, 1, 1}},
	{"apart", apart_functions, LEN(apart_functions), {&skip, &skip, 0, 0, 0, 1, 1}},
	{"deep", deep_functions, LEN(deep_functions), {&deep, NULL, 0, 0, 1, 1, 10}},
	{"gap", gap_functions, LEN(gap_functions), {&gap_outer, &gap_inner, 1, 0, 0, 1, 1}},
	{"anywhere", plain_functions, LEN(plain_functions), {&outer, &inner, 1, 0, 0, 2, 1}},
	{"fresh", plain_functions, LEN(plain_functions), {&outer, &inner, 1, 0, 0, 1, 1}},
};

/* --- the thread that moves functions --- */

/* To the other heap, or to another page. */
KEEP static void *mover(void *unused)
{
	const struct timespec pause = {0, MOVE_NS};

	(void)unused;
	while (!__atomic_load_n(&is_stopped, __ATOMIC_ACQUIRE)) {
		size_t function = jit_random((uint32_t)jit_count_functions());
		enum jit_place place = jit_place_now(function);

		jit_move(function, place == JIT_IN_PAGE	    ? JIT_IN_PAGE
				   : place == JIT_IN_HEAP_0 ? JIT_IN_HEAP_1
							    : JIT_IN_HEAP_0);
		jit_free_unused(jit_random(2));
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* All functions move, by the thread that runs them: to new pages, or to pages of heap 1 that are
 * committed again. */
KEEP static void make_fresh(void)
{
	static uint32_t n;
	enum jit_place place = n++ % 2 ? JIT_IN_HEAP_1 : JIT_IN_PAGE;

	for (size_t i = 0; i < jit_count_functions(); i++)
		jit_move(i, place);
	jit_thread_pause(jit_self, false);
	jit_free_unused(false);
	if (place == JIT_IN_PAGE)
		jit_heap_decommit();
}

/* --- the threads that run them --- */

KEEP static void run(void)
{
	enter(jit_program.first, jit_program.argument);
	BARRIER();
}

KEEP static void around(long left)
{
	if (left > 1)
		around(left - 1);
	else
		run();
	BARRIER();
}

KEEP static void pass(void)
{
	jit_thread_pause(jit_self, false);
	if (is_fresh)
		make_fresh();
	if (jit_program.around > 0)
		around(jit_program.around);
	else
		run();
	BARRIER();
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

KEEP static void work(struct jit_thread *self)
{
	volatile uint64_t lure[2] = {0, (uint64_t)(uintptr_t)__builtin_return_address(0)};

	jit_self = self;
	jit_lure = (uint64_t)(uintptr_t)lure;
	self->spins = SPINS * jit_program.burns;
	while (now_ns() < end_ns)
		pass();
	jit_thread_pause(self, true);
}

KEEP static void *worker(void *self)
{
	work(self);
	BARRIER();
	return NULL;
}

/* --- main --- */

static void print_cpu(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	printf("CPU %.3f\n", (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
				     (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
}

static pthread_t start(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, argument))
		abort();
	return thread;
}

static void run_all(bool moves)
{
	pthread_t threads[JIT_MAX_THREADS], moving = {0};

	for (size_t i = 0; i < JIT_MAX_THREADS; i++)
		jit_thread_pause(&jit_threads[i], i >= jit_program.n_threads);
	if (moves)
		moving = start(mover, NULL);
	for (size_t i = 1; i < jit_program.n_threads; i++)
		threads[i] = start(worker, &jit_threads[i]);
	work(&jit_threads[0]);
	for (size_t i = 1; i < jit_program.n_threads; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&is_stopped, true, __ATOMIC_RELEASE);
	if (moves)
		pthread_join(moving, NULL);
}

static long number(int argc, char **argv, int at, long most)
{
	char *end = NULL;
	long value = at < argc ? strtol(argv[at], &end, 10) : 0;

	if (!end || *end || value < 1 || value > most) {
		fprintf(stderr, "jit: a number from 1 to %ld is missing\n", most);
		exit(2);
	}
	return value;
}

static const struct mode *find_mode(const char *name)
{
	for (size_t i = 0; name && i < LEN(modes); i++) {
		if (strcmp(modes[i].name, name) == 0)
			return &modes[i];
	}
	fprintf(stderr, "usage: jit SECONDS "
			"plain|turns N|apart N|deep N_JIT N_C|gap|anywhere|fresh\n");
	exit(2);
}

static void set_program(const struct mode *mode, int argc, char **argv)
{
	jit_program = mode->program;
	if (jit_program.first == &bounce || jit_program.first == &skip)
		jit_program.argument = number(argc, argv, 3, MAX_TURNS) - 1;
	if (jit_program.first == &deep) {
		jit_program.argument = number(argc, argv, 3, MAX_DEEP) - 1;
		jit_program.around = jit_program.between = number(argc, argv, 4, MAX_C);
	}
}

static void prepare(const struct mode *mode)
{
	bool anywhere = strcmp(mode->name, "anywhere") == 0;
	const char *keep = getenv("JIT_KEEP_MS");

	if (keep)
		jit_set_keep(strtoull(keep, NULL, 10) * 1000000);
	is_fresh = strcmp(mode->name, "fresh") == 0;
	jit_about.anywhere = anywhere || is_fresh;
	jit_heaps_init();
	jit_make_stubs();
	jit_functions_add(mode->functions, mode->n_functions);
	for (size_t i = 0; i < mode->n_functions; i++)
		jit_move(i, anywhere ? JIT_IN_PAGE : JIT_IN_HEAP_0);
	jit_about.ready = 1;
}

/* What the runtime does itself is right too, and little. */
static void print_truth(void)
{
	truth_find();
	truth_print(jit_program.n_threads > 1 ? "pass work main|worker" : "pass work main");
	if (is_fresh)
		printf("MAY ... make_fresh|jit_heap_decommit pass work main\n");
	else
		printf("MAY ... mover\n");
	/* On the way down and up. */
	if (jit_program.around > 0)
		printf("MAY ?deep+ ?entry_stub ?run around+ pass work main\n");
	fflush(stdout);
}

static void rest(void)
{
	const char *ms = getenv("JIT_REST_MS");

	if (ms)
		usleep((useconds_t)strtoul(ms, NULL, 10) * 1000);
}

int main(int argc, char **argv)
{
	const struct mode *mode = find_mode(argc > 2 ? argv[2] : NULL);

	set_program(mode, argc, argv);
	prepare(mode);
	print_truth();
	rest();
	end_ns = now_ns() + (uint64_t)(strtod(argv[1], NULL) * 1e9);
	run_all(!is_fresh);
	print_cpu();
	return 0;
}
