/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/otlp/sender.h"
#include "exporters/otlp/prepare.h"
#include "exporters/otlp/report.h"

#include <errno.h>
#include <stdio.h>
#include <sys/queue.h>
#include <sys/random.h>

#define BACKOFF_PERCENT 160 /* of the last break; +-20 %: gRPC's doc/connection-backoff.md */
#define JITTER_PERCENT	20

struct entry {
	TAILQ_ENTRY(entry) link;
	struct otlp_sender *sender;
	struct otlp_payload payload;
	uint64_t not_before_ms;
	bool is_under_way;
	bool was_resent; /* at once, since it was last tried */
};

TAILQ_HEAD(entries, entry);

/* The files a call needs, on a worker. */
struct preparing {
	struct otlp_sender *sender;
	struct entry *entry; /* NULL: it was dropped meanwhile */
	bool needs_tls, has_present;
	struct otlp_signature present;
	struct otlp_prepared prepared;
};

/* The loop's. Lives until its timer is closed and no worker has it. */
struct otlp_sender {
	const struct ep_host *host;
	const struct otlp_config *config;
	const struct otlp_client_ops *ops;
	struct otlp_client *client; /* NULL: none yet */
	struct otlp_tls *tls;
	struct otlp_signature tls_signature;
	struct entries queue; /* oldest first */
	uint32_t n_under_way;
	uv_timer_t timer; /* the next moment something is due */
	uint64_t break_until_ms, break_ms;
	struct preparing *preparing; /* NULL: none */
	struct otlp_report report;
	struct otlp_sender_stats stats;
	bool is_flushing, is_closed, timer_is_closed;
	uv_timer_t flush_timer;
	bool flush_timer_is_closed;
	void (*flushed)(void *arg, int result);
	void *flushed_arg;
	void (*gone)(void *arg);
	void *gone_arg;
	uint64_t dropped_before_flush;
};

static void step(struct otlp_sender *sender);

/* --- the end --- */

static void free_if_unused(struct otlp_sender *sender)
{
	if (!sender->is_closed || !sender->timer_is_closed || !sender->flush_timer_is_closed ||
	    sender->preparing)
		return;
	otlp_tls_free(sender->tls);
	sender->gone(sender->gone_arg);
	free(sender);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct otlp_sender *sender = handle->data;

	if (handle == (uv_handle_t *)&sender->timer)
		sender->timer_is_closed = true;
	else
		sender->flush_timer_is_closed = true;
	free_if_unused(sender);
}

/* --- the queue --- */

static void remove_entry(struct entry *entry)
{
	struct otlp_sender *sender = entry->sender;

	TAILQ_REMOVE(&sender->queue, entry, link);
	sender->stats.queued_bytes -= entry->payload.len;
	sender->stats.queued_requests--;
	if (entry->is_under_way)
		sender->n_under_way--;
	if (sender->preparing && sender->preparing->entry == entry)
		sender->preparing->entry = NULL;
	free(entry->payload.data);
	free(entry);
}

static void drop_entry(struct entry *entry)
{
	struct otlp_sender *sender = entry->sender;

	sender->stats.dropped_requests++;
	sender->stats.dropped_events += entry->payload.events;
	remove_entry(entry);
}

static struct entry *oldest_waiting(const struct otlp_sender *sender)
{
	struct entry *entry;

	TAILQ_FOREACH (entry, &sender->queue, link)
		if (!entry->is_under_way)
			return entry;
	return NULL;
}

static void make_room(struct otlp_sender *sender, size_t bytes)
{
	struct entry *entry;

	while (sender->stats.queued_bytes + bytes > sender->config->queue_bytes &&
	       (entry = oldest_waiting(sender)) != NULL) {
		drop_entry(entry);
		otlp_report_dropped(&sender->report, &sender->stats);
	}
}

