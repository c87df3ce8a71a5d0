/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/screen.h"
#include "reports/commands/terminal.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

static void finish(struct ep_screen *screen)
{
	free(ep_take(screen->text));
	screen->bytes = screen->written = 0;
}

/* 0: all of it, or as much as the terminal takes for now. */
static int write_some(struct ep_screen *screen)
{
	while (screen->written < screen->bytes) {
		ssize_t n = write(screen->fd, screen->text + screen->written,
				  screen->bytes - screen->written);

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		screen->written += n > 0 ? (size_t)n : 0;
	}
	finish(screen);
	return 0;
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
	struct ep_screen *screen = poll->data;
	int r = status < 0 ? status : write_some(screen);

	(void)events;
	if (r == 0 && screen->text)
		return;
	uv_poll_stop(poll);
	if (r < 0 || screen->is_due) {
		screen->is_due = false;
		screen->ready(screen->arg, r);
	}
}

int ep_screen_open(struct ep_screen *screen, uv_loop_t *loop, int out_fd,
		   void (*ready)(void *arg, int result), void *arg)
{
	int fd = ep_terminal_open_screen(out_fd), r;

	if (fd < 0)
		return fd;
	*screen = (struct ep_screen){.fd = fd, .ready = ready, .arg = arg};
	r = uv_poll_init(loop, &screen->poll, fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	screen->poll.data = screen;
	return 0;
}

void ep_screen_close(struct ep_screen *screen)
{
	uv_close((uv_handle_t *)&screen->poll, NULL);
	ep_closep(&screen->fd);
	finish(screen);
}

bool ep_screen_is_busy(struct ep_screen *screen)
{
	screen->is_due |= screen->text != NULL;
	return screen->text != NULL;
}

int ep_screen_show(struct ep_screen *screen, char *text, size_t bytes)
{
	int r;

	assert(!screen->text);
	screen->text = text;
	screen->bytes = bytes;
	r = write_some(screen);
	if (r == 0 && screen->text)
		r = uv_poll_start(&screen->poll, UV_WRITABLE, on_writable);
	return r;
}
