/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/otlp/config.h"
#include "core/base/parse.h"
#include "ebpf-profiler/abi.h"
#include "exporters/shared/otlp/kernel.h"
#include "exporters/shared/otlp/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define MS	     1000000ll /* in ns */
#define HTTP_PATH    "/v1development/profiles"
#define GRPC_DEFAULT "http://localhost:4317"
#define HTTP_DEFAULT "http://localhost:4318"
#define GRPC_PORT    "4317" /* of an endpoint without scheme and port; a URL has those of the web */
#define HTTP_PORT    "4318"

struct reader {
	struct otlp_config *config;
	const struct ep_host *host;
	const struct ep_options *options;
};

__attribute__((format(printf, 2, 3))) static int bad(const struct reader *r, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	r->host->log(EP_HOST_ERROR, "otlp: %s", text);
	return -EINVAL;
}

static const char *option(const struct reader *r, const char *name)
{
	return r->host->option_string(r->options, name);
}

static uint64_t option_ms(const struct reader *r, const char *name)
{
	return (uint64_t)(r->host->option_int(r->options, name) / MS);
}

/* OTEL_EXPORTER_OTLP_PROFILES_NAME, else OTEL_EXPORTER_OTLP_NAME, else "". */
static const char *variable(const char *name, bool *ret_is_general)
{
	char full[96];
	const char *value;

	snprintf(full, sizeof(full), "OTEL_EXPORTER_OTLP_PROFILES_%s", name);
	value = secure_getenv(full);
	if (ret_is_general)
		*ret_is_general = false;
	if (value && value[0])
		return value;
	snprintf(full, sizeof(full), "OTEL_EXPORTER_OTLP_%s", name);
	value = secure_getenv(full);
	if (ret_is_general)
		*ret_is_general = true;
	return value ? value : "";
}

static const char *option_or_variable(const struct reader *r, const char *name,
				      const char *variable_name)
{
	const char *text = option(r, name);

	return text[0] ? text : variable(variable_name, NULL);
}

/* --- endpoint --- */

static int copy_host(const char *text, size_t len, struct otlp_config *config)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr(".-_:%", text[i]))
			return -EINVAL;
	if (len == 0 || len >= sizeof(config->host))
		return -EINVAL;
	memcpy(config->host, text, len);
	config->host[len] = '\0';
	return 0;
}

static int copy_port(const char *text, size_t len, struct otlp_config *config)
{
	uint64_t port;

	if (len == 0 || len >= sizeof(config->port))
		return -EINVAL;
	memcpy(config->port, text, len);
	config->port[len] = '\0';
	return ep_parse_u64_str(config->port, &port) < 0 || port == 0 || port > 65535 ? -EINVAL : 0;
}

/* host, host:port, [address]:port */
static int parse_authority(const char *text, size_t len, struct otlp_config *config,
			   const char *default_port)
{
	const char *colon = memrchr(text, ':', len), *bracket = memchr(text, ']', len);
	size_t host_len = len;
	int r = 0;

	if (colon && bracket && colon < bracket)
		colon = NULL;
	if (colon) {
		host_len = (size_t)(colon - text);
		r = copy_port(colon + 1, len - host_len - 1, config);
	} else {
		snprintf(config->port, sizeof(config->port), "%s", default_port);
	}
	if (r == 0 && text[0] == '[')
		r = bracket && bracket == text + host_len - 1
			    ? copy_host(text + 1, host_len - 2, config)
			    : -EINVAL;
	else if (r == 0)
		r = memchr(text, ':', host_len) ? -EINVAL : copy_host(text, host_len, config);
	if (r == 0)
		snprintf(config->authority, sizeof(config->authority), "%.*s:%s", (int)host_len,
			 text, config->port);
	return r;
}

int otlp_parse_endpoint(const char *text, bool insecure, struct otlp_config *config,
			const char **ret_why)
{
	const char *default_port = config->is_http ? HTTP_PORT : GRPC_PORT;
	size_t len;

	config->is_tls = !insecure;
	if (strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0) {
		config->is_tls = tolower((unsigned char)text[4]) == 's';
		default_port = config->is_tls ? "443" : "80";
		text += config->is_tls ? 8 : 7;
	} else if (strstr(text, "://")) {
		*ret_why = "it must begin with http:// or https://";
		return -EINVAL;
	}
	len = strcspn(text, "/?#");
	if (memchr(text, '@', len)) {
		*ret_why = "no name and password in it: use headers";
		return -EINVAL;
	}
	if (parse_authority(text, len, config, default_port) < 0) {
		*ret_why = "it must look like http://host:4317";
		return -EINVAL;
	}
	for (const char *pos = text + len; *pos; pos++) {
		if (*pos <= ' ' || *pos >= 0x7f) {
			*ret_why = "there is a character in its path that does not belong there";
			return -EINVAL;
		}
	}
	free(config->path);
	config->path = strdup(text[len] == '/' ? text + len : "");
	return config->path ? 0 : -ENOMEM;
}

