/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line per fact on stderr: module first, identity next, fact last. The level and the counter
 * of suppressed lines are process-wide, since a log line can come from any thread.
 */
#ifndef EP_BASE_LOG_H
#define EP_BASE_LOG_H

#include "core/base/bucket.h"

#include <stdint.h>
#include <stdio.h>

enum ep_log_level {
	EP_LOG_ERROR,
	EP_LOG_WARN,
	EP_LOG_INFO,
	EP_LOG_DEBUG,
};

void ep_log_set_level(enum ep_log_level level);
enum ep_log_level ep_log_get_level(void);

/* 0 on success, -EINVAL when the name is none of error, warn, info, debug. */
int ep_log_parse_level(const char *name, enum ep_log_level *ret_level);

void ep_log_write(enum ep_log_level level, const char *fmt, ...) EP_PRINTF(2, 3);

#define ep_log(level, ...)                                                                         \
	do {                                                                                       \
		if ((level) <= ep_log_get_level())                                                 \
			ep_log_write((level), __VA_ARGS__);                                        \
	} while (0)

/* For lines that a target process can trigger. A unit of the rate is a line. */
struct ep_log_limit {
	struct ep_rate rate;
	struct ep_bucket lines;
	uint64_t suppressed; /* lines that were not written, ever */
	uint64_t reported;   /* of them, by ep_log_limit_take */
};

/* True when a line may be written now, which is then counted. */
bool ep_log_limit_ok(struct ep_log_limit *limit);
/* Lines that were not written since this was asked the last time: for the one that is. */
uint64_t ep_log_limit_take(struct ep_log_limit *limit);

/* A line of those that SIGUSR1 asks for. */
void ep_put_count(FILE *out, const char *text, uint64_t value);
void ep_put_count_of(FILE *out, const char *of, const char *text, uint64_t value); /* "of: text" */
/* Whether lines that say 0 are left out; not at first. Before there are threads. */
void ep_put_count_quietly(bool zeros_left_out);

/* "No such process" for -ESRCH and so on: strerror of a negative errno. Thread-safe, static. */
const char *ep_strerror(int r);

#endif
