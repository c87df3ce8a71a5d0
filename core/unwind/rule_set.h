/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of one file that do not fit into a delta, each once. Numbers start at
 * EP_RULE_FIRST_TABLE. The last rule found is remembered: neighbours tend to be equal.
 */
#ifndef EP_UNWIND_RULE_SET_H
#define EP_UNWIND_RULE_SET_H

#include "bpf/rule.h"
#include "bpf/shared.h"
#include "core/base/map.h"
#include "core/base/vec.h"

/* As many as the BPF map holds for the whole system. */
#define EP_RULE_SET_MAX (EP_MAX_RULES - EP_RULE_FIRST_TABLE)

struct ep_rule_set {
	struct ep_vec rules;	 /* struct ep_rule */
	struct ep_map index;	 /* hash of a rule → its index */
	struct ep_rule last;
	uint32_t last_number;	 /* 0: none yet */
	uint64_t refused;	 /* rules that did not fit any more */
};

void ep_rule_set_init(struct ep_rule_set *set);
void ep_rule_set_fini(struct ep_rule_set *set);

/* The rule's number; EP_RULE_UNSUPPORTED when the set is full or memory is out. */
uint32_t ep_rule_set_add(struct ep_rule_set *set, const struct ep_rule *rule);

#endif
