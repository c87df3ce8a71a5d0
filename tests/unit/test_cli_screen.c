/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures on a terminal that takes text, and on one that does not. */
#include "reports/commands/screen.h"
#include "reports/commands/terminal.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define CTRL_S	    "\023"
#define LARGE_BYTES (1 << 20) /* more than there is between the two ends */

struct terminal {
	int ours, programs;
	uv_loop_t loop;
	struct ep_screen screen;
	unsigned int n_ready;
	int result;
};

static void on_ready(void *arg, int result)
{
	struct terminal *terminal = arg;

	terminal->n_ready++;
	terminal->result = result;
}

/* What waits for the terminal hangs: the alarm ends the test. */
static int open_terminal(void **state)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));
	struct termios plain;

	alarm(60);
	assert_int_equal(openpty(&terminal->ours, &terminal->programs, NULL, NULL, NULL), 0);
	assert_int_equal(fcntl(terminal->ours, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(tcgetattr(terminal->programs, &plain), 0);
	plain.c_oflag &= ~(tcflag_t)OPOST;
	plain.c_iflag |= IXON;
	assert_int_equal(tcsetattr(terminal->programs, TCSANOW, &plain), 0);
	assert_int_equal(uv_loop_init(&terminal->loop), 0);
	assert_int_equal(ep_screen_open(&terminal->screen, &terminal->loop, terminal->programs,
					on_ready, terminal),
			 0);
	*state = terminal;
	return 0;
}

static int close_terminal(void **state)
{
	struct terminal *terminal = *state;

	ep_screen_close(&terminal->screen);
	uv_run(&terminal->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&terminal->loop), 0);
	close(terminal->programs);
	if (terminal->ours >= 0)
		close(terminal->ours);
	free(terminal);
	alarm(0);
	return 0;
}

#define TERMINAL_TEST(name)                                                                        \
	EP_TEST_ON(name, struct terminal *terminal, open_terminal, close_terminal)

static int show(struct terminal *terminal, char byte, size_t bytes)
{
	char *text = malloc(bytes);

	memset(text, byte, bytes);
	return ep_screen_show(&terminal->screen, text, bytes);
}

/* What has come, all of which is that byte. */
static size_t take(struct terminal *terminal, char byte)
{
	char buf[4096];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(terminal->ours, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(buf[i], byte);
		sum += (size_t)n;
	}
	return sum;
}

static size_t take_all(struct terminal *terminal, char byte)
{
	size_t sum = 0;

	while (terminal->screen.text) {
		sum += take(terminal, byte);
		uv_run(&terminal->loop, UV_RUN_NOWAIT);
	}
	return sum + take(terminal, byte);
}

TERMINAL_TEST(a_terminal_that_is_read_has_all)
{
	assert_int_equal(show(terminal, 'a', 100), 0);
	assert_false(ep_screen_is_busy(&terminal->screen));
	assert_int_equal(take(terminal, 'a'), 100);
	assert_int_equal(terminal->n_ready, 0);
}

TERMINAL_TEST(nobody_waits_for_one_that_is_stopped)
{
	assert_int_equal(tcflow(terminal->programs, TCOOFF), 0);
	assert_int_equal(show(terminal, 'a', 100), 0);
	assert_true(ep_screen_is_busy(&terminal->screen));
	assert_int_equal(take(terminal, 'a'), 0);
	assert_int_equal(tcflow(terminal->programs, TCOON), 0);
	assert_int_equal(take_all(terminal, 'a'), 100);
	assert_int_equal(terminal->n_ready, 1); /* one was left out */
	assert_int_equal(terminal->result, 0);
	assert_int_equal(show(terminal, 'b', 7), 0);
	assert_int_equal(take(terminal, 'b'), 7);
}

TERMINAL_TEST(a_large_picture_goes_as_it_is_read)
{
	assert_int_equal(show(terminal, 'a', LARGE_BYTES), 0);
	assert_non_null(terminal->screen.text);
	assert_int_equal(take_all(terminal, 'a'), LARGE_BYTES);
	assert_int_equal(terminal->n_ready, 0); /* none was left out */
}

TERMINAL_TEST(a_terminal_that_has_gone_is_said)
{
	assert_int_equal(show(terminal, 'a', LARGE_BYTES), 0);
	close(terminal->ours);
	terminal->ours = -1;
	for (int i = 0; i < 1000 && terminal->n_ready == 0; i++)
		uv_run(&terminal->loop, UV_RUN_NOWAIT);
	assert_int_equal(terminal->n_ready, 1);
	assert_true(terminal->result < 0);
}

TERMINAL_TEST(ctrl_s_is_a_key_while_top_runs)
{
	struct termios is;

	assert_int_equal(ep_terminal_enter(terminal->programs, terminal->programs), 0);
	(void)read(terminal->ours, (char[64]){0}, 64); /* another screen */
	assert_int_equal(write(terminal->ours, CTRL_S, 1), 1);
	assert_int_equal(show(terminal, 'a', 100), 0);
	assert_false(ep_screen_is_busy(&terminal->screen));
	assert_int_equal(take(terminal, 'a'), 100);
	ep_terminal_leave();
	assert_int_equal(tcgetattr(terminal->programs, &is), 0);
	assert_true(is.c_iflag & IXON);
}

int main(void)
{
	return ep_test_run(NULL, NULL);
}
