/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the OTLP exporter and the environment: what they become, and what is refused. */
#include "exporters/otlp/config.h"
#include "tests/kit/test.h"
#include "tests/otlp/host.h"

static struct test_host host;

static int set_up(void **state)
{
	for (char **name = environ; name && *name;) {
		char text[128];

		if (strncmp(*name, "OTEL_", 5) != 0) {
			name++;
			continue;
		}
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(*name, "="), *name);
		unsetenv(text); /* environ has moved up */
	}
	test_host_init(&host, uv_default_loop(), true);
	return 0;
}

static int read_config(struct otlp_config *config, size_t n, const char *const *pairs)
{
	struct ep_options *options = test_options_new(otlp_option_specs, pairs, n);
	int r;

	assert_non_null(options);
	r = otlp_config_init(config, &host.host, options);
	test_options_free(options);
	return r;
}

#define CONFIG(config, ...)                                                                        \
	read_config(config, sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *),          \
		    (const char *[]){__VA_ARGS__})

EP_TEST(endpoints_are_read)
{
	static const struct {
		const char *endpoint, *protocol;
		bool is_tls;
		const char *authority, *path;
	} rows[] = {
		{"", "", false, "localhost:4317", ""},
		{"", "http/protobuf", false, "localhost:4318", "/v1development/profiles"},
		{"http://host.example.com", "", false, "host.example.com:80", ""},
		{"https://host.example.com", "", true, "host.example.com:443", ""},
		{"host.example.com", "", true, "host.example.com:4317", ""},
		{"host.example.com:99", "", true, "host.example.com:99", ""},
		{"HTTP://127.0.0.1:4317/", "", false, "127.0.0.1:4317", "/"},
		{"https://[::1]:4317", "", true, "[::1]:4317", ""},
		{"http://[::1]", "http", false, "[::1]:80", "/v1development/profiles"},
		{"http://a:1/x/y", "http", false, "a:1", "/x/y"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char endpoint[128], protocol[64];
		ep_cleanup(otlp_config_fini) struct otlp_config config;

		snprintf(endpoint, sizeof(endpoint), "endpoint=%s", rows[i].endpoint);
		snprintf(protocol, sizeof(protocol), "protocol=%s", rows[i].protocol);
		assert_int_equal(CONFIG(&config, endpoint, protocol), 0);
		assert_string_equal(config.authority, rows[i].authority);
		assert_string_equal(config.path, rows[i].path);
		assert_int_equal(config.is_tls, rows[i].is_tls);
		if (strchr(rows[i].endpoint, '['))
			assert_string_equal(config.host, "::1");
	}
}

EP_TEST(mistakes_are_said)
{
	static const struct {
		const char *pair, *says;
	} rows[] = {
		{"endpoint=ftp://a:1", "must begin with http:// or https://"},
		{"endpoint=http://", "must look like"},
		{"endpoint=http://a:0", "must look like"},
		{"endpoint=http://a:70000", "must look like"},
		{"endpoint=http://a:b", "must look like"},
		{"endpoint=http://a b", "must look like"},
		{"endpoint=http://::1:4317", "must look like"},
		{"endpoint=http://user:secret@a", "use headers"},
		{"endpoint=http://a:1/path", "gRPC has no path"},
		{"protocol=http/json", "must be grpc or http/protobuf"},
		{"compression=zstd", "must be gzip or none"},
		{"headers=novalue", "name=value"},
		{"headers=a b=c", "not a header"},
		{"headers=a=b%0Ac", "not a header"},
		{"headers=content-type=x", "set by the protocol"},
		{"headers=Grpc-Timeout=1", "set by the protocol"},
		{"frame_type_map=x", "frame_type_map"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ep_cleanup(otlp_config_fini) struct otlp_config config;

		host.log_len = 0;
		if (CONFIG(&config, rows[i].pair) != -EINVAL || !strstr(host.log, rows[i].says))
			fail_msg("%s: %s", rows[i].pair, host.log);
	}
}

EP_TEST(names_of_attributes_are_read)
{
	struct otlp_config config;
	char pair[300] = "resource_attribute_names=";

	assert_int_equal(CONFIG(&config, "resource_attribute_names=service.*, host.name"), 0);
	assert_int_equal(config.encode.n_names, 2);
	assert_string_equal(config.encode.names[0], "service.*");
	assert_string_equal(config.encode.names[1], "host.name");
	otlp_config_fini(&config);

	memset(pair + strlen(pair), 'a', OTLP_NAME_GLOB_BYTES);
	host.log_len = 0;
	assert_int_equal(CONFIG(&config, pair), -EINVAL);
	assert_non_null(strstr(host.log, "must look like \"service.*,process.pid\""));
	otlp_config_fini(&config);
}

EP_TEST(a_process_is_one_profile_unless_told)
{
	struct otlp_config config;

	assert_int_equal(CONFIG(&config, "protocol=grpc"), 0);
	assert_false(config.encode.per_cpu);
	otlp_config_fini(&config);
	assert_int_equal(CONFIG(&config, "profile_per_cpu=true"), 0);
	assert_true(config.encode.per_cpu);
	otlp_config_fini(&config);
}

EP_TEST(headers_are_read)
{
	ep_cleanup(otlp_config_fini) struct otlp_config config;

	assert_int_equal(CONFIG(&config, "headers=Authorization=Bearer%20abc, X-Id=1",
				"header_files=x-token=/run/token"),
			 0);
	assert_int_equal(config.n_headers, 3);
	assert_string_equal(config.headers[0].name, "authorization");
	assert_string_equal(config.headers[0].value, "Bearer abc");
	assert_string_equal(config.headers[1].name, "x-id");
	assert_true(config.headers[2].from_file);
}

EP_TEST(environment_fills_what_is_not_given)
{
	struct otlp_config config;

	setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://general.example.com:1/base/", 1);
	setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", 1);
	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2500", 1);
	setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", "/dev/null", 1);
	setenv("OTEL_RESOURCE_ATTRIBUTES", "team=a", 1);
	setenv("OTEL_SERVICE_NAME", "fleet", 1);
	assert_int_equal(read_config(&config, 0, NULL), 0);
	assert_true(config.is_http);
	assert_string_equal(config.authority, "general.example.com:1");
	assert_string_equal(config.path, "/base/v1development/profiles");
	assert_int_equal(config.timeout_ms, 2500);
	assert_string_equal(config.ca_file, "/dev/null");
	assert_string_equal(config.service_name, "fleet");
	assert_string_equal(config.resource_attributes, "team=a");
	otlp_config_fini(&config);

	setenv("OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", "http://own.example.com:1/as/is", 1);
	assert_int_equal(CONFIG(&config, "timeout=1s", "service_name=x"), 0);
	assert_string_equal(config.authority, "own.example.com:1");
	assert_string_equal(config.path, "/as/is");
	assert_int_equal(config.timeout_ms, 1000);
	assert_string_equal(config.service_name, "x");
	otlp_config_fini(&config);

	assert_int_equal(CONFIG(&config, "endpoint=https://given.example.com", "protocol=grpc"), 0);
	assert_string_equal(config.authority, "given.example.com:443");
	assert_false(config.is_http);
	otlp_config_fini(&config);

	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", 1);
	assert_int_equal(read_config(&config, 0, NULL), -EINVAL);
	otlp_config_fini(&config);
	set_up(state);
}

int main(void)
{
	return ep_test_run(set_up, NULL);
}
