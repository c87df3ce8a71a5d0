/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What was found at an address before, on this CPU: stacks repeat, and the look-up of a row, a page
 * and a rule goes through seven cache lines where this goes through one.
 *
 * An entry holds for its tag: the process's rows, by their serial number, and the generation of the unwind
 * tables. User space never changes what a reference leads to while anybody may hold it; before it uses the
 * memory of freed tables for something else it makes the generation another one (core/unwind/delta_store.h).
 * Freed rows need none: they come and go with each process, and a stack of many languages in turn needs
 * what is remembered to fit into the tail calls there are.
 */
#ifndef EP_BPF_MEMO_H
#define EP_BPF_MEMO_H

#include "bpf/record.bpf.h"
#include "bpf/rule.h"

static __always_inline __u32 current_generation(void)
{
	const struct ep_control *control = get_control();

	return control ? control->generation : 0;
}

/* Generation 0 is nobody's: an entry that was never written holds for nothing. */
static __always_inline __u64 memo_tag(__u32 rows_serial)
{
	return (__u64)current_generation() << 32 | rows_serial;
}

static __always_inline struct ep_memo_set *memo_set(const struct ep_core_record *rec, __u64 addr)
{
	__u32 index = EP_MEMO_SET(rec->sample.event.cpu, addr, rec->walk.core.memo_tag);

	return bpf_map_lookup_elem(&ep_memo, &index);
}

/* What is remembered of an address; NULL: nothing. */
static __always_inline const struct ep_memo *recall(const struct ep_core_record *rec, __u64 addr)
{
	const struct ep_memo_set *set = memo_set(rec, addr);
	const struct ep_memo *memo;

	if (!set)
		return NULL;
	memo = &set->ways[0];
	if (memo->addr != addr || memo->tag != rec->walk.core.memo_tag) {
		memo = &set->ways[1];
		if (memo->addr != addr || memo->tag != rec->walk.core.memo_tag)
			return NULL;
	}
	return memo;
}

/* Only what nearly all frames are: native code under a rule that is in its delta, and the root. */
static __always_inline void remember(const struct ep_core_record *rec, __u64 addr,
				     const struct ep_place *place)
{
	struct ep_memo_set *set;

	if (place->owner || !place->executable ||
	    !(place->rule & EP_RULE_IMMEDIATE || place->rule == EP_RULE_STOP))
		return;
	set = memo_set(rec, addr);
	if (!set)
		return;
	set->ways[1] = set->ways[0];
	set->ways[0].addr = addr;
	set->ways[0].tag = rec->walk.core.memo_tag;
	set->ways[0].bias = place->word - rec->walk.pc;
	set->ways[0].executable = place->executable;
	set->ways[0].rule = place->rule;
}

#endif
