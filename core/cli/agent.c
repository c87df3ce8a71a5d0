/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent: samples for ever, gives a batch to each exporter at its interval. SIGHUP writes what
 * was sampled and reads the configuration again.
 */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/cli/agent_run.h"
#include "core/cli/commands.h"
#include "core/cli/config_outputs.h"
#include "core/cli/limit_calls.h"
#include "core/cli/parts/privileges.h"
#include "core/cli/service.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <uv.h>

/* A new configuration begins when its session knows the machine, or after so long. */
#define SETTLE_NS      (5 * EP_NS_PER_SEC)
#define SETTLE_LOOK_MS 5

struct agent {
	const struct ep_args *args;
	uv_loop_t *loop;
	struct ep_agent_run *now;    /* what samples */
	struct ep_agent_run *next;   /* will sample when it is settled */
	struct ep_agent_run *before; /* has sampled, and writes that */
	uint64_t next_since_ns;
	uv_timer_t settle; /* while there is a next one */
	bool again;	   /* SIGHUP came while one configuration took over from another */
	struct ep_service service;
	uv_signal_t term, interrupt, user, hangup;
	bool ending;
};

/* --- end ------------------------------------------------------------------------------------- */

static void ignore_signals(struct agent *agent)
{
	uv_close((uv_handle_t *)&agent->term, NULL);
	uv_close((uv_handle_t *)&agent->interrupt, NULL);
	uv_close((uv_handle_t *)&agent->user, NULL);
	uv_close((uv_handle_t *)&agent->hangup, NULL);
	uv_close((uv_handle_t *)&agent->settle, NULL);
	ep_cmd_unwatch_calls();
	ep_service_close(&agent->service);
}

static void reload(struct agent *agent);

static void on_run_ended(void *arg, struct ep_agent_run *run)
{
	struct agent *agent = arg;

	agent->now = agent->now == run ? NULL : agent->now;
	agent->next = agent->next == run ? NULL : agent->next;
	agent->before = agent->before == run ? NULL : agent->before;
	if (agent->ending && !agent->now && !agent->next && !agent->before)
		ignore_signals(agent); /* the loop ends by itself: nothing is left on it */
	else if (!agent->ending && agent->again)
		reload(agent);
}

static void end(struct agent *agent)
{
	if (agent->ending)
		return;
	agent->ending = true;
	ep_log(EP_LOG_INFO, "agent: ending, writing what was sampled");
	ep_service_stopping(&agent->service);
	uv_timer_stop(&agent->settle);
	if (agent->next)
		ep_agent_run_end(agent->next, false, on_run_ended, agent);
	ep_agent_run_end(agent->now, true, on_run_ended, agent);
}

/* The second one does not wait for names any more. */
static void on_end_signal(uv_signal_t *signal, int number)
{
	struct agent *agent = signal->data;

	(void)number;
	if (!agent->ending) {
		end(agent);
		return;
	}
	if (agent->before)
		ep_agent_run_hasten(agent->before);
	if (agent->now)
		ep_agent_run_hasten(agent->now);
}

static void on_user_signal(uv_signal_t *signal, int number)
{
	struct agent *agent = signal->data;

	(void)number;
	if (agent->now)
		ep_agent_run_print_counters(agent->now, stderr);
}

/* --- another configuration ------------------------------------------------------------------- */

/* In the log, where the session has reported its rate, and in the service manager's list. */
static void say_what_runs(struct agent *agent, bool is_start)
{
	char text[512], status[64];

	ep_agent_run_describe(agent->now, text, sizeof(text));
	ep_log(EP_LOG_INFO, "agent: output: %s", text);
	snprintf(status, sizeof(status), "sampling at %u Hz",
		 ep_agent_run_config(agent->now)->sampling.freq_hz);
	if (is_start)
		ep_service_ready(&agent->service, agent->loop, status);
	else
		ep_service_reloaded(&agent->service, status);
}

static void take_over(struct agent *agent)
{
	uv_timer_stop(&agent->settle);
	if (ep_agent_run_begin(agent->next) < 0) {
		ep_log(EP_LOG_ERROR, "agent: nothing changes: the new configuration cannot sample");
		ep_agent_run_end(agent->next, false, on_run_ended, agent);
		say_what_runs(agent, false);
		return;
	}
	agent->before = agent->now;
	agent->now = agent->next;
	agent->next = NULL;
	ep_agent_run_end(agent->before, false, on_run_ended, agent);
	say_what_runs(agent, false);
}

static void on_settle(uv_timer_t *timer)
{
	struct agent *agent = timer->data;

	if (ep_agent_run_is_settled(agent->next) ||
	    ep_clock_mono_ns() - agent->next_since_ns >= SETTLE_NS)
		take_over(agent);
}

/* What is decided at the start for good: the old value stays. 0, -ENOMEM. */
static int keep_what_cannot_change(const struct ep_config_file *now, struct ep_config_file *config)
{
	char *dir;

	if (!ep_config_is_same(now, config, "security", NULL))
		ep_log(EP_LOG_WARN,
		       "agent: [security] filter_system_calls changes with a restart only");
	config->security = now->security;
	if (ep_config_is_same(now, config, "plugins", "dir"))
		return 0;
	ep_log(EP_LOG_WARN, "agent: [plugins] dir changes with a restart only");
	dir = strdup(now->plugins.dir);
	if (!dir)
		return -ENOMEM;
	free(config->plugins.dir);
	config->plugins.dir = dir;
	return 0;
}

