/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "core/base/clock.h"
#include "core/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define LOG_LINE_BYTES 2048

/* Process-wide: every thread logs, and no caller could pass a logger through libelf's callbacks. */
static _Atomic int log_level = EP_LOG_INFO;

static const char *const level_names[] = {
	[EP_LOG_ERROR] = "error",
	[EP_LOG_WARN] = "warn",
	[EP_LOG_INFO] = "info",
	[EP_LOG_DEBUG] = "debug",
};

void ep_log_set_level(enum ep_log_level level)
{
	atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

enum ep_log_level ep_log_get_level(void)
{
	return (enum ep_log_level)atomic_load_explicit(&log_level, memory_order_relaxed);
}

int ep_log_parse_level(const char *name, enum ep_log_level *ret_level)
{
	for (size_t i = 0; i < EP_LEN(level_names); i++) {
		if (strcmp(name, level_names[i]) == 0) {
			*ret_level = (enum ep_log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

void ep_log_write(enum ep_log_level level, const char *fmt, ...)
{
	char line[LOG_LINE_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	/* A target chooses its own comm and paths: what drives a terminal must not reach the operator. */
	ep_utf8_clean(line, strlen(line), line);
	fprintf(stderr, "%s: %s\n", level_names[level], line);
}

bool ep_log_limit_ok(struct ep_log_limit *limit)
{
	bool ok = ep_bucket_take(&limit->lines, limit->rate, ep_clock_mono_ns());

	limit->suppressed += !ok;
	return ok;
}

uint64_t ep_log_limit_take(struct ep_log_limit *limit)
{
	uint64_t n = limit->suppressed - limit->reported;

	limit->reported = limit->suppressed;
	return n;
}

/* Process-wide, as the level is: set by the command line. */
static bool leave_zeros_out;

void ep_put_count_quietly(bool zeros_left_out)
{
	leave_zeros_out = zeros_left_out;
}

static void put_count(FILE *out, const char *of, const char *separator, const char *text, uint64_t value)
{
	if (value || !leave_zeros_out)
		fprintf(out, "%12" PRIu64 "  %s%s%s\n", value, of, separator, text);
}

void ep_put_count(FILE *out, const char *text, uint64_t value)
{
	put_count(out, "", "", text, value);
}

void ep_put_count_of(FILE *out, const char *of, const char *text, uint64_t value)
{
	put_count(out, of, ": ", text, value);
}

const char *ep_strerror(int r)
{
	const char *text = strerrordesc_np(r < 0 ? -r : r);

	return text ? text : "unknown error";
}
