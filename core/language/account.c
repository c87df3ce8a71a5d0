/* SPDX-License-Identifier: Apache-2.0 */
#include "core/language/account.h"

/* What was spent comes back after so many times as long: 0.05 % of a CPU, and 4 %. */
#define SHARE	     2000
#define SHARED_SHARE 25
#define OWNER_SHARE  25
#define MACHINE_SHARE 100 /* of all CPUs */

static const struct ep_rate cheap_rate = {.unit_ns = SHARE, .burst = EP_ACCOUNT_CHEAP_NS};

void ep_cost_add(struct ep_cost *cost, uint64_t spent_ns, uint64_t worth_ns)
{
	uint64_t cheap_ns = EP_MIN(spent_ns, worth_ns);

	cost->cheap_ns += cheap_ns;
	cost->expensive_ns += spent_ns - cheap_ns;
}

/* --- one account ----------------------------------------------------------------------------- */

static struct ep_rate expensive_rate(const struct ep_account *account)
{
	return (struct ep_rate){.unit_ns = SHARE,
				.burst = account->was_sampled ? EP_ACCOUNT_EXPENSIVE_NS
							      : EP_ACCOUNT_IDLE_NS};
}

static bool is_expensive(const struct ep_account *account, uint64_t now_ns)
{
	return ep_bucket_over(&account->expensive, expensive_rate(account), now_ns) > 0;
}

static bool is_cheap_exhausted(const struct ep_account *account, uint64_t now_ns)
{
	return ep_bucket_over(&account->cheap, cheap_rate, now_ns) > 0;
}

static struct ep_rate shared_rate(const struct ep_account *account)
{
	return (struct ep_rate){.unit_ns = SHARED_SHARE,
				.burst = account->was_sampled ? EP_ACCOUNT_SHARED_NS
							      : EP_ACCOUNT_SHARED_NS / 2};
}

/* --- owners ----------------------------------------------------------------------------------- */

static struct ep_rate owner_rate(const struct ep_accounts *all)
{
	uint64_t share = MACHINE_SHARE / EP_MAX(all->n_cpus, 1u);

	return (struct ep_rate){.unit_ns = EP_MIN(EP_MAX(share, 1ul), (uint64_t)OWNER_SHARE),
				.burst = EP_ACCOUNT_OWNER_NS};
}

static uint64_t owner_over_ns(const struct ep_accounts *all, uint32_t id, uint64_t now_ns)
{
	for (size_t i = 0; id && i < EP_LEN(all->owners); i++) {
		if (all->owners[i].id == id)
			return ep_bucket_over(&all->owners[i].bucket, owner_rate(all), now_ns);
	}
	return 0;
}

/* When all entries are in use, the owner that has spent least is forgotten. */
static struct ep_account_owner *owner_take(struct ep_accounts *all, uint32_t id)
{
	struct ep_account_owner *least = &all->owners[0];

	for (size_t i = 0; i < EP_LEN(all->owners); i++) {
		if (all->owners[i].id == id)
			return &all->owners[i];
		if (all->owners[i].bucket.paid_ns < least->bucket.paid_ns)
			least = &all->owners[i];
	}
	*least = (struct ep_account_owner){.id = id};
	return least;
}

/* How much of it was more than the owner has. */
static uint64_t owner_charge(struct ep_accounts *all, uint32_t id, uint64_t cost_ns,
			     uint64_t now_ns)
{
	uint64_t before_ns = owner_over_ns(all, id, now_ns);

	if (!id || cost_ns == 0)
		return 0;
	ep_bucket_charge(&owner_take(all, id)->bucket, owner_rate(all), cost_ns, now_ns);
	return owner_over_ns(all, id, now_ns) - before_ns;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* How much of it was more than was there. */
static uint64_t charge_over(struct ep_bucket *bucket, struct ep_rate rate, uint64_t cost_ns,
			    uint64_t now_ns)
{
	uint64_t before_ns = ep_bucket_over(bucket, rate, now_ns);

	ep_bucket_charge(bucket, rate, cost_ns, now_ns);
	return ep_bucket_over(bucket, rate, now_ns) - before_ns;
}

void ep_account_charge(struct ep_accounts *all, struct ep_account *account,
		       const struct ep_cost *cost, uint64_t now_ns)
{
	uint64_t cheap_ns = charge_over(&account->cheap, cheap_rate, cost->cheap_ns, now_ns);
	uint64_t expensive_ns = charge_over(&account->expensive, expensive_rate(account),
					    cost->expensive_ns, now_ns);
	uint64_t owner_ns = 0, over_ns;

	if (!all)
		return;
	all->spent_ns += cost->cheap_ns + cost->expensive_ns - cost->idle_ns;
	if (all->is_draining) {
		all->drain_ns -= EP_MIN(all->drain_ns, cheap_ns);
		cheap_ns = 0;
	} else {
		owner_ns = owner_charge(all, account->owner, cost->owner_ns, now_ns);
	}
	over_ns = EP_MAX(cheap_ns + expensive_ns, owner_ns);
	all->shared_spent_ns +=
		EP_MIN(over_ns, cost->cheap_ns + cost->expensive_ns - cost->idle_ns);
	ep_bucket_charge(&all->shared, shared_rate(account), over_ns, now_ns);
}

/* At the end there are no new programs. */
static bool is_owner_exhausted(const struct ep_accounts *all, const struct ep_account *account,
			       uint64_t now_ns)
{
	return !all->is_draining && owner_over_ns(all, account->owner, now_ns) > 0;
}

bool ep_account_is_within_budget(const struct ep_accounts *all, const struct ep_account *account,
				 uint64_t now_ns)
{
	return !is_expensive(account, now_ns) && !is_cheap_exhausted(account, now_ns) &&
	       !is_owner_exhausted(all, account, now_ns);
}

uint64_t ep_account_wait_ns(const struct ep_accounts *all, const struct ep_account *account,
			    uint64_t now_ns)
{
	if (ep_account_is_within_budget(all, account, now_ns))
		return 0;
	if (all->is_draining && !is_expensive(account, now_ns))
		return all->drain_ns > 0 ? 0 : UINT64_MAX;
	return ep_bucket_wait_ns(&all->shared, shared_rate(account), 0, now_ns);
}

uint64_t ep_account_spent_ns(const struct ep_account *account, uint64_t now_ns)
{
	return ep_bucket_taken(&account->cheap, cheap_rate, now_ns) +
	       ep_bucket_taken(&account->expensive, expensive_rate(account), now_ns);
}

void ep_accounts_drain(struct ep_accounts *all, uint64_t cpu_ns)
{
	all->is_draining = true;
	all->drain_ns = cpu_ns;
	all->shared = (struct ep_bucket){0};
}
