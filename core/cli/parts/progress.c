/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/progress.h"
#include "core/base/clock.h"

#include <inttypes.h>
#include <stdio.h>

/* To the nearest second: a timer of a second that is some ms early must not show the same one twice. */
static size_t add_time(const struct ep_progress *progress, char *buf)
{
	uint64_t passed = (progress->passed_ns + EP_NS_PER_SEC / 2) / EP_NS_PER_SEC;

	if (!progress->duration_ns)
		return (size_t)snprintf(buf, EP_PROGRESS_BYTES, "%" PRIu64 " s", passed);
	return (size_t)snprintf(buf, EP_PROGRESS_BYTES, "%" PRIu64 " of %.6g s", passed,
				(double)progress->duration_ns / (double)EP_NS_PER_SEC);
}

const char *ep_progress_format(const struct ep_progress *progress, unsigned int columns, char *buf)
{
	size_t len = add_time(progress, buf);
	uint64_t due = EP_MAX(progress->due, progress->samples + progress->lost);

	len += (size_t)snprintf(buf + len, EP_PROGRESS_BYTES - len, ", %" PRIu64 " sample%s", progress->samples,
				progress->samples == 1 ? "" : "s");
	if (progress->samples) {
		uint64_t complete = progress->complete * 10000 / progress->samples;

		len += (size_t)snprintf(buf + len, EP_PROGRESS_BYTES - len, ", %" PRIu64 ".%02" PRIu64 " %% complete",
					complete / 100, complete % 100);
	}
	len += (size_t)snprintf(buf + len, EP_PROGRESS_BYTES - len, ", %.2f %% lost",
				due ? 100.0 * (double)progress->lost / (double)due : 0);
	if (columns && len > columns)
		buf[columns] = '\0';
	return buf;
}
