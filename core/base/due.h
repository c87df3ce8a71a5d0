/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is due when: a queue of times, the earliest first. An entry is embedded in what is due,
 * zeroed at first, so a queue takes no memory and cannot fail. Adding and moving an entry is cheap;
 * taking one out costs the logarithm of how many there are, amortised.
 *
 * A pairing heap: each entry is due no later than its children, which are a list. Times are of one
 * clock.
 */
#ifndef EP_BASE_DUE_H
#define EP_BASE_DUE_H

#include <stdbool.h>
#include <stdint.h>

struct ep_due {
	uint64_t at_ns; /* while it is in a queue; UINT64_MAX after that */
	struct ep_due *child, *next;
	/*
	 * The pointer to it: the queue's first, its parent's child, or its sibling's next. NULL: it
	 * is in no queue.
	 */
	struct ep_due **before;
};

struct ep_due_queue {
	struct ep_due *first; /* NULL: nothing is due, ever */
};

/* Puts it into the queue, or moves it there. */
void ep_due_set(struct ep_due_queue *queue, struct ep_due *due, uint64_t at_ns);
/* Nothing, if it is in no queue. */
void ep_due_unset(struct ep_due_queue *queue, struct ep_due *due);

static inline bool ep_due_is_set(const struct ep_due *due)
{
	return due->before;
}

#endif
