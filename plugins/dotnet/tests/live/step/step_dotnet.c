/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_dotnet -p PID -P PLUGINS -m MAP [-n JUDGED] [-s STRETCH] [-t NATIVE] [-e EXAMPLES]
 *	       [-b PERCENT] [-f]
 *
 *	-P	directory of the plugin
 *	-m	the runtime's map of its code
 *	-n	instructions whose caller is known, to be judged
 *	-s	instructions of managed code in a stretch
 *	-t	instructions of native code in a row: to throw an exception takes 100 000
 *	-b	how many percent must be right
 *	-f	judges the callers that the frame pointer leads to, in place of the walk's: too few
 *		must be right
 *
 * Between two stretches the thread runs freely for a moment. After so much native code it runs to
 * where that returns. Native code is not judged. Status: 0 enough are right, 1 not, 2 it could not
 * be done, 3 too few were judged: a thread that is stopped again and again may wait for long.
 */
#include "plugins/dotnet/dotnet_shared.h"
#include "plugins/dotnet/tests/live/step/step.h"
#include "plugins/shared/x86/decode.h"

#include "core/base/log.h"
#include "core/base/util.h"
#include "core/plugin/host.h"
#include "core/proc/memory.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#define NATIVE_MS     100 /* of what was called, at most: an exception does not return there */
#define MAX_NATIVE    2000000
#define MAX_STRETCHES 5000
#define MAX_PAUSE_US  20000
#define BEHIND_CALL   1

struct options {
	pid_t pid;
	const char *plugins, *map;
	size_t judged;
	unsigned int stretch, native, examples;
	double percent;
	bool by_pointer;
};

struct run {
	struct options options;
	struct tracee tracee;
	struct ranges *ranges;
	struct calls calls;
	struct walker *walker;
	struct report *report;
	size_t native;		/* instructions of native code */
	size_t judged, unknown; /* unknown: called before the stretch began */
};

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
	uint64_t fp = run->tracee.regs.rbp;

	while (fp && sample->n_walked < STEP_CALLERS) {
		sample->walked[sample->n_walked++] = tracee_word(&run->tracee, fp + 8);
		fp = tracee_word(&run->tracee, fp);
	}
}

/* --- what was executed */

/* Intel SDM volume 2: call rel32. 0: it is another one. */
static uint64_t called_before(const struct run *run, uint64_t addr)
{
	uint8_t code[5];
	int32_t far;

	if (ep_memory_read(run->tracee.pid, addr - sizeof(code), code, sizeof(code)) < 0 ||
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

		sample->entry[sample->n_expected] = calls_get(&run->calls, i)->target;
		sample->called[sample->n_expected] = called_before(run, addr);
		sample->expected[sample->n_expected++] = addr;
		if (ranges_find(run->ranges, addr) == RANGE_NATIVE)
			break;
	}
}

/* rbp leads into its method's frame: that was called by the innermost call above. */
static void read_parent(const struct run *run, struct sample *sample)
{
	for (size_t i = 1; i < calls_len(&run->calls); i++) {
		if (calls_get(&run->calls, i)->slot <= run->tracee.regs.rbp)
			continue;
		sample->parent_caller = calls_get(&run->calls, i)->addr;
		return;
	}
}

static int take_sample(struct run *run, enum range_kind kind, const uint8_t *code)
{
	struct sample sample = {.pc = run->tracee.regs.rip, .kind = kind};
	const struct ep_sample *event = NULL;
	int r = 0;

	run->unknown += calls_len(&run->calls) == 0;
	if (calls_len(&run->calls) == 0)
		return 0;
	run->judged++;
	memcpy(sample.code, code, sizeof(sample.code));
	read_calls(run, &sample);
	read_parent(run, &sample);
	if (run->options.by_pointer) {
		walk_by_pointer(run, &sample);
	} else {
		r = walker_walk(run->walker, &run->tracee, &event);
		if (r == 0) {
			read_walk(run, event, &sample);
			r = walker_refresh(run->walker, event);
		}
	}
	return r < 0 ? r : report_add(run->report, &sample);
}

/* --- the loop */

/* A string instruction, which is stepped once for each of its turns: to after it. */
static int finish_string(struct run *run, const uint8_t *code)
{
	struct user_regs_struct *regs = &run->tracee.regs;
	struct x86_insn insn;

	if ((code[0] != 0xf2 && code[0] != 0xf3) || x86_decode(code, STEP_CODE_BYTES, &insn))
		return 0;
	return tracee_run_to(&run->tracee, regs->rip + insn.bytes, regs->rsp, 0, NATIVE_MS);
}

static int step_one(struct run *run, enum range_kind kind)
{
	const struct user_regs_struct before = run->tracee.regs;
	uint8_t code[STEP_CODE_BYTES] = {0};
	int r = 0;

	(void)ep_memory_read(run->tracee.pid, before.rip, code, sizeof(code));
	if (kind != RANGE_NATIVE)
		r = take_sample(run, kind, code);
	if (r == 0)
		r = tracee_step(&run->tracee); /* 1: a signal's handler is next */
	if (r == 0 && run->tracee.regs.rip == before.rip)
		r = finish_string(run, code);
	return r < 0 ? r : calls_step(&run->calls, &run->tracee, &before, code);
}

