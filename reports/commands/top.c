/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `top`: a session like record's whose store finishes an interval once a second. The batches of the
 * last minute are kept: the table is made of the last five of them, the page of all.
 *
 *	second ──► batch ──► filter ──► tally ──► the last five, added up ──► table
 *	            └──► kept (a minute) ── w ──► merged ──► page
 */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/cli/chosen.h"
#include "core/cli/commands.h"
#include "core/cli/limit_calls.h"
#include "core/cli/output_files.h"
#include "core/cli/parts/privileges.h"
#include "core/config/config.h"
#include "core/profile/batch.h"
#include "reports/commands/commands.h"
#include "reports/commands/parts/top_view.h"
#include "reports/commands/screen.h"
#include "reports/commands/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <uv.h>

#define INTERVAL_BYTES (64u << 20)
#define INTERVAL_MS    1000
#define NAMES_WAIT_NS  (800 * EP_NS_PER_MS) /* names that come later are in the next second's batch */
#define WATCH_MS       100
#define READY_NS       (5 * EP_NS_PER_SEC) /* as record waits for what runs to be analysed */
#define KEPT	       60
#define SHOWN	       5
#define KEPT_BYTES     (128u << 20)

/* One that is shown, counted as the view groups it. */
struct second {
	const struct ep_batch *batch; /* a reference */
	struct ep_top_second counted;
};

struct top {
	const struct ep_args *args;
	struct ep_config_file *config;
	uv_loop_t *loop;
	struct ep_session *session;
	struct ep_child child;
	int store;
	uint64_t waited_from_ns, start_ns;
	struct ep_progress sum; /* of the intervals that have ended */

	const struct ep_batch *kept[KEPT]; /* newest first, each with a reference */
	size_t n_kept, kept_bytes;
	struct second shown[SHOWN]; /* newest first */
	size_t n_shown;
	struct ep_top_view view;
	bool is_terminal;
	bool sealing; /* a batch is on its way */
	struct ep_screen screen; /* of a terminal */
	char *picture;
	size_t picture_bytes;

	bool writing; /* the page */
	struct ep_outputs outputs;
	struct ep_output_files files;

	uv_timer_t ready, second, watch;
	uv_signal_t signals[5];
	uv_poll_t keys;
	int keys_fd; /* -1: not on a terminal */
	bool is_told; /* the command had the signal that ends us */
	bool ending, ended; /* ended: the target has, and the last table stays until q */
	enum ep_exit status;
};

static void end(struct top *top);

/* --- what is shown --------------------------------------------------------------------------- */

static int merge(struct top *top, struct ep_batch **ret_batch)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	int r = ep_profile_builder_new(&builder);

	for (size_t i = top->n_kept; i > 0 && r == 0; i--)
		r = ep_profile_add_batch(builder, top->kept[i - 1], NULL);
	return r < 0 ? r : ep_profile_finish(builder, ret_batch);
}

static void second_fini(struct second *second)
{
	ep_top_second_fini(&second->counted);
	ep_batch_unref(second->batch);
	*second = (struct second){0};
}

/* All that is shown: the group or the filter is another one, or texts were forgotten. */
static int count_shown(struct top *top)
{
	int r = 0;

	for (size_t i = 0; i < top->n_shown && r == 0; i++) {
		ep_top_second_fini(&top->shown[i].counted);
		r = ep_top_view_count(&top->view, top->shown[i].batch, &top->shown[i].counted);
		r = EP_MIN(r, 0); /* they were forgotten before: these few cannot fill them again */
	}
	return r;
}

static int show_second(struct top *top, const struct ep_batch *batch)
{
	struct second second = {.batch = batch};
	int r = ep_top_view_count(&top->view, batch, &second.counted);

	if (r < 0)
		return r;
	ep_batch_ref(batch);
	if (top->n_shown == SHOWN)
		second_fini(&top->shown[--top->n_shown]);
	memmove(&top->shown[1], &top->shown[0], top->n_shown * sizeof(top->shown[0]));
	top->shown[0] = second;
	top->n_shown++;
	return r == EP_TOP_TEXTS_FULL ? count_shown(top) : 0;
}