static int append_path(struct otlp_config *config, const char *path)
{
	size_t len = strlen(config->path);
	char *joined = NULL;

	if (len && config->path[len - 1] == '/')
		len--;
	if (asprintf(&joined, "%.*s%s", (int)len, config->path, path) < 0)
		return -ENOMEM;
	free(config->path);
	config->path = joined;
	return 0;
}

static bool is_true(const char *text)
{
	return strcasecmp(text, "true") == 0;
}

/*
 * The path of our own key, and of the variable for profiles, is used as it is; the variable for all
 * signals is a base to which the signal's path is added.
 */
static int read_endpoint(struct reader *r)
{
	struct otlp_config *config = r->config;
	const char *text = option(r, "endpoint"), *why = "";
	bool insecure = is_true(variable("INSECURE", NULL)), is_base = false;
	int result;

	if (!text[0])
		text = variable("ENDPOINT", &is_base);
	if (!text[0])
		text = config->is_http ? HTTP_DEFAULT : GRPC_DEFAULT;
	result = otlp_parse_endpoint(text, insecure, config, &why);
	if (result < 0)
		return bad(r, "endpoint \"%.200s\": %s", text, why);
	if (!config->is_http && strlen(config->path) > 1)
		return bad(r,
			   "endpoint \"%.200s\": gRPC has no path: leave it out, or set "
			   "protocol = \"http/protobuf\"",
			   text);
	if (config->is_http && (is_base || !config->path[0] || strcmp(config->path, "/") == 0))
		return append_path(config, HTTP_PATH);
	return 0;
}

static int read_protocol(struct reader *r)
{
	const char *text = option_or_variable(r, "protocol", "PROTOCOL");

	if (!text[0] || strcmp(text, "grpc") == 0)
		return 0;
	r->config->is_http = strcmp(text, "http/protobuf") == 0 || strcmp(text, "http") == 0;
	if (!r->config->is_http)
		return bad(r, "protocol \"%.100s\": must be grpc or http/protobuf", text);
	return 0;
}

static int read_compression(struct reader *r)
{
	const char *text = option_or_variable(r, "compression", "COMPRESSION");

	r->config->is_gzip = strcmp(text, "none") != 0;
	if (text[0] && strcmp(text, "gzip") != 0 && r->config->is_gzip)
		return bad(r, "compression \"%.100s\": must be gzip or none", text);
	return 0;
}

/* The variable is in milliseconds. */
static int read_timeout(struct reader *r)
{
	const char *text = variable("TIMEOUT", NULL);
	uint64_t ms = option_ms(r, "timeout");

	if (!ms && text[0] && (ep_parse_u64_str(text, &ms) < 0 || ms == 0 || ms > 3600000))
		return bad(r, "OTEL_EXPORTER_OTLP_TIMEOUT=%.100s: must be milliseconds", text);
	r->config->timeout_ms = ms ? ms : 10000;
	return 0;
}

/* --- headers --- */

/* RFC 9110, 5.6.2: token */
static bool is_header_name(const char *name)
{
	for (const char *pos = name; *pos; pos++)
		if (!isalnum((unsigned char)*pos) && !strchr("!#$%&'*+-.^_`|~", *pos))
			return false;
	return name[0] != '\0';
}

/* What the protocols set themselves; connection headers are forbidden in HTTP/2 (RFC 9113, 8.2.2).
 */
