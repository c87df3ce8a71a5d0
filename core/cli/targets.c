/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/targets.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/proc/process.h"

#include <errno.h>
#include <signal.h>

#define MAX_PROCESSES (1u << 22)
/* A child can be missed while /proc is read only if its parent was not in the filter yet. */
#define MAX_ROUNDS 8

static bool is_added(const struct ep_map *added, pid_t pid)
{
	return ep_map_find(added, (uint64_t)pid) != NULL;
}

static int add(struct ep_session *session, struct ep_map *added, pid_t pid)
{
	int r = ep_map_set(added, (uint64_t)pid, 1);

	return r < 0 ? r : ep_session_add_pid(session, pid);
}

/* Adds the children of what was added so far. How many came, or a negative errno. */
static int add_children(struct ep_session *session, struct ep_map *added)
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
		if (is_added(added, *pid) || ep_process_read_stat(*pid, &info) < 0 ||
		    !is_added(added, info.parent_pid))
			continue;
		r = add(session, added, *pid);
		n++;
	}
	ep_vec_fini(&pids);
	return r < 0 ? r : n;
}

int ep_targets_add(struct ep_session *session, const pid_t *pids, size_t n_pids)
{
	struct ep_map added;
	int r = 0, round = 0;

	ep_map_init(&added, MAX_PROCESSES);
	for (size_t i = 0; r == 0 && i < n_pids; i++) {
		if (kill(pids[i], 0) < 0 && errno == ESRCH)
			r = -ESRCH;
		else
			r = add(session, &added, pids[i]);
	}
	while (r == 0 && round++ < MAX_ROUNDS) {
		r = add_children(session, &added);
		if (r <= 0)
			break;
		r = 0;
	}
	ep_map_fini(&added);
	return r;
}

bool ep_targets_all_gone(const pid_t *pids, size_t n_pids)
{
	for (size_t i = 0; i < n_pids; i++) {
		struct ep_process_info info;
		int r = ep_process_read_stat(pids[i], &info);

		/* One that its parent does not wait for is a zombie for ever. */
		if (r != -ESRCH && (r < 0 || info.state != 'Z'))
			return false;
	}
	return true;
}
