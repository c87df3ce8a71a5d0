/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command that `record` runs: forked early and held back until sampling has begun, then
 * executed as the user who called sudo.
 */
#ifndef EP_CLI_CHILD_H
#define EP_CLI_CHILD_H

#include "core/base/util.h"

#include <sys/types.h>

struct ep_child {
	pid_t pid;	/* 0: none */
	int go_fd;	/* writing lets it run */
	int failure_fd; /* an errno comes out when exec fails */
	bool ended;
	bool stopped; /* by ep_child_end */
	int status; /* of waitpid, when ended */
};

/* keep_root: do not change to $SUDO_UID. 0 or a negative errno. */
int ep_child_fork(char **argv, bool keep_root, struct ep_child *ret_child);
/* Lets it run. 0, or the negative errno of its exec. */
int ep_child_go(struct ep_child *child);
/* Asks it to end, when it has not, and waits a moment for it. */
void ep_child_end(struct ep_child *child);
/* True when it has ended by now. */
bool ep_child_reap(struct ep_child *child);
/* As a shell would say it: the exit status, or 128 + signal. 0 when it ended because we said so. */
int ep_child_exit_status(const struct ep_child *child);

#endif
