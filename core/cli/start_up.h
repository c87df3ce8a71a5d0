/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mended or refused before any command begins, since libraries of ours end with an assertion
 * otherwise: standard streams that are closed, and no space for threads or files.
 */
#ifndef EP_CLI_START_UP_H
#define EP_CLI_START_UP_H

/* First of all: descriptors 0 to 2 are open, and no signal ends us in a write that fails. */
void ep_start_up_streams(void);
/* 0, or a negative errno after one line on stderr: there are too few threads or files for us. */
int ep_start_up_check(void);
/*
 * What was printed has been written. Returns `status`, or a failure after one line on stderr. If
 * the reader of standard output has gone, SIGPIPE ends us here, as it ends grep: silently, but
 * after temporary files were removed. If SIGPIPE was ignored when we started, we return the status
 * that shells give it.
 */
int ep_start_up_finish(int status);
/*
 * Ends the process with that status, or a failure of the above, without waiting for its other threads: what they are
 * at ends with it, and the kernel takes back what they and we have.
 */
_Noreturn void ep_start_up_leave(int status);

#endif
