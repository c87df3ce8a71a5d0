/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of an [[exporter]] table of type "otlp"; docs/otlp.md has more words. */
#include "exporters/otlp/config.h"

#define MS     1000000ll /* in ns */
#define SECOND (1000 * MS)

/* "0s" and "" mean "not given": what the environment says is asked then. */
const struct ep_option_spec otlp_option_specs[] = {
	{
		.name = "endpoint",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "http://host:4317, or https:// for TLS; default http://localhost:4317",
	},
	{
		.name = "protocol",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "grpc (the default) or http/protobuf",
	},
	{
		.name = "compression",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "gzip (the default) or none",
	},
	{
		.name = "headers",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "sent with each request: \"authorization=Bearer%20abc,x-scope-orgid=1\"",
	},
	{
		.name = "header_files",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "the same with files for values, read again for each request: name=/path",
	},
	{
		.name = "ca_file",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "certificates to trust instead of the system's, PEM",
	},
	{
		.name = "cert_file",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "our own certificate with its chain, PEM",
	},
	{
		.name = "key_file",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "its key, PEM; default: in cert_file too",
	},
	{
		.name = "server_name",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "name the server's certificate must have; default: the endpoint's host",
	},
	{
		.name = "insecure_skip_verify",
		.type = EP_OPTION_BOOL,
		.fallback = "false",
		.help = "DANGEROUS: take any certificate, so that anybody on the way can read and "
			"change what is sent",
	},
	{
		.name = "timeout",
		.type = EP_OPTION_DURATION,
		.fallback = "0s",
		.min = 0,
		.max = 3600 * SECOND,
		.help = "for one request, and for connecting; default 10s",
	},
	{
		.name = "retry_initial",
		.type = EP_OPTION_DURATION,
		.fallback = "1s",
		.min = 10 * MS,
		.max = 3600 * SECOND,
		.help = "wait before the first retry; then 1.6 times as long each time, +-20 %",
	},
	{
		.name = "retry_max",
		.type = EP_OPTION_DURATION,
		.fallback = "30s",
		.min = 10 * MS,
		.max = 3600 * SECOND,
		.help = "longest wait between retries",
	},
	{
		.name = "flush_timeout",
		.type = EP_OPTION_DURATION,
		.fallback = "5s",
		.min = 10 * MS,
		.max = 3600 * SECOND,
		.help = "how long the end of the profiler waits for what is not sent yet",
	},
	{
		.name = "jitter",
		.type = EP_OPTION_DURATION,
		.fallback = "1s",
		.min = 0,
		.max = 3600 * SECOND,
		.help = "a batch is sent up to this much later, so that many agents do not send "
			"at once",
	},
	{
		.name = "queue_bytes",
		.type = EP_OPTION_INT,
		.fallback = "8388608",
		.min = 65536,
		.max = 1 << 30,
		.help = "requests that wait or are under way; the oldest are dropped beyond this",
	},
	{
		.name = "max_request_bytes",
		.type = EP_OPTION_INT,
		.fallback = "4000000",
		.min = 16384,
		.max = 64 << 20,
		.help = "a batch that is longer, before compression, becomes several requests; "
			"many receivers refuse more than 4194304",
	},
	{
		.name = "concurrency",
		.type = EP_OPTION_INT,
		.fallback = "1",
		.min = 1,
		.max = 16,
		.help = "requests under way at once (gRPC)",
	},
	{
		.name = "profile_per_cpu",
		.type = EP_OPTION_BOOL,
		.fallback = "false",
		.help = "a profile for each CPU of a process with its exact period; default: one for "
			"the process with the mean of them",
	},
	{
		.name = "service_name",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "service.name of processes that do not say; {exe} becomes the executable's "
			"name",
	},
	{
		.name = "resource_attributes",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "for every resource: \"deployment.environment.name=prod,team=a\"",
	},
	{
		.name = "resource_attribute_names",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "only these attributes of resources are sent: \"service.*,process.pid\"",
	},
	{
		.name = "environment",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "variables of a process that become attributes: \"NAME,OTHER\"",
	},
	{
		.name = "frame_type_map",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "\"devfiler\", or \"rust=native,wasm=native\" for receivers with a list "
			"of types",
	},
	{0},
};
