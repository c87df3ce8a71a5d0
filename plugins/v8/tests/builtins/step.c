/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single-steps builtins of a running Node and compares, at each of their instructions, what the row there says of
 * the caller with what was seen when it called.
 *
 *	each call and return that is stepped ──► a shadow stack of return addresses and rbp ──┐
 *	row at pc ──► return address, caller's rbp ───────────────────────────────────────────┴► the same?
 *
 *	step NODE PROGRAM.JS [CHECKS [PERCENT [FLAG]]]
 *
 * Frames that were there before a window of steps began are in no shadow stack: they are not judged.
 */
#include "plugins/shared/x86/decode.h"
#include "plugins/v8/builtins/builtins.h"

#include "core/base/util.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "core/plugin/unwinder.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIP	      77
#define MAX_MAPS      16
#define MAX_DEPTH     4096
#define WINDOW_STEPS  3000
#define OUTSIDE_STEPS 600 /* of C++ in a row: then another window is better */
#define WARM_NS	      400000000ull /* of its main thread's CPU time */
#define BETWEEN_NS    3000000ull
#define POLL_US	      1000
#define MAX_POLLS     60000 /* for one of these */
#define MOVED_BYTES   128
#define N_EXAMPLES    12

struct place {
	uint64_t start, end, va; /* va: of `start`, as the file has it */
};

struct call {
	uint64_t back, rbp, slot; /* return address, the caller's rbp, where the address was put */
};

struct stepper {
	pid_t pid;
	struct v8_builtins *builtins;
	struct ep_vec rows; /* struct v8_builtin_row */
	struct place places[MAX_MAPS];
	size_t n_places;
	struct call calls[MAX_DEPTH];
	size_t depth;
	struct user_regs_struct regs;
	uint8_t code[16];
	/* counts */
	uint64_t steps, in_builtins, checked, right, none, wrong_return, wrong_rbp, no_row, lost, unseen, other_cfa;
	uint64_t examples[N_EXAMPLES]; /* builtins that were complained of: by the va */
	size_t n_examples;
};

static uint64_t read_word(const struct stepper *s, uint64_t addr)
{
	uint64_t word = 0;
	struct iovec to = { &word, 8 }, from = { (void *)(uintptr_t)addr, 8 };

	return process_vm_readv(s->pid, &to, 1, &from, 1, 0) == 8 ? word : 0;
}

static void read_code(struct stepper *s)
{
	struct iovec to = { s->code, sizeof(s->code) }, from = { (void *)(uintptr_t)s->regs.rip, sizeof(s->code) };

	if (process_vm_readv(s->pid, &to, 1, &from, 1, 0) != sizeof(s->code))
		memset(s->code, 0, sizeof(s->code));
}

/* --- where the file is mapped */

static uint64_t va_of_offset(const struct ep_elf *elf, uint64_t off)
{
	struct ep_elf_segment segments[16];
	size_t n = ep_elf_exec_segments(elf, segments, EP_LEN(segments));

	for (size_t i = 0; i < n; i++)
		if (off >= segments[i].file_off && off - segments[i].file_off < segments[i].file_bytes)
			return segments[i].va + (off - segments[i].file_off);
	return 0;
}

static void find_places(struct stepper *s, const struct ep_elf *elf, const char *path)
{
	char line[4096], name[64];
	struct stat file;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", s->pid);
	maps = fopen(name, "r");
	s->n_places = 0;
	if (!maps || stat(path, &file))
		return;
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end, off, inode;
		char prot[8];

		if (sscanf(line, "%lx-%lx %7s %lx %*s %lu", &start, &end, prot, &off, &inode) != 5 ||
		    prot[2] != 'x' || inode != file.st_ino || s->n_places == MAX_MAPS)
			continue;
		s->places[s->n_places++] = (struct place){ start, end, va_of_offset(elf, off & ~4095ul) };
	}
	fclose(maps);
}

