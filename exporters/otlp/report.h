/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines about one endpoint: one when it begins to fail and one when it is well again, one for
 * each reason of a refusal or of a partial success, and of what repeats one in a while.
 */
#ifndef OTLP_REPORT_H
#define OTLP_REPORT_H

#include "exporters/otlp/answer.h"
#include "ebpf-profiler/host.h"

#define OTLP_MAX_REASONS 16

struct otlp_payload;
struct otlp_sender_stats;

struct otlp_report {
	const struct ep_host *host;
	const char *endpoint;
	bool is_http;
	bool is_failing;
	uint64_t failing_since_ns, last_failing_ns, last_dropped_ns, last_refused_ns;
	uint64_t dropped_before;	    /* events, when it began to fail */
	uint64_t reasons[OTLP_MAX_REASONS]; /* hashes of what was reported */
	uint32_t n_reasons;
};

void otlp_report_init(struct otlp_report *report, const struct ep_host *host, const char *endpoint,
		      bool is_http);
void otlp_report_failing(struct otlp_report *report, const struct otlp_sender_stats *stats,
			 const struct otlp_outcome *outcome);
void otlp_report_accepted(struct otlp_report *report, const struct otlp_sender_stats *stats,
			  const struct otlp_outcome *outcome, const struct otlp_payload *payload);
void otlp_report_refused(struct otlp_report *report, const struct otlp_sender_stats *stats,
			 const struct otlp_outcome *outcome);
void otlp_report_dropped(struct otlp_report *report, const struct otlp_sender_stats *stats);
void otlp_report_unflushed(struct otlp_report *report, const struct otlp_sender_stats *stats,
			   uint64_t n_requests);
void otlp_report_totals(const struct otlp_report *report, const struct otlp_sender_stats *stats);

#endif
