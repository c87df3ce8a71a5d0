/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a receiver answered, and what follows from it by the rules of OTLP (opentelemetry-proto,
 * docs/specification.md, "OTLP/gRPC response" and "OTLP/HTTP response") and of gRPC
 * (doc/PROTOCOL-HTTP2.md, doc/http-grpc-status-mapping.md). Everything here came from a peer.
 */
#ifndef OTLP_ANSWER_H
#define OTLP_ANSWER_H

#include "exporters/shared/otlp/wire.h"

#include <sys/types.h>

#define OTLP_MAX_ANSWER	   ((size_t)4 << 20) /* bytes of a body, also when it is decompressed */
#define OTLP_MESSAGE_BYTES 512
#define OTLP_DETAILS_BYTES 8192
#define OTLP_NAME_BYTES	   40

enum otlp_grpc_code {
	OTLP_GRPC_OK = 0,
	OTLP_GRPC_CANCELLED = 1,
	OTLP_GRPC_UNKNOWN = 2,
	OTLP_GRPC_DEADLINE_EXCEEDED = 4,
	OTLP_GRPC_PERMISSION_DENIED = 7,
	OTLP_GRPC_RESOURCE_EXHAUSTED = 8,
	OTLP_GRPC_ABORTED = 10,
	OTLP_GRPC_OUT_OF_RANGE = 11,
	OTLP_GRPC_UNIMPLEMENTED = 12,
	OTLP_GRPC_INTERNAL = 13,
	OTLP_GRPC_UNAVAILABLE = 14,
	OTLP_GRPC_DATA_LOSS = 15,
	OTLP_GRPC_UNAUTHENTICATED = 16,
	OTLP_GRPC_CODES,
};

enum otlp_verdict {
	OTLP_ACCEPTED,
	OTLP_RESEND,  /* was not looked at: send it again at once, but once only */
	OTLP_RETRY,   /* later */
	OTLP_REFUSED, /* never */
};

struct otlp_outcome {
	enum otlp_verdict verdict;
	uint64_t wait_ns;	    /* RETRY: at least so long; 0: as you like */
	int64_t rejected;	    /* ACCEPTED: profiles of it that were not, -1: none reported */
	char name[OTLP_NAME_BYTES]; /* "UNAVAILABLE", "HTTP 503" */
	char message[OTLP_MESSAGE_BYTES]; /* printable; what the peer, or we, say */
};

/* What arrived of a gRPC call. */
struct otlp_grpc_answer {
	int http_status; /* 0: no headers came */
	bool is_grpc;	 /* by its content type */
	bool is_gzip;	 /* grpc-encoding */
	bool has_code;
	uint32_t code;			  /* grpc-status */
	char message[OTLP_MESSAGE_BYTES]; /* grpc-message, still percent-encoded */
	size_t message_len;
	char details[OTLP_DETAILS_BYTES]; /* grpc-status-details-bin, base64 */
	size_t details_len;
	bool is_reset;
	uint32_t reset_code; /* of RST_STREAM */
	struct otlp_wire body;
};

/* Of an HTTP/1.1 request. */
struct otlp_http_answer {
	int status;
	bool is_gzip, is_protobuf;
	char retry_after[64];
	struct otlp_wire body;
};

void otlp_judge_grpc(const struct otlp_grpc_answer *answer, struct otlp_outcome *ret_outcome);
/* now_s: Unix time, for a Retry-After that is a date. */
void otlp_judge_http(const struct otlp_http_answer *answer, int64_t now_s,
		     struct otlp_outcome *ret_outcome);
/* An outcome that no answer gave: a deadline, a lost connection. */
void otlp_judge_local(enum otlp_grpc_code code, const char *message,
		      struct otlp_outcome *ret_outcome);

/* Stores a header of a gRPC answer, as it comes. */
void otlp_grpc_answer_header(struct otlp_grpc_answer *answer, const uint8_t *name, size_t name_len,
			     const uint8_t *value, size_t value_len);

/* Decompresses gzip. 0, -E2BIG above OTLP_MAX_ANSWER, -EBADMSG, -ENOMEM. */
int otlp_gunzip(const void *data, size_t len, struct otlp_wire *to);
/* Standard or URL alphabet, padded or not. Bytes, or -EBADMSG, -E2BIG. */
ssize_t otlp_base64_decode(const char *text, size_t len, uint8_t *to, size_t to_len);
/* RetryInfo in a google.rpc.Status: 1 and the delay, 0 when there is none, -EBADMSG. */
int otlp_find_retry_info(struct otlp_reader status, uint64_t *ret_ns);

#endif
