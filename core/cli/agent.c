/* SPDX-License-Identifier: Apache-2.0 */
/* The agent: samples for ever, gives a batch to each exporter at its interval. */
#include "core/base/log.h"
#include "core/cli/commands.h"
#include "core/cli/config_outputs.h"
#include "core/cli/limit_calls.h"
#include "core/cli/parts/privileges.h"
#include "core/cli/service.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <uv.h>

#define NAMES_WAIT_NS	 (3ull * 1000 * 1000 * 1000)
#define LAST_WAIT_NS	 (200ull * 1000 * 1000) /* for names, when the agent ends */
#define INTERVAL_BYTES	 (10u << 20) /* one program has half of it at most */
#define MAX_TRACKS	 8
#define HELD_MAX_BYTES	 (8u << 20)

/* The exporters that share an interval length, and the store that is sealed for them. */
struct track {
	struct agent *agent;
	uint64_t interval_ns;
	uint32_t store;
	uint64_t exporters; /* bit n: output n */
	uv_timer_t timer;
};

struct agent {
	struct ep_config_file *config;
	struct ep_session *session;
	struct ep_outputs outputs;
	struct track tracks[MAX_TRACKS];
	size_t n_tracks;
	size_t sealing; /* batches that are not submitted yet */
	struct ep_service service;
	uv_signal_t term, interrupt, user, hangup;
	bool ending;
};

/* --- batches --------------------------------------------------------------------------------- */

static void close_agent(void *arg);

/* At the end an earlier interval may still wait for names while the last one has them. */
static void batch_done(struct agent *agent)
{
	if (--agent->sealing == 0 && agent->ending)
		ep_outputs_flush(&agent->outputs, close_agent, agent);
}

static void take_batch(void *arg, const struct ep_batch *batch)
{
	struct track *track = arg;
	struct ep_outputs *outputs = &track->agent->outputs;

	/* Where nothing was sampled there is nothing to write, and no file with nothing in it. */
	for (size_t i = 0; batch && batch->n_samples > 0 && i < outputs->list.len; i++) {
		if (track->exporters >> i & 1)
			ep_outputs_submit(outputs, i, batch);
	}
	batch_done(track->agent);
}

static void seal(struct track *track)
{
	struct agent *agent = track->agent;
	int r;

	agent->sealing++;
	r = ep_session_seal(agent->session, track->store,
			    agent->ending ? LAST_WAIT_NS : NAMES_WAIT_NS, take_batch, track);
	if (r < 0) {
		ep_log(EP_LOG_ERROR, "agent: interval goes on: %s", ep_strerror(r));
		batch_done(agent);
	}
}

static void on_interval(uv_timer_t *timer)
{
	seal(timer->data);
}

/* --- end ------------------------------------------------------------------------------------- */

static void on_session_closed(void *arg)
{
	(void)arg; /* the loop ends by itself: nothing is left on it */
}

static void ignore_signals(struct agent *agent)
{
	uv_close((uv_handle_t *)&agent->term, NULL);
	uv_close((uv_handle_t *)&agent->interrupt, NULL);
	uv_close((uv_handle_t *)&agent->user, NULL);
	uv_close((uv_handle_t *)&agent->hangup, NULL);
	ep_cmd_unwatch_calls();
	ep_service_close(&agent->service);
}

static void print_counters(struct agent *agent)
{
	ep_session_print_counters(agent->session, stderr);
	ep_outputs_print_counters(&agent->outputs, stderr);
	ep_system_calls_print_counters(stderr);
}

static void close_agent(void *arg)
{
	struct agent *agent = arg;

	if (ep_log_get_level() >= EP_LOG_INFO)
		print_counters(agent);
	ep_session_close(agent->session, on_session_closed, NULL);
	ignore_signals(agent);
}

static void end(struct agent *agent)
{
	if (agent->ending)
		return;
	agent->ending = true;
	ep_log(EP_LOG_INFO, "agent: ending, writing what was sampled");
	ep_service_stopping(&agent->service);
	ep_session_stop(agent->session);
	agent->sealing++; /* until all are sealed */
	for (size_t i = 0; i < agent->n_tracks; i++) {
		uv_close((uv_handle_t *)&agent->tracks[i].timer, NULL);
		seal(&agent->tracks[i]);
	}
	batch_done(agent);
}

/* The second one does not wait for names any more. */
static void on_end_signal(uv_signal_t *signal, int number)
{
	struct agent *agent = signal->data;

	(void)number;
	if (agent->ending)
		ep_session_hasten(agent->session);
	else
		end(agent);
}

static void on_user_signal(uv_signal_t *signal, int number)
{
	struct agent *agent = signal->data;

	(void)number;
	print_counters(agent);
}

/* What was sampled is written now, and the next intervals begin. */
static void on_hangup(uv_signal_t *signal, int number)
{
	struct agent *agent = signal->data;

	(void)number;
	if (agent->ending)
		return;
	ep_log(EP_LOG_INFO, "agent: SIGHUP: writing what was sampled");
	for (size_t i = 0; i < agent->n_tracks; i++) {
		struct track *track = &agent->tracks[i];

		if (!uv_is_active((uv_handle_t *)&track->timer)) /* nothing is sampled yet */
			continue;
		(void)uv_timer_again(&track->timer);
		seal(track);
	}
}

/* --- start ----------------------------------------------------------------------------------- */

static struct track *find_track(struct agent *agent, uint64_t interval_ns)
{
	struct track *track;
	int store;