/* After a key. What was frozen goes on with the newest. */
static int count_again(struct top *top)
{
	int r = 0;

	if (top->view.frozen)
		return count_shown(top);
	while (top->n_shown)
		second_fini(&top->shown[--top->n_shown]);
	for (size_t i = EP_MIN(top->n_kept, (size_t)SHOWN); i > 0 && r == 0; i--)
		r = show_second(top, top->kept[i - 1]);
	return r;
}

static void fail_to_write(struct top *top, int r)
{
	top->status = r == -EPIPE ? EP_EXIT_PIPE : EP_EXIT_FAILED;
	end(top);
}

/* Whoever reads the tables of a pipe or file gets all of them: it is waited for. */
static void write_table(struct top *top)
{
	const char *pos = top->picture;
	size_t left = top->picture_bytes;

	while (left) {
		ssize_t n = write(STDOUT_FILENO, pos, left);

		if (n < 0 && errno != EINTR && errno != EAGAIN) {
			fail_to_write(top, -errno);
			return;
		}
		pos += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
}

static void write_screen(struct top *top)
{
	int r = ep_screen_show(&top->screen, ep_take(top->picture), top->picture_bytes);

	if (r < 0)
		fail_to_write(top, r);
}

static void draw(struct top *top)
{
	struct ep_terminal_size size = ep_terminal_size(STDOUT_FILENO);
	struct ep_top_second seconds[SHOWN];
	struct ep_top_data data = {.seconds = seconds, .n_seconds = top->n_shown, .progress = top->sum};
	FILE *out;
	int r;

	for (size_t i = 0; i < top->n_shown; i++)
		seconds[i] = top->shown[i].counted; /* borrowed */
	if (top->is_terminal && ep_screen_is_busy(&top->screen))
		return;
	out = open_memstream(&top->picture, &top->picture_bytes);
	if (!out)
		return;
	r = ep_top_view_draw(&top->view, &data, top->is_terminal ? size.rows : 0, size.columns, out);
	if (fclose(out) != 0 || r < 0)
		; /* there is no memory for it: the next one may come */
	else if (top->is_terminal)
		write_screen(top);
	else
		write_table(top);
	free(ep_take(top->picture));
}

static void on_screen(void *arg, int result)
{
	struct top *top = arg;

	if (result < 0)
		fail_to_write(top, result);
	else
		draw(top);
}

/* --- seconds --------------------------------------------------------------------------------- */

static void keep(struct top *top, const struct ep_batch *batch)
{
	ep_batch_ref(batch);
	while (top->n_kept == KEPT ||
	       (top->n_kept > SHOWN && top->kept_bytes + ep_batch_bytes(batch) > KEPT_BYTES)) {
		const struct ep_batch *oldest = top->kept[--top->n_kept];

		top->kept_bytes -= ep_batch_bytes(oldest);
		ep_batch_unref(oldest);
	}
	memmove(&top->kept[1], &top->kept[0], top->n_kept * sizeof(top->kept[0]));
	top->kept[0] = batch;
	top->n_kept++;
	top->kept_bytes += ep_batch_bytes(batch);
}

static void add_up(struct top *top, const struct ep_batch *batch)
{
	uint64_t samples = 0;

	for (uint32_t i = 0; i < batch->n_samples; i++) {
		samples += batch->sample_count[i];
		if (batch->stack_error[batch->sample_stack[i]] == EP_ERROR_NONE)
			top->sum.complete += batch->sample_count[i];
	}
	top->sum.samples += samples;
	top->sum.lost += batch->lost_samples;
	top->sum.due += ep_batch_due_samples(batch, samples);
	top->sum.passed_ns = ep_clock_mono_ns() - top->start_ns;
}

static void take_batch(void *arg, const struct ep_batch *batch)
{
	struct top *top = arg;

	top->sealing = false;
	if (!batch || top->ending)
		return;
	add_up(top, batch);
	keep(top, batch);
	if (!top->view.frozen && show_second(top, batch) < 0)
		return;
	draw(top);
}

static void on_second(uv_timer_t *timer)
{
	struct top *top = timer->data;

	if (top->sealing) /* the names of the one before take long */
		return;
	top->sealing = true;
	if (ep_session_seal(top->session, (uint32_t)top->store, NAMES_WAIT_NS, take_batch, top) < 0)
		top->sealing = false;
}

/* What a command or process leaves stays on the screen; without one the end is the end. */
static void on_watch(uv_timer_t *timer)
{
	struct top *top = timer->data;
	uint64_t limit_ns = top->args->duration_ns;

	if (limit_ns && ep_clock_mono_ns() - top->start_ns >= limit_ns) {
		end(top);
		return;
	}
	if (top->ended || !ep_chosen_has_ended(top->args, &top->child))
		return;
	top->ended = true;
	if (!top->is_terminal) {
		end(top);
		return;
	}
	/* Reported before the last batch is asked for, which may be there at once, or never. */
	snprintf(top->view.message, sizeof(top->view.message), "the target has ended: w writes a page, q quits");
	uv_timer_stop(&top->second);
	on_second(&top->second);
	draw(top);
}

/* --- the page -------------------------------------------------------------------------------- */

static void close_page(uv_handle_t *handle)
{
	struct top *top = handle->data;
	int r;

	free(handle);
	ep_outputs_fini(&top->outputs);
	r = ep_output_files_finish(&top->files);
	if (r < 0)
		snprintf(top->view.message, sizeof(top->view.message), "no page: %s", ep_strerror(r));
	top->writing = false;
	if (!top->ending)
		draw(top);
}

/* The exporter may still be in use: one turn of the loop later it is not. */
static void on_written(void *arg)
{
	struct top *top = arg;
	uv_timer_t *later = calloc(1, sizeof(*later));
	int r = ep_outputs_result(&top->outputs);

	if (r < 0)
		snprintf(top->view.message, sizeof(top->view.message), "no page: %s", ep_strerror(r));
	else
		snprintf(top->view.message, sizeof(top->view.message), "wrote %s", top->files.shown[0]);
	if (!later)
		return; /* it stays open, and nothing more is written */
	uv_timer_init(top->loop, later);
	later->data = top;
	uv_close((uv_handle_t *)later, close_page);
}

static int open_page(struct top *top)
{
	const char *what = top->args->child_argv ? "top-command" : "top";
	const struct ep_args *args = top->args;

	ep_outputs_init(&top->outputs, top->config->plugins.dir);
	if (ep_output_files_name(&top->files, &args->outputs, what, top->config->plugins.dir, args->force) !=
	    EP_EXIT_OK)
		return -EEXIST;
	return ep_output_files_open(&top->files, &top->outputs, args->force, NULL);
}

static void write_page(struct top *top)
{
	ep_cleanup(ep_batch_unrefp) struct ep_batch *batch = NULL;
	int r;

	if (top->writing || !top->n_kept)
		return;
	r = merge(top, &batch);
	if (r == 0)
		r = open_page(top);
	if (r < 0) {
		snprintf(top->view.message, sizeof(top->view.message), "no page: %s", ep_strerror(r));
		ep_outputs_fini(&top->outputs);
		(void)ep_output_files_finish(&top->files);
		return;
	}
	top->writing = true;
	snprintf(top->view.message, sizeof(top->view.message), "writing %s", top->files.shown[0]);
	for (size_t i = 0; i < top->files.n; i++)
		ep_outputs_submit(&top->outputs, i, batch);
	ep_outputs_flush(&top->outputs, on_written, top);
}

/* --- keys and signals ------------------------------------------------------------------------ */

static void take_key(struct top *top, char key)
{
	switch (ep_top_view_key(&top->view, key)) {
	case EP_TOP_NOTHING:
		break;
	case EP_TOP_DRAW:
		draw(top);
		break;
	case EP_TOP_COUNT:
		if (count_again(top) == 0)
			draw(top);
		break;
	case EP_TOP_WRITE:
		write_page(top);
		draw(top);
		break;
	case EP_TOP_QUIT:
		end(top);
		break;
	}
}

static void on_keys(uv_poll_t *poll, int status, int events)
{
	struct top *top = poll->data;
	char keys[64];
	ssize_t n = read(top->keys_fd, keys, sizeof(keys));

	(void)events;
	if (status < 0 || n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
		end(top); /* the terminal has gone */
		return;
	}
	for (ssize_t i = 0; i < n && !top->ending; i++)
		take_key(top, keys[i]);
}

/* Ctrl-Z: a shell comes in between. */
static void stop(struct top *top)
{
	ep_terminal_leave();
	(void)raise(SIGSTOP);
	if (ep_terminal_enter(STDIN_FILENO, STDOUT_FILENO) < 0)
		end(top);
	else
		draw(top);
}

static void on_signal(uv_signal_t *signal, int number)
{
	struct top *top = signal->data;

	if (number == SIGWINCH) {
		draw(top);
	} else if (number == SIGTSTP) {
		stop(top);
	} else {
		top->is_told = ep_child_is_told(number);
		end(top);
	}
}

/* --- start and end --------------------------------------------------------------------------- */

static void on_session_closed(void *arg)
{
	(void)arg;
}

static void end(struct top *top)
{
	if (top->ending)
		return;
	top->ending = true;
	ep_terminal_leave();
	ep_session_stop(top->session);
	uv_close((uv_handle_t *)&top->ready, NULL);
	uv_close((uv_handle_t *)&top->second, NULL);
	uv_close((uv_handle_t *)&top->watch, NULL);
	if (top->is_terminal) {
		uv_close((uv_handle_t *)&top->keys, NULL);
		ep_screen_close(&top->screen);
	}
	for (size_t i = 0; i < EP_LEN(top->signals); i++)
		uv_close((uv_handle_t *)&top->signals[i], NULL);
	ep_child_end(&top->child, top->is_told);
	ep_session_close(top->session, on_session_closed, NULL);
}

static void begin(struct top *top)
{
	int r;

	uv_update_time(top->loop);
	top->start_ns = ep_clock_mono_ns();
	uv_timer_start(&top->second, on_second, INTERVAL_MS, INTERVAL_MS);
	uv_timer_start(&top->watch, on_watch, WATCH_MS, WATCH_MS);
	if (!top->args->child_argv)
		return;
	r = ep_child_go(&top->child);
	if (r == 0)
		return;
	end(top);
	top->status = ep_child_say_refused(top->args->child_argv[0], r);
}

static void on_ready(uv_timer_t *timer)
{
	struct top *top = timer->data;

	if (!ep_session_is_settled(top->session) && ep_clock_mono_ns() - top->waited_from_ns < READY_NS)
		return;
	uv_timer_stop(timer);
	if (ep_session_sample(top->session) < 0) {
		top->status = EP_EXIT_FAILED;
		end(top);
		return;
	}
	begin(top);
}

static void start_handles(struct top *top)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP};
	uv_timer_t *const timers[] = {&top->ready, &top->second, &top->watch};

	for (size_t i = 0; i < EP_LEN(timers); i++) {
		uv_timer_init(top->loop, timers[i]);
		timers[i]->data = top;
	}
	for (size_t i = 0; i < EP_LEN(numbers); i++) {
		uv_signal_init(top->loop, &top->signals[i]);
		top->signals[i].data = top;
		if (top->is_terminal || i < 3)
			uv_signal_start(&top->signals[i], on_signal, numbers[i]);
	}
	if (top->is_terminal) {
		uv_poll_init(top->loop, &top->keys, top->keys_fd);
		top->keys.data = top;
		uv_poll_start(&top->keys, UV_READABLE, on_keys);
	}
	top->waited_from_ns = ep_clock_mono_ns();
	uv_timer_start(&top->ready, on_ready, 0, 10);
}