static uint64_t random_below(uint64_t limit)
{
	uint64_t number = 0;

	if (limit == 0 || getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
		return 0;
	return number % limit;
}

void otlp_sender_push(struct otlp_sender *sender, const struct otlp_payload *payload)
{
	struct entry *entry = NULL;

	make_room(sender, payload->len);
	if (sender->stats.queued_bytes + payload->len <= sender->config->queue_bytes)
		entry = calloc(1, sizeof(*entry));
	if (!entry) {
		sender->stats.dropped_requests++;
		sender->stats.dropped_events += payload->events;
		otlp_report_dropped(&sender->report, &sender->stats);
		free(payload->data);
		return;
	}
	entry->sender = sender;
	entry->payload = *payload;
	entry->not_before_ms = uv_now(sender->host->loop) + random_below(sender->config->jitter_ms);
	TAILQ_INSERT_TAIL(&sender->queue, entry, link);
	sender->stats.queued_requests++;
	sender->stats.queued_bytes += payload->len;
	sender->stats.max_queued_bytes =
		EP_MAX(sender->stats.max_queued_bytes, sender->stats.queued_bytes);
	step(sender);
}

/* --- outcomes --- */

static void take_break(struct otlp_sender *sender, uint64_t at_least_ns)
{
	uint64_t spread = sender->break_ms * JITTER_PERCENT / 100;
	uint64_t ms = sender->break_ms - spread + random_below(2 * spread + 1);

	ms = EP_MAX(ms, at_least_ns / 1000000);
	sender->break_until_ms = EP_MAX(sender->break_until_ms, uv_now(sender->host->loop) + ms);
	sender->break_ms =
		EP_MIN(sender->break_ms * BACKOFF_PERCENT / 100, sender->config->retry_max_ms);
}

/*
 * Events of the profiles that were rejected. The answer does not say which profiles these are: the
 * share of the profiles is taken as the share of the events.
 */
static uint64_t rejected_events(const struct otlp_payload *payload, uint64_t rejected)
{
	if (payload->profiles == 0)
		return 0;
	return (uint64_t)((unsigned __int128)payload->events * rejected / payload->profiles);
}

static void accepted(struct entry *entry, const struct otlp_outcome *outcome)
{
	struct otlp_sender *sender = entry->sender;
	const struct otlp_payload *payload = &entry->payload;
	/* It cannot reject more than there were. */
	uint64_t said = outcome->rejected > 0 ? (uint64_t)outcome->rejected : 0;
	uint64_t rejected = EP_MIN(said, payload->profiles);
	uint64_t events = rejected_events(payload, rejected);

	sender->stats.accepted_requests++;
	sender->stats.accepted_events += payload->events - events;
	sender->stats.refused_events += events;
	sender->stats.rejected_profiles += rejected;
	sender->stats.sent_bytes += payload->len;
	sender->break_ms = sender->config->retry_initial_ms;
	sender->break_until_ms = 0;
	otlp_report_accepted(&sender->report, &sender->stats, outcome, payload);
	remove_entry(entry);
}

static void refused(struct entry *entry, const struct otlp_outcome *outcome)
{
	struct otlp_sender *sender = entry->sender;

	sender->stats.refused_requests++;
	sender->stats.refused_events += entry->payload.events;
	otlp_report_refused(&sender->report, &sender->stats, outcome);
	remove_entry(entry);
}

static void retry(struct entry *entry, const struct otlp_outcome *outcome)
{
	struct otlp_sender *sender = entry->sender;

	sender->stats.retries++;
	entry->was_resent = false;
	take_break(sender, outcome->wait_ns);
	otlp_report_failing(&sender->report, &sender->stats, outcome);
}

static void on_outcome(void *arg, const struct otlp_outcome *outcome)
{
	struct entry *entry = arg;
	struct otlp_sender *sender = entry->sender;

	entry->is_under_way = false;
	sender->n_under_way--;
	if (outcome->verdict == OTLP_ACCEPTED)
		accepted(entry, outcome);
	else if (outcome->verdict == OTLP_REFUSED)
		refused(entry, outcome);
	else if (outcome->verdict == OTLP_RESEND && !entry->was_resent)
		entry->was_resent = true;
	else
		retry(entry, outcome);
	step(sender);
}

/* --- calls --- */

static bool is_connected(const struct otlp_sender *sender)
{
	return sender->client && sender->ops->is_connected(sender->client);
}

static int ensure_client(struct otlp_sender *sender)
{
	struct otlp_client_options options = {
		.loop = sender->host->loop,
		.config = sender->config,
	};

	return sender->client ? 0 : sender->ops->new (&options, &sender->client);
}

/*
 * What gRPC and HTTP send alike. The version of the messages belongs here too, when it is no longer 1,
 * as it is without otlp-profiles-development-version (docs/versioning-otlp-profiles.md in
 * open-telemetry/sig-profiling).
 */
static size_t own_headers(const struct otlp_config *config,
			  struct otlp_header headers[OTLP_OWN_HEADERS])
{
	headers[0] = (struct otlp_header){"user-agent", config->user_agent};
	return OTLP_OWN_HEADERS;
}

/* `values`: those of headers that come from files, NULL when there are none. */
static void start_call(struct entry *entry, char *const *values)
{
	struct otlp_sender *sender = entry->sender;
	const struct otlp_config *config = sender->config;
	struct otlp_header headers[OTLP_CALL_HEADERS];
	size_t n = own_headers(config, headers);
	struct otlp_outcome outcome;
	int r = ensure_client(sender);

	for (uint32_t i = 0; i < config->n_headers; i++)
		headers[n++] = (struct otlp_header){
			config->headers[i].name,
			values && values[i] ? values[i] : config->headers[i].value,
		};
	if (r == 0)
		r = sender->ops->call(sender->client, &entry->payload, sender->tls, headers, n,
				      on_outcome, entry);
	entry->is_under_way = true;
	sender->n_under_way++;
	if (r == 0)
		return;
	otlp_judge_local(OTLP_GRPC_UNAVAILABLE, "out of memory", &outcome);
	on_outcome(entry, &outcome);
}

static void do_prepare(void *arg)
{
	struct preparing *preparing = arg;

	otlp_prepare(preparing->sender->config, preparing->needs_tls,
		     preparing->has_present ? &preparing->present : NULL, &preparing->prepared);
}

static void take_tls(struct otlp_sender *sender, struct otlp_prepared *prepared)
{
	if (!prepared->tls || is_connected(sender))
		return;
	otlp_tls_free(sender->tls);
	sender->tls = ep_take(prepared->tls);
	sender->tls_signature = prepared->signature;
}

static void after_prepare(void *arg)
{
	struct preparing *preparing = arg;
	struct otlp_sender *sender = preparing->sender;
	struct entry *entry = preparing->entry;
	struct otlp_prepared prepared = preparing->prepared;

	free(ep_take(sender->preparing));
	if (entry) {
		entry->is_under_way = false;
		sender->n_under_way--;
	}
	if (sender->is_closed) {
		otlp_prepared_fini(&prepared);
		free_if_unused(sender);
		return;
	}
	if (entry && prepared.error) {
		struct otlp_outcome outcome;

		otlp_judge_local(OTLP_GRPC_UNAVAILABLE, prepared.why, &outcome);
		retry(entry, &outcome);
	} else if (entry) {
		take_tls(sender, &prepared);
		start_call(entry, prepared.values);
	}
	otlp_prepared_fini(&prepared);
	step(sender);
}

static int prepare(struct entry *entry)
{
	struct otlp_sender *sender = entry->sender;
	struct preparing *preparing = calloc(1, sizeof(*preparing));
	int r;

	if (!preparing)
		return -ENOMEM;
	preparing->sender = sender;
	preparing->entry = entry;
	preparing->needs_tls = !is_connected(sender);
	preparing->has_present = sender->tls != NULL;
	preparing->present = sender->tls_signature;
	r = sender->host->run(do_prepare, after_prepare, preparing);
	if (r < 0) {
		free(preparing);
		return r;
	}
	sender->preparing = preparing;
	entry->is_under_way = true;
	sender->n_under_way++;
	return 0;
}

static void send_entry(struct entry *entry)
{
	struct otlp_sender *sender = entry->sender;
	struct otlp_outcome outcome;

	if (!otlp_needs_prepare(sender->config, is_connected(sender))) {
		start_call(entry, NULL);
		return;
	}
	if (prepare(entry) == 0)
		return;
	otlp_judge_local(OTLP_GRPC_UNAVAILABLE, "out of memory", &outcome);
	retry(entry, &outcome);
}

/* --- what is due --- */

static void finish_flush(struct otlp_sender *sender);

static void on_timer(uv_timer_t *timer)
{
	step(timer->data);
}

/* When the entry may be sent. */
static uint64_t due_ms(const struct otlp_sender *sender, const struct entry *entry)
{
	uint64_t not_before = sender->is_flushing ? 0 : entry->not_before_ms;

	return EP_MAX(not_before, sender->break_until_ms);
}

static void step(struct otlp_sender *sender)
{
	uint64_t now_ms = uv_now(sender->host->loop);
	struct entry *entry;

	while (sender->n_under_way < sender->config->concurrency && !sender->preparing &&
	       (entry = oldest_waiting(sender)) != NULL) {
		uint64_t due = due_ms(sender, entry);

		if (due > now_ms) {
			uv_timer_start(&sender->timer, on_timer, due - now_ms, 0);
			break;
		}
		send_entry(entry);
	}
	if (sender->is_flushing && TAILQ_EMPTY(&sender->queue))
		finish_flush(sender);
}

/* --- flush --- */

/* Nothing is under way or connected any more. */
static void cancel_all(struct otlp_sender *sender)
{
	struct entry *entry;

	sender->ops->free(ep_take(sender->client));
	while ((entry = TAILQ_FIRST(&sender->queue)) != NULL)
		drop_entry(entry);
	uv_timer_stop(&sender->timer);
}

static void finish_flush(struct otlp_sender *sender)
{
	bool all = sender->stats.dropped_requests == sender->dropped_before_flush;
	void (*flushed)(void *arg, int result) = sender->flushed;

	sender->is_flushing = false;
	uv_timer_stop(&sender->flush_timer);
	cancel_all(sender);
	flushed(sender->flushed_arg, all ? 0 : -ETIMEDOUT);
}

static void on_flush_timeout(uv_timer_t *timer)
{
	struct otlp_sender *sender = timer->data;

	cancel_all(sender);
	otlp_report_unflushed(&sender->report, &sender->stats,
			      sender->stats.dropped_requests - sender->dropped_before_flush);
	finish_flush(sender);
}

/* From the loop, so that the caller's done is not called from within. */
static void on_flush_start(uv_timer_t *timer)
{
	struct otlp_sender *sender = timer->data;

	uv_timer_start(&sender->flush_timer, on_flush_timeout, sender->config->flush_timeout_ms, 0);
	step(sender);
}

void otlp_sender_flush(struct otlp_sender *sender, void (*done)(void *arg, int result), void *arg)
{
	sender->flushed = done;
	sender->flushed_arg = arg;
	sender->is_flushing = true;
	sender->dropped_before_flush = sender->stats.dropped_requests;
	sender->break_until_ms = 0;
	sender->break_ms = sender->config->retry_initial_ms;
	uv_timer_start(&sender->flush_timer, on_flush_start, 0, 0);
}

/* --- the interface --- */

int otlp_sender_new(const struct ep_host *host, const struct otlp_config *config,
		    struct otlp_sender **ret_sender)
{
	struct otlp_sender *sender = calloc(1, sizeof(*sender));

	if (!sender)
		return -ENOMEM;
	sender->host = host;
	sender->config = config;
	sender->ops = config->is_http ? &otlp_http_client : &otlp_grpc_client;
	sender->break_ms = config->retry_initial_ms;
	TAILQ_INIT(&sender->queue);
	otlp_report_init(&sender->report, host, config->authority, config->is_http);
	uv_timer_init(host->loop, &sender->timer);
	uv_timer_init(host->loop, &sender->flush_timer);
	sender->timer.data = sender;
	sender->flush_timer.data = sender;
	*ret_sender = sender;
	return 0;
}

void otlp_sender_free(struct otlp_sender *sender, void (*gone)(void *arg), void *arg)
{
	cancel_all(sender);
	otlp_report_totals(&sender->report, &sender->stats);
	sender->gone = gone;
	sender->gone_arg = arg;
	sender->is_closed = true;
	uv_close((uv_handle_t *)&sender->timer, on_timer_closed);
	uv_close((uv_handle_t *)&sender->flush_timer, on_timer_closed);
}

const struct otlp_sender_stats *otlp_sender_stats(const struct otlp_sender *sender)
{
	return &sender->stats;
}
