/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/purse.h"

/* What was spent comes back after so many times as long: 0.05 % of a CPU, and 4 %. */
#define SHARE	     2000
#define SHARED_SHARE 25
#define OWNER_SHARE  25
#define MACHINE_SHARE 100 /* of all CPUs */

static const struct ep_rate plain_rate = {.unit_ns = SHARE, .burst = EP_PURSE_PLAIN_NS};

void ep_cost_add(struct ep_cost *cost, uint64_t spent_ns, uint64_t worth_ns)
{
	uint64_t plain_ns = EP_MIN(spent_ns, worth_ns);

	cost->plain_ns += plain_ns;
	cost->dear_ns += spent_ns - plain_ns;
}

/* --- a purse ---------------------------------------------------------------------------------- */

static struct ep_rate dear_rate(const struct ep_purse *purse)
{
	return (struct ep_rate){.unit_ns = SHARE,
				.burst = purse->was_sampled ? EP_PURSE_DEAR_NS : EP_PURSE_ASLEEP_NS};
}

static bool is_dear(const struct ep_purse *purse, uint64_t now_ns)
{
	return ep_bucket_over(&purse->dear, dear_rate(purse), now_ns) > 0;
}

static bool is_plain_spent(const struct ep_purse *purse, uint64_t now_ns)
{
	return ep_bucket_over(&purse->plain, plain_rate, now_ns) > 0;
}

static struct ep_rate shared_rate(const struct ep_purse *purse)
{
	return (struct ep_rate){.unit_ns = SHARED_SHARE,
				.burst = purse->was_sampled ? EP_PURSE_SHARED_NS : EP_PURSE_SHARED_NS / 2};
}

/* --- owners ----------------------------------------------------------------------------------- */

static struct ep_rate owner_rate(const struct ep_purses *all)
{
	uint64_t share = MACHINE_SHARE / EP_MAX(all->n_cpus, 1u);

	return (struct ep_rate){.unit_ns = EP_MIN(EP_MAX(share, 1ul), (uint64_t)OWNER_SHARE),
				.burst = EP_PURSE_OWNER_NS};
}

static uint64_t owner_over_ns(const struct ep_purses *all, uint32_t id, uint64_t now_ns)
{
	for (size_t i = 0; id && i < EP_LEN(all->owners); i++) {
		if (all->owners[i].id == id)
			return ep_bucket_over(&all->owners[i].bucket, owner_rate(all), now_ns);
	}
	return 0;
}

/* Of the others that one is forgotten that has spent least. */
static struct ep_purse_owner *owner_take(struct ep_purses *all, uint32_t id)
{
	struct ep_purse_owner *least = &all->owners[0];

	for (size_t i = 0; i < EP_LEN(all->owners); i++) {
		if (all->owners[i].id == id)
			return &all->owners[i];
		if (all->owners[i].bucket.paid_ns < least->bucket.paid_ns)
			least = &all->owners[i];
	}
	*least = (struct ep_purse_owner){.id = id};
	return least;
}

/* How much of it was more than the owner has. */
static uint64_t owner_pay(struct ep_purses *all, uint32_t id, uint64_t cost_ns, uint64_t now_ns)
{
	uint64_t before_ns = owner_over_ns(all, id, now_ns);

	if (!id || cost_ns == 0)
		return 0;
	ep_bucket_charge(&owner_take(all, id)->bucket, owner_rate(all), cost_ns, now_ns);
	return owner_over_ns(all, id, now_ns) - before_ns;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* How much of it was more than was there. */
static uint64_t charge_over(struct ep_bucket *bucket, struct ep_rate rate, uint64_t cost_ns, uint64_t now_ns)
{
	uint64_t before_ns = ep_bucket_over(bucket, rate, now_ns);

	ep_bucket_charge(bucket, rate, cost_ns, now_ns);
	return ep_bucket_over(bucket, rate, now_ns) - before_ns;
}

void ep_purse_pay(struct ep_purses *all, struct ep_purse *purse, const struct ep_cost *cost,
		  uint64_t now_ns)
{
	uint64_t plain_ns = charge_over(&purse->plain, plain_rate, cost->plain_ns, now_ns);
	uint64_t dear_ns = charge_over(&purse->dear, dear_rate(purse), cost->dear_ns, now_ns);
	uint64_t owner_ns = 0, greedy_ns;

	if (!all)
		return;
	all->spent_ns += cost->plain_ns + cost->dear_ns - cost->idle_ns;
	if (all->is_draining) {
		all->drain_ns -= EP_MIN(all->drain_ns, plain_ns);
		plain_ns = 0;
	} else {
		owner_ns = owner_pay(all, purse->owner, cost->owner_ns, now_ns);
	}
	greedy_ns = EP_MAX(plain_ns + dear_ns, owner_ns);
	all->greedy_spent_ns += EP_MIN(greedy_ns, cost->plain_ns + cost->dear_ns - cost->idle_ns);
	ep_bucket_charge(&all->greedy, shared_rate(purse), greedy_ns, now_ns);
}

/* At the end there are no new programs. */
static bool is_owner_spent(const struct ep_purses *all, const struct ep_purse *purse, uint64_t now_ns)
{
	return !all->is_draining && owner_over_ns(all, purse->owner, now_ns) > 0;
}

bool ep_purse_is_modest(const struct ep_purses *all, const struct ep_purse *purse, uint64_t now_ns)
{
	return !is_dear(purse, now_ns) && !is_plain_spent(purse, now_ns) && !is_owner_spent(all, purse, now_ns);
}

uint64_t ep_purse_wait_ns(const struct ep_purses *all, const struct ep_purse *purse, uint64_t now_ns)
{
	if (ep_purse_is_modest(all, purse, now_ns))
		return 0;
	if (all->is_draining && !is_dear(purse, now_ns))
		return all->drain_ns > 0 ? 0 : UINT64_MAX;
	return ep_bucket_wait_ns(&all->greedy, shared_rate(purse), 0, now_ns);
}

uint64_t ep_purse_spent_ns(const struct ep_purse *purse, uint64_t now_ns)
{
	return ep_bucket_taken(&purse->plain, plain_rate, now_ns) +
	       ep_bucket_taken(&purse->dear, dear_rate(purse), now_ns);
}

void ep_purses_drain(struct ep_purses *all, uint64_t cpu_ns)
{
	all->is_draining = true;
	all->drain_ns = cpu_ns;
	all->greedy = (struct ep_bucket){0};
}
