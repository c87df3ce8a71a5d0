/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/otlp/report.h"
#include "exporters/otlp/sender.h"

#include <inttypes.h>
#include <time.h>

#define NS_PER_SECOND	 1000000000ull
#define FAILING_EVERY_NS (300 * NS_PER_SECOND)
#define OTHER_EVERY_NS	 (60 * NS_PER_SECOND)

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SECOND + (uint64_t)ts.tv_nsec;
}

void otlp_report_init(struct otlp_report *report, const struct ep_host *host, const char *endpoint,
		      bool is_http)
{
	*report = (struct otlp_report){.host = host, .endpoint = endpoint, .is_http = is_http};
}

static bool is_due(uint64_t *last_ns, uint64_t every_ns)
{
	uint64_t now = now_ns();

	if (*last_ns && now - *last_ns < every_ns)
		return false;
	*last_ns = now;
	return true;
}

/* FNV-1a. True the first time; after OTLP_MAX_REASONS of them all are old news. */
static bool is_new_reason(struct otlp_report *report, const struct otlp_outcome *outcome)
{
	const char *const texts[] = {outcome->name, outcome->message};
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < EP_LEN(texts); i++)
		for (const char *pos = texts[i]; *pos; pos++)
			hash = (hash ^ (unsigned char)*pos) * 0x100000001b3ull;
	for (uint32_t i = 0; i < report->n_reasons; i++)
		if (report->reasons[i] == hash)
			return false;
	if (report->n_reasons == OTLP_MAX_REASONS)
		return false;
	report->reasons[report->n_reasons++] = hash;
	return true;
}

void otlp_report_failing(struct otlp_report *report, const struct otlp_sender_stats *stats,
			 const struct otlp_outcome *outcome)
{
	if (!report->is_failing) {
		report->is_failing = true;
		report->failing_since_ns = now_ns();
		report->last_failing_ns = 0;
		report->dropped_before = stats->dropped_events;
	}
	if (!is_due(&report->last_failing_ns, FAILING_EVERY_NS))
		return;
	report->host->log(EP_HOST_WARN,
			  "otlp: %s: %s: %s; %" PRIu32 " requests (%" PRIu64
			  " bytes) wait and will be sent again",
			  report->endpoint, outcome->name, outcome->message, stats->queued_requests,
			  stats->queued_bytes);
}

static void report_partial(struct otlp_report *report, const struct otlp_outcome *outcome,
			   const struct otlp_payload *payload)
{
	if (outcome->rejected < 0 || !is_new_reason(report, outcome))
		return;
	report->host->log(EP_HOST_WARN,
			  "otlp: %s: %" PRId64 " of %" PRIu64 " profiles of a request rejected: %s",
			  report->endpoint, outcome->rejected, payload->profiles,
			  outcome->message[0] ? outcome->message : "no reason given");
}

void otlp_report_accepted(struct otlp_report *report, const struct otlp_sender_stats *stats,
			  const struct otlp_outcome *outcome, const struct otlp_payload *payload)
{
	report_partial(report, outcome, payload);
	if (!report->is_failing)
		return;
	report->is_failing = false;
	report->host->log(EP_HOST_INFO,
			  "otlp: %s: takes requests again after %" PRIu64 " s; %" PRIu64
			  " samples were dropped meanwhile",
			  report->endpoint,
			  (uint64_t)((now_ns() - report->failing_since_ns) / NS_PER_SECOND),
			  stats->dropped_events - report->dropped_before);
}

static const char *advice(const struct otlp_report *report, const struct otlp_outcome *outcome)
{
	static const struct {
		const char *name, *advice;
	} advices[] = {
		{"UNIMPLEMENTED",
		 "it has no profiles service: a Collector needs "
		 "--feature-gates=service.profilesSupport and a profiles pipeline"},
		{"HTTP 404", "it has no such path: look at the endpoint; a Collector needs "
			     "--feature-gates=service.profilesSupport and a profiles pipeline"},
		{"UNAUTHENTICATED", "look at headers and cert_file"},
		{"HTTP 401", "look at headers and cert_file"},
		{"PERMISSION_DENIED", "look at headers and cert_file"},
		{"HTTP 403", "look at headers and cert_file"},
		{"RESOURCE_EXHAUSTED", "lower max_request_bytes, or raise the receiver's limit"},
		{"HTTP 413", "lower max_request_bytes, or raise the receiver's limit"},
		{"HTTP 415", "is this an OTLP/HTTP endpoint?"},
		{"INVALID_ARGUMENT", "it may speak another version of the protocol: 1.10 is sent"},
		{"HTTP 400", "it may speak another version of the protocol: 1.10 is sent"},
		{"UNKNOWN", "is this an OTLP/gRPC endpoint?"},
	};

	(void)report;
	for (size_t i = 0; i < EP_LEN(advices); i++)
		if (strcmp(advices[i].name, outcome->name) == 0)
			return advices[i].advice;
	return "it will not be sent again";
}

void otlp_report_refused(struct otlp_report *report, const struct otlp_sender_stats *stats,
			 const struct otlp_outcome *outcome)
{
	bool is_new = is_new_reason(report, outcome);

	if (!is_due(&report->last_refused_ns, OTHER_EVERY_NS) && !is_new)
		return;
	report->host->log(EP_HOST_ERROR,
			  "otlp: %s: a request is refused: %s: %s: %s; %" PRIu64
			  " samples refused so far",
			  report->endpoint, outcome->name,
			  outcome->message[0] ? outcome->message : "no reason given",
			  advice(report, outcome), stats->refused_events);
}

void otlp_report_dropped(struct otlp_report *report, const struct otlp_sender_stats *stats)
{
	if (!is_due(&report->last_dropped_ns, OTHER_EVERY_NS))
		return;
	report->host->log(EP_HOST_WARN,
			  "otlp: %s: the queue is full: the oldest requests are dropped, %" PRIu64
			  " samples so far; a larger queue_bytes bridges longer breaks",
			  report->endpoint, stats->dropped_events);
}

void otlp_report_unflushed(struct otlp_report *report, const struct otlp_sender_stats *stats,
			   uint64_t n_requests)
{
	report->host->log(EP_HOST_WARN,
			  "otlp: %s: %" PRIu64
			  " requests could not be sent before the end; %" PRIu64
			  " samples dropped in all",
			  report->endpoint, n_requests, stats->dropped_events);
}

void otlp_report_totals(const struct otlp_report *report, const struct otlp_sender_stats *stats)
{
	report->host->log(EP_HOST_INFO,
			  "otlp: %s: %" PRIu64 " requests with %" PRIu64
			  " samples accepted, %" PRIu64 " samples dropped, %" PRIu64
			  " refused (%" PRIu64 " profiles of accepted requests), %" PRIu64 " retries",
			  report->endpoint, stats->accepted_requests, stats->accepted_events,
			  stats->dropped_events, stats->refused_events, stats->rejected_profiles,
			  stats->retries);
}
