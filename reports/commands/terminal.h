/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal that `top` draws on: keys come one by one and unseen, and what was on the screen is there
 * again afterwards, however the program ends: by its end, by exit(), or by a signal that kills it. ANSI
 * sequences alone (ECMA-48, and xterm's private modes 7, 25 and 1049), which every terminal over ssh knows.
 */
#ifndef EP_REPORTS_TERMINAL_H
#define EP_REPORTS_TERMINAL_H

#include "core/base/util.h"

/* True when both are a terminal. */
bool ep_terminal_is_there(int in_fd, int out_fd);
/*
 * The terminal opened once more, to be read without waiting: what it is opened as is shared with the shell, and
 * must go on waiting. A descriptor, or a negative errno.
 */
int ep_terminal_open_keys(int in_fd);
/* The same, to be written. */
int ep_terminal_open_screen(int out_fd);
/* 0 or a negative errno. There is one terminal: enter is not called twice without a leave. */
int ep_terminal_enter(int in_fd, int out_fd);
void ep_terminal_leave(void); /* does nothing when it was left or never entered */

struct ep_terminal_size {
	unsigned int rows, columns;
};
struct ep_terminal_size ep_terminal_size(int out_fd); /* 24 x 80 when it does not say */

#endif
