/* SPDX-License-Identifier: Apache-2.0 */
/* Waits between tries: each longer than the one before, up to the longest. */
#ifndef EP_BASE_BACKOFF_H
#define EP_BASE_BACKOFF_H

#include "core/base/util.h"

#include <stdint.h>

/* In one unit of time; the longest is below 2^56. */
struct ep_backoff {
	uint64_t first, longest;
	uint32_t percent; /* of the wait before: 200 doubles it */
};

/* The wait after this one; 0: there was none. */
static inline uint64_t ep_backoff_after(struct ep_backoff backoff, uint64_t wait)
{
	return wait ? EP_MIN(wait * backoff.percent / 100, backoff.longest) : backoff.first;
}

#endif
