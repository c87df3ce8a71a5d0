/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/agent_run.h"
#include "core/agent/chooser.h"
#include "core/base/log.h"
#include "core/base/system_calls.h"
#include "core/cli/commands.h"
#include "core/cli/config_outputs.h"
#include "core/cli/targets.h"

#include <errno.h>
#include <uv.h>

#define NAMES_WAIT_NS  (3 * EP_NS_PER_SEC)
#define LAST_WAIT_NS   (200 * EP_NS_PER_MS) /* for names, when the agent ends */
#define INTERVAL_BYTES (10u << 20)	    /* one program has half of it at most */
#define MAX_TRACKS     8
#define HELD_MAX_BYTES (8u << 20)

/* The exporters of all runs whose configurations say the same of them. */
struct exporters {
	uint32_t refs;
	struct ep_config_file *config; /* a reference: what says so */
	struct ep_outputs outputs;
};

/* The exporters that share an interval length, and the store that is finished for them. */
struct track {
	struct ep_agent_run *run;
	uint64_t interval_ns;
	uint32_t store;
	uint64_t exporters; /* bit n: output n */
	uv_timer_t timer;
};

struct ep_agent_run {
	struct uv_loop_s *loop;
	struct ep_config_file *config; /* a reference */
	struct exporters *exporters;   /* a reference; NULL: it writes nothing any more */
	struct ep_session *session;
	struct track tracks[MAX_TRACKS];
	size_t n_tracks;
	size_t sealing; /* batches that are not submitted yet */
	bool sampling, ending, is_last;
	void (*done)(void *arg, struct ep_agent_run *run);
	void *arg;
};

/* --- exporters ------------------------------------------------------------------------------- */

