/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be spent on a file that anybody may have made: steps, CPU time and memory. Steps are counted, so the
 * same file ends at the same place on every machine; the time is there for what was counted wrongly. Who reads the
 * file asks before each piece of work, and passes up what it is given:
 *
 *	-ETIME      the steps or the time are used up
 *	-ECANCELED  nobody wants the result any more
 *	-EAGAIN     the memory is there, but others hold it: the same may succeed when they are done
 *	-E2BIG      there will never be so much memory
 *
 * A step is about a nanosecond. Work belongs to one thread; what it points to is shared.
 */
#ifndef EP_BASE_WORK_H
#define EP_BASE_WORK_H

#include "core/base/util.h"

#include <stdatomic.h>

/* Memory that all workers together may hold for files; any thread may take and give. */
struct ep_memory_budget {
	_Atomic size_t limit;
	_Atomic size_t used, peak;
	_Atomic uint64_t refused;
};

/* 0, -EAGAIN, -E2BIG as above; NULL: always 0. */
int ep_memory_budget_take(struct ep_memory_budget *budget, size_t bytes);
void ep_memory_budget_give(struct ep_memory_budget *budget, size_t bytes); /* accepts NULL */
/* They are kept for good: there is so much less, until whoever sets the limit has seen it. Accepts NULL. */
void ep_memory_budget_spend(struct ep_memory_budget *budget, size_t bytes);

struct ep_work {
	uint64_t steps_left;
	uint64_t end_cpu_ns; /* of this thread's CPU time; 0: no limit */
	const atomic_bool *stopped; /* NULL: nobody stops it */
	struct ep_memory_budget *memory; /* NULL: as much as there is */
	uint64_t ready; /* of the steps, before the others are looked at again */
	int result;	/* once it has ended: what each call says from then on */
};

/* cpu_ns: how long this thread may be at it; 0: no limit. */
void ep_work_init(struct ep_work *work, uint64_t steps, uint64_t cpu_ns,
		  const atomic_bool *stopped, struct ep_memory_budget *memory);
/* So many more. */
static inline void ep_work_add(struct ep_work *work, uint64_t steps)
{
	if (work)
		work->steps_left += steps;
}
/* Looks at everything. Internal: ep_work_take calls it now and then. */
int ep_work_look(struct ep_work *work, uint64_t steps);

/* So many steps are about to be made. 0, -ETIME, -ECANCELED. NULL: always 0. */
static inline int ep_work_take(struct ep_work *work, uint64_t steps)
{
	if (!work)
		return 0;
	if (__builtin_expect(steps > work->ready, 0))
		return ep_work_look(work, steps);
	work->ready -= steps;
	return 0;
}

/* 0 while it goes on, else -ETIME or -ECANCELED. */
static inline int ep_work_result(const struct ep_work *work)
{
	return work ? work->result : 0;
}

/* True for what says nothing of the file at hand, but that it cannot be read to its end now. */
static inline bool ep_work_has_ended(int r)
{
	return r == -ETIME || r == -ECANCELED || r == -E2BIG || ep_is_transient(r);
}

#endif
