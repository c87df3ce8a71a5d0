/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/work.h"

#include "core/base/clock.h"

/* How many steps are made between two looks: about a tenth of a millisecond. */
#define LOOK_STEPS 100000u

int ep_memory_budget_take(struct ep_memory_budget *budget, size_t bytes)
{
	size_t limit, used, sum;

	if (!budget)
		return 0;
	limit = atomic_load(&budget->limit);
	used = atomic_load(&budget->used);
	do {
		if (__builtin_add_overflow(used, bytes, &sum) || sum > limit) {
			atomic_fetch_add(&budget->refused, 1);
			return bytes > limit ? -E2BIG : -EAGAIN;
		}
	} while (!atomic_compare_exchange_weak(&budget->used, &used, sum));
	used = atomic_load(&budget->peak);
	while (used < sum && !atomic_compare_exchange_weak(&budget->peak, &used, sum))
		;
	return 0;
}

void ep_memory_budget_give(struct ep_memory_budget *budget, size_t bytes)
{
	size_t used = budget ? atomic_load(&budget->used) : 0;

	/* What was taken of another one, which came before it, may be more than that. */
	while (used > 0 &&
	       !atomic_compare_exchange_weak(&budget->used, &used, used - EP_MIN(used, bytes)))
		;
}

void ep_memory_budget_spend(struct ep_memory_budget *budget, size_t bytes)
{
	size_t limit;

	if (!budget)
		return;
	limit = atomic_load(&budget->limit);
	while (!atomic_compare_exchange_weak(&budget->limit, &limit, limit - EP_MIN(limit, bytes)))
		;
	ep_memory_budget_give(budget, bytes);
}

void ep_work_init(struct ep_work *work, uint64_t steps, uint64_t cpu_ns,
		  const atomic_bool *stopped, struct ep_memory_budget *memory)
{
	*work = (struct ep_work){
		.steps_left = steps,
		.end_cpu_ns = cpu_ns ? ep_clock_thread_cpu_ns() + cpu_ns : 0,
		.stopped = stopped,
		.memory = memory,
	};
}

int ep_work_look(struct ep_work *work, uint64_t steps)
{
	uint64_t slice;

	if (work->result == 0 && work->stopped && atomic_load_explicit(work->stopped, memory_order_relaxed))
		work->result = -ECANCELED;
	if (work->result == 0 && (steps - work->ready > work->steps_left ||
				  (work->end_cpu_ns && ep_clock_thread_cpu_ns() >= work->end_cpu_ns)))
		work->result = -ETIME;
	if (work->result < 0) {
		work->ready = 0;
		return work->result;
	}
	work->steps_left -= steps - work->ready;
	slice = EP_MIN(work->steps_left, (uint64_t)LOOK_STEPS);
	work->steps_left -= slice;
	work->ready = slice;
	return 0;
}
