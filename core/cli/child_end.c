/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ending a command with all that it started. /proc says who descends from the waiter (child.h), again and
 * again until nobody is left: a process that is asked to end may fork once more. What went into a session of
 * its own is left alone, and so is what it started since: a daemon is meant to outlive its command.
 */
#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/cli/child.h"
#include "core/proc/process.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define MAX_PROCESSES (1u << 22)
#define TOLD_NS	      (1 * EP_NS_PER_SEC) /* from a terminal's signal to SIGTERM, which ends what has a handler for the former only */
#define ASKED_NS      (2 * EP_NS_PER_SEC) /* from SIGTERM to SIGKILL */
#define KILLED_NS     (1 * EP_NS_PER_SEC) /* SIGKILL may wait for the kernel, or for a frozen cgroup */
#define FIRST_PAUSE_NS (2 * EP_NS_PER_MS)
#define LAST_PAUSE_NS  (50 * EP_NS_PER_MS)

struct member {
	pid_t pid, parent_pid;
	bool descends;
};

struct ending {
	const struct ep_child *child;
	pid_t sessions[2]; /* ours, and the command's if it made one */
	int number;	   /* 0, SIGTERM, then SIGKILL */
	struct ep_map told; /* pids that it was sent to */
};

static int read_members(struct ep_vec *members)
{
	struct ep_vec pids;
	pid_t *pid;
	int r;

	ep_vec_init(&pids, sizeof(pid_t), MAX_PROCESSES);
	r = ep_process_list(&pids);
	ep_vec_each (&pids, pid) {
		struct ep_process_info info;
		struct member member = {.pid = *pid};

		if (r < 0 || ep_process_read_stat(*pid, &info) < 0 || info.state == 'Z' || info.state == 'X')
			continue;
		member.parent_pid = info.parent_pid;
		r = ep_vec_append(members, &member, 1);
	}
	ep_vec_fini(&pids);
	return r;
}

/* Pids come again, so that a child's may be the lower one: until nothing changes. */
static void mark_descendants(const struct ep_vec *members, struct ep_map *marked, pid_t ancestor)
{
	struct member *member;
	bool changed = ep_map_set(marked, (uint64_t)ancestor, 1) == 0;

	while (changed) {
		changed = false;
		ep_vec_each (members, member) {
			if (member->descends || !ep_map_find(marked, (uint64_t)member->parent_pid))
				continue;
			member->descends = ep_map_set(marked, (uint64_t)member->pid, 1) == 0;
			changed |= member->descends;
		}
	}
}

static bool is_ours(const struct ending *ending, const struct member *member)
{
	pid_t session;

	if (!member->descends)
		return false;
	if (member->pid == ending->child->pid)
		return true;
	session = getsid(member->pid);
	return session > 0 && (session == ending->sessions[0] || session == ending->sessions[1]);
}

/* A stopped process hears of SIGTERM when it goes on. */
static void tell(struct ending *ending, pid_t pid)
{
	if (ep_map_find(&ending->told, (uint64_t)pid) || ep_map_set(&ending->told, (uint64_t)pid, 1) < 0)
		return;
	if (!ending->number)
		return;
	(void)kill(pid, ending->number);
	(void)kill(pid, SIGCONT);
}

/* How many are left. */
static size_t tell_all(struct ending *ending)
{
	struct ep_vec members;
	struct ep_map marked;
	struct member *member;
	size_t n = 0;

	ep_vec_init(&members, sizeof(struct member), MAX_PROCESSES);
	ep_map_init(&marked, MAX_PROCESSES);
	if (read_members(&members) == 0)
		mark_descendants(&members, &marked, ending->child->waiter_pid);
	else
		tell(ending, ending->child->pid);
	ep_vec_each (&members, member) {
		if (!is_ours(ending, member))
			continue;
		tell(ending, member->pid);
		n++;
	}
	ep_map_fini(&marked);
	ep_vec_fini(&members);
	return n;
}

/* How many are left when the time is over. */
static size_t end_within(struct ending *ending, struct ep_child *child, int number, uint64_t limit_ns)
{
	uint64_t end_ns = ep_clock_mono_ns() + limit_ns, pause_ns = FIRST_PAUSE_NS;
	size_t left;

	ending->number = number;
	ep_map_init(&ending->told, MAX_PROCESSES);
	for (;;) {
		left = tell_all(ending);
		if (ep_child_reap(child) && left == 0)
			break;
		if (ep_clock_mono_ns() >= end_ns)
			break;
		nanosleep(&(struct timespec){.tv_nsec = (long)pause_ns}, NULL);
		pause_ns = EP_MIN(2 * pause_ns, (uint64_t)LAST_PAUSE_NS);
	}
	ep_map_fini(&ending->told);
	return left;
}

bool ep_child_is_told(int number)
{
	pid_t foreground = -1;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && foreground < 0; fd++)
		foreground = tcgetpgrp(fd);
	return (number == SIGINT || number == SIGQUIT) && foreground == getpgrp();
}

void ep_child_end(struct ep_child *child, bool is_told)
{
	struct ending ending = {.child = child, .sessions = {getsid(0), getsid(child->pid)}};
	size_t left;

	if (child->pid <= 0 || ep_child_reap(child))
		return;
	child->stopped = true;
	if (is_told)
		(void)end_within(&ending, child, 0, TOLD_NS);
	left = end_within(&ending, child, SIGTERM, ASKED_NS);
	if (left) {
		fprintf(stderr, "ebpf-profiler: %zu process%s of the command did not end within %" PRIu64
			" s after SIGTERM: killed\n", left, left == 1 ? "" : "es",
			(uint64_t)(ASKED_NS / EP_NS_PER_SEC));
		(void)end_within(&ending, child, SIGKILL, KILLED_NS);
	}
	ep_closep(&child->status_fd); /* the waiter leaves */
	child->status_fd = -1;
}
