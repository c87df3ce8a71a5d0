/* SPDX-License-Identifier: Apache-2.0 */
/* `record`: one recording, one batch, files and a summary. */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/cli/child.h"
#include "core/cli/chosen.h"
#include "core/cli/commands.h"
#include "core/cli/limit_calls.h"
#include "core/cli/output_files.h"
#include "core/cli/parts/privileges.h"
#include "core/cli/parts/progress.h"
#include "core/cli/parts/summary.h"
#include "core/cli/start_up.h"
#include "core/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include <bpf/bpf.h>

#define NAMES_WAIT_NS  (20 * EP_NS_PER_SEC)
/* CPU time for names of large programs, at the end; and for each second that was recorded a fifth of one. */
#define NAMES_CPU_NS   (2 * EP_NS_PER_SEC)
#define NAMES_CPU_PART 5
#define INTERVAL_BYTES (256u << 20)
#define WATCH_MS       100
#define LIVE_MS	       1000
#define CLOSE_MS       500 /* when all is written, for workers that are still at something */
/*
 * Sampling waits until the processes there are have been analysed, and a command until what it will
 * map is, and its present image, a copy of ours. At most so long: a library of 100 MB takes a while, and
 * so does the load of an unwinder on a busy machine.
 */
#define READY_NS (5 * EP_NS_PER_SEC)

struct record {
	const struct ep_args *args;
	struct ep_config_file *config;
	uv_loop_t *loop;
	struct ep_session *session;
	struct ep_outputs outputs;
	struct ep_child child;
	struct ep_vec targets; /* pid_t: of -p, with their children at the start */
	const struct ep_batch *batch;
	struct ep_output_files files;
	int stats_fd; /* keeps the kernel counting BPF time */
	uint64_t start_ns, start_cpu_ns; /* of sampling; 0: it did not begin yet */
	struct ep_session_cost cost;
	uint64_t wall_ns, cpu_ns;
	int store;
	uv_timer_t ready, limit, watch, live, late;
	bool is_live; /* the line of progress is shown */
	uint64_t waited_from_ns;
	uv_signal_t interrupt, term, hangup;
	bool ending;
	bool is_told; /* the command had the signal that ends us */
	bool is_late; /* it closes for too long */
	bool failed; /* sampling, or the command, did not begin: `status` says it */
	enum ep_exit status;
};

/* --- names of files -------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Of the file that nobody named. */
static enum ep_exit name_files(struct record *record)
{
	const struct ep_args *args = record->args;
	char what[HOST_NAME_MAX + 1] = "host";

	if (args->child_argv)
		snprintf(what, sizeof(what), "%s", base_name(args->child_argv[0]));
	else
		(void)gethostname(what, sizeof(what) - 1);
	return ep_output_files_name(&record->files, &args->outputs, what,
				    record->config->plugins.dir, args->force);
}

/* --- end ------------------------------------------------------------------------------------- */

/* A command or -p and nothing else: what of it has no sample did not run. */
static bool is_whole_target(const struct ep_args *args)
{
	return (ep_chosen_is_command(args) || args->n_pids) && !args->all_cpus &&
	       args->filter.n_terms == args->n_pids;
}

static void print_summary(struct record *record)
{
	const char *shown[EP_OUTPUTS_MAX];
	const struct ep_output_format *formats[EP_OUTPUTS_MAX];
	struct ep_summary_info info = {
		.files = shown,
		.formats = formats,
		.n_files = ep_output_files_written(&record->files, &record->outputs, shown, formats),
		.agent_cpu_ns = record->cpu_ns,
		.wall_ns = record->wall_ns,
		.bpf_ns = record->cost.bpf_ns,
		.walked = record->cost.walked,
		.n_cpus = record->cost.n_cpus,
		.is_target = is_whole_target(record->args),
		.executables = record->args->verbose > 0,
	};

	if (record->args->quiet)
		return;
	ep_summary_style(stderr, &info);
	(void)ep_summary_print(stderr, &record->batch, 1, &info);
	if (record->args->verbose)
		ep_session_print_counters(record->session, stderr);
}

