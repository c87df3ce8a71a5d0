/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/due.h"

#include <stddef.h>

static void put_at(struct ep_due **place, struct ep_due *due)
{
	*place = due;
	due->before = place;
}

/*
 * Two heaps without siblings, either of which may be NULL, become one: the later becomes the first
 * child of the other.
 */
static struct ep_due *meld(struct ep_due *a, struct ep_due *b)
{
	if (!a || !b)
		return a ? a : b;
	if (b->at_ns < a->at_ns) {
		struct ep_due *later = a;

		a = b;
		b = later;
	}
	b->next = a->child;
	if (b->next)
		b->next->before = &b->next;
	put_at(&a->child, b);
	return a;
}

/* A list of siblings becomes one heap: in pairs from the left, and these from the right. */
static struct ep_due *meld_all(struct ep_due *list)
{
	struct ep_due *pairs = NULL, *heap = NULL;

	while (list) {
		struct ep_due *a = list, *b = a->next, *pair;

		list = b ? b->next : NULL;
		a->next = NULL;
		if (b)
			b->next = NULL;
		pair = meld(a, b);
		pair->next = pairs;
		pairs = pair;
	}
	while (pairs) {
		struct ep_due *pair = pairs;

		pairs = pair->next;
		pair->next = NULL;
		heap = meld(heap, pair);
	}
	return heap;
}

void ep_due_unset(struct ep_due_queue *queue, struct ep_due *due)
{
	struct ep_due *heap;

	if (!due->before)
		return;
	*due->before = due->next;
	if (due->next)
		due->next->before = due->before;
	heap = meld(queue->first, meld_all(due->child));
	queue->first = NULL;
	if (heap)
		put_at(&queue->first, heap);
	*due = (struct ep_due){.at_ns = UINT64_MAX};
}

void ep_due_set(struct ep_due_queue *queue, struct ep_due *due, uint64_t at_ns)
{
	ep_due_unset(queue, due);
	*due = (struct ep_due){.at_ns = at_ns};
	put_at(&queue->first, meld(queue->first, due));
}
