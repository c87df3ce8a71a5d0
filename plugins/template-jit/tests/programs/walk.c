/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the stack of the thread that it interrupts, by what jit.h says and nothing else, and
 * compares with truth.c: an unwinder in the small, and the proof that the tables are right at each
 * instruction. C's frames are not walked: from entry_stub it goes on at the anchor.
 *
 * It interrupts behind every single instruction (the trap flag of rflags), and by a timer.
 *
 * A walk is right if it ends where the thread's first entry_stub has always ended, with the rbp
 * that C had there, and if its frames are the outer part of a stack that can be, with the same
 * lines; only the innermost may be at another line.
 */
#include "runtime.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id /* not all versions of glibc name it: sigevent(7) */
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define TIMER_NS  97000
#define TRAP_FLAG 0x100
#define MIN_WALKS 1000

/* --- finding --- */

uint64_t jit_find_block(uint64_t pc)
{
	for (size_t i = 0; i < JIT_HEAPS; i++) {
		uint64_t start = jit_about.heaps[i].start, unit;
		const uint8_t *map = (const uint8_t *)jit_about.heaps[i].map;

		if (pc < start || pc >= jit_about.heaps[i].end)
			continue;
		unit = (pc - start) / JIT_UNIT_BYTES;
		for (int hops = 0; hops < JIT_MAX_HOPS; hops++) {
			uint8_t back = map[unit];

			if (back == JIT_MAP_FREE || (uint64_t)back - 1 > unit)
				return 0;
			if (back == JIT_MAP_START)
				return start + unit * JIT_UNIT_BYTES;
			unit -= back - 1u;
		}
		return 0;
	}
	pc &= -(uint64_t)JIT_PAGE_BYTES;
	return jit_is_page(pc) ? pc : 0;
}

/* The last entry whose code_off is not above. NULL: this is not in the block's code. */
static const struct jit_pc *find_pc(const struct jit_block *block, uint64_t pc)
{
	const struct jit_pc *pcs = (const void *)((const uint8_t *)block + block->pcs_off);
	uint64_t off = pc - ((uintptr_t)block + block->code_off);
	uint32_t first = 0;

	if (off >= block->code_bytes || block->n_pcs > JIT_MAX_PCS)
		return NULL;
	for (uint32_t n = block->n_pcs; n > 1; n -= n / 2) {
		if (pcs[first + n / 2].code_off <= off)
			first += n / 2;
	}
	return &pcs[first];
}

/* --- walking --- */

struct walk {
	uint64_t pc, sp, fp;
	bool behind_call;
	struct jit_anchor anchor; /* where C that cannot be walked was called from */
	const char *wrong;
	size_t n;
	struct truth_frame frames[TRUTH_MAX_FRAMES]; /* leaf first */
};

static void push_names(struct walk *walk, const struct jit_block *block, const struct jit_pc *at)
{
	const struct jit_scope *scopes = (const void *)((const uint8_t *)block + block->scopes_off);
	uint32_t scope = at->scope, line = at->line;

	while (scope != JIT_NO_SCOPE) {
		const struct jit_function *function;

		if (scope >= block->n_scopes || walk->n == TRUTH_MAX_FRAMES) {
			walk->wrong = "a scope that is none";
			return;
		}
		function = (const void *)(uintptr_t)scopes[scope].function;
		walk->frames[walk->n++] = (struct truth_frame){function->name, line};
		line = scopes[scope].line;
		scope = scopes[scope].caller;
	}
}

/* What entry_stub keeps for its caller; what it does not is in the thread and in rbp. */
static void read_saved(struct walk *walk, const struct jit_pc *at)
{
	uint64_t slot = walk->sp + at->depth;

	if (at->flags & JIT_PC_ANCHOR_SAVED)
		memcpy(&walk->anchor, (const void *)(slot - JIT_ANCHOR_DEPTH),
		       sizeof(walk->anchor));
	if (at->flags & JIT_PC_FP_SAVED)
		memcpy(&walk->fp, (const void *)(slot - JIT_FP_DEPTH), sizeof(walk->fp));
}

/* False: the stack ends here, or something is wrong. */
static bool walk_frame(struct walk *walk)
{
	const struct jit_block *block = (const void *)jit_find_block(walk->pc);
	const struct jit_pc *at;

	if (!block || block->magic != JIT_MAGIC) {
		walk->wrong = "no block";
		return false;
	}
	at = find_pc(block, walk->pc - walk->behind_call);
	if (!at) {
		walk->wrong = "not in the code";
		return false;
	}
	push_names(walk, block, at);
	if (block->kind == JIT_ENTRY_STUB)
		read_saved(walk, at);
	walk->sp += at->depth;
	memcpy(&walk->pc, (const void *)walk->sp, sizeof(walk->pc));
	walk->sp += 8;
	walk->behind_call = true;
	if (walk->wrong || block->kind != JIT_ENTRY_STUB)
		return !walk->wrong;
	if (jit_find_block(walk->pc))
		walk->wrong = "C's code is a block";
	if (!walk->anchor.sp || walk->wrong)
		return false;
	walk->pc = walk->anchor.pc;
	walk->sp = walk->anchor.sp;
	return true;
}