static int open_exporters(struct ep_config_file *config, struct exporters **ret_exporters)
{
	struct exporters *exporters = calloc(1, sizeof(*exporters));
	const struct ep_config_exporter *exporter;

	if (!exporters)
		return -ENOMEM;
	exporters->refs = 1;
	exporters->config = ep_config_ref(config);
	ep_outputs_init(&exporters->outputs, config->plugins.dir);
	*ret_exporters = exporters;
	ep_vec_each (&config->exporters, exporter) {
		int r = ep_config_outputs_open(&exporters->outputs, config, exporter);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Those that were opened are flushed, and the loop has turned since. Accepts NULL. */
static void unref_exporters(struct exporters *exporters)
{
	if (!exporters || --exporters->refs > 0)
		return;
	ep_outputs_fini(&exporters->outputs);
	ep_config_free(exporters->config);
	free(exporters);
}

static struct exporters *share_exporters(const struct ep_agent_run *before,
					 const struct ep_config_file *config)
{
	struct exporters *exporters = before ? before->exporters : NULL;

	if (!exporters || !ep_config_has_same_exporters(exporters->config, config) ||
	    !ep_config_is_same(exporters->config, config, "plugins", "dir"))
		return NULL;
	exporters->refs++;
	return exporters;
}

/* --- batches --------------------------------------------------------------------------------- */

static void on_closed(void *arg)
{
	struct ep_agent_run *run = arg;
	void (*done)(void *arg, struct ep_agent_run *run) = run->done;
	void *done_arg = run->arg;

	unref_exporters(run->exporters);
	ep_config_free(run->config);
	if (done)
		done(done_arg, run);
	free(run);
}

static void close_run(void *arg)
{
	struct ep_agent_run *run = arg;

	if (run->is_last && ep_log_get_level() >= EP_LOG_INFO)
		ep_agent_run_print_counters(run, stderr);
	ep_session_close(run->session, on_closed, run);
}

/* The exporters go on for others, or have to write what they were given. */
static void on_sealed(struct ep_agent_run *run)
{
	if (run->exporters->refs == 1) {
		ep_outputs_flush(&run->exporters->outputs, close_run, run);
		return;
	}
	unref_exporters(run->exporters);
	run->exporters = NULL;
	close_run(run);
}

/* At the end an earlier interval may still wait for names while the last one has them. */
static void batch_done(struct ep_agent_run *run)
{
	if (--run->sealing == 0 && run->ending)
		on_sealed(run);
}

static void take_batch(void *arg, const struct ep_batch *batch)
{
	struct track *track = arg;
	struct ep_outputs *outputs = &track->run->exporters->outputs;

	/* Where nothing was sampled there is nothing to write, and no file with nothing in it. */
	for (size_t i = 0; batch && batch->n_samples > 0 && i < outputs->list.len; i++) {
		if (track->exporters >> i & 1)
			ep_outputs_submit(outputs, i, batch);
	}
	batch_done(track->run);
}

static void seal(struct track *track)
{
	struct ep_agent_run *run = track->run;
	int r;

	run->sealing++;
	r = ep_session_seal(run->session, track->store, run->is_last ? LAST_WAIT_NS : NAMES_WAIT_NS,
			    take_batch, track);
	if (r < 0) {
		ep_log(EP_LOG_ERROR, "agent: interval goes on: %s", ep_strerror(r));
		batch_done(run);
	}
}

static void on_interval(uv_timer_t *timer)
{
	seal(timer->data);
}

void ep_agent_run_write(struct ep_agent_run *run)
{
	for (size_t i = 0; run->sampling && i < run->n_tracks; i++) {
		(void)uv_timer_again(&run->tracks[i].timer);
		seal(&run->tracks[i]);
	}
}

/* --- start ----------------------------------------------------------------------------------- */

static struct track *find_track(struct ep_agent_run *run, uint64_t interval_ns)
{
	struct track *track;
	int store;

	for (size_t i = 0; i < run->n_tracks; i++) {
		if (run->tracks[i].interval_ns == interval_ns)
			return &run->tracks[i];
	}
	if (run->n_tracks == MAX_TRACKS) {
		fprintf(stderr,
			"ebpf-profiler: more than %d different exporter intervals; "
			"give some exporters the same interval\n",
			MAX_TRACKS);
		return NULL;
	}
	store = ep_session_add_store(run->session, INTERVAL_BYTES);
	if (store < 0)
		return NULL;
	track = &run->tracks[run->n_tracks++];
	*track = (struct track){
		.run = run,
		.interval_ns = interval_ns,
		.store = (uint32_t)store,
	};
	return track;
}

static int add_tracks(struct ep_agent_run *run)
{
	for (size_t i = 0; i < run->config->exporters.len; i++) {
		const struct ep_config_exporter *exporter =
			ep_vec_at(&run->config->exporters, struct ep_config_exporter, i);
		struct track *track = find_track(run, exporter->interval_ns);

		if (!track)
			return -E2BIG;
		track->exporters |= 1ull << i;
	}
	return 0;
}

/* Until the names of a whole interval are found and its file is begun. */
static uint64_t keep_gone_ns(const struct ep_config_file *config)
{
	const struct ep_config_exporter *exporter;
	uint64_t longest_ns = 0;

	ep_vec_each (&config->exporters, exporter)
		longest_ns = EP_MAX(longest_ns, exporter->interval_ns);
	return longest_ns + 10 * NAMES_WAIT_NS;
}

static bool can_choose(const struct ep_config_file *config)
{
	char sentence[512] = "";
	int r = ep_chooser_check(&config->filter.all, sentence, sizeof(sentence));

	if (*sentence)
		fprintf(stderr, "%s: [filter]: %s\n", config->path ? config->path : "ebpf-profiler",
			sentence);
	return r == 0;
}

static enum ep_exit open_session(struct ep_agent_run *run)
{
	const struct ep_config_file *config = run->config;
	struct ep_session_options options = {
		.loop = run->loop,
		.freq_hz = config->sampling.freq_hz,
		.ring_bytes = config->limits.ring_bytes,
		.memory_bytes = config->limits.memory_bytes,
		.held_bytes = EP_MIN(config->limits.memory_bytes / 8, (size_t)HELD_MAX_BYTES),
		.choice = config->filter.all.n_terms > 0 ? &config->filter.all : NULL,
		.native_names = config->symbols.native,
		.kernel_names = config->symbols.kernel,
		.keep_gone_ns = keep_gone_ns(config),
		.divides = true,
	};

	if (!can_choose(config))
		return EP_EXIT_USAGE;
	ep_cmd_set_languages(&options, config);
	return ep_cmd_open_session(&options, &run->session);
}

static enum ep_exit open_parts(struct ep_agent_run *run, struct ep_agent_run *before)
{
	enum ep_exit status = open_session(run);
	int r;

	if (status != EP_EXIT_OK)
		return status;
	r = add_tracks(run);
	if (r < 0)
		return EP_EXIT_FAILED;
	if (ep_targets_choose(run->session, &run->config->filter.all) < 0) {
		fprintf(stderr,
			"ebpf-profiler: [filter] pid: no such process; see `ps -e` for those there are\n");
		return EP_EXIT_FAILED;
	}
	run->exporters = share_exporters(before, run->config);
	if (!run->exporters)
		r = open_exporters(run->config, &run->exporters);
	return r < 0 ? EP_EXIT_FAILED : EP_EXIT_OK;
}

enum ep_exit ep_agent_run_new(struct uv_loop_s *loop, struct ep_config_file *config,
			      struct ep_agent_run *before, struct ep_agent_run **ret_run)
{
	struct ep_agent_run *run = calloc(1, sizeof(*run));
	enum ep_exit status;

	if (!run) {
		ep_config_free(config);
		return EP_EXIT_FAILED;
	}
	run->loop = loop;
	run->config = config;
	status = open_parts(run, before);
	if (status == EP_EXIT_OK)
		*ret_run = run;
	else if (run->session)
		ep_session_close(run->session, on_closed, run);
	else
		on_closed(run);
	return status;
}

int ep_agent_run_start(struct ep_agent_run *run)
{
	return ep_session_start(run->session);
}

bool ep_agent_run_is_settled(const struct ep_agent_run *run)
{
	return ep_session_is_settled(run->session);
}

int ep_agent_run_begin(struct ep_agent_run *run)
{
	int r = ep_session_sample(run->session);

	if (r < 0)
		return r;
	run->sampling = true;
	for (size_t i = 0; i < run->n_tracks; i++) {
		struct track *track = &run->tracks[i];
		uint64_t ms = track->interval_ns / EP_NS_PER_MS;

		uv_timer_init(run->loop, &track->timer);
		track->timer.data = track;
		uv_timer_start(&track->timer, on_interval, ms, ms);
	}
	return 0;
}

/* --- end ------------------------------------------------------------------------------------- */

void ep_agent_run_end(struct ep_agent_run *run, bool is_last,
		      void (*done)(void *arg, struct ep_agent_run *run), void *arg)
{
	run->done = done;
	run->arg = arg;
	run->is_last = is_last;
	run->ending = true;
	run->sealing++; /* until all are finished */
	if (run->sampling) {
		ep_session_stop(run->session);
		for (size_t i = 0; i < run->n_tracks; i++) {
			uv_close((uv_handle_t *)&run->tracks[i].timer, NULL);
			seal(&run->tracks[i]);
		}
	}
	batch_done(run);
}

void ep_agent_run_hasten(struct ep_agent_run *run)
{
	ep_session_hasten(run->session);
}

const struct ep_config_file *ep_agent_run_config(const struct ep_agent_run *run)
{
	return run->config;
}

void ep_agent_run_print_counters(const struct ep_agent_run *run, FILE *out)
{
	ep_session_print_counters(run->session, out);
	if (run->exporters)
		ep_outputs_print_counters(&run->exporters->outputs, out);
	ep_system_calls_print_counters(out);
}

void ep_agent_run_describe(const struct ep_agent_run *run, char *text, size_t bytes)
{
	const struct ep_outputs *outputs = &run->exporters->outputs;
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; len < bytes && i < outputs->list.len; i++) {
		const char *place = ep_outputs_place(outputs, i);

		len += (size_t)snprintf(text + len, bytes - len, "%s%s%s%s", i ? "; " : "",
					ep_outputs_name(outputs, i), place[0] ? ": " : "", place);
	}
}