/* First number of its schedstat: Documentation/scheduler/sched-stats.rst. 0: it is gone. */
static uint64_t used_ns(const struct stepper *s)
{
	unsigned long long ns = 0;
	char name[64];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/schedstat", s->pid, s->pid);
	file = fopen(name, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	fclose(file);
	return ns;
}

/* Until it has had so much more CPU time: beside other work it makes no way by the wall clock. */
static void let_run(const struct stepper *s, uint64_t ns)
{
	uint64_t until = used_ns(s) + ns;

	for (unsigned int i = 0; i < MAX_POLLS && !kill(s->pid, 0) && used_ns(s) < until; i++)
		(void)usleep(POLL_US);
}

static uint64_t va_of(const struct stepper *s, uint64_t addr)
{
	for (size_t i = 0; i < s->n_places; i++)
		if (addr >= s->places[i].start && addr < s->places[i].end)
			return s->places[i].va + (addr - s->places[i].start);
	return 0;
}

/* --- the shadow stack */

static void see_call(struct stepper *s, unsigned int bytes)
{
	/* What lies below is of frames that are gone: an exception, on-stack replacement. Arguments that were
	 * taken off may have moved a return address up some words. */
	while (s->depth && s->calls[s->depth - 1].slot + MOVED_BYTES <= s->regs.rsp - 8)
		s->depth--;
	if (s->depth == MAX_DEPTH)
		s->depth = 0;
	s->calls[s->depth++] = (struct call){ s->regs.rip + bytes, s->regs.rbp, s->regs.rsp - 8 };
}

/*
 * Where a return goes that is at rsp: the call that put it there, or else, since return addresses move when
 * arguments are taken off, the last one with this address; an older one lies higher, as all dispatches of the
 * interpreter have the same address, and so do frames that an exception left. MAX_DEPTH: none.
 */
static size_t find_call(const struct stepper *s, uint64_t back)
{
	for (size_t i = s->depth; i-- > 0;)
		if (s->calls[i].back == back && s->calls[i].slot == s->regs.rsp)
			return i;
	for (size_t i = s->depth; i-- > 0;)
		if (s->calls[i].back == back && (i + 1 == s->depth || s->calls[i].slot <= s->regs.rsp))
			return i;
	return MAX_DEPTH;
}

/* Of frames that were left together some calls are still there. */
static void see_return(struct stepper *s)
{
	size_t found = find_call(s, read_word(s, s->regs.rsp));

	s->lost += found == MAX_DEPTH && s->depth;
	s->depth = found == MAX_DEPTH ? 0 : found;
}

/*
 * `mov rsp, [memory]` of a frame that is left (V8's CEntry, to who catches an exception) or written anew (the
 * deoptimizer's entry): who is on the stack then was in no call that was seen. Memory of the stack itself is where
 * a call of C finds the rsp again that it aligned: REX.W 8B /4, whose base in a SIB byte is rsp.
 */
static bool leaves_frames(const uint8_t *code)
{
	bool is_load = (code[0] & 0xfc) == 0x48 && code[1] == 0x8b && (code[2] >> 3 & 7) == 4;
	bool of_stack = (code[2] & 7) == 4 && !(code[0] & 1);

	return is_load && code[2] >> 6 != 3 && !of_stack;
}

/* --- a row against it */

static const struct v8_builtin_row *find_row(const struct ep_vec *vec, uint64_t va)
{
	const struct v8_builtin_row *rows = vec->data;
	size_t low = 0, high = vec->len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].va <= va)
			low = middle + 1;
		else
			high = middle;
	}
	return low && va < rows[low - 1].va_end ? &rows[low - 1] : NULL;
}

static uint64_t get_register(const struct user_regs_struct *regs, unsigned int dwarf)
{
	const uint64_t values[] = { regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi, regs->rbp,
				    regs->rsp, regs->r8,  regs->r9,  regs->r10, regs->r11, regs->r12, regs->r13,
				    regs->r14, regs->r15 };

	return dwarf < EP_LEN(values) ? values[dwarf] : 0;
}

static void complain(struct stepper *s, const char *what, const struct v8_builtin *builtin,
		     const struct v8_builtin_row *row, uint64_t va, uint64_t got, uint64_t want)
{
	for (size_t i = 0; i < s->n_examples; i++)
		if (s->examples[i] == builtin->va)
			return;
	if (s->n_examples == N_EXAMPLES)
		return;
	s->examples[s->n_examples++] = builtin->va;
	printf("    %s at %s+%#" PRIx64 " (%#" PRIx64 "): %#" PRIx64 ", not %#" PRIx64, what, builtin->name,
	       va - builtin->va, va, got, want);
	if (row)
		printf("; base %u %+d, rbp at %d, return in %u", row->base, row->offset, row->rbp_at, row->return_in);
	printf("\n");
}

static void check_row(struct stepper *s, const struct v8_builtin *builtin, uint64_t va)
{
	const struct v8_builtin_row *row = find_row(&s->rows, va);
	const struct call *call = &s->calls[s->depth - 1];
	uint64_t cfa, back, rbp;

	s->checked++;
	if (!row || row->base == V8_ROW_NONE) {
		*(row ? &s->none : &s->no_row) += 1;
		complain(s, row ? "nothing known" : "no row", builtin, row, va, 0, call->back);
		return;
	}
	cfa = get_register(&s->regs, row->base) + (uint64_t)(int64_t)row->offset;
	back = row->return_in == V8_RETURN_ON_STACK ? read_word(s, cfa - 8) : get_register(&s->regs, row->return_in);
	rbp = row->rbp_at ? read_word(s, cfa + (uint64_t)(int64_t)row->rbp_at) : s->regs.rbp;
	if (back != call->back) {
		s->wrong_return++;
		complain(s, "return address", builtin, row, va, back, call->back);
	} else if (rbp != call->rbp && !row->makes_frame) {
		s->wrong_rbp++;
		complain(s, "rbp", builtin, row, va, rbp, call->rbp);
	} else {
		s->right++;
		s->other_cfa += cfa != call->slot + 8;
	}
}

/* --- stepping */

static bool wait_stop(struct stepper *s)
{
	int status;

	return waitpid(s->pid, &status, __WALL) == s->pid && WIFSTOPPED(status);
}

