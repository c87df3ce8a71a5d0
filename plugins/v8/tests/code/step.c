/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single-steps builtins of a running Node and compares, at each of their instructions, what the row
 * there says of the caller with what was seen when it called.
 *
 *	each call and return ──► a shadow stack of return addresses and rbp ──┐
 *	row at pc ──► return address, caller's rbp ───────────────────────────┴► the same?
 *
 *	step_v8_builtins OPTIONS -x NODE	(tests/kit/step/step.h has the others)
 *
 * Frames that were there before a stretch of steps began are in no shadow stack: not judged.
 */
#include "plugins/shared/x86/decode.h"
#include "plugins/v8/code/builtins.h"
#include "tests/kit/step/step.h"

#include "core/base/util.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "core/plugin/unwinder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_MAPS      16
#define MAX_DEPTH     4096
#define OUTSIDE_STEPS 600 /* of C++ in a row: then another stretch is better */
#define MAX_PAUSE_US  6000
#define MOVED_BYTES   128

struct place {
	uint64_t start, end, va; /* va: of `start`, as the file has it */
};

struct call {
	uint64_t back, rbp, slot; /* return address, the caller's rbp, where the address was put */
};

struct run {
	struct stepping steps;
	const struct user_regs_struct *regs;
	const char *node;
	struct ep_elf_file file;
	struct ep_elf *elf;
	struct v8_builtins *builtins;
	struct ep_vec rows; /* struct v8_builtin_row */
	struct place places[MAX_MAPS];
	size_t n_places;
	struct call calls[MAX_DEPTH];
	size_t depth;
	uint64_t lost, other_cfa;
};

static struct run *run_of(struct stepping *steps)
{
	return (struct run *)steps; /* its first member */
}

/* --- where the file is mapped */

static uint64_t va_of_offset(const struct ep_elf *elf, uint64_t off)
{
	struct ep_elf_segment segments[16];
	size_t n = ep_elf_exec_segments(elf, segments, EP_LEN(segments));

	for (size_t i = 0; i < n; i++)
		if (off >= segments[i].file_off &&
		    off - segments[i].file_off < segments[i].file_bytes)
			return segments[i].va + (off - segments[i].file_off);
	return 0;
}

static void find_places(struct run *run)
{
	char line[4096], name[64];
	struct stat file;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", run->steps.tracee.pid);
	maps = fopen(name, "r");
	run->n_places = 0;
	if (!maps || stat(run->node, &file))
		return;
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end, off, inode;
		char prot[8];

		if (sscanf(line, "%lx-%lx %7s %lx %*s %lu", &start, &end, prot, &off, &inode) < 5 ||
		    prot[2] != 'x' || inode != file.st_ino || run->n_places == MAX_MAPS)
			continue;
		run->places[run->n_places++] =
			(struct place){ start, end, va_of_offset(run->elf, off & ~4095ul) };
	}
	fclose(maps);
}

static uint64_t va_of(const struct run *run, uint64_t addr)
{
	for (size_t i = 0; i < run->n_places; i++)
		if (addr >= run->places[i].start && addr < run->places[i].end)
			return run->places[i].va + (addr - run->places[i].start);
	return 0;
}

/* --- the shadow stack */

static void see_call(struct run *run, unsigned int bytes)
{
	/* What lies below is of frames that are gone: an exception, on-stack replacement. Arguments
	 * that were taken off may have moved a return address up some words. */
	while (run->depth && run->calls[run->depth - 1].slot + MOVED_BYTES <= run->regs->rsp - 8)
		run->depth--;
	if (run->depth == MAX_DEPTH)
		run->depth = 0;
	run->calls[run->depth++] =
		(struct call){ run->regs->rip + bytes, run->regs->rbp, run->regs->rsp - 8 };
}

/*
 * Where a return goes that is at rsp: the call that put it there, or else, since return addresses
 * move when arguments are taken off, the last one with this address; an older one lies higher, as
 * all dispatches of the interpreter have the same address, and so do frames that an exception left.
 * MAX_DEPTH: none.
 */
static size_t find_call(const struct run *run, uint64_t back)
{
	for (size_t i = run->depth; i-- > 0;)
		if (run->calls[i].back == back && run->calls[i].slot == run->regs->rsp)
			return i;
	for (size_t i = run->depth; i-- > 0;)
		if (run->calls[i].back == back &&
		    (i + 1 == run->depth || run->calls[i].slot <= run->regs->rsp))
			return i;
	return MAX_DEPTH;
}

/* Of frames that were left together some calls are still there. */
static void see_return(struct run *run)
{
	size_t found = find_call(run, tracee_word(&run->steps.tracee, run->regs->rsp));

	run->lost += found == MAX_DEPTH && run->depth;
	run->depth = found == MAX_DEPTH ? 0 : found;
}

