/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host for the exporter under test: the real options, workers and loop; batches are those of
 * batch.h, log lines are kept.
 */
#ifndef OTLP_TEST_HOST_H
#define OTLP_TEST_HOST_H

#include "ebpf-profiler/plugin.h"

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct test_host {
	struct ep_host host;
	bool quiet;
	char log[65536]; /* all lines so far, "LEVEL text\n" */
	size_t log_len;
};

/* One at a time: log lines know no context. */
void test_host_init(struct test_host *host, uv_loop_t *loop, bool quiet);
/* Options from "key=value" texts, which must outlive them. NULL after a line on stderr. */
struct ep_options *test_options_new(const struct ep_option_spec *specs, const char *const *pairs,
				    size_t n);
void test_options_free(struct ep_options *options);

#endif