	for (size_t i = 0; i < agent->n_tracks; i++) {
		if (agent->tracks[i].interval_ns == interval_ns)
			return &agent->tracks[i];
	}
	if (agent->n_tracks == MAX_TRACKS)
		return NULL;
	store = ep_session_add_store(agent->session, INTERVAL_BYTES);
	if (store < 0)
		return NULL;
	track = &agent->tracks[agent->n_tracks++];
	*track = (struct track){
		.agent = agent,
		.interval_ns = interval_ns,
		.store = (uint32_t)store,
	};
	return track;
}

static int open_exporters(struct agent *agent)
{
	const struct ep_config_exporter *exporter;

	ep_vec_each(&agent->config->exporters, exporter) {
		struct track *track = find_track(agent, exporter->interval_ns);
		int number = track ? ep_config_outputs_open(&agent->outputs, agent->config, exporter)
				   : -E2BIG;

		if (!track)
			fprintf(stderr, "ebpf-profiler: more than %d different exporter intervals; "
				"give some exporters the same interval\n", MAX_TRACKS);
		if (number < 0)
			return number;
		track->exporters |= 1ull << number;
	}
	return 0;
}

static void start_timers(struct agent *agent, uv_loop_t *loop)
{
	for (size_t i = 0; i < agent->n_tracks; i++) {
		struct track *track = &agent->tracks[i];
		uint64_t ms = track->interval_ns / 1000000;

		uv_timer_init(loop, &track->timer);
		track->timer.data = track;
		uv_timer_start(&track->timer, on_interval, ms, ms);
	}
}

static void watch_signals(struct agent *agent, uv_loop_t *loop)
{
	uv_signal_init(loop, &agent->term);
	uv_signal_init(loop, &agent->interrupt);
	uv_signal_init(loop, &agent->user);
	uv_signal_init(loop, &agent->hangup);
	agent->term.data = agent;
	agent->interrupt.data = agent;
	agent->user.data = agent;
	agent->hangup.data = agent;
	uv_signal_start(&agent->term, on_end_signal, SIGTERM);
	uv_signal_start(&agent->interrupt, on_end_signal, SIGINT);
	uv_signal_start(&agent->user, on_user_signal, SIGUSR1);
	uv_signal_start(&agent->hangup, on_hangup, SIGHUP);
}

/* Until the names of a whole interval are found and its file is begun. */
static uint64_t keep_gone_ns(const struct ep_config_file *config)
{
	const struct ep_config_exporter *exporter;
	uint64_t longest_ns = 0;

	ep_vec_each(&config->exporters, exporter)
		longest_ns = EP_MAX(longest_ns, exporter->interval_ns);
	return longest_ns + 10 * NAMES_WAIT_NS;
}

static enum ep_exit open_agent(struct agent *agent, uv_loop_t *loop)
{
	const struct ep_config_file *config = agent->config;
	struct ep_session_options options = {
		.loop = loop,
		.freq_hz = config->sampling.freq_hz,
		.ring_bytes = config->limits.ring_bytes,
		.memory_bytes = config->limits.memory_bytes,
		.held_bytes = EP_MIN(config->limits.memory_bytes / 8, (size_t)HELD_MAX_BYTES),
		.native_names = config->symbols.native,
		.kernel_names = config->symbols.kernel,
		.keep_gone_ns = keep_gone_ns(config),
		.divides = true,
	};

	ep_cmd_set_languages(&options, config);
	return ep_cmd_open_session(&options, &agent->session);
}

static enum ep_exit run(struct agent *agent, uv_loop_t *loop)
{
	enum ep_exit status = open_agent(agent, loop);
	char text[64];
	int r;

	if (status != EP_EXIT_OK)
		return status;
	r = open_exporters(agent);
	if (r == 0)
		r = ep_session_start(agent->session);
	if (r == 0)
		r = ep_session_sample(agent->session);
	if (r < 0) {
		ep_session_close(agent->session, on_session_closed, NULL);
		return EP_EXIT_FAILED;
	}
	start_timers(agent, loop);
	snprintf(text, sizeof(text), "sampling at %u Hz", agent->config->sampling.freq_hz);
	ep_service_ready(&agent->service, loop, text);
	return EP_EXIT_OK;
}

int ep_cmd_agent(const struct ep_args *args)
{
	struct agent agent = {0};
	enum ep_exit status;
	uv_loop_t *loop;

	if (ep_privileges_drop(0) < 0) /* before there are threads, and anything of others is read */
		return EP_EXIT_FAILED;
	agent.config = ep_cmd_load_config(args->config_path);
	if (!agent.config)
		return EP_EXIT_USAGE;
	if (!args->verbose && !args->quiet)
		ep_log_set_level(agent.config->log.level);
	ep_put_count_quietly(!args->verbose);
	ep_service_open(&agent.service);
	ep_cmd_limit_calls(agent.config, EP_CALLERS_AGENT);
	loop = uv_default_loop();
	ep_host_init(loop, EP_VERSION);
	ep_outputs_init(&agent.outputs, agent.config->plugins.dir);
	(void)ep_config_outputs_check_names(
		agent.config); /* a language that is not there stops nothing */
	if (ep_config_outputs_check(agent.config) < 0) {
		ep_config_free(agent.config);
		return EP_EXIT_USAGE;
	}
	ep_cmd_watch_calls(loop);
	watch_signals(&agent, loop); /* what comes while we start is heard when the loop runs */
	status = run(&agent, loop);
	if (status != EP_EXIT_OK)
		ignore_signals(&agent);
	uv_run(loop, UV_RUN_DEFAULT);
	ep_outputs_fini(&agent.outputs);
	uv_run(loop, UV_RUN_DEFAULT);
	ep_cmd_say_refused_calls();
	ep_config_free(agent.config);
	return status;
}