static void on_session_closed(void *arg)
{
	struct record *record = arg;

	uv_close((uv_handle_t *)&record->late, NULL);
}

static void on_late(uv_timer_t *timer)
{
	struct record *record = timer->data;

	record->is_late = true;
	uv_stop(record->loop);
}

static void close_record(void *arg)
{
	struct record *record = arg;

	if (ep_outputs_result(&record->outputs) < 0)
		record->status = EP_EXIT_FAILED;
	if (record->batch) {
		print_summary(record);
		ep_output_files_say_unwritten(&record->files, &record->outputs);
	}
	uv_update_time(record->loop);
	uv_timer_start(&record->late, on_late, CLOSE_MS, 0);
	ep_session_close(record->session, on_session_closed, record);
	uv_close((uv_handle_t *)&record->interrupt, NULL);
	uv_close((uv_handle_t *)&record->term, NULL);
	uv_close((uv_handle_t *)&record->hangup, NULL);
	ep_cmd_unwatch_calls();
}

/*
 * A command may be too short for a sample, and that is no fault; with a bar for quality there is one, which
 * nothing cannot pass.
 */
static void no_samples(struct record *record, const struct ep_batch *batch)
{
	const struct ep_args *args = record->args;
	bool is_fine = ep_chosen_is_command(args) && !args->min_complete && !args->min_named;
	char renamed[EP_CHOSEN_TEXT_BYTES], waited[EP_SUMMARY_WAITED_BYTES];

	record->status = is_fine ? EP_EXIT_OK : EP_EXIT_NO_SAMPLES;
	if (is_fine && args->quiet)
		return;
	fprintf(stderr, "ebpf-profiler: %sno samples%s: ", is_fine ? "warning: " : "",
		record->files.n ? ", and no file" : "");
	if (ep_chosen_explain(&args->filter, false, renamed))
		fprintf(stderr, "%s\n", renamed);
	else if (is_whole_target(args) && !batch->lost_samples &&
		 ep_summary_waited(0, record->wall_ns, waited))
		fprintf(stderr, "%s\n", waited);
	else
		fprintf(stderr, "%s; record longer (-d), faster (-F), or the whole machine (-a)\n",
			ep_chosen_is_command(args) || args->n_pids ? "the target used no CPU time"
			: ep_filter_is_used(&args->filter)	   ? "nothing that was chosen used CPU time"
								   : "the machine was idle");
}

static void check_quality(struct record *record, const struct ep_batch *batch)
{
	struct ep_summary_quality quality = ep_summary_quality(batch);
	const struct {
		const char *option, *what;
		uint32_t is, min;
	} rows[] = {
		{"--min-complete", "has complete stacks", quality.complete, record->args->min_complete},
		{"--min-named", "is fully named", quality.named, record->args->min_named},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		if (rows[i].is >= rows[i].min)
			continue;
		record->status = EP_EXIT_QUALITY;
		fprintf(stderr,
			"ebpf-profiler: %u.%02u %% of the CPU time %s, less than the %u.%02u %% of %s; "
			"the summary and the file's comments say why\n",
			rows[i].is / 100, rows[i].is % 100, rows[i].what, rows[i].min / 100,
			rows[i].min % 100, rows[i].option);
	}
}

static void take_batch(void *arg, const struct ep_batch *batch)
{
	struct record *record = arg;

	if (record->failed) {
		; /* it was reported */
	} else if (!batch) {
		record->status = EP_EXIT_FAILED;
	} else if (ep_summary_samples(&batch, 1) == 0) {
		no_samples(record, batch);
	} else {
		ep_host_get()->batch_ref(batch);
		record->batch = batch;
		check_quality(record, batch);
		for (size_t i = 0; i < record->files.n; i++)
			ep_outputs_submit(&record->outputs, i, batch);
	}
	ep_outputs_flush(&record->outputs, close_record, record);
}