static enum ep_exit fail_early(struct top *top, enum ep_exit status)
{
	ep_session_close(top->session, on_session_closed, NULL);
	return status;
}

/* The screen is taken last: what goes wrong before is reported where it is read. */
static enum ep_exit start(struct top *top)
{
	const struct ep_args *args = top->args;
	char renamed[EP_CHOSEN_TEXT_BYTES];
	enum ep_exit status = ep_chosen_open(args, top->config, top->loop, 2 * KEPT * EP_NS_PER_SEC, &top->session);

	if (status != EP_EXIT_OK)
		return status;
	top->store = ep_session_add_store(top->session, INTERVAL_BYTES);
	if (top->store < 0)
		return fail_early(top, EP_EXIT_FAILED);
	status = ep_chosen_add_targets(args, top->session, &top->child);
	if (status != EP_EXIT_OK)
		return fail_early(top, status);
	if (ep_session_start(top->session) < 0)
		return fail_early(top, EP_EXIT_FAILED);
	if (args->child_argv)
		(void)ep_session_prepare(top->session, args->child_argv, environ);
	if (top->is_terminal)
		top->keys_fd = ep_terminal_open_keys(STDIN_FILENO);
	top->is_terminal = top->keys_fd >= 0 &&
			   ep_screen_open(&top->screen, top->loop, STDOUT_FILENO, on_screen, top) == 0;
	if (top->is_terminal && ep_terminal_enter(STDIN_FILENO, STDOUT_FILENO) < 0) {
		ep_screen_close(&top->screen);
		top->is_terminal = false;
	}
	start_handles(top);
	if (ep_chosen_explain(&args->filter, true, renamed)) /* what was printed is no more to be seen */
		snprintf(top->view.message, sizeof(top->view.message), "%.*s", (int)sizeof(top->view.message) - 1,
			 renamed);
	if (top->is_terminal)
		draw(top);
	return EP_EXIT_OK;
}