/*
 * On, where native code returns to managed code. 1: this stretch ends: the managed code has
 * returned before that, as what an exception went through, or was replaced on the stack.
 */
static int skip_native(struct run *run)
{
	const struct user_regs_struct before = run->tracee.regs;
	uint8_t none[STEP_CODE_BYTES] = {0};
	int r;

	for (size_t i = 0; i < calls_len(&run->calls); i++) {
		const struct call *call = calls_get(&run->calls, i);
		bool is_last = i + 1 == calls_len(&run->calls);

		if (ranges_find(run->ranges, call->addr) == RANGE_NATIVE)
			continue;
		r = tracee_run_to(&run->tracee, call->addr, call->slot + 8,
				  is_last ? 0 : calls_get(&run->calls, i + 1)->addr, NATIVE_MS);
		if (r == 0)
			r = calls_step(&run->calls, &run->tracee, &before, none);
		return r == -ETIMEDOUT ? 1 : r;
	}
	return 1;
}

static int step_stretch(struct run *run)
{
	unsigned int native = 0, managed = 0;
	int r = 0;

	run->calls.all.len = 0;
	while (r == 0 && managed < run->options.stretch) {
		enum range_kind kind = ranges_find(run->ranges, run->tracee.regs.rip);

		native = kind == RANGE_NATIVE ? native + 1 : 0;
		run->native += kind == RANGE_NATIVE;
		managed += kind != RANGE_NATIVE;
		r = native > run->options.native ? skip_native(run) : step_one(run, kind);
	}
	if (r == -ETIMEDOUT) /* it waits in a system call */
		r = tracee_stop(&run->tracee);
	return r < 0 ? r : 0;
}

static int step_all(struct run *run)
{
	unsigned int random = 1;
	int r = 0;

	for (unsigned int i = 0; r == 0 && i < MAX_STRETCHES && run->judged < run->options.judged &&
				 run->native < MAX_NATIVE;
	     i++) {
		random = random * 1103515245 + 12345;
		r = tracee_continue(&run->tracee, 100 + (random >> 16) % MAX_PAUSE_US);
		if (r == 0 && ranges_find(run->ranges, run->tracee.regs.rip) != RANGE_NATIVE)
			r = step_stretch(run);
	}
	return r;
}

static int start(struct run *run)
{
	int r;

	run->ranges = ranges_new(run->options.pid);
	run->report = report_new();
	if (!run->ranges || !run->report)
		return -ENOMEM;
	run->tracee = (struct tracee){.pid = run->options.pid, .tid = run->options.pid};
	calls_init(&run->calls);
	r = walker_new(run->options.pid, run->options.plugins, NULL, NULL, &run->walker);
	if (r == 0)
		r = tracee_seize(&run->tracee);
	return r < 0 ? r : tracee_stop(&run->tracee);
}

static int finish(struct run *run)
{
	size_t judged = 0, right = 0;
	double percent;

	if (ranges_read_names(run->ranges, run->options.map) < 0)
		printf("  no map of the runtime's code\n");
	report_print(run->report, run->ranges, run->options.examples, &judged, &right);
	percent = judged ? 100. * (double)right / (double)judged : 0;
	printf("  %zu judged, %zu called before and not judged, %zu wrong, %.4f %% right\n", judged,
	       run->unknown, judged - right, percent);
	if (percent >= run->options.percent && judged < run->options.judged / 2)
		return 3;
	return percent >= run->options.percent ? 0 : 1;
}

static void on_alarm(int signal)
{
	(void)signal;
}

static bool parse(int argc, char **argv, struct options *options)
{
	int option;

	*options = (struct options){
		.judged = 20000, .stretch = 3000, .native = 100, .examples = 3, .percent = 99.99};
	while ((option = getopt(argc, argv, "p:P:m:n:s:t:e:b:f")) != -1) {
		if (option == 'p')
			options->pid = (pid_t)strtol(optarg, NULL, 10);
		else if (option == 'P')
			options->plugins = optarg;
		else if (option == 'm')
			options->map = optarg;
		else if (option == 'n')
			options->judged = strtoul(optarg, NULL, 10);
		else if (option == 's')
			options->stretch = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 't')
			options->native = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 'e')
			options->examples = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 'b')
			options->percent = strtod(optarg, NULL);
		else if (option == 'f')
			options->by_pointer = true;
		else
			return false;
	}
	return options->pid > 0 && options->plugins && options->map;
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
		fprintf(stderr,
			"usage: step_dotnet -p PID -P PLUGINS -m MAP [-n JUDGED] [-s STRETCH] [-t NATIVE] "
			"[-e EXAMPLES] [-b PERCENT] [-f]\n");
		return 2;
	}
	r = start(&run);
	if (r == 0) {
		r = step_all(&run);
		tracee_end(&run.tracee);
	}
	if (r < 0)
		fprintf(stderr, "step_dotnet: %s\n", ep_strerror(r));
	r = r < 0 ? 2 : finish(&run);
	calls_fini(&run.calls);
	walker_free(run.walker);
	ranges_free(run.ranges);
	report_free(run.report);
	return r;
}
