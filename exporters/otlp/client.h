/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends requests to one endpoint: gRPC (grpc.c) or OTLP/HTTP (http.c). Both keep one connection,
 * open it when a request wants it, and end each call with exactly one outcome, never from within
 * otlp_client_call. The loop's.
 */
#ifndef OTLP_CLIENT_H
#define OTLP_CLIENT_H

#include "exporters/otlp/answer.h"
#include "exporters/otlp/config.h"

#include <uv.h>

struct otlp_tls;

/* A request's body. With the 5 bytes in front that gRPC wants; HTTP leaves them out. */
struct otlp_payload {
	uint8_t *data;
	size_t len;
	bool is_gzip;
	uint64_t events; /* samples in it */
	uint64_t profiles;
};

#define OTLP_FRAME_BYTES 5

/* Of a call: those of the configuration, and our own. */
#define OTLP_OWN_HEADERS  1
#define OTLP_CALL_HEADERS (OTLP_OWN_HEADERS + OTLP_MAX_HEADERS)

/* A header with its value at this moment. */
struct otlp_header {
	const char *name, *value;
};

struct otlp_client_options {
	uv_loop_t *loop;
	const struct otlp_config *config; /* borrowed for the client's life */
};

typedef void (*otlp_call_done)(void *arg, const struct otlp_outcome *outcome);

struct otlp_client;

struct otlp_client_ops {
	int (*new)(const struct otlp_client_options *options, struct otlp_client **ret_client);
	/* Nothing that was under way is reported any more. Accepts NULL. */
	void (*free)(struct otlp_client *client);
	/*
	 * tls: for a connection that must be opened, NULL for none; borrowed for as long as the
	 * client is connected. The payload is borrowed until it is done, headers for the call. 0
	 * or -ENOMEM, then done is not called.
	 */
	int (*call)(struct otlp_client *client, const struct otlp_payload *payload,
		    struct otlp_tls *tls, const struct otlp_header *headers, size_t n_headers,
		    otlp_call_done done, void *arg);
	/* Whether a call would open a connection: then the caller brings a fresh tls. */
	bool (*is_connected)(const struct otlp_client *client);
	void (*disconnect)(struct otlp_client *client); /* nothing is under way */
};

extern const struct otlp_client_ops otlp_grpc_client, otlp_http_client;

#endif