/* On a terminal the screen is ours: what a command reads and writes is not there. */
static int fork_child(struct top *top)
{
	int kept[3] = {-1, -1, -1}, null = -1, r;

	if (!top->args->child_argv)
		return 0;
	if (top->is_terminal)
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 3; fd++) {
		kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		(void)dup2(null, fd);
	}
	r = ep_child_fork(top->args->child_argv, top->args->keep_root, &top->child);
	for (int fd = 0; fd < 3; fd++) {
		if (kept[fd] < 0)
			continue;
		(void)dup2(kept[fd], fd);
		close(kept[fd]);
	}
	if (null >= 0)
		close(null);
	return r;
}

static void top_fini(struct top *top)
{
	while (top->n_kept)
		ep_batch_unref(top->kept[--top->n_kept]);
	while (top->n_shown)
		second_fini(&top->shown[--top->n_shown]);
	ep_top_view_fini(&top->view);
	ep_config_free(top->config);
	ep_closep(&top->keys_fd);
}

/* Options of record that would do nothing here. */
static enum ep_exit check_args(const struct ep_args *args)
{
	if (args->min_complete || args->min_named) {
		fprintf(stderr, "ebpf-profiler: top --%s: a table that moves has no end to be judged at; use record\n",
			args->min_complete ? "min-complete" : "min-named");
		return EP_EXIT_USAGE;
	}
	/* Standard output has the tables. */
	for (size_t i = 0; i < args->outputs.n; i++) {
		if (strcmp(args->outputs.list[i].path, "-") != 0)
			continue;
		fprintf(stderr, "ebpf-profiler: top -o -: standard output has the tables; name a file that w writes\n");
		return EP_EXIT_USAGE;
	}
	return EP_EXIT_OK;
}

