/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mended or refused before any command begins, since libraries of ours end with an assertion
 * otherwise: standard streams that are closed, and no room for threads or files.
 */
#ifndef EP_CLI_START_UP_H
#define EP_CLI_START_UP_H

/* First of all: descriptors 0 to 2 are open, and a signal of a failed write does not end us. */
void ep_start_up_streams(void);
/* 0, or a negative errno after one line on stderr: there are too few threads or files for us. */
int ep_start_up_check(void);
/* What was printed has been written. 0, or a negative errno after one line on stderr. */
int ep_start_up_flush(void);
/*
 * Ends the process with that status, or a failure of the above, without waiting for its other threads: what they are
 * at ends with it, and the kernel takes back what they and we have.
 */
_Noreturn void ep_start_up_leave(int status);

#endif