static bool is_same(const struct ep_config_file *now, const struct ep_config_file *config)
{
	static const char *const sections[] = {"sampling", "filter", "limits", "symbols",
					       "plugins"};

	for (size_t i = 0; i < EP_LEN(sections); i++) {
		if (!ep_config_is_same(now, config, sections[i], NULL))
			return false;
	}
	return ep_config_has_same_exporters(now, config);
}

/* What the file says now, whole and checked; NULL after a line for each mistake. */
static struct ep_config_file *read_again(const struct agent *agent)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config =
		ep_cmd_load_config(agent->args->config_path);

	if (!config || keep_what_cannot_change(ep_agent_run_config(agent->now), config) < 0 ||
	    ep_config_outputs_check_names(config) < 0 || ep_config_outputs_check(config) < 0)
		return NULL;
	return ep_take(config);
}

static void set_log_level(const struct ep_args *args, const struct ep_config_file *config)
{
	if (!args->verbose && !args->quiet)
		ep_log_set_level(config->log.level);
}

/* False: nothing changes. */
static bool begin_next(struct agent *agent, struct ep_config_file *config)
{
	if (ep_agent_run_new(agent->loop, config, agent->now, &agent->next) != EP_EXIT_OK)
		return false;
	if (ep_agent_run_start(agent->next) < 0) {
		ep_agent_run_end(agent->next, false, on_run_ended, agent);
		return false;
	}
	agent->next_since_ns = ep_clock_mono_ns();
	uv_timer_start(&agent->settle, on_settle, SETTLE_LOOK_MS, SETTLE_LOOK_MS);
	return true;
}

static void reload(struct agent *agent)
{
	struct ep_config_file *config;

	agent->again = agent->next || agent->before;
	if (agent->again)
		return;
	config = read_again(agent);
	if (!config) {
		ep_log(EP_LOG_ERROR, "agent: nothing changes: %s is wrong",
		       agent->args->config_path);
		return;
	}
	set_log_level(agent->args, config);
	if (is_same(ep_agent_run_config(agent->now), config)) {
		ep_config_free(config);
		return;
	}
	ep_service_reloading(&agent->service);
	if (!begin_next(agent, config)) {
		ep_log(EP_LOG_ERROR, "agent: nothing changes: it goes on as before");
		say_what_runs(agent, false);
	}
}

static void on_hangup(uv_signal_t *signal, int number)
{
	struct agent *agent = signal->data;

	(void)number;
	if (agent->ending)
		return;
	ep_log(EP_LOG_INFO, "agent: SIGHUP: writing what was sampled");
	ep_agent_run_write(agent->now);
	if (agent->args->config_path)
		reload(agent);
}

/* --- start ----------------------------------------------------------------------------------- */

static void watch_signals(struct agent *agent)
{
	uv_signal_init(agent->loop, &agent->term);
	uv_signal_init(agent->loop, &agent->interrupt);
	uv_signal_init(agent->loop, &agent->user);
	uv_signal_init(agent->loop, &agent->hangup);
	uv_timer_init(agent->loop, &agent->settle);
	agent->term.data = agent;
	agent->interrupt.data = agent;
	agent->user.data = agent;
	agent->hangup.data = agent;
	agent->settle.data = agent;
	uv_signal_start(&agent->term, on_end_signal, SIGTERM);
	uv_signal_start(&agent->interrupt, on_end_signal, SIGINT);
	uv_signal_start(&agent->user, on_user_signal, SIGUSR1);
	uv_signal_start(&agent->hangup, on_hangup, SIGHUP);
}

static enum ep_exit run(struct agent *agent, struct ep_config_file *config)
{
	enum ep_exit status = ep_agent_run_new(agent->loop, config, NULL, &agent->now);
	int r;

	if (status != EP_EXIT_OK)
		return status;
	r = ep_agent_run_start(agent->now);
	if (r == 0)
		r = ep_agent_run_begin(agent->now);
	if (r < 0) {
		ep_agent_run_end(agent->now, false, NULL, NULL);
		return EP_EXIT_FAILED;
	}
	say_what_runs(agent, true);
	return EP_EXIT_OK;
}

int ep_cmd_agent(const struct ep_args *args)
{
	struct agent agent = {.args = args};
	struct ep_config_file *config;
	enum ep_exit status;

	if (ep_privileges_drop(0) < 0) /* before there are threads, and anything of others is read */
		return EP_EXIT_FAILED;
	config = ep_cmd_load_config(args->config_path);
	if (!config)
		return EP_EXIT_USAGE;
	set_log_level(args, config);
	ep_put_count_quietly(!args->verbose);
	ep_service_open(&agent.service);
	ep_cmd_limit_calls(config, EP_CALLERS_AGENT);
	agent.loop = uv_default_loop();
	ep_host_init(agent.loop, EP_VERSION);
	/* A language that is not there stops nothing. */
	(void)ep_config_outputs_check_names(config);
	if (ep_config_outputs_check(config) < 0) {
		ep_config_free(config);
		return EP_EXIT_USAGE;
	}
	ep_cmd_watch_calls(agent.loop);
	watch_signals(&agent); /* what comes while we start is heard when the loop runs */
	status = run(&agent, config);
	if (status != EP_EXIT_OK)
		ignore_signals(&agent);
	uv_run(agent.loop, UV_RUN_DEFAULT);
	ep_cmd_say_refused_calls();
	return status;
}
