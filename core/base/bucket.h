/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A token bucket in one number: until when what was taken is covered. In the past it is full, as a
 * zeroed one is. What is taken is counted in units, which are events, or nanoseconds of CPU time.
 * Times are of one clock, mostly CLOCK_MONOTONIC.
 *
 *	         now                 paid_ns                 now + burst
 *	──────────┼─────── taken ───────┼──────── left ─────────┼──────► t
 *
 * It may be overdrawn: then there is nothing left until paid_ns is within the burst again.
 */
#ifndef EP_BASE_BUCKET_H
#define EP_BASE_BUCKET_H

#include "core/base/clock.h"
#include "core/base/util.h"

#include <stdbool.h>
#include <stdint.h>

/* How a bucket fills. burst * unit_ns is below 2^63. */
struct ep_rate {
	uint64_t unit_ns; /* until one unit is back */
	uint64_t burst;	  /* units at once */
};

struct ep_bucket {
	uint64_t paid_ns;
};

static inline struct ep_rate ep_rate_per_second(uint32_t per_second, uint32_t burst)
{
	return (struct ep_rate){.unit_ns = EP_NS_PER_SEC / per_second, .burst = burst};
}

/* Until all is back. */
static inline uint64_t ep_bucket_taken_ns(const struct ep_bucket *bucket, uint64_t now_ns)
{
	return bucket->paid_ns > now_ns ? bucket->paid_ns - now_ns : 0;
}

/* Units that are not back yet. */
static inline uint64_t ep_bucket_taken(const struct ep_bucket *bucket, struct ep_rate rate, uint64_t now_ns)
{
	return ep_bucket_taken_ns(bucket, now_ns) / rate.unit_ns;
}

/* Until so many units may be taken; 0: now. Of 0 units: until it is not overdrawn. */
static inline uint64_t ep_bucket_wait_ns(const struct ep_bucket *bucket, struct ep_rate rate, uint64_t units,
					 uint64_t now_ns)
{
	uint64_t burst_ns = rate.burst * rate.unit_ns, taken_ns;

	if (__builtin_add_overflow(ep_bucket_taken_ns(bucket, now_ns), units * rate.unit_ns, &taken_ns))
		taken_ns = UINT64_MAX;
	return taken_ns > burst_ns ? taken_ns - burst_ns : 0;
}

/* By how many units it is overdrawn. */
static inline uint64_t ep_bucket_over(const struct ep_bucket *bucket, struct ep_rate rate, uint64_t now_ns)
{
	return ep_bucket_wait_ns(bucket, rate, 0, now_ns) / rate.unit_ns;
}

/* Takes units, whether they are there or not. */
static inline void ep_bucket_charge(struct ep_bucket *bucket, struct ep_rate rate, uint64_t units, uint64_t now_ns)
{
	uint64_t cost_ns;

	bucket->paid_ns = EP_MAX(bucket->paid_ns, now_ns);
	if (__builtin_mul_overflow(units, rate.unit_ns, &cost_ns) ||
	    __builtin_add_overflow(bucket->paid_ns, cost_ns, &bucket->paid_ns))
		bucket->paid_ns = UINT64_MAX;
}

/* Takes units of those that are there: it is not overdrawn by that. */
static inline void ep_bucket_drain(struct ep_bucket *bucket, struct ep_rate rate, uint64_t units, uint64_t now_ns)
{
	uint64_t taken = ep_bucket_taken(bucket, rate, now_ns);

	ep_bucket_charge(bucket, rate, EP_MIN(units, rate.burst - EP_MIN(rate.burst, taken)), now_ns);
}

/* Takes one unit. False when there is none. */
static inline bool ep_bucket_take(struct ep_bucket *bucket, struct ep_rate rate, uint64_t now_ns)
{
	if (ep_bucket_wait_ns(bucket, rate, 1, now_ns) > 0)
		return false;
	ep_bucket_charge(bucket, rate, 1, now_ns);
	return true;
}

#endif
