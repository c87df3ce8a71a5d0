/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_dotnet OPTIONS -m MAP [-N NATIVE] [-r RARE] [-f]	(tests/kit/step/step.h has the others)
 *
 *	-m	the runtime's map of its code
 *	-N	instructions of native code in a row, until an entry to managed code was learnt
 *	-r	so many instructions of funclets and of code of on-stack replacement, at least
 *	-f	judges the callers that the frame pointer leads to, in place of the walk's: too few
 *		must be right
 *
 * After so much native code it runs to where that returns or enters managed code again. Native code
 * is not judged. That too few were judged may be: a thread that is stopped again and again may wait
 * for long.
 */
#include "plugins/dotnet/dotnet_shared.h"
#include "plugins/dotnet/tests/live/step/step.h"
#include "plugins/shared/x86/decode.h"

#include "core/base/util.h"
#include "core/proc/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NATIVE_MS    100 /* of what was called, at most: an exception does not return there */
#define MAX_NATIVE   2000000
#define FEW_NATIVE   400 /* in a row, when an entry that is jumped to is known */
#define MAX_UNKNOWN  500 /* instructions of managed code in a row, whose caller was not seen */
#define MAX_PAUSE_US 20000
#define BEHIND_CALL  1

struct run {
	struct stepping steps;
	const char *map;
	unsigned int max_native; /* in a row */
	bool by_pointer;
	size_t fewest_rare; /* of funclets and of replaced code */
	struct ranges *ranges;
	struct calls calls;
	struct entries entries;
	struct walker *walker;
	size_t native; /* instructions of native code */
	uint64_t gap;  /* below this slot are calls that were not seen, since it ran there; or 0 */
};

static struct run *run_of(struct stepping *steps)
{
	return (struct run *)steps; /* its first member */
}

/* --- what a walk says */

static uint64_t frame_pc(const struct run *run, const uint64_t *frame)
{
	uint32_t kind = EP_FRAME_KIND(frame[0]);

	if (kind == EP_FRAME_NATIVE)
		return walker_native_pc(run->walker, EP_FRAME_AUX(frame[0]), frame[1]);
	if (kind < EP_FRAME_FIRST_DYNAMIC)
		return 0;
	if (DOTNET_FRAME(EP_FRAME_FLAGS(frame[0])) == DOTNET_FRAME_STUB)
		return frame[1] + BEHIND_CALL;
	return frame[1] + EP_FRAME_AUX(frame[0]) + BEHIND_CALL;
}

static void read_walk(const struct run *run, const struct ep_sample *event, struct sample *sample)
{
	const uint64_t *words = (const uint64_t *)(event + 1) + event->n_kernel;
	uint32_t at = event->n_words ? 1 + EP_FRAME_WORDS(words[0]) : 0;

	sample->error = event->error;
	for (; at < event->n_words && sample->n_walked < STEP_CALLERS;
	     at += 1 + EP_FRAME_WORDS(words[at]))
		sample->walked[sample->n_walked++] = frame_pc(run, &words[at]);
}

static void walk_by_pointer(const struct run *run, struct sample *sample)
{
	uint64_t fp = run->steps.tracee.regs.rbp;

	while (fp && sample->n_walked < STEP_CALLERS) {
		sample->walked[sample->n_walked++] = tracee_word(&run->steps.tracee, fp + 8);
		fp = tracee_word(&run->steps.tracee, fp);
	}
}

/* --- what was executed */

/* Intel SDM volume 2: call rel32. 0: it is another one. */
static uint64_t called_before(const struct run *run, uint64_t addr)
{
	uint8_t code[5];
	int32_t far;

	if (ep_memory_read(run->steps.tracee.pid, addr - sizeof(code), code, sizeof(code)) < 0 ||
	    code[0] != 0xe8)
		return 0;
	memcpy(&far, code + 1, sizeof(far));
	return addr + (uint64_t)(int64_t)far;
}

/* Up to the first caller in native code, which a funclet hides. */
static void read_calls(const struct run *run, struct sample *sample)
{
	for (size_t i = 0; i < calls_len(&run->calls) && sample->n_expected < STEP_CALLERS; i++) {
		uint64_t addr = calls_get(&run->calls, i)->addr;

		if (run->gap && calls_get(&run->calls, i)->slot >= run->gap)
			break;
		sample->entry[sample->n_expected] = calls_get(&run->calls, i)->target;
		sample->called[sample->n_expected] = called_before(run, addr);
		sample->expected[sample->n_expected++] = addr;
		if (ranges_find(run->ranges, addr) == RANGE_NATIVE)
			break;
	}
}