/*
 * `mov rsp, [memory]` of a frame that is left (V8's CEntry, to who catches an exception) or written
 * anew (the deoptimizer's entry): who is on the stack then was in no call that was seen. Memory of
 * the stack itself is where a call of C finds the rsp again that it aligned: REX.W 8B /4, whose
 * base in a SIB byte is rsp.
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
	const uint64_t values[] = {regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi,
				   regs->rbp, regs->rsp, regs->r8,  regs->r9,  regs->r10, regs->r11,
				   regs->r12, regs->r13, regs->r14, regs->r15};

	return dwarf < EP_LEN(values) ? values[dwarf] : 0;
}

static void print_example(const char *what, const struct v8_builtin *builtin,
			  const struct v8_builtin_row *row, uint64_t va, uint64_t got,
			  uint64_t want)
{
	printf("    %s at %s+%#" PRIx64 " (%#" PRIx64 "): %#" PRIx64 ", not %#" PRIx64, what,
	       builtin->name, va - builtin->va, va, got, want);
	if (row)
		printf("; base %u %+d, rbp at %d, return in %u", row->base, row->offset,
		       row->rbp_at, row->return_in);
	printf("\n");
}

static void check_row(struct run *run, const struct v8_builtin *builtin, uint64_t va)
{
	const struct v8_builtin_row *row = find_row(&run->rows, va);
	const struct call *call = &run->calls[run->depth - 1];
	const struct tracee *tracee = &run->steps.tracee;
	uint64_t cfa, back, rbp, got = 0, want = call->back;
	const char *wrong = NULL;

	run->steps.counted++;
	if (!row || row->base == V8_ROW_NONE) {
		wrong = row ? "nothing known" : "no row";
	} else {
		cfa = get_register(run->regs, row->base) + (uint64_t)(int64_t)row->offset;
		back = row->return_in == V8_RETURN_ON_STACK
			       ? tracee_word(tracee, cfa - 8)
			       : get_register(run->regs, row->return_in);
		rbp = row->rbp_at ? tracee_word(tracee, cfa + (uint64_t)(int64_t)row->rbp_at)
				  : run->regs->rbp;
		if (back != call->back) {
			wrong = "another return address";
			got = back;
		} else if (rbp != call->rbp && !row->makes_frame) {
			wrong = "another rbp";
			got = rbp;
			want = call->rbp;
		}
		run->other_cfa += !wrong && cfa != call->slot + 8;
	}
	if (tally_add(&run->steps.tally, wrong ? wrong : "as its row says", true,
		      wrong ? STEP_WRONG : STEP_RIGHT, builtin->va))
		print_example(wrong, builtin, row, va, got, want);
}

/* --- stepping */

/* 0; 1: this stretch ends. */
static int step_one(struct run *run, unsigned int *outside)
{
	const struct user_regs_struct *regs = run->regs;
	uint64_t va = va_of(run, regs->rip);
	const struct v8_builtin *builtin = va ? v8_builtins_at(run->builtins, va) : NULL;
	uint8_t code[STEP_CODE_BYTES];
	struct x86_insn insn;

	*outside = builtin || !va ? 0 : *outside + 1;
	if (*outside > OUTSIDE_STEPS)
		return 1;
	/* Whatever way it came back: who is where a call returns to, and has left its slot, is not
	 * in that call. */
	while (run->depth && run->calls[run->depth - 1].back == regs->rip &&
	       run->calls[run->depth - 1].slot < regs->rsp)
		run->depth--;
	if (builtin && run->depth)
		check_row(run, builtin, va);
	else if (builtin)
		(void)tally_add(&run->steps.tally, "[called before]", false, STEP_UNKNOWN, 0);
	tracee_code(&run->steps.tracee, code);
	if (leaves_frames(code)) {
		run->depth = 0;
	} else if (!x86_decode(code, sizeof(code), &insn)) {
		if (insn.kind == X86_CALL)
			see_call(run, insn.bytes);
		else if (insn.kind == X86_RETURN)
			see_return(run);
	}
	return tracee_step(&run->steps.tracee);
}

static int step_stretch(struct stepping *steps)
{
	struct run *run = run_of(steps);
	unsigned int outside = 0;
	int r = 0;

	run->depth = 0;
	for (unsigned int i = 0; r == 0 && i < steps->stretch && steps->counted < steps->judged;
	     i++)
		r = step_one(run, &outside);
	return r;
}

/* --- its life */

static bool take_option(struct stepping *steps, int letter, const char *value)
{
	(void)letter;
	run_of(steps)->node = value;
	return true;
}

static int start(struct stepping *steps)
{
	struct run *run = run_of(steps);
	const struct ep_unwinder_host *host = ep_unwinder_host_get();
	int r = run->node ? ep_elf_open(run->node, &run->elf) : -EINVAL;

	if (r < 0)
		return r;
	run->regs = &steps->tracee.regs;
	ep_elf_file_init(&run->file, run->elf, NULL, run->node);
	find_places(run);
	r = v8_builtins_read(host, &run->file.file, &run->builtins);
	return r ? r : v8_builtins_make_rows(run->builtins, host, &run->file.file, &run->rows);
}

static void finish(struct stepping *steps)
{
	struct run *run = run_of(steps);

	printf("  %" PRIu64 " lost, %" PRIu64 " with another CFA\n", run->lost, run->other_cfa);
	ep_vec_fini(&run->rows);
	v8_builtins_free(run->builtins);
	ep_elf_file_fini(&run->file);
	ep_elf_close(run->elf);
}

int main(int argc, char **argv)
{
	static const struct step_language language = {
		.name = "step_v8_builtins",
		.usage = "-x NODE",
		.letters = "x:",
		.option = take_option,
		.start = start,
		.stretch = step_stretch,
		.finish = finish,
		.pause_us = MAX_PAUSE_US,
		.fewest = 100,
	};
	static struct run run = {
		.steps = {.language = &language, .judged = 20000, .stretch = 3000, .percent = 99.9},
	};

	return step_main(argc, argv, &run.steps);
}
