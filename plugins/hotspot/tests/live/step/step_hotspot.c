/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_hotspot -p PID -t TID -P PLUGINS [-i] [-n JUDGED] [-s STRETCH]
 *		[-e EXAMPLES] [-m PERCENT]
 *
 *	-P	directory of the plugin
 *	-n	instructions of compiled code to step
 *	-i	the interpreter's instructions instead of compiled code's
 *	-s	instructions in a stretch; between two the thread runs freely for a moment
 *	-m	how many percent of the callers must be right
 *
 * Status: 0 enough are right, 1 not, 2 it could not be done. check_step.py runs it.
 */
#include "core/base/log.h"
#include "core/plugin/host.h"
#include "core/proc/memory.h"
#include "plugins/hotspot/tests/live/step/step.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#define NATIVE_STEPS 400000 /* of a signal's handler, at most */
#define NATIVE_MS    5000   /* of what was called, at most */
#define MAX_OTHERS   20 /* so many times more than what counts */

struct options {
	pid_t pid, tid;
	const char *plugins;
	size_t judged;
	unsigned int stretch, examples;
	double percent;
	enum blob_kind counted; /* what the bar is for */
};

struct run {
	struct options options;
	struct tracee tracee;
	struct blobs *blobs;
	struct shadow shadow;
	struct java_walker *walker;
	struct report *report;
	size_t counted;	 /* instructions of what the bar is for, whose caller is known, */
	size_t anything; /* and of all code */
};

/* --- what a sample is of */

/*
 * Where in a compiled frame: with sp where it is in the body, between two calls; above it the frame is
 * being made, or was given up.
 */
