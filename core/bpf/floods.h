/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes write how many mapping records. One that calls mprotect in a loop writes a million a second: more
 * than a ring holds between two looks, so that records of others are lost, and more than anybody could follow. A
 * process has some 33 000 records a second. Real ones do not come near: loading a library takes a few, and 30 us at
 * least. What it writes beyond is skipped, and it is reported to flood.
 *
 * Where records are lost, who filled the ring is in it: processes with many records of one drain, or of the one
 * before it, since a loss may be reported one drain late.
 *
 * Bounded: SETS * WAYS processes. Another one takes the place of the one in its set that has used least, with what
 * that had left, so that a flood does not get away by being many.
 */
#ifndef EP_BPF_FLOODS_H
#define EP_BPF_FLOODS_H

#include "core/base/util.h"

#define EP_FLOODS_PER_SECOND 32768u
#define EP_FLOODS_BURST	     16384u
/* So many records of one process in one drain are many. */
#define EP_FLOODS_MANY 64u

#define EP_FLOODS_SETS 64
#define EP_FLOODS_WAYS 4

struct ep_flood {
	uint32_t pid;	 /* 0: nobody */
	uint32_t drain;	 /* in which the next two were counted */
	uint32_t n;	 /* records */
	uint32_t skipped; /* of them */
	uint32_t left;	 /* of its records */
	uint64_t last_ns; /* when some were given */
	bool had_many;	 /* in the drain before */
};

struct ep_floods {
	struct ep_flood flows[EP_FLOODS_SETS][EP_FLOODS_WAYS];
	struct ep_flood *last; /* of the last record */
	uint32_t drain;
	uint64_t now_ns;
	bool any_skipped;   /* since it was last reported */
	uint64_t forgotten; /* records that were skipped, and whose they were is not known any more */
};

/* A new drain. */
void ep_floods_begin(struct ep_floods *floods, uint64_t now_ns);
/* Whose next record this is. */
struct ep_flood *ep_floods_find(struct ep_floods *floods, uint32_t pid);

/* Counts one record. False: it is one too many. */
static inline bool ep_floods_take(struct ep_floods *floods, uint32_t pid, bool *ret_is_one_of_many)
{
	struct ep_flood *flow = floods->last;

	if (!flow || flow->pid != pid || flow->drain != floods->drain)
		flow = floods->last = ep_floods_find(floods, pid);
	*ret_is_one_of_many = ++flow->n > EP_FLOODS_MANY || flow->had_many;
	if (flow->left == 0) {
		flow->skipped++;
		floods->any_skipped = true;
		return false;
	}
	flow->left--;
	return true;
}

/* Those of which records of this drain were skipped, or `many`: that have many in it. Once for each flow and reason. */
void ep_floods_each(struct ep_floods *floods, bool many, void (*visit)(void *arg, uint32_t pid), void *arg);

#endif