/* The line stays the last one: what comes next on the terminal overwrites it. */
static void on_live(uv_timer_t *timer)
{
	struct record *record = timer->data;
	struct ep_session_progress progress = ep_session_progress(record->session, (uint32_t)record->store);
	struct ep_progress line = {
		.passed_ns = ep_clock_mono_ns() - record->start_ns,
		.duration_ns = record->args->duration_ns,
		.samples = progress.samples,
		.complete = progress.complete,
		.lost = progress.lost,
		.due = progress.due,
	};
	struct ep_summary_info info;
	char buf[EP_PROGRESS_BYTES];

	ep_summary_style(stderr, &info);
	fprintf(stderr, "%s\033[K\r", ep_progress_format(&line, info.width ? info.width - 1 : 0, buf));
	fflush(stderr);
}

/* A command that writes to the same terminal would be mixed up with it. */
static void start_live(struct record *record)
{
	if (record->args->quiet || !isatty(STDERR_FILENO) || (record->args->child_argv && isatty(STDOUT_FILENO)))
		return;
	record->is_live = true;
	uv_timer_start(&record->live, on_live, LIVE_MS, LIVE_MS);
}

static void end(struct record *record)
{
	if (record->ending)
		return;
	record->ending = true;
	record->wall_ns = ep_clock_passed_ns(record->start_ns); /* who interrupts may do so before it has begun */
	record->cpu_ns = ep_clock_cpu_ns() - record->start_cpu_ns;
	if (record->is_live)
		fputs("\033[K", stderr);
	ep_session_stop(record->session);
	record->cost = ep_session_cost(record->session);
	ep_closep(&record->stats_fd);
	uv_close((uv_handle_t *)&record->ready, NULL);
	uv_close((uv_handle_t *)&record->limit, NULL);
	uv_close((uv_handle_t *)&record->watch, NULL);
	uv_close((uv_handle_t *)&record->live, NULL);
	ep_child_end(&record->child, record->is_told);
	ep_session_drain(record->session, NAMES_CPU_NS + record->wall_ns / NAMES_CPU_PART);
	if (ep_session_seal(record->session, (uint32_t)record->store, NAMES_WAIT_NS, take_batch,
			    record) < 0)
		take_batch(record, NULL);
}

static void on_limit(uv_timer_t *timer)
{
	end(timer->data);
}

/* The second one ends with what there is. */
static void on_signal(uv_signal_t *signal, int number)
{
	struct record *record = signal->data;

	if (record->ending) {
		ep_session_hasten(record->session);
	} else {
		record->is_told = ep_child_is_told(number);
		end(record);
	}
}

/* A command's end, or that of all -p processes, is the recording's. */
static void on_watch(uv_timer_t *timer)
{
	struct record *record = timer->data;

	if (ep_chosen_has_ended(record->args, &record->child))
		end(record);
}

/* --- start ----------------------------------------------------------------------------------- */

static enum ep_exit fail_early(struct record *record, enum ep_exit status)
{
	ep_session_close(record->session, NULL, NULL);
	return status;
}

static void begin(struct record *record)
{
	uv_update_time(record->loop);
	record->start_ns = ep_clock_mono_ns();
	record->start_cpu_ns = ep_clock_cpu_ns();
	if (record->args->duration_ns)
		uv_timer_start(&record->limit, on_limit,
			       (record->args->duration_ns + EP_NS_PER_MS - 1) / EP_NS_PER_MS, 0);
	if (ep_chosen_can_end(record->args))
		uv_timer_start(&record->watch, on_watch, WATCH_MS, WATCH_MS);
	start_live(record);
}

static void fail_late(struct record *record, enum ep_exit status)
{
	record->status = status;
	record->failed = true;
	end(record);
}

static void on_ready(uv_timer_t *timer)
{
	struct record *record = timer->data;
	int r;

	if (!ep_session_is_settled(record->session) &&
	    ep_clock_mono_ns() - record->waited_from_ns < READY_NS)
		return;
	uv_timer_stop(timer);
	if (ep_session_sample(record->session) < 0) {
		fail_late(record, EP_EXIT_FAILED);
		return;
	}
	begin(record);
	if (!record->args->child_argv)
		return;
	r = ep_child_go(&record->child);
	if (r < 0)
		fail_late(record, ep_child_say_refused(record->args->child_argv[0], r));
}