static const char *place_in_frame(const struct run *run, const struct blob *blob)
{
	const struct user_regs_struct *regs = &run->tracee.regs;
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

static uint32_t class_of(const struct run *run, const struct blob *blob)
{
	char name[2 * STEP_NAME_BYTES];

	if (blob->kind == BLOB_NMETHOD)
		snprintf(name, sizeof(name), "%s %s", blob->name, place_in_frame(run, blob));
	else
		snprintf(name, sizeof(name), "%s", blob->name);
	return report_class(run->report, name, blob->kind == run->options.counted);
}

static int take_sample(struct run *run, const struct blob *blob, const uint8_t *code)
{
	const struct shadow_entry *top = shadow_calling(&run->shadow, blob);
	struct sample sample = {
		.class = class_of(run, blob),
		.caller = top->caller,
		.pc = run->tracee.regs.rip,
		.sp = run->tracee.regs.rsp,
		.start = blob->start,
	};
	int r;

	if (top != shadow_top(&run->shadow))
		sample.within = shadow_caller(&run->shadow, shadow_top(&run->shadow)->caller)->addr;
	run->counted += blob->kind == run->options.counted && top->where != SHADOW_UNKNOWN;
	run->anything++;
	memcpy(sample.code, code, sizeof(sample.code));
	if (top->where == SHADOW_AT_SLOT)
		sample.now = tracee_word(&run->tracee, top->slot);
	r = java_walker_walk(run->walker, &run->tracee, &sample.walked);
	return r < 0 ? r : report_add(run->report, &sample);
}

/* --- the loop */

/* Out of the code cache by a call: on where it returns. 1: this stretch ends. */
static int skip_native(struct run *run)
{
	struct shadow_entry *top = shadow_top(&run->shadow);
	struct blob blob;
	uint64_t addr;
	int r;

	if (top->where != SHADOW_AT_SLOT || run->tracee.regs.rsp > top->slot)
		return 1;
	addr = shadow_caller(&run->shadow, top->caller)->addr;
	if (!blobs_find(run->blobs, addr, &blob))
		return 1;
	r = tracee_run_to(&run->tracee, addr, top->slot + 8, 0, NATIVE_MS);
	if (r == -ETIMEDOUT)
		return 1;
	if (r == 0)
		shadow_returned(&run->shadow);
	return r;
}

/* A signal's handler, to where the thread goes on with the program. */
static int step_signal(struct run *run, const struct blob *blob)
{
	const struct user_regs_struct before = run->tracee.regs;
	struct blob to;
	int r = 0;

	for (int i = 0; r >= 0 && i < NATIVE_STEPS; i++) {
		r = tracee_step(&run->tracee);
		if (r >= 0 && blobs_find(run->blobs, run->tracee.regs.rip, &to))
			return run->tracee.regs.rip == before.rip ?
				       0 :
				       shadow_moved(&run->shadow, &before, blob);
	}
	return r < 0 ? r : 1;
}

/* 0; 1: the stretch ends here; a negative errno. */
static int step_code(struct run *run, const struct blob *blob)
{
	const struct user_regs_struct before = run->tracee.regs;
	uint8_t code[2 * STEP_CODE_BYTES];
	int r = ep_memory_read(run->tracee.pid, before.rip - STEP_CODE_BYTES, code, sizeof(code));

	if (r == 0)
		r = take_sample(run, blob, code);
	if (r == 0)
		r = tracee_step(&run->tracee);
	if (r == 1)
		return step_signal(run, blob);
	return r < 0 ? r : shadow_step(&run->shadow, &before, code + STEP_CODE_BYTES, blob);
}

static int step_stretch(struct run *run)
{
	struct blob blob;
	int r = shadow_begin(&run->shadow);

	for (unsigned int i = 0; r == 0 && i < run->options.stretch; i++) {
		if (blobs_find(run->blobs, run->tracee.regs.rip, &blob))
			r = step_code(run, &blob);
		else
			r = skip_native(run);
	}
	return r < 0 ? r : 0;
}

static int step_all(struct run *run)
{
	struct blob blob;
	unsigned int random = 1;
	int r = 0;

	while (r == 0 && run->counted < run->options.judged &&
	       run->anything < run->options.judged * MAX_OTHERS) {
		random = random * 1103515245 + 12345;
		r = tracee_continue(&run->tracee, 100 + (random >> 16) % 3000);
		if (r == 0 && blobs_find(run->blobs, run->tracee.regs.rip, &blob))
			r = step_stretch(run);
	}
	return r;
}

static int start(struct run *run)
{
	int r;

	run->blobs = blobs_new(run->options.pid);
	run->report = report_new();
	if (!run->blobs || !run->report)
		return -EINVAL;
	run->tracee = (struct tracee){.pid = run->options.pid, .tid = run->options.tid};
	shadow_init(&run->shadow, &run->tracee, run->blobs);
	r = java_walker_new(run->options.pid, run->options.plugins, &run->walker);
	if (r == 0)
		r = tracee_seize(&run->tracee);
	return r < 0 ? r : tracee_stop(&run->tracee);
}

static int finish(struct run *run)
{
	size_t judged = 0;
	double percent;

	percent = report_print(run->report, &run->shadow, run->options.examples, &judged);
	printf("%s: %zu with a caller that was seen, %zu judged, %.4f %% right\n",
	       run->options.counted == BLOB_NMETHOD ? "compiled code" : "interpreter", run->counted,
	       judged, percent);
	return percent >= run->options.percent && judged >= run->options.judged / 2 ? 0 : 1;
}

static void on_alarm(int signal)
{
	(void)signal;
}

static bool parse(int argc, char **argv, struct options *options)
{
	int option;

	*options = (struct options){
		.counted = BLOB_NMETHOD,
		.judged = 20000,
		.stretch = 4000,
		.examples = 2,
		.percent = 99.9,
	};
	while ((option = getopt(argc, argv, "p:t:P:n:s:e:m:iv")) != -1) {
		if (option == 'p')
			options->pid = (pid_t)strtol(optarg, NULL, 10);
		else if (option == 't')
			options->tid = (pid_t)strtol(optarg, NULL, 10);
		else if (option == 'P')
			options->plugins = optarg;
		else if (option == 'n')
			options->judged = strtoul(optarg, NULL, 10);
		else if (option == 's')
			options->stretch = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 'e')
			options->examples = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 'm')
			options->percent = strtod(optarg, NULL);
		else if (option == 'i')
			options->counted = BLOB_INTERPRETER;
		else if (option == 'v')
			ep_log_set_level(EP_LOG_DEBUG);
		else
			return false;
	}
	return options->pid > 0 && options->tid > 0 && options->plugins;
}

int main(int argc, char **argv)
{
	static struct run run;
	struct sigaction action = {.sa_handler = on_alarm}; /* waitpid is not begun again */
	int r;

	sigaction(SIGALRM, &action, NULL);
	ep_log_set_level(EP_LOG_ERROR);
	ep_host_init(uv_default_loop(), "replay");
	if (!parse(argc, argv, &run.options)) {
		fprintf(stderr, "usage: step_hotspot -p PID -t TID -P PLUGINS "
				"[-i] [-n JUDGED] [-s STRETCH] [-e EXAMPLES] [-m PERCENT]\n");
		return 2;
	}
	r = start(&run);
	if (r == 0) {
		r = step_all(&run);
		tracee_end(&run.tracee);
	}
	if (r < 0)
		fprintf(stderr, "step_hotspot: %s\n", ep_strerror(r));
	r = r < 0 && (!run.report || report_len(run.report) == 0) ? 2 : finish(&run) | (r < 0);
	shadow_fini(&run.shadow);
	java_walker_free(run.walker);
	blobs_free(run.blobs);
	report_free(run.report);
	return r;
}
