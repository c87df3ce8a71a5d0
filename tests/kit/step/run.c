/* SPDX-License-Identifier: Apache-2.0 */
/* Options, the loop, the outcome: what the steppers of all languages do. */
#include "core/base/log.h"
#include "core/base/util.h"
#include "core/plugin/host.h"
#include "tests/kit/step/step.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#define MAX_SAMPLES   (4u << 20)
#define MAX_STRETCHES 5000
#define LEAST_US      100 /* that the thread runs between two stretches */

enum { RIGHT, NOT_RIGHT, FAILED, TOO_FEW }; /* status */

static void on_alarm(int signal)
{
	(void)signal;
}

static bool parse(struct stepping *run, int argc, char **argv)
{
	char letters[64];
	int option;

	snprintf(letters, sizeof(letters), "p:t:P:n:s:e:b:%s", run->language->letters);
	while ((option = getopt(argc, argv, letters)) != -1) {
		if (option == 'p')
			run->tracee.pid = (pid_t)strtol(optarg, NULL, 10);
		else if (option == 't')
			run->tracee.tid = (pid_t)strtol(optarg, NULL, 10);
		else if (option == 'P')
			run->plugins = optarg;
		else if (option == 'n')
			run->judged = strtoul(optarg, NULL, 10);
		else if (option == 's')
			run->stretch = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 'e')
			run->tally.examples = (unsigned int)strtoul(optarg, NULL, 10);
		else if (option == 'b')
			run->percent = strtod(optarg, NULL);
		else if (option == '?' || !run->language->option(run, option, optarg))
			return false;
	}
	if (!run->tracee.tid)
		run->tracee.tid = run->tracee.pid;
	return run->tracee.pid > 0 && run->plugins;
}

static int start(struct stepping *run)
{
	int r;

	if (run->language->judge)
		ep_vec_init(&run->samples, run->language->sample_bytes, MAX_SAMPLES);
	r = run->language->start(run);
	if (r == 0)
		r = tracee_seize(&run->tracee);
	return r < 0 ? r : tracee_stop(&run->tracee);
}

static int step_all(struct stepping *run)
{
	const struct step_language *language = run->language;
	unsigned int random = 1;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < MAX_STRETCHES && run->counted < run->judged; i++) {
		random = random * 1103515245 + 12345;
		r = tracee_continue(&run->tracee, LEAST_US + (random >> 16) % language->pause_us);
		if (r == 0 && language->is_over && language->is_over(run))
			break;
		if (r == 0 && (!language->is_code || language->is_code(run, run->tracee.regs.rip)))
			r = language->stretch(run);
	}
	return r < 0 ? r : 0;
}

static int judge(struct stepping *run)
{
	size_t judged = 0;
	double percent;

	if (run->language->judge)
		run->language->judge(run);
	percent = tally_print(&run->tally, &judged);
	printf("  %zu with a caller that was seen, %zu judged, %.4f %% right\n", run->counted,
	       judged, percent);
	if (percent < run->percent)
		return NOT_RIGHT;
	return run->is_too_few || judged < run->judged * run->language->fewest / 100 ? TOO_FEW
										    : RIGHT;
}

int step_main(int argc, char **argv, struct stepping *run)
{
	const struct step_language *language = run->language;
	struct sigaction action = {.sa_handler = on_alarm}; /* waitpid is not begun again */
	int r, status;

	sigaction(SIGALRM, &action, NULL);
	ep_log_set_level(EP_LOG_ERROR);
	ep_host_init(uv_default_loop(), "replay");
	if (!parse(run, argc, argv)) {
		fprintf(stderr, "usage: %s -p PID [-t TID] -P PLUGINS [-n JUDGED] [-s STRETCH] "
				"[-e EXAMPLES] [-b PERCENT] %s\n", language->name, language->usage);
		return FAILED;
	}
	r = start(run);
	if (r == 0) {
		r = step_all(run);
		tracee_end(&run->tracee);
	}
	if (r < 0)
		fprintf(stderr, "%s: %s\n", language->name, ep_strerror(r));
	status = run->counted > 0 || r == 0 ? judge(run) : FAILED;
	language->finish(run);
	ep_vec_fini(&run->samples);
	return r < 0 ? FAILED : status;
}
