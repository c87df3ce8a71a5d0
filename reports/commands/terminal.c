/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Another screen, without a cursor, and lines that are too long are cut; the way back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

/* Of the one terminal: handlers of signals have nothing else to find it by. */
static struct {
	volatile sig_atomic_t entered;
	int in_fd, out_fd;
	struct termios before;
} terminal;

static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGHUP, SIGQUIT, SIGTERM};

static void put(const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(terminal.out_fd, text, left);

		if (n < 0)
			return;
		text += n;
		left -= (size_t)n;
	}
}

/* Only what signal-safety(7) allows. */
void ep_terminal_leave(void)
{
	if (!terminal.entered)
		return;
	terminal.entered = 0;
	put(LEAVE);
	(void)tcsetattr(terminal.in_fd, TCSAFLUSH, &terminal.before);
}

/* It was reset to what it does by default, and does it when this handler has returned. */
static void on_deadly(int number)
{
	int error = errno;

	ep_terminal_leave();
	(void)raise(number);
	errno = error;
}

/* Those that somebody handles already (libuv, a sanitizer) are theirs. */
static void handle_deadly_signals(void)
{
	static bool done;
	struct sigaction action = {.sa_handler = on_deadly, .sa_flags = (int)SA_RESETHAND}, before;

	if (done)
		return;
	done = true;
	(void)atexit(ep_terminal_leave);
	for (size_t i = 0; i < EP_LEN(deadly); i++) {
		if (sigaction(deadly[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			(void)sigaction(deadly[i], &action, NULL);
	}
}

bool ep_terminal_is_there(int in_fd, int out_fd)
{
	return isatty(in_fd) && isatty(out_fd);
}

static int open_again(int terminal_fd, int flags)
{
	char path[64];
	int r = ttyname_r(terminal_fd, path, sizeof(path)), fd;

	if (r)
		return -r;
	fd = open(path, flags | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int ep_terminal_open_keys(int in_fd)
{
	return open_again(in_fd, O_RDONLY);
}

int ep_terminal_open_screen(int out_fd)
{
	return open_again(out_fd, O_WRONLY);
}

int ep_terminal_enter(int in_fd, int out_fd)
{
	struct termios raw;

	if (tcgetattr(in_fd, &terminal.before) < 0)
		return -errno;
	handle_deadly_signals();
	raw = terminal.before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* Ctrl-C and Ctrl-Z stay signals */
	raw.c_iflag &= ~(tcflag_t)IXON; /* Ctrl-S would stop what we write, also at the end */
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	terminal.in_fd = in_fd;
	terminal.out_fd = out_fd;
	if (tcsetattr(in_fd, TCSAFLUSH, &raw) < 0)
		return -errno;
	terminal.entered = 1;
	put(ENTER);
	return 0;
}

struct ep_terminal_size ep_terminal_size(int out_fd)
{
	struct winsize window;

	if (ioctl(out_fd, TIOCGWINSZ, &window) == 0 && window.ws_row && window.ws_col)
		return (struct ep_terminal_size){window.ws_row, window.ws_col};
	return (struct ep_terminal_size){24, 80};
}