/* nohup(1) has it ignored, and so it stays. */
static bool is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void start_handles(struct record *record)
{
	uv_timer_init(record->loop, &record->ready);
	uv_timer_init(record->loop, &record->limit);
	uv_timer_init(record->loop, &record->watch);
	uv_timer_init(record->loop, &record->live);
	uv_timer_init(record->loop, &record->late);
	uv_signal_init(record->loop, &record->interrupt);
	uv_signal_init(record->loop, &record->term);
	uv_signal_init(record->loop, &record->hangup);
	record->ready.data = record;
	record->limit.data = record;
	record->watch.data = record;
	record->live.data = record;
	record->late.data = record;
	record->interrupt.data = record;
	record->term.data = record;
	record->hangup.data = record;
	record->waited_from_ns = ep_clock_mono_ns();
	uv_timer_start(&record->ready, on_ready, 0, 1);
	uv_signal_start(&record->interrupt, on_signal, SIGINT);
	uv_signal_start(&record->term, on_signal, SIGTERM);
	if (!is_ignored(SIGHUP))
		uv_signal_start(&record->hangup, on_signal, SIGHUP);
}

static enum ep_exit start(struct record *record)
{
	enum ep_exit status;

	record->store = ep_session_add_store(record->session, INTERVAL_BYTES);
	if (record->store < 0)
		return fail_early(record, EP_EXIT_FAILED);
	status = ep_chosen_add_targets(record->args, record->session, &record->child);
	if (status != EP_EXIT_OK)
		return fail_early(record, status);
	if (ep_session_start(record->session) < 0)
		return fail_early(record, EP_EXIT_FAILED);
	/* Without it the command's first samples are not whole. */
	if (record->args->child_argv)
		(void)ep_session_prepare(record->session, record->args->child_argv, environ);
	start_handles(record);
	return EP_EXIT_OK;
}

static enum ep_exit run(struct record *record)
{
	enum ep_exit status = name_files(record);

	if (status != EP_EXIT_OK)
		return status;
	if (ep_output_files_open(&record->files, &record->outputs, record->args->force, NULL) < 0)
		return EP_EXIT_FAILED;
	/* One batch, at the end. */
	status = ep_chosen_open(record->args, record->config, record->loop, UINT64_MAX, &record->session);
	return status == EP_EXIT_OK ? start(record) : status;
}

static int finish(struct record *record)
{
	int r = ep_output_files_finish(&record->files);

	if (r < 0)
		record->status = r == -EPIPE ? EP_EXIT_PIPE : EP_EXIT_FAILED;
	ep_cmd_say_refused_calls();
	if (*record->args->hint && !record->args->quiet &&
	    ep_child_exit_status(&record->child) != 0)
		fprintf(stderr, "ebpf-profiler: %s\n", record->args->hint);
	return record->failed ? (int)record->status : ep_chosen_exit(record->args, &record->child, record->status);
}

int ep_cmd_record(const struct ep_args *args)
{
	struct record record = {.args = args, .stats_fd = -1};
	int status;

	/* Before libuv has threads. */
	if (args->child_argv && ep_child_fork(args->child_argv, args->keep_root, &record.child) < 0)
		return EP_EXIT_FAILED;
	record.stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME); /* which needs CAP_SYS_ADMIN */
	if (ep_privileges_drop(ep_privileges_of_commands) < 0)
		return EP_EXIT_FAILED;
	record.config = ep_cmd_load_config(NULL);
	if (!record.config)
		return EP_EXIT_USAGE;
	ep_cmd_limit_calls(record.config, EP_CALLERS_COMMAND);
	record.loop = uv_default_loop();
	ep_cmd_watch_calls(record.loop);
	ep_host_init(record.loop, EP_VERSION);
	ep_outputs_init(&record.outputs, record.config->plugins.dir);
	record.status = run(&record);
	uv_run(record.loop, UV_RUN_DEFAULT);
	if (record.is_late)
		ep_start_up_leave(finish(&record));
	ep_outputs_fini(&record.outputs);
	uv_run(record.loop, UV_RUN_DEFAULT);
	if (record.batch)
		ep_host_get()->batch_unref(record.batch);
	status = finish(&record);
	ep_closep(&record.stats_fd);
	ep_config_free(record.config);
	return status;
}