/* --- judging --- */

__thread uint64_t walk_end_fp;
static __thread uint64_t end_sp; /* of its outermost frame, the same in all walks */
static uint64_t n_walked, n_wrong, n_seen[TRUTH_MAX];
static char first_wrong[200];

static bool is_jitted(const struct truth_frame *frame)
{
	return frame->line != 0;
}

/* The outer part of it: -1; all of it: 1; not: 0. */
static int compare(const struct walk *walk, const struct truth *truth)
{
	size_t at = walk->n;

	for (size_t i = 0; i < truth->n; i++) {
		const struct truth_frame *frame = &truth->frames[i], *walked;

		if (!is_jitted(frame))
			continue;
		if (at == 0)
			return -1;
		walked = &walk->frames[--at];
		if (strcmp(walked->name, frame->name) != 0)
			return 0;
		if (walked->line != frame->line)
			return at == 0 ? -1 : 0;
	}
	return at == 0;
}

static bool is_known(const struct walk *walk)
{
	bool known = false;

	for (size_t i = 0; i < n_truths; i++) {
		int how = compare(walk, truths[i]);

		if (how == 1)
			__atomic_fetch_add(&n_seen[i], 1, __ATOMIC_RELAXED);
		known |= how != 0;
	}
	return known;
}

static void judge(struct walk *walk)
{
	if (!end_sp)
		end_sp = walk->sp;
	if (!walk->wrong && walk->sp != end_sp)
		walk->wrong = "another end";
	if (!walk->wrong && walk->fp != walk_end_fp)
		walk->wrong = "another rbp";
	if (!walk->wrong && !is_known(walk))
		walk->wrong = "no such stack";
	__atomic_fetch_add(&n_walked, 1, __ATOMIC_RELAXED);
	if (walk->wrong && __atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED) == 0)
		snprintf(first_wrong, sizeof(first_wrong),
			 "%s: %zu frames, the leaf is %s, the last is %s; now at pc %#lx sp %#lx",
			 walk->wrong, walk->n, walk->n ? walk->frames[0].name : "none",
			 walk->n ? walk->frames[walk->n - 1].name : "none",
			 (unsigned long)walk->pc, (unsigned long)walk->sp);
}

/* While C runs that jitted code has called, the walk begins at the anchor; else there is none. */
static void walk_from(const greg_t *regs)
{
	static __thread struct walk walk;

	walk.n = 0;
	walk.wrong = NULL;
	walk.anchor = jit_self->anchor;
	walk.pc = (uint64_t)regs[REG_RIP];
	walk.sp = (uint64_t)regs[REG_RSP];
	walk.fp = (uint64_t)regs[REG_RBP];
	walk.behind_call = false;
	if (!jit_find_block(walk.pc)) {
		if (!walk.anchor.sp)
			return;
		walk.pc = walk.anchor.pc;
		walk.sp = walk.anchor.sp;
		walk.behind_call = true;
	}
	while (walk_frame(&walk))
		;
	judge(&walk);
}

static __thread timer_t timer;

/* Once: a walk may take longer than the time between two, and the thread is to get on. */
static void arm_timer(void)
{
	const struct itimerspec once = {.it_value = {0, TIMER_NS}};

	timer_settime(timer, 0, &once, NULL);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	if (number == SIGTRAP && info->si_code == SI_KERNEL)
		abort(); /* int3: a block was run that had been freed */
	walk_from(((ucontext_t *)context)->uc_mcontext.gregs);
	if (number == SIGPROF)
		arm_timer();
}

/* --- when --- */

void walk_init(void)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigfillset(&action.sa_mask);
	if (sigaction(SIGTRAP, &action, NULL) || sigaction(SIGPROF, &action, NULL))
		abort();
}

/* The red zone of the caller is stepped over: pushf would overwrite it. */
void walk_step_begin(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq %0, (%%rsp)\n\tpopfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "i"(TRAP_FLAG)
			 : "memory", "cc");
}

void walk_step_end(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq %0, (%%rsp)\n\tpopfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 :
			 : "i"(~TRAP_FLAG)
			 : "memory", "cc");
}

void walk_timer_begin(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};

	event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		abort();
	arm_timer();
}

void walk_timer_end(void)
{
	timer_delete(timer);
}

int walk_report(void)
{
	bool all_seen = true;

	for (size_t i = 0; i < n_truths; i++)
		all_seen &= n_seen[i] > 0;
	printf("walked %lu wrong %lu\n", (unsigned long)n_walked, (unsigned long)n_wrong);
	if (n_wrong)
		printf("the first wrong one: %s\n", first_wrong);
	if (!all_seen)
		printf("not all stacks were seen\n");
	if (n_walked < MIN_WALKS)
		printf("too few\n");
	return n_wrong || !all_seen || n_walked < MIN_WALKS;
}