static bool is_reserved(const char *name)
{
	static const char *const names[] = {
		"connection", "content-length",	  "content-type", "content-encoding",  "host",
		"keep-alive", "proxy-connection", "te",		  "transfer-encoding", "upgrade"};

	for (size_t i = 0; i < EP_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return strncmp(name, "grpc-", 5) == 0;
}

static bool is_header_value(const char *value)
{
	for (; *value; value++)
		if ((unsigned char)*value < ' ' || *value == 0x7f)
			return false;
	return true;
}

static int add_header(struct reader *r, const struct otlp_pair *pair, bool from_file)
{
	struct otlp_config_header header = {.from_file = from_file};
	struct otlp_config *config = r->config;

	if (!is_header_name(pair->key) || (!from_file && !is_header_value(pair->value)))
		return bad(r, "header \"%.100s\": not a header", pair->key);
	header.name = strdup(pair->key);
	header.value = strdup(pair->value);
	if (!header.name || !header.value || config->n_headers == OTLP_MAX_HEADERS) {
		free(header.name);
		free(header.value);
		return bad(r, "more than %d headers", OTLP_MAX_HEADERS);
	}
	for (char *pos = header.name; *pos; pos++)
		*pos = (char)tolower((unsigned char)*pos);
	config->headers[config->n_headers++] = header;
	if (is_reserved(header.name))
		return bad(r, "header \"%s\" is set by the protocol itself", header.name);
	return 0;
}

static int add_headers(struct reader *r, const char *list, bool from_file)
{
	struct otlp_pair pair;
	int result;

	while ((result = otlp_next_pair(&list, &pair)) != 0) {
		if (result < 0)
			return bad(r, "headers must look like \"name=value,other=value\"");
		result = add_header(r, &pair, from_file);
		if (result < 0)
			return result;
	}
	return 0;
}

static int read_headers(struct reader *r)
{
	int result = add_headers(r, option_or_variable(r, "headers", "HEADERS"), false);

	return result < 0 ? result : add_headers(r, option(r, "header_files"), true);
}

/* --- the rest --- */

static int copy(char **to, const char *text)
{
	*to = strdup(text);
	return *to ? 0 : -ENOMEM;
}

/* Found out now and not when the first batch is there. */
static int check_files(const struct reader *r)
{
	const char *const paths[] = {r->config->ca_file, r->config->cert_file, r->config->key_file};

	for (size_t i = 0; i < EP_LEN(paths); i++)
		if (paths[i][0] && access(paths[i], R_OK) < 0)
			return bad(r, "%s: %s", paths[i], strerrordesc_np(errno));
	return 0;
}

static int read_tls(struct reader *r)
{
	struct otlp_config *config = r->config;
	const char *name = option(r, "server_name");

	config->insecure_skip_verify = r->host->option_bool(r->options, "insecure_skip_verify");
	if (copy(&config->ca_file, option_or_variable(r, "ca_file", "CERTIFICATE")) < 0 ||
	    copy(&config->cert_file, option_or_variable(r, "cert_file", "CLIENT_CERTIFICATE")) <
		    0 ||
	    copy(&config->key_file, option_or_variable(r, "key_file", "CLIENT_KEY")) < 0 ||
	    copy(&config->server_name, name[0] ? name : config->host) < 0)
		return -ENOMEM;
	if (config->is_tls && config->insecure_skip_verify)
		r->host->log(EP_HOST_WARN,
			     "otlp: insecure_skip_verify: anybody on the way to %s can read and "
			     "change what is sent",
			     config->authority);
	return config->is_tls ? check_files(r) : 0;
}

static const char *arch(void)
{
	static const char *const names[][2] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}};
	struct utsname uts;

	if (uname(&uts) < 0)
		return "";
	for (size_t i = 0; i < EP_LEN(names); i++)
		if (strcmp(uts.machine, names[i][0]) == 0)
			return names[i][1];
	return "";
}

/* machine-id(5): 32 hex digits. */
static int read_host_id(struct otlp_config *config)
{
	struct ep_vec bytes;
	int r = 0;

	ep_vec_init(&bytes, 1, 64);
	if (ep_read_file("/etc/machine-id", &bytes) == 0 && bytes.len >= 32) {
		((char *)bytes.data)[32] = '\0';
		r = copy(&config->host_id, bytes.data);
	} else {
		r = copy(&config->host_id, "");
	}
	ep_vec_fini(&bytes);
	return r;
}

static const char *utf8_variable(const char *name)
{
	const char *value = secure_getenv(name);

	return value && otlp_is_utf8(value, strlen(value)) ? value : "";
}

/* Variables that the host must read of each process. An old host reads none. */
static int want_variable(const struct reader *r, const char *name)
{
	int result = EP_HAS(r->host, want_environment) ? r->host->want_environment(name) : 0;

	if (result == -EINVAL)
		return bad(r, "environment: \"%.100s\" is no name of a variable", name);
	if (result < 0)
		return bad(r, "environment: \"%.100s\": %s", name, strerrordesc_np(-result));
	return 0;
}

