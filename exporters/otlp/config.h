/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an exporter was given: its [[exporter]] table first, then OTEL_EXPORTER_OTLP_PROFILES_*,
 * then OTEL_EXPORTER_OTLP_* (opentelemetry-specification, protocol/exporter.md), then defaults. So
 * several exporters in one file keep apart, and one without keys does what the environment says.
 */
#ifndef OTLP_CONFIG_H
#define OTLP_CONFIG_H

#include "ebpf-profiler/exporter.h"
#include "exporters/shared/otlp/encode.h"

#define OTLP_MAX_HEADERS 32

struct otlp_config_header {
	char *name;  /* lower-case */
	char *value; /* or, if from_file, a path whose first line is the value at each request */
	bool from_file;
};

struct otlp_config {
	bool is_http; /* OTLP/HTTP, else gRPC */
	bool is_tls, insecure_skip_verify;
	char host[256], port[6];
	char authority[280]; /* host:port as it is written in requests */
	char *path;	     /* of HTTP */
	char *ca_file, *cert_file, *key_file, *server_name; /* "" when not given */
	bool is_gzip;
	uint64_t timeout_ms, retry_initial_ms, retry_max_ms, flush_timeout_ms, jitter_ms;
	size_t queue_bytes;
	uint32_t concurrency;
	struct otlp_config_header headers[OTLP_MAX_HEADERS];
	uint32_t n_headers;
	struct otlp_encode_options encode;
	char *service_name, *resource_attributes, *environment, *host_id, *host_arch, *user_agent;
};

extern const struct ep_option_spec otlp_option_specs[];

/* 0, or -EINVAL, -ENOMEM after a log line. Fini in both cases. */
int otlp_config_init(struct otlp_config *config, const struct ep_host *host,
		     const struct ep_options *options);
void otlp_config_fini(struct otlp_config *config);

/*
 * http[s]://host[:port][/path] or host:port (which is TLS unless `insecure`), into config; an
 * absent path is "". 0 or -EINVAL with a phrase.
 */
int otlp_parse_endpoint(const char *text, bool insecure, struct otlp_config *config,
			const char **ret_why);

#endif