static void read_stack(const struct run *run, struct sample *sample)
{
	for (size_t i = 0; i < calls_len(&run->calls) && i < STEP_STACK; i++)
		sample->stack[sample->n_stack++] = calls_get(&run->calls, i)->addr;
}

/* rbp leads into its method's frame: that was called by the innermost call above. */
static void read_parent(const struct run *run, struct sample *sample)
{
	for (size_t i = 1; i < calls_len(&run->calls); i++) {
		if (calls_get(&run->calls, i)->slot <= run->steps.tracee.regs.rbp)
			continue;
		sample->parent_caller = calls_get(&run->calls, i)->addr;
		return;
	}
}

static int take_sample(struct run *run, enum range_kind kind, const uint8_t *code)
{
	struct sample sample = {.pc = run->steps.tracee.regs.rip, .kind = kind};
	const struct ep_sample *event = NULL;
	int r = 0;

	read_calls(run, &sample);
	if (sample.n_expected == 0) { /* called before the stretch began, or where it ran freely */
		(void)tally_add(&run->steps.tally, "[called before]", false, STEP_UNKNOWN, 0);
		return 0;
	}
	run->steps.counted++;
	memcpy(sample.code, code, sizeof(sample.code));
	read_stack(run, &sample);
	read_parent(run, &sample);
	if (run->by_pointer) {
		walk_by_pointer(run, &sample);
	} else {
		r = walker_walk(run->walker, &run->steps.tracee, &event);
		if (r == 0) {
			read_walk(run, event, &sample);
			r = walker_refresh(run->walker, event);
		}
	}
	return r < 0 ? r : stepping_add(&run->steps, &sample);
}

/* --- the loop */

/* A string instruction, which is stepped once for each of its turns: to after it. */
static int finish_string(struct run *run, const uint8_t *code)
{
	struct user_regs_struct *regs = &run->steps.tracee.regs;
	struct x86_insn insn;

	if ((code[0] != 0xf2 && code[0] != 0xf3) || x86_decode(code, STEP_CODE_BYTES, &insn))
		return 0;
	return tracee_run_to(&run->steps.tracee, regs->rip + insn.bytes, regs->rsp, 0, NATIVE_MS);
}

/*
 * Native code was stepped: does it enter managed code, and not by a return from a call that was
 * seen? 1: this stretch ends: calls that were not seen may lie above.
 */
static int learn_entry(struct run *run, const struct user_regs_struct *before, const uint8_t *code)
{
	uint64_t pc = run->steps.tracee.regs.rip;
	struct x86_insn insn;
	bool is_call;

	if (ranges_find(run->ranges, pc) == RANGE_NATIVE)
		return 0;
	for (size_t i = 0; i < calls_len(&run->calls); i++) {
		const struct call *call = calls_get(&run->calls, i);

		if (call->addr != pc || call->slot + 8 != run->steps.tracee.regs.rsp)
			continue;
		run->gap = 0;
		return 0;
	}
	is_call = x86_decode(code, STEP_CODE_BYTES, &insn) == 0 && insn.kind == X86_CALL;
	if (!is_call && run->steps.tracee.regs.rsp < run->gap)
		return 1;
	run->gap = is_call ? run->gap : 0;
	entries_learn(&run->entries, before->rip, !is_call);
	return 0;
}

static int step_one(struct run *run, enum range_kind kind)
{
	const struct user_regs_struct before = run->steps.tracee.regs;
	uint8_t code[STEP_CODE_BYTES];
	int r = 0;

	tracee_code(&run->steps.tracee, code);
	if (kind != RANGE_NATIVE)
		r = take_sample(run, kind, code);
	if (r == 0)
		r = tracee_step(&run->steps.tracee); /* 1: a signal's handler is next */
	if (r == 0 && run->steps.tracee.regs.rip == before.rip)
		r = finish_string(run, code);
	if (r >= 0 && kind == RANGE_NATIVE && learn_entry(run, &before, code))
		return 1;
	return r < 0 ? r : calls_step(&run->calls, &run->steps.tracee, &before, code);
}

/*
 * On, where native code returns to managed code, or at one of its entries. 1: this stretch ends: the
 * managed code has returned before that, as what an exception went through, or was replaced on the
 * stack.
 */