static int want_variables(struct reader *r)
{
	const char *pos = r->config->environment;
	char name[128];
	int result = want_variable(r, "OTEL_SERVICE_NAME");

	if (result == 0)
		result = want_variable(r, "OTEL_RESOURCE_ATTRIBUTES");
	while (result == 0 && *(pos += strspn(pos, ", "))) {
		size_t len = strcspn(pos, ", ");

		if (len >= sizeof(name))
			return bad(r, "environment: \"%.100s\" is too long", pos);
		snprintf(name, sizeof(name), "%.*s", (int)len, pos);
		result = want_variable(r, name);
		pos += len;
	}
	return result;
}

static int read_resource(struct reader *r)
{
	struct otlp_config *config = r->config;
	const char *service = option(r, "service_name"),
		   *attributes = option(r, "resource_attributes");
	struct otlp_encode_options *encode = &config->encode;

	if (!service[0])
		service = utf8_variable("OTEL_SERVICE_NAME");
	if (!attributes[0])
		attributes = utf8_variable("OTEL_RESOURCE_ATTRIBUTES");
	if (copy(&config->service_name, service) < 0 ||
	    copy(&config->resource_attributes, attributes) < 0 ||
	    copy(&config->environment, option(r, "environment")) < 0 ||
	    copy(&config->host_arch, arch()) < 0 || read_host_id(config) < 0 ||
	    asprintf(&config->user_agent, "ebpf-profiler-otlp/%s", r->host->version ?: "0") < 0)
		return -ENOMEM;
	encode->version = r->host->version;
	encode->service_name = config->service_name;
	encode->resource_attributes = config->resource_attributes;
	encode->environment = config->environment;
	encode->host_id = config->host_id;
	encode->host_arch = config->host_arch;
	encode->kernel_base = otlp_kernel_base("/proc/kallsyms");
	encode->modules_path = "/proc/modules";
	encode->per_cpu = r->host->option_bool(r->options, "profile_per_cpu");
	encode->max_bytes = (size_t)r->host->option_int(r->options, "max_request_bytes");
	if (otlp_parse_frame_types(option(r, "frame_type_map"), encode) < 0)
		return bad(r,
			   "frame_type_map \"%.200s\": must look like \"rust=native\" or be "
			   "\"devfiler\"",
			   option(r, "frame_type_map"));
	if (otlp_parse_names(option(r, "resource_attribute_names"), encode) < 0)
		return bad(r,
			   "resource_attribute_names \"%.200s\": must look like "
			   "\"service.*,process.pid\", up to %d names of less than %d bytes",
			   option(r, "resource_attribute_names"), OTLP_MAX_NAMES,
			   OTLP_NAME_GLOB_BYTES);
	return 0;
}

static void read_numbers(struct reader *r)
{
	struct otlp_config *config = r->config;

	config->retry_initial_ms = option_ms(r, "retry_initial");
	config->retry_max_ms = EP_MAX(option_ms(r, "retry_max"), config->retry_initial_ms);
	config->flush_timeout_ms = option_ms(r, "flush_timeout");
	config->jitter_ms = option_ms(r, "jitter");
	config->queue_bytes = (size_t)r->host->option_int(r->options, "queue_bytes");
	config->concurrency =
		config->is_http ? 1 : (uint32_t)r->host->option_int(r->options, "concurrency");
}

int otlp_config_init(struct otlp_config *config, const struct ep_host *host,
		     const struct ep_options *options)
{
	struct reader r = {.config = config, .host = host, .options = options};
	int (*const readers[])(struct reader *) = {read_protocol, read_endpoint, read_compression,
						   read_timeout,  read_headers,	 read_tls,
						   read_resource, want_variables};
	int result = 0;

	*config = (struct otlp_config){0};
	for (size_t i = 0; i < EP_LEN(readers) && result == 0; i++)
		result = readers[i](&r);
	read_numbers(&r);
	return result;
}

void otlp_config_fini(struct otlp_config *config)
{
	char *const texts[] = {config->path,
			       config->ca_file,
			       config->cert_file,
			       config->key_file,
			       config->server_name,
			       config->service_name,
			       config->resource_attributes,
			       config->environment,
			       config->host_id,
			       config->host_arch,
			       config->user_agent};

	for (size_t i = 0; i < EP_LEN(texts); i++)
		free(texts[i]);
	for (uint32_t i = 0; i < config->n_headers; i++) {
		free(config->headers[i].name);
		free(config->headers[i].value);
	}
	*config = (struct otlp_config){0};
}
