/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command that `record` and `top` run: forked early and held back until sampling has begun, then
 * executed as the user who called sudo. Between it and us stands a process of ours that only waits: what
 * the command's processes leave behind becomes its child (PR_SET_CHILD_SUBREAPER), so that all of them
 * can be found when we end them.
 *
 *	ebpf-profiler ── waiter ── command ── its children
 *	                    └───── children whose parents have gone
 *
 * All are in our session and process group: a terminal's Ctrl-C, Ctrl-Z and input reach them as without us.
 */
#ifndef EP_CLI_CHILD_H
#define EP_CLI_CHILD_H

#include "core/base/util.h"
#include "core/cli/parts/exit.h"

#include <sys/types.h>

struct ep_child {
	pid_t pid;	  /* the command; 0: none */
	pid_t waiter_pid; /* its parent */
	int go_fd;	  /* writing lets it run */
	int failure_fd;	  /* an errno comes out when exec fails */
	int status_fd;	  /* the waiter writes the command's status, and leaves when this is closed */
	bool ended;
	bool stopped; /* by ep_child_end */
	int status; /* of waitpid, when ended */
};

/* keep_root: do not change to $SUDO_UID. 0, or a negative errno after one line on stderr. */
int ep_child_fork(char **argv, bool keep_root, struct ep_child *ret_child);
/* Lets it run. 0, or the negative errno of its exec. */
int ep_child_go(struct ep_child *child);
/* Says so of the latter: one line on stderr. 127 when there is no such file, else 126, as shells have it. */
enum ep_exit ep_child_say_refused(const char *name, int r);
/*
 * When it has not ended: asks it and its descendants to end, waits a moment, and kills those that did not.
 * Descendants that went into sessions of their own, as daemons do, are left alone. is_told: it had the signal that
 * ends us as well (ep_child_is_told), so it has a moment more to end by what it does then.
 */
void ep_child_end(struct ep_child *child, bool is_told);
/* Whether this signal, which we had, is one that a terminal sends to all in its foreground, and we are there. */
bool ep_child_is_told(int number);
/* True when it has ended by now. */
bool ep_child_reap(struct ep_child *child);
/*
 * As a shell would say it: the exit status, or 128 + signal. 0 when it ended because we ended it.
 */
int ep_child_exit_status(const struct ep_child *child);

#endif
