/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system-wide table of rules that do not fit into a delta: equal rules share one entry, an
 * entry lives as long as an executable refers to it. The entries are BPF memory.
 */
#ifndef EP_UNWIND_SHARED_RULES_H
#define EP_UNWIND_SHARED_RULES_H

#include "bpf/shared.h"
#include "core/base/map.h"
#include "core/base/vec.h"

struct ep_shared_rules {
	struct ep_rule *entries; /* EP_MAX_RULES of them */
	struct ep_vec refs;	 /* uint32_t: references to each entry; 0: free */
	struct ep_vec free;	 /* uint32_t: indexes of free entries below refs.len */
	struct ep_map index;	 /* hash of a rule -> its index */
};

void ep_shared_rules_init(struct ep_shared_rules *rules, struct ep_rule *entries);
void ep_shared_rules_fini(struct ep_shared_rules *rules);

/* Finds or adds a rule and refers to it. 0, -E2BIG when the table is full, -ENOMEM. */
int ep_shared_rules_ref(struct ep_shared_rules *rules, const struct ep_rule *rule,
			uint32_t *ret_index);
void ep_shared_rules_unref(struct ep_shared_rules *rules, uint32_t index);

#endif
