/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivers payloads to one endpoint, oldest first: a queue bounded in bytes, retries by the rules
 * of OTLP, counters. The loop's.
 *
 *	push ──► waiting ──► under way ──accepted──► gone
 *	            │ ▲          └── retry: waits, with growing breaks for the whole endpoint
 *	            ▼ └──────────┘
 *	         dropped (no space: the oldest first) or refused, both counted
 */
#ifndef OTLP_SENDER_H
#define OTLP_SENDER_H

#include "exporters/otlp/client.h"

struct otlp_sender;

struct otlp_sender_stats {
	uint64_t accepted_requests, accepted_events;
	uint64_t dropped_requests, dropped_events; /* no space, or no time at the end */
	/* By the receiver, for good; events also those of rejected_profiles. */
	uint64_t refused_requests, refused_events;
	uint64_t rejected_profiles; /* of accepted requests */
	uint64_t retries;
	uint64_t sent_bytes; /* of accepted requests */
	uint64_t queued_bytes, max_queued_bytes;
	uint32_t queued_requests;
};

int otlp_sender_new(const struct ep_host *host, const struct otlp_config *config,
		    struct otlp_sender **ret_sender);
/*
 * Drops what waits. When libuv and workers have let go of it, gone(arg) is called, from the loop:
 * until then it uses its config.
 */
void otlp_sender_free(struct otlp_sender *sender, void (*gone)(void *arg), void *arg);
/* Takes the payload's data in every case. */
void otlp_sender_push(struct otlp_sender *sender, const struct otlp_payload *payload);
/*
 * Sends what waits, for config->flush_timeout_ms at most, drops the rest and disconnects: after
 * that nothing of it keeps the loop alive. done gets 0, or -ETIMEDOUT when something was dropped.
 */
void otlp_sender_flush(struct otlp_sender *sender, void (*done)(void *arg, int result), void *arg);
const struct otlp_sender_stats *otlp_sender_stats(const struct otlp_sender *sender);

#endif
