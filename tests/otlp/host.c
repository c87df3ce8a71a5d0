/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/otlp/host.h"
#include "core/plugin/host.h"
#include "core/plugin/options.h"
#include "tests/otlp/batch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_PAIRS 64

static struct test_host *current; /* a log line comes without context */

static void keep_line(enum ep_host_level level, const char *fmt, ...)
{
	static const char *const names[] = {"ERROR", "WARN", "INFO", "DEBUG"};
	char line[1024];
	va_list args;
	int n;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (!current->quiet)
		fprintf(stderr, "%s %s\n", names[level], line);
	n = snprintf(current->log + current->log_len, sizeof(current->log) - current->log_len,
		     "%s %s\n", names[level], line);
	if (n > 0 && current->log_len + (size_t)n < sizeof(current->log))
		current->log_len += (size_t)n;
}

void test_host_init(struct test_host *host, uv_loop_t *loop, bool quiet)
{
	ep_host_init(loop, "0.0-test");
	host->host = *ep_host_get();
	host->host.log = keep_line;
	host->host.batch_ref = test_batch_ref;
	host->host.batch_unref = test_batch_unref;
	host->quiet = quiet;
	host->log_len = 0;
	host->log[0] = '\0';
	current = host;
}

static enum ep_value_type type_of(const struct ep_option_spec *specs, const char *key)
{
	for (; specs->name; specs++) {
		if (strcmp(specs->name, key) != 0)
			continue;
		if (specs->type == EP_OPTION_INT)
			return EP_VALUE_INT;
		return specs->type == EP_OPTION_BOOL ? EP_VALUE_BOOL : EP_VALUE_STRING;
	}
	return EP_VALUE_STRING;
}

struct ep_options *test_options_new(const struct ep_option_spec *specs, const char *const *pairs,
				    size_t n)
{
	struct ep_value values[MAX_PAIRS] = {0};
	char keys[MAX_PAIRS][64];
	struct ep_option_error error = {0};
	struct ep_options *options = NULL;

	for (size_t i = 0; i < n && i < MAX_PAIRS; i++) {
		const char *equals = strchr(pairs[i], '=');

		if (!equals)
			return NULL;
		snprintf(keys[i], sizeof(keys[i]), "%.*s", (int)(equals - pairs[i]), pairs[i]);
		values[i].key = keys[i];
		values[i].string = equals + 1;
		values[i].type = type_of(specs, keys[i]);
		values[i].integer = strtoll(equals + 1, NULL, 10);
		values[i].boolean = strcmp(equals + 1, "true") == 0;
	}
	if (ep_options_new("otlp", specs, NULL, values, n, &error, &options) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return NULL;
	}
	return options;
}

void test_options_free(struct ep_options *options)
{
	ep_options_free(options);
}