static int skip_native(struct run *run)
{
	const struct user_regs_struct before = run->steps.tracee.regs;
	uint8_t none[STEP_CODE_BYTES] = {0};
	int r;

	for (size_t i = 0; i < calls_len(&run->calls); i++) {
		const struct call *call = calls_get(&run->calls, i);
		bool is_last = i + 1 == calls_len(&run->calls);

		if (ranges_find(run->ranges, call->addr) == RANGE_NATIVE)
			continue;
		entries_choose(&run->entries, run->steps.tracee.also);
		r = tracee_run_to(&run->steps.tracee, call->addr, call->slot + 8,
				  is_last ? 0 : calls_get(&run->calls, i + 1)->addr, NATIVE_MS);
		memset(run->steps.tracee.also, 0, sizeof(run->steps.tracee.also));
		if (r == 2) {
			run->calls.all.len -= i; /* native code's, which may have ended */
			run->gap = call->slot;
			return calls_are_there(&run->calls, &run->steps.tracee) ? 0 : 1;
		}
		if (r == 0)
			r = calls_step(&run->calls, &run->steps.tracee, &before, none);
		return r == -ETIMEDOUT ? 1 : r;
	}
	return 1;
}

static int step_stretch(struct stepping *steps)
{
	struct run *run = run_of(steps);
	unsigned int native = 0, managed = 0, unknown = 0;
	int r = 0;

	run->calls.all.len = 0;
	run->gap = 0;
	entries_search(&run->entries, &steps->tracee, run->ranges);
	while (r == 0 && managed < steps->stretch && unknown < MAX_UNKNOWN) {
		enum range_kind kind = ranges_find(run->ranges, steps->tracee.regs.rip);
		unsigned int most = run->entries.has_jump ? FEW_NATIVE : run->max_native;

		native = kind == RANGE_NATIVE ? native + 1 : 0;
		run->native += kind == RANGE_NATIVE;
		managed += kind != RANGE_NATIVE;
		unknown = calls_len(&run->calls) ? 0 : unknown + 1;
		if (native > EP_MIN(most, run->max_native)) {
			r = skip_native(run);
			native = 0;
		} else {
			r = step_one(run, kind);
		}
	}
	return r == -ETIMEDOUT ? tracee_stop(&steps->tracee) : r; /* it waits in a system call */
}

static bool is_managed(struct stepping *steps, uint64_t pc)
{
	return ranges_find(run_of(steps)->ranges, pc) != RANGE_NATIVE;
}

static bool is_over(const struct stepping *steps)
{
	return ((const struct run *)steps)->native >= MAX_NATIVE;
}

/* --- its life */

static bool take_option(struct stepping *steps, int letter, const char *value)
{
	struct run *run = run_of(steps);

	if (letter == 'm')
		run->map = value;
	else if (letter == 'N')
		run->max_native = (unsigned int)strtoul(value, NULL, 10);
	else if (letter == 'r')
		run->fewest_rare = strtoul(value, NULL, 10);
	else
		run->by_pointer = true;
	return true;
}

static int start(struct stepping *steps)
{
	struct run *run = run_of(steps);

	calls_init(&run->calls);
	run->ranges = ranges_new(steps->tracee.pid);
	if (!run->ranges)
		return -ENOMEM;
	return walker_new(steps->tracee.pid, steps->plugins, NULL, NULL, &run->walker);
}

static void judge(struct stepping *steps)
{
	struct run *run = run_of(steps);

	if (!run->map || ranges_read_names(run->ranges, run->map) < 0)
		printf("  no map of the runtime's code\n");
	steps->is_too_few = judge_all(steps, run->ranges) < run->fewest_rare;
}

static void finish(struct stepping *steps)
{
	struct run *run = run_of(steps);

	calls_fini(&run->calls);
	walker_free(run->walker);
	ranges_free(run->ranges);
}

int main(int argc, char **argv)
{
	static const struct step_language language = {
		.name = "step_dotnet",
		.usage = "-m MAP [-N NATIVE] [-r RARE] [-f]",
		.letters = "m:N:r:f",
		.option = take_option,
		.start = start,
		.is_code = is_managed,
		.stretch = step_stretch,
		.is_over = is_over,
		.judge = judge,
		.finish = finish,
		.sample_bytes = sizeof(struct sample),
		.pause_us = MAX_PAUSE_US,
		.fewest = 50,
	};
	static struct run run = {
		.steps = {.language = &language,
			  .judged = 20000,
			  .stretch = 3000,
			  .percent = 99.99},
		.max_native = 100,
	};

	return step_main(argc, argv, &run.steps);
}