int ep_cmd_top(const struct ep_args *args)
{
	static struct top top;
	char renamed[EP_CHOSEN_TEXT_BYTES];
	enum ep_exit status = check_args(args);

	if (status != EP_EXIT_OK)
		return status;
	top = (struct top){.args = args, .keys_fd = -1};
	top.is_terminal = ep_terminal_is_there(STDIN_FILENO, STDOUT_FILENO);
	if (top.is_terminal && !args->verbose)
		ep_log_set_level(EP_LOG_ERROR);
	if (ep_top_view_init(&top.view) < 0)
		return EP_EXIT_FAILED;
	/* Before libuv has threads. */
	if (fork_child(&top) < 0)
		return EP_EXIT_FAILED;
	if (ep_privileges_drop(ep_privileges_of_commands) < 0)
		return EP_EXIT_FAILED;
	top.config = ep_cmd_load_config(NULL);
	if (!top.config)
		return EP_EXIT_USAGE;
	ep_cmd_limit_calls(top.config, EP_CALLERS_COMMAND);
	top.loop = uv_default_loop();
	ep_host_init(top.loop, EP_VERSION);
	status = start(&top);
	if (status != EP_EXIT_OK)
		top.status = status;
	uv_run(top.loop, UV_RUN_DEFAULT);
	ep_terminal_leave();
	if (top.status == EP_EXIT_OK && !top.sum.samples && ep_chosen_explain(&args->filter, false, renamed))
		fprintf(stderr, "ebpf-profiler: no samples: %s\n", renamed);
	ep_cmd_say_refused_calls();
	top_fini(&top);
	return ep_chosen_exit(args, &top.child, top.status);
}
