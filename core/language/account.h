/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program may cost for its languages: to attach to them, and to name their frames. Whoever
 * writes a program decides how long that takes, and only the program's own names may suffer.
 *
 * An account has two token buckets (core/base/bucket.h), both of CPU time of the thread that works
 * for the program. A piece of work has an expected cost: so much of it is *cheap*, what it takes
 * beyond is *expensive*. A large program has many frames that take 10 us each, so it has cheap
 * costs. One whose frames take 10 ms each has expensive ones.
 *
 *	bucket		burst		comes back in
 *	cheap		0.5 s		1000 s		(0.05 % of a CPU)
 *	expensive	20 ms		40 s		(the same)
 *
 * A program with something left in both is within its budget, and may always go on. One that is
 * over its budget is charged to a bucket that all of these share, with 4 % of a CPU and a burst of
 * 300 ms. The program that has spent least is served first (ep_account_spent_ns).
 *
 * A program that was never sampled is attached to in case that it runs some day. So it is over its
 * budget when it has spent 5 ms of expensive work, and the shared bucket has half the burst for it.
 *
 * When sampling has ended there is nothing left to protect but time. Cheap costs beyond an account
 * have an allowance then (ep_accounts_drain): a large program gets its names, one with expensive
 * work does not.
 *
 * A child has what its parent has left. But a new program begins with a full account, and who
 * starts programs in a loop would have as many of them. So the user that a program runs as, its
 * *owner*, is charged as well: for attaching, and for what names take beyond 0.1 ms a frame; 4 % of
 * a CPU, or 1 % of all CPUs where that is more, with a burst of 1 s. While that is exhausted, all
 * programs of that owner are over their budgets. A short script takes 0.5 ms. Root is not charged:
 * who is root can do more harm than that. A server that begins as root and goes on as somebody else
 * is asked again each time that it is charged.
 *
 * Loop's thread only. Times are CLOCK_MONOTONIC.
 */
#ifndef EP_LANGUAGE_ACCOUNT_H
#define EP_LANGUAGE_ACCOUNT_H

#include "core/base/bucket.h"

#include <stdbool.h>
#include <stdint.h>

#define EP_ACCOUNT_CHEAP_NS (500 * EP_NS_PER_MS)
#define EP_ACCOUNT_EXPENSIVE_NS  (20 * EP_NS_PER_MS)
#define EP_ACCOUNT_IDLE_NS (5 * EP_NS_PER_MS)
#define EP_ACCOUNT_SHARED_NS (300 * EP_NS_PER_MS)

#define EP_ACCOUNT_OWNER_NS  EP_NS_PER_SEC
#define EP_ACCOUNT_OWNERS	   64 /* that have spent something and did not get it back yet */

/* Zeroed: nothing was spent. */
struct ep_account {
	struct ep_bucket cheap, expensive; /* of CPU time */
	uint32_t owner; /* core/proc/subuids.h; 0: root, or not known yet */
	bool was_sampled; /* its program */
};

struct ep_cost {
	uint64_t cheap_ns, expensive_ns; /* CPU time */
	uint64_t idle_ns; /* of them: time that a worker was kept from others without work */
	uint64_t owner_ns; /* of them: what the owner is charged as well */
};

struct ep_account_owner {
	uint32_t id; /* 0: free */
	struct ep_bucket bucket;
};

/* What all programs share. Zeroed: full. */
struct ep_accounts {
	struct ep_bucket shared;
	bool is_draining;
	uint64_t drain_ns; /* CPU time that is left of the allowance at the end */
	uint64_t spent_ns; /* CPU time, of all programs */
	uint64_t shared_spent_ns; /* of it, charged to the shared account */
	uint32_t n_cpus; /* 0: few */
	struct ep_account_owner owners[EP_ACCOUNT_OWNERS];
};

/* Adds a piece of work that took so long and was worth so much. */
void ep_cost_add(struct ep_cost *cost, uint64_t spent_ns, uint64_t worth_ns);

/* `all` NULL: it was not done for its languages, and others were charged. */
void ep_account_charge(struct ep_accounts *all, struct ep_account *account,
		       const struct ep_cost *cost, uint64_t now_ns);
bool ep_account_is_within_budget(const struct ep_accounts *all, const struct ep_account *account,
				 uint64_t now_ns);
/*
 * 0: work for this program may begin; else after that time it may. UINT64_MAX: not in this drain.
 */
uint64_t ep_account_wait_ns(const struct ep_accounts *all, const struct ep_account *account,
			    uint64_t now_ns);
/* CPU time that has not come back yet, of both parts. */
uint64_t ep_account_spent_ns(const struct ep_account *account, uint64_t now_ns);
/*
 * From here on cheap costs beyond an account come from this much CPU time; the shared bucket is
 * full once more.
 */
void ep_accounts_drain(struct ep_accounts *all, uint64_t cpu_ns);

#endif
