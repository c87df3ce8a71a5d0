/* SPDX-License-Identifier: Apache-2.0 */
/* A token bucket: `per_second` on average, `burst` at once. */
#ifndef EP_PROCESS_BUDGET_H
#define EP_PROCESS_BUDGET_H

#include "core/base/clock.h"

#include <stdbool.h>
#include <stdint.h>

struct ep_budget {
	uint32_t per_second, burst;
	uint64_t tokens_ns; /* what was saved up, in ns of the rate */
	uint64_t last_ns;
};

static inline void ep_budget_init(struct ep_budget *budget, uint32_t per_second, uint32_t burst,
				  uint64_t now_ns)
{
	*budget = (struct ep_budget){
		.per_second = per_second,
		.burst = burst,
		.tokens_ns = burst * EP_NS_PER_SEC,
		.last_ns = now_ns,
	};
}

/* Takes one token. False when none is left. */
static inline bool ep_budget_take(struct ep_budget *budget, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - budget->last_ns, full = budget->burst * EP_NS_PER_SEC;

	/* Beyond this the bucket is full in any case; it also keeps the product in range. */
	if (elapsed_ns > 1000 * EP_NS_PER_SEC)
		elapsed_ns = 1000 * EP_NS_PER_SEC;
	budget->tokens_ns += elapsed_ns * budget->per_second;
	if (budget->tokens_ns > full)
		budget->tokens_ns = full;
	budget->last_ns = now_ns;
	if (budget->tokens_ns < EP_NS_PER_SEC)
		return false;
	budget->tokens_ns -= EP_NS_PER_SEC;
	return true;
}

/* How long until one token is there; 0: now. Of what was left when one was last taken. */
static inline uint64_t ep_budget_wait_ns(const struct ep_budget *budget, uint64_t now_ns)
{
	uint64_t missing_ns = budget->tokens_ns < EP_NS_PER_SEC ? EP_NS_PER_SEC - budget->tokens_ns : 0;
	uint64_t wait_ns = missing_ns / budget->per_second + 1, elapsed_ns = now_ns - budget->last_ns;

	return missing_ns == 0 || elapsed_ns >= wait_ns ? 0 : wait_ns - elapsed_ns;
}

/* Takes more tokens for something that turned out to be dear; the bucket may become empty. */
static inline void ep_budget_charge(struct ep_budget *budget, uint64_t tokens)
{
	uint64_t cost_ns = tokens < 1000000 ? tokens * EP_NS_PER_SEC : 1000000 * EP_NS_PER_SEC;

	budget->tokens_ns -= budget->tokens_ns < cost_ns ? budget->tokens_ns : cost_ns;
}

#endif
