/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program may cost for its languages: to attach to them, and to name their frames. Whoever
 * writes a program decides how long that takes, and only the program's own names may suffer.
 *
 * A purse has two parts, both in CPU time of the thread that works for the program. What a piece of
 * work is worth is *plain*; what it takes beyond that is *dear*. A large program has many frames that
 * take 10 us each, so it has plain costs. One whose frames take 10 ms each has dear ones.
 *
 *	part	at once		comes back in
 *	plain	0.5 s		1000 s		(0.05 % of a CPU)
 *	dear	20 ms		40 s		(the same)
 *
 * A program with something left of both is *modest*, and may always go on. One that has spent more is
 * *greedy*: what it spends from then on is paid from one purse that all greedy programs share, with
 * 4 % of a CPU and 300 ms at once. Of those that wait for it, the one goes first that has spent least
 * (ep_purse_spent_ns).
 *
 * A program that was never sampled is attached to in case that it runs some day. So it is greedy when it
 * has spent 5 ms of its dear part, and what all share is to it half as much.
 *
 * Where there is nothing left to protect but time, since sampling has ended, plain costs have an
 * allowance of their own (ep_purses_drain): a large program gets its names, a greedy one does not.
 *
 * A child has what its parent has left. But a new program begins with a full purse, and who starts programs in a loop
 * would have as many of them. So the user that a program runs as, its *owner*, pays for attaching as well, and for what
 * names take beyond 0.1 ms a frame: 4 % of a CPU, or 1 % of all CPUs where that is more, and 1 s at once. While that is
 * spent, all programs of that owner are greedy. 0.5 ms is what a short script takes. Root needs no purse: who is root
 * can do more harm than that. A server that begins as root and goes on as somebody else is asked again each time that
 * it pays.
 *
 * Loop's thread only. Times are CLOCK_MONOTONIC.
 */
#ifndef EP_PROCESS_PURSE_H
#define EP_PROCESS_PURSE_H

#include "core/base/bucket.h"

#include <stdbool.h>
#include <stdint.h>

#define EP_PURSE_PLAIN_NS (500 * EP_NS_PER_MS)
#define EP_PURSE_DEAR_NS  (20 * EP_NS_PER_MS)
#define EP_PURSE_ASLEEP_NS (5 * EP_NS_PER_MS)
#define EP_PURSE_SHARED_NS (300 * EP_NS_PER_MS)

#define EP_PURSE_OWNER_NS  EP_NS_PER_SEC
#define EP_PURSE_OWNERS	   64 /* that have spent something and did not get it back yet */

/* Zeroed: nothing was spent. */
struct ep_purse {
	struct ep_bucket plain, dear; /* of CPU time */
	uint32_t owner; /* core/proc/subuids.h; 0: root, or not known yet */
	bool was_sampled; /* its program */
};

struct ep_cost {
	uint64_t plain_ns, dear_ns; /* CPU time */
	uint64_t idle_ns; /* of them: time that a worker was kept from others without work */
	uint64_t owner_ns; /* of them: what the owner pays as well */
};

struct ep_purse_owner {
	uint32_t id; /* 0: free */
	struct ep_bucket bucket;
};

/* What all programs share. Zeroed: full. */
struct ep_purses {
	struct ep_bucket greedy;
	bool is_draining;
	uint64_t drain_ns; /* CPU time that is left of the allowance at the end */
	uint64_t spent_ns; /* CPU time, of all programs */
	uint64_t greedy_spent_ns; /* of it, paid from the shared purse */
	uint32_t n_cpus; /* 0: few */
	struct ep_purse_owner owners[EP_PURSE_OWNERS];
};

/* Adds a piece of work that took so long and was worth so much. */
void ep_cost_add(struct ep_cost *cost, uint64_t spent_ns, uint64_t worth_ns);

/* `all` NULL: it was not done for its languages, and others have paid. */
void ep_purse_pay(struct ep_purses *all, struct ep_purse *purse, const struct ep_cost *cost,
		  uint64_t now_ns);
bool ep_purse_is_modest(const struct ep_purses *all, const struct ep_purse *purse, uint64_t now_ns);
/* 0: work for this program may begin; else after that time it may. UINT64_MAX: not in this drain. */
uint64_t ep_purse_wait_ns(const struct ep_purses *all, const struct ep_purse *purse, uint64_t now_ns);
/* CPU time that has not come back yet, of both parts. */
uint64_t ep_purse_spent_ns(const struct ep_purse *purse, uint64_t now_ns);
/* From here on plain costs beyond a purse are paid from this much CPU time; the shared purse is full once more. */
void ep_purses_drain(struct ep_purses *all, uint64_t cpu_ns);

#endif
