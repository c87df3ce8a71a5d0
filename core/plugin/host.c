/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/host.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/plugin/job.h"
#include "core/plugin/options.h"
#include "core/profile/batch.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#define MAX_LINE 1024

/* One for the process: the services of the ABI take no context, like malloc or a log. */
static struct ep_host host;

_Static_assert((int)EP_HOST_ERROR == EP_LOG_ERROR && (int)EP_HOST_DEBUG == EP_LOG_DEBUG,
	       "levels of plugins are the log's");

static void host_log(enum ep_host_level level, const char *fmt, ...)
{
	char line[MAX_LINE];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	ep_log(level > EP_HOST_DEBUG ? EP_LOG_ERROR : (enum ep_log_level)level, "%s", line);
}

/* --- of languages --- */

#define MAX_SENTENCES 64 /* the last one is shared by those that come after */
#define INTERVAL_NS   (60 * EP_NS_PER_SEC)

static struct ep_host languages_host;

/* Process-wide as the log is: by what is written, which is a constant of a plugin's. */
static struct sentence {
	const char *fmt;
	struct ep_log_limit limit;
	char last[MAX_LINE]; /* of those that were left out */
} sentences[MAX_SENTENCES];
static pthread_mutex_t sentences_lock = PTHREAD_MUTEX_INITIALIZER;

static void write_with_count(enum ep_host_level level, const char *line, uint64_t left_out)
{
	if (left_out)
		host_log(level, "%s (and %" PRIu64 " more like this since the last line)", line, left_out);
	else
		host_log(level, "%s", line);
}

static bool may_write(const char *fmt, const char *line, uint64_t *ret_left_out)
{
	struct sentence *sentence = sentences;
	bool may;

	pthread_mutex_lock(&sentences_lock);
	while (sentence->fmt && sentence->fmt != fmt && sentence < &sentences[MAX_SENTENCES - 1])
		sentence++;
	if (!sentence->fmt)
		*sentence = (struct sentence){.fmt = fmt, .limit = {.rate = {.unit_ns = INTERVAL_NS, .burst = 1}}};
	may = ep_log_limit_ok(&sentence->limit);
	*ret_left_out = may ? ep_log_limit_take(&sentence->limit) : 0;
	if (!may)
		snprintf(sentence->last, sizeof(sentence->last), "%s", line);
	pthread_mutex_unlock(&sentences_lock);
	return may;
}

static void languages_log(enum ep_host_level level, const char *fmt, ...)
{
	char line[MAX_LINE];
	uint64_t left_out = 0;
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (level == EP_HOST_WARN && !may_write(fmt, line, &left_out))
		return;
	write_with_count(level, line, left_out);
}

/* The last of those that were left out is this interval's line, and stands for the others. */
static bool take_left_out(struct sentence *sentence, uint64_t now_ns, char line[MAX_LINE], uint64_t *ret_others)
{
	struct ep_log_limit *limit = &sentence->limit;
	uint64_t n = 0;

	pthread_mutex_lock(&sentences_lock);
	if (limit->suppressed > limit->reported && ep_bucket_take(&limit->lines, limit->rate, now_ns)) {
		n = ep_log_limit_take(limit);
		memcpy(line, sentence->last, MAX_LINE);
		*ret_others = n - 1;
	}
	pthread_mutex_unlock(&sentences_lock);
	return n > 0;
}

void ep_host_tell_left_out(uint64_t now_ns)
{
	char line[MAX_LINE];
	uint64_t others;

	for (size_t i = 0; i < MAX_SENTENCES; i++) {
		if (take_left_out(&sentences[i], now_ns, line, &others))
			write_with_count(EP_HOST_WARN, line, others);
	}
}

static int host_run(void (*run)(void *arg), void (*after)(void *arg), void *arg)
{
	return ep_job_run(host.loop, run, after, arg);
}

#define MAX_VARIABLES	   64
#define MAX_VARIABLE_BYTES 256

/* Asked for by any exporter, read for all: written while they are opened, then constant. */
static const char *variables[MAX_VARIABLES];
static size_t n_variables;

static int host_want_environment(const char *name)
{
	size_t len = name ? strnlen(name, MAX_VARIABLE_BYTES) : 0;

	if (len == 0 || len == MAX_VARIABLE_BYTES || strchr(name, '='))
		return -EINVAL;
	for (size_t i = 0; i < n_variables; i++) {
		if (strcmp(variables[i], name) == 0)
			return 0;
	}
	if (n_variables == MAX_VARIABLES)
		return -E2BIG;
	variables[n_variables] = strdup(name);
	if (!variables[n_variables])
		return -ENOMEM;
	n_variables++;
	return 0;
}

size_t ep_host_environment(const char *const **ret_names)
{
	*ret_names = variables;
	return n_variables;
}

void ep_host_init(struct uv_loop_s *loop, const char *version)
{
	host = (struct ep_host){
		.size = sizeof(host),
		.abi_minor = EP_ABI_MINOR,
		.version = version,
		.log = host_log,
		.option_string = ep_options_string,
		.option_int = ep_options_int,
		.option_bool = ep_options_bool,
		.batch_ref = ep_batch_ref,
		.batch_unref = ep_batch_unref,
		.run = host_run,
		.loop = loop,
		.want_environment = host_want_environment,
	};
	languages_host = host;
	languages_host.log = languages_log;
}

const struct ep_host *ep_host_get_for_languages(void)
{
	return &languages_host;
}

const struct ep_host *ep_host_get(void)
{
	return &host;
}
