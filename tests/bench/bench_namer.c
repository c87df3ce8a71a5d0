/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that wait for a runtime which takes its time: what they cost the agent, that looks for names as often as it
 * looks at records. CPU time of the calls, less that of one frame that waits: most of it is two looks at the clock.
 */
#include "core/agent/namer.h"
#include "core/base/clock.h"
#include "core/trace/frames.h"
#include "tests/kit/fakes.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <uv.h>

#define LOOKS_PER_SECOND 40 /* a machine that always has something new: core/agent/watch.c */
#define SECONDS		 5
#define BAR_MS		 0.1

struct ep_instance *__wrap_ep_processes_language(struct ep_processes *processes,
						 struct ep_program program, uint32_t slot)
{
	return (struct ep_instance *)(void *)processes;
}

int __wrap_ep_instance_symbolize(struct ep_instance *instance, struct ep_frames *frames,
				 const uint32_t *ids, size_t n)
{
	return -EBUSY; /* it attaches, or has not begun to run */
}

static void progress(void *arg)
{
}

static void add_frames(struct ep_frames *frames, uint32_t n, uint32_t n_processes)
{
	for (uint32_t i = 0; i < n; i++) {
		struct ep_program program = {.pid = 1 + i % n_processes, .image = 1, .start_ns = 1};
		uint64_t header = EP_FRAME_HEADER(EP_FRAME_FIRST_DYNAMIC + 2, 0, 1, 0), word = i;
		uint32_t id;

		if (ep_frames_add(frames, header, &word, program, &id) < 0)
			abort();
	}
}

/* ms in a second, of the seconds after the first. */
static double measure(struct ep_namer *namer, uint32_t n, uint32_t n_processes)
{
	struct timespec rest = {.tv_nsec = EP_NS_PER_SEC / LOOKS_PER_SECOND};
	struct ep_frames *frames;
	uint64_t spent_ns = 0;

	if (ep_frames_new(2 * n + 1000, 1 << 20, 1 << 20, &frames) < 0)
		abort();
	add_frames(frames, n, n_processes);
	for (uint32_t look = 0; look < (1 + SECONDS) * LOOKS_PER_SECOND; look++) {
		uint64_t start_ns = ep_clock_thread_cpu_ns();

		add_frames(frames, 1, 1); /* known */
		ep_namer_run(namer, frames, EP_NAMER_DUE);
		if (look >= LOOKS_PER_SECOND)
			spent_ns += ep_clock_thread_cpu_ns() - start_ns;
		nanosleep(&rest, NULL);
	}
	ep_frames_unref(frames);
	ep_namer_sweep(namer);
	return (double)spent_ns / SECONDS / (double)EP_NS_PER_MS;
}

static void report(const char *what, double ms, bool has_bar)
{
	ms = EP_MAX(ms, 0.0);
	if (has_bar)
		printf("%s\t%.3g\tms/s\t<= %g\t%s\n", what, ms, BAR_MS,
		       ms <= BAR_MS ? "met" : "missed");
	else
		printf("%s\t%.3g\tms/s\t\tfor information\n", what, ms);
	fflush(stdout);
}

int main(void)
{
	uv_loop_t loop;
	struct ep_namer_options options = {.loop = &loop, .max_bytes = 1 << 20, .progress = progress};
	struct ep_namer *namer;
	double one;

	/* Only its address counts: it is a language that is busy. */
	options.processes = (struct ep_processes *)(void *)&loop;
	uv_loop_init(&loop);
	if (ep_namer_new(&options, &namer) < 0)
		abort();
	one = measure(namer, 1, 1);
	report("one frame waits for its runtime", one, false);
	report("4000 frames of one process wait: more", measure(namer, 4000, 1) - one, true);
	report("4000 frames of 1000 processes: more", measure(namer, 4000, 1000) - one, false);
	report("60000 frames of one process: more", measure(namer, 60000, 1) - one, false);
	ep_namer_free(namer);
	return 0;
}
