/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent gives up before it does anything else, for good and in all threads: it reads what hostile
 * programs wrote, for months. What it keeps is what `doctor` asks for. `record` and `top` keep a little more, and
 * give up the rest when their command has been forked; `capture` keeps less.
 */
#ifndef EP_CLI_PRIVILEGES_H
#define EP_CLI_PRIVILEGES_H

#include <stdint.h>

/* A bit for each capability that is kept where it is there; perf_paranoid: kernel.perf_event_paranoid. */
uint64_t ep_privileges_kept(int perf_paranoid);
/* kernel.perf_event_paranoid, 2 when it cannot be read. */
int ep_privileges_paranoid(void);
/* What `record` and `top` keep as well: they write where root may, and end a command that is its caller's. */
extern const uint64_t ep_privileges_of_commands;
/*
 * All that `capture` keeps: it reads one process and the files of it, and writes where root may. Before Linux 5.9
 * CAP_SYS_ADMIN is there for CAP_CHECKPOINT_RESTORE.
 */
uint64_t ep_privileges_of_capture(void);
/*
 * Keeps only those of the agent, `more` and no way to others: neither a program that is started nor a file gives any. Limits
 * that need others are raised before. While there is one thread. 0, or a negative errno after one line on stderr:
 * nothing may go on then.
 */
int ep_privileges_drop(uint64_t more);
/* The same, and keeps only `caps`. */
int ep_privileges_drop_all_but(uint64_t caps);
/*
 * What a process is left with that gave up what the agent gives up, its filter of system calls included: a child
 * tries it. For doctor. 0 or a negative errno.
 */
struct ep_privileges_left {
	int n_bounding;	  /* capabilities that a program could still give it */
	int no_new_privs; /* 1: no program gives any, nor changes its user */
	int dumpable;	  /* 0: no core file, and none but root attaches to it */
	int limited;	  /* what ep_system_calls_limit returned */
	int filters;	  /* 2: the kernel filters its system calls (PR_GET_SECCOMP, prctl(2)) */
};
int ep_privileges_try(struct ep_privileges_left *ret_left);
/* No core file has what was read of others, and who is no more than we are cannot attach to us. */
void ep_privileges_leave_no_core(void);

#endif
