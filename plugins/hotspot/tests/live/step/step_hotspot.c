/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_hotspot OPTIONS [-i] [-v]	(tests/kit/step/step.h has the others)
 *
 *	-i	the bar is for the interpreter's instructions, instead of compiled code's
 *	-v	what the shadow stack does not understand
 */
#include "core/base/log.h"
#include "core/proc/memory.h"
#include "plugins/hotspot/tests/live/step/step.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NATIVE_STEPS 400000 /* of a signal's handler, at most */
#define NATIVE_MS    5000   /* of what was called, at most */
#define MAX_OTHERS   20	    /* so many times more than what counts */
#define MAX_PAUSE_US 3000

struct run {
	struct stepping steps;
	enum blob_kind counted; /* what the bar is for */
	struct blobs *blobs;
	struct shadow shadow;
	struct java_walker *walker;
};

static struct run *run_of(struct stepping *steps)
{
	return (struct run *)steps; /* its first member */
}

/* --- what a sample is of */

/*
 * Where in a compiled frame: with sp where it is in the body, between two calls; above it the frame
 * is being made, or was given up.
 */
static const char *place_in_frame(const struct run *run, const struct blob *blob)
{
	const struct user_regs_struct *regs = &run->steps.tracee.regs;
	const struct shadow_entry *top = shadow_top((struct shadow *)&run->shadow);
	uint64_t off = regs->rip - blob->code, slot = top->slot;

	if (top->where == SHADOW_UNKNOWN)
		return (int64_t)off < blob->frame_complete ? "first prologue" : "first";
	if (top->where != SHADOW_AT_SLOT)
		return "slotless";
	if (regs->rsp == slot + 8 - (uint64_t)blob->frame_bytes)
		return "body";
	if (regs->rsp < slot + 8 - (uint64_t)blob->frame_bytes)
		return "below";
	return (int64_t)off < blob->frame_complete ? "prologue" : "epilogue";
}

static int take_sample(struct run *run, const struct blob *blob, const uint8_t *code)
{
	const struct shadow_entry *top = shadow_calling(&run->shadow, blob);
	struct sample sample = {
		.is_counted = blob->kind == run->counted,
		.caller = top->caller,
		.pc = run->steps.tracee.regs.rip,
		.sp = run->steps.tracee.regs.rsp,
		.start = blob->start,
	};
	int r;

	snprintf(sample.name, sizeof(sample.name), "%s%s%s", blob->name,
		 blob->kind == BLOB_NMETHOD ? " " : "",
		 blob->kind == BLOB_NMETHOD ? place_in_frame(run, blob) : "");
	if (top != shadow_top(&run->shadow))
		sample.within = shadow_caller(&run->shadow, shadow_top(&run->shadow)->caller)->addr;
	run->steps.counted += sample.is_counted && top->where != SHADOW_UNKNOWN;
	memcpy(sample.code, code, sizeof(sample.code));
	if (top->where == SHADOW_AT_SLOT)
		sample.now = tracee_word(&run->steps.tracee, top->slot);
	r = java_walker_walk(run->walker, &run->steps.tracee, &sample.walked);
	return r < 0 ? r : stepping_add(&run->steps, &sample);
}

/* --- the loop */

/* Out of the code cache by a call: on where it returns. 1: this stretch ends. */
static int skip_native(struct run *run)
{
	struct shadow_entry *top = shadow_top(&run->shadow);
	struct blob blob;
	uint64_t addr;
	int r;

	if (top->where != SHADOW_AT_SLOT || run->steps.tracee.regs.rsp > top->slot)
		return 1;
	addr = shadow_caller(&run->shadow, top->caller)->addr;
	if (!blobs_find(run->blobs, addr, &blob))
		return 1;
	r = tracee_run_to(&run->steps.tracee, addr, top->slot + 8, 0, NATIVE_MS);
	if (r == -ETIMEDOUT)
		return 1;
	if (r == 0)
		shadow_returned(&run->shadow);
	return r;
}

/* A signal's handler, to where the thread goes on with the program. */
static int step_signal(struct run *run, const struct blob *blob)
{
	const struct user_regs_struct before = run->steps.tracee.regs;
	struct blob to;
	int r = 0;

	for (int i = 0; r >= 0 && i < NATIVE_STEPS; i++) {
		r = tracee_step(&run->steps.tracee);
		if (r >= 0 && blobs_find(run->blobs, run->steps.tracee.regs.rip, &to))
			return run->steps.tracee.regs.rip == before.rip ?
				       0 :
				       shadow_moved(&run->shadow, &before, blob);
	}
	return r < 0 ? r : 1;
}

/* 0; 1: the stretch ends here; a negative errno. */
static int step_code(struct run *run, const struct blob *blob)
{
	const struct user_regs_struct before = run->steps.tracee.regs;
	uint8_t code[2 * STEP_CODE_BYTES];
	int r = ep_memory_read(run->steps.tracee.pid, before.rip - STEP_CODE_BYTES, code,
			       sizeof(code));

	if (r == 0)
		r = take_sample(run, blob, code);
	if (r == 0)
		r = tracee_step(&run->steps.tracee);
	if (r == 1)
		return step_signal(run, blob);
	return r < 0 ? r : shadow_step(&run->shadow, &before, code + STEP_CODE_BYTES, blob);
}

static int step_stretch(struct stepping *steps)
{
	struct run *run = run_of(steps);
	struct blob blob;
	int r = shadow_begin(&run->shadow);

	for (unsigned int i = 0; r == 0 && i < steps->stretch; i++) {
		if (blobs_find(run->blobs, steps->tracee.regs.rip, &blob))
			r = step_code(run, &blob);
		else
			r = skip_native(run);
	}
	return r;
}

static bool is_java(struct stepping *steps, uint64_t pc)
{
	struct blob blob;

	return blobs_find(run_of(steps)->blobs, pc, &blob);
}

static bool is_over(const struct stepping *steps)
{
	return steps->samples.len >= steps->judged * MAX_OTHERS;
}

/* --- its life */

static bool take_option(struct stepping *steps, int letter, const char *value)
{
	(void)value;
	if (letter == 'v')
		ep_log_set_level(EP_LOG_DEBUG);
	else
		run_of(steps)->counted = BLOB_INTERPRETER;
	return true;
}

static int start(struct stepping *steps)
{
	struct run *run = run_of(steps);

	run->blobs = blobs_new(steps->tracee.pid);
	if (!run->blobs)
		return -ENOMEM;
	shadow_init(&run->shadow, &steps->tracee, run->blobs);
	return java_walker_new(steps->tracee.pid, steps->plugins, &run->walker);
}

static void judge(struct stepping *steps)
{
	judge_all(steps, &run_of(steps)->shadow);
}

static void finish(struct stepping *steps)
{
	struct run *run = run_of(steps);

	shadow_fini(&run->shadow);
	java_walker_free(run->walker);
	blobs_free(run->blobs);
}

int main(int argc, char **argv)
{
	static const struct step_language language = {
		.name = "step_hotspot",
		.usage = "[-i] [-v]",
		.letters = "iv",
		.option = take_option,
		.start = start,
		.is_code = is_java,
		.stretch = step_stretch,
		.is_over = is_over,
		.judge = judge,
		.finish = finish,
		.sample_bytes = sizeof(struct sample),
		.pause_us = MAX_PAUSE_US,
		.fewest = 50,
	};
	static struct run run = {
		.steps = {.language = &language, .judged = 20000, .stretch = 4000, .percent = 99.9},
		.counted = BLOB_NMETHOD,
	};

	return step_main(argc, argv, &run.steps);
}
