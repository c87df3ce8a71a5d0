/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/weight.h"
#include "core/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *ep_weight_unit(const struct ep_batch *batch)
{
	return EP_HAS(batch, weight_unit) && batch->weight_unit ? batch->weight_unit
								: "nanoseconds";
}

bool ep_weight_is_time(const struct ep_batch *batch)
{
	return strcmp(ep_weight_unit(batch), "nanoseconds") == 0;
}

const char *ep_weight_of_type(const char *sample_type)
{
	if (strcmp(sample_type, "cpu") == 0)
		return "CPU time";
	return !sample_type[0] || strcmp(sample_type, "samples") == 0 ? "time" : sample_type;
}

const char *ep_weight_text(const struct ep_batch *batch, uint64_t weight, char *buf, size_t size)
{
	double seconds = (double)weight / (double)EP_NS_PER_SEC;

	if (!ep_weight_is_time(batch))
		snprintf(buf, size, "%" PRIu64, weight);
	else if (weight >= 10 * EP_NS_PER_SEC)
		snprintf(buf, size, "%.1f s", seconds);
	else if (weight >= EP_NS_PER_SEC)
		snprintf(buf, size, "%.2f s", seconds);
	else
		snprintf(buf, size, "%.1f ms", seconds * 1000);
	return buf;
}
