/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/targets.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/cli/parts/args.h"
#include "core/config/filter.h"
#include "core/proc/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#define MAX_PROCESSES (1u << 22)
/* A child can be missed while /proc is read only if its parent was not in the filter yet. */
#define MAX_ROUNDS 8

/* Those that were asked for, or those that were excluded. */
struct targets {
	struct ep_session *session;
	struct ep_map added;
	bool is_excluded, no_inherit;
};

static bool is_added(const struct targets *targets, pid_t pid)
{
	return ep_map_find(&targets->added, (uint64_t)pid) != NULL;
}

static int add(struct targets *targets, pid_t pid)
{
	int r = ep_map_set(&targets->added, (uint64_t)pid, 1);

	if (r < 0)
		return r;
	return targets->is_excluded ? ep_session_exclude_pid(targets->session, pid)
				    : ep_session_add_pid(targets->session, pid);
}

/* Adds the children of what was added so far. How many came, or a negative errno. */
static int add_children(struct targets *targets)
{
	struct ep_vec pids;
	pid_t *pid;
	int n = 0, r;

	ep_vec_init(&pids, sizeof(pid_t), MAX_PROCESSES);
	r = ep_process_list(&pids);
	ep_vec_each(&pids, pid) {
		struct ep_process_info info;

		if (r < 0)
			break;
		if (is_added(targets, *pid) || ep_process_read_stat(*pid, &info) < 0 ||
		    !is_added(targets, info.parent_pid))
			continue;
		r = add(targets, *pid);
		n++;
	}
	ep_vec_fini(&pids);
	return r < 0 ? r : n;
}

static int add_all(struct targets *targets, const pid_t *pids, size_t n_pids)
{
	int r = 0, round = 0;

	ep_map_init(&targets->added, MAX_PROCESSES);
	for (size_t i = 0; r == 0 && i < n_pids; i++) {
		if (kill(pids[i], 0) < 0 && errno == ESRCH)
			r = -ESRCH;
		else
			r = add(targets, pids[i]);
	}
	while (r == 0 && !targets->no_inherit && n_pids > 0 && round++ < MAX_ROUNDS) {
		r = add_children(targets);
		if (r <= 0)
			break;
		r = 0;
	}
	ep_map_fini(&targets->added);
	return r;
}

static size_t pids_of(const struct ep_filter *choice, bool is_excluded, pid_t *pids)
{
	size_t n = 0;

	for (size_t i = 0; i < choice->n_terms; i++) {
		const struct ep_filter_term *term = &choice->terms[i];

		if (term->key == EP_FILTER_PID && term->is_excluded == is_excluded)
			pids[n++] = (pid_t)term->number;
	}
	return n;
}

int ep_targets_choose(struct ep_session *session, const struct ep_filter *choice)
{
	struct targets targets = {.session = session, .no_inherit = choice->no_inherit};
	pid_t pids[EP_FILTER_MAX_TERMS];
	int r = add_all(&targets, pids, pids_of(choice, false, pids));

	targets.is_excluded = true;
	return r < 0 ? r : add_all(&targets, pids, pids_of(choice, true, pids));
}

static int resolve(struct ep_args *args, struct ep_filter_term *term)
{
	pid_t id = (pid_t)term->number, pid;
	int r = ep_process_of_thread(id, &pid);

	if (r == -ESRCH) {
		fprintf(stderr, "ebpf-profiler: no such process: %d; see `ps -e` for those there are\n", (int)id);
		return r;
	}
	if (r < 0 || pid == id) /* what cannot be read is taken as it is */
		return 0;
	if (!args->quiet)
		fprintf(stderr, "ebpf-profiler: %d is a thread of process %d, which is taken whole: -t %d is the thread\n",
			(int)id, (int)pid, (int)id);
	term->number = (uint64_t)pid;
	for (size_t i = 0; i < args->n_pids; i++)
		args->pids[i] = args->pids[i] == id ? pid : args->pids[i];
	return 0;
}

int ep_targets_resolve(struct ep_args *args)
{
	int r = 0;

	for (size_t i = 0; i < args->filter.n_terms && r == 0; i++) {
		if (args->filter.terms[i].key == EP_FILTER_PID)
			r = resolve(args, &args->filter.terms[i]);
	}
	return r;
}

bool ep_targets_all_gone(const pid_t *pids, size_t n_pids)
{
	for (size_t i = 0; i < n_pids; i++) {
		struct ep_process_info info;
		int r = ep_process_read_stat(pids[i], &info);

		pid_t tid;

		/*
		 * One that its parent does not wait for is a zombie for ever; so is a main thread that left by
		 * pthread_exit, as long as there are others.
		 */
		if (r != -ESRCH && (r < 0 || info.state != 'Z' || ep_process_find_live_thread(pids[i], &tid) == 0))
			return false;
	}
	return true;
}