/* Whether it goes on. */
static bool step(struct stepper *s, unsigned int *outside)
{
	struct x86_insn insn;
	const struct v8_builtin *builtin;
	uint64_t va;

	if (ptrace(PTRACE_GETREGS, s->pid, 0, &s->regs))
		return false;
	va = va_of(s, s->regs.rip);
	builtin = va ? v8_builtins_at(s->builtins, va) : NULL;
	*outside = builtin || !va ? 0 : *outside + 1;
	if (*outside > OUTSIDE_STEPS)
		return false;
	s->steps++;
	/* Whatever way it came back: who is where a call returns to, and has left its slot, is not in that call. */
	while (s->depth && s->calls[s->depth - 1].back == s->regs.rip &&
	       s->calls[s->depth - 1].slot < s->regs.rsp)
		s->depth--;
	s->in_builtins += builtin != NULL;
	if (builtin && s->depth)
		check_row(s, builtin, va);
	else if (builtin)
		s->unseen++;
	read_code(s);
	if (leaves_frames(s->code)) {
		s->depth = 0;
	} else if (!x86_decode(s->code, sizeof(s->code), &insn)) {
		if (insn.kind == X86_CALL)
			see_call(s, insn.bytes);
		else if (insn.kind == X86_RETURN)
			see_return(s);
	}
	return !ptrace(PTRACE_SINGLESTEP, s->pid, 0, 0) && wait_stop(s);
}

/* A stretch of steps, from wherever it is now. false: it is gone. */
static bool run_window(struct stepper *s, uint64_t max_checks)
{
	unsigned int outside = 0;

	if (ptrace(PTRACE_INTERRUPT, s->pid, 0, 0) || !wait_stop(s))
		return false;
	s->depth = 0;
	for (unsigned int i = 0; i < WINDOW_STEPS && s->checked < max_checks; i++)
		if (!step(s, &outside))
			break;
	return !ptrace(PTRACE_CONT, s->pid, 0, 0);
}

static pid_t start(const char *node, const char *flag, const char *program)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(node, node, flag, program, (char *)NULL);
	_exit(127);
}

static void report(const struct stepper *s, double percent)
{
	printf("    %" PRIu64 " steps, %" PRIu64 " in builtins, %" PRIu64 " judged: %" PRIu64 " right (%.3f %%); "
	       "%" PRIu64 " return, %" PRIu64 " rbp wrong, %" PRIu64 " unknown, %" PRIu64 " without row; "
	       "%" PRIu64 " not seen called, %" PRIu64 " lost, %" PRIu64 " with another CFA\n",
	       s->steps, s->in_builtins, s->checked, s->right, percent, s->wrong_return, s->wrong_rbp, s->none,
	       s->no_row, s->unseen, s->lost, s->other_cfa);
}

/* argv: main's; a flag is the sixth, or NULL where there are fewer. */
static int judge(struct stepper *s, char **argv, const struct ep_elf *elf, uint64_t max_checks, double bar)
{
	const char *flag = argv[3] && argv[4] && argv[5] ? argv[5] : "--";
	double percent;

	s->pid = start(argv[1], flag, argv[2]);
	if (s->pid > 0)
		let_run(s, WARM_NS);
	if (s->pid < 0 || ptrace(PTRACE_SEIZE, s->pid, 0, 0)) {
		printf("SKIPPED: no ptrace: %s\n", strerror(errno));
		if (s->pid > 0)
			(void)kill(s->pid, SIGKILL);
		return SKIP;
	}
	find_places(s, elf, argv[1]);
	for (unsigned int i = 0; i < 2000 && s->checked < max_checks && run_window(s, max_checks); i++)
		let_run(s, BETWEEN_NS);
	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, NULL, __WALL);
	percent = s->checked ? 100. * (double)s->right / (double)s->checked : 0;
	report(s, percent);
	return s->checked < max_checks || percent < bar;
}

int main(int argc, char **argv)
{
	static struct stepper stepper;
	struct ep_elf_file file = { 0 };
	struct ep_elf *elf = NULL;
	uint64_t checks = argc > 3 ? strtoull(argv[3], NULL, 10) : 20000;
	double bar = argc > 4 ? strtod(argv[4], NULL) : 99.9;
	int r;

	if (argc < 3 || ep_elf_open(argv[1], &elf)) {
		printf("SKIPPED: step NODE PROGRAM.JS [CHECKS [PERCENT [FLAG]]]\n");
		return SKIP;
	}
	ep_elf_file_init(&file, elf, NULL, argv[1]);
	r = v8_builtins_read(ep_unwinder_host_get(), &file.file, &stepper.builtins);
	if (!r)
		r = v8_builtins_make_rows(stepper.builtins, ep_unwinder_host_get(), &file.file, &stepper.rows);
	printf("%s\n", argv[1]);
	r = r ? 1 : judge(&stepper, argv, elf, checks, bar);
	ep_vec_fini(&stepper.rows);
	v8_builtins_free(stepper.builtins);
	ep_elf_file_fini(&file);
	ep_elf_close(elf);
	return r;
}
