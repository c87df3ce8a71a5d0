/* SPDX-License-Identifier: Apache-2.0 */
/* The line that `record` shows on a terminal while it records, once a second. */
#ifndef EP_CLI_PROGRESS_H
#define EP_CLI_PROGRESS_H

#include "core/base/util.h"

struct ep_progress {
	uint64_t passed_ns, duration_ns; /* duration 0: until something ends it */
	uint64_t samples, complete;
	uint64_t lost, due; /* see due_samples in ebpf-profiler/batch.h */
};

#define EP_PROGRESS_BYTES 160

/*
 * "12 of 30 s, 2345 samples, 99.87 % complete, 0.00 % lost", in at most `columns` columns (0: any). Complete is
 * rounded down, and is not reported without samples. Returns buf, of EP_PROGRESS_BYTES.
 */
const char *ep_progress_format(const struct ep_progress *progress, unsigned int columns, char *buf);

#endif
