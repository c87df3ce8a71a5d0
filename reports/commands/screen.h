/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `top` shows on a terminal, one picture after the other. A terminal may take no text for a
 * while, when its user has stopped it or its connection stalls. The loop does not wait for it. The
 * picture that is on its way is finished first, and those that come meanwhile are left out: when
 * there is space again the newest one is asked for.
 */
#ifndef EP_REPORTS_SCREEN_H
#define EP_REPORTS_SCREEN_H

#include "core/base/util.h"

#include <uv.h>

struct ep_screen {
	uv_poll_t poll;
	int fd;	    /* of its own: the one that is shared with the shell must go on waiting */
	char *text; /* what is on its way; NULL: nothing */
	size_t bytes, written;
	bool is_due; /* one was left out */
	void (*ready)(void *arg, int result);
	void *arg;
};

/*
 * `ready` is called with 0 when a picture is wanted, as one was left out, and with a negative errno
 * when the terminal has gone. 0 or a negative errno.
 */
int ep_screen_open(struct ep_screen *screen, uv_loop_t *loop, int out_fd,
		   void (*ready)(void *arg, int result), void *arg);
/* The handle closes with the loop. */
void ep_screen_close(struct ep_screen *screen);
/* True while a picture is on its way: `ready` will be called. */
bool ep_screen_is_busy(struct ep_screen *screen);
/* Takes the text, which was allocated, in every case. Not while it is busy. 0 or a negative errno.
 */
int ep_screen_show(struct ep_screen *screen, char *text, size_t bytes);

#endif
