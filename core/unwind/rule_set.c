/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/rule_set.h"

#include <string.h>

void ep_rule_set_init(struct ep_rule_set *set)
{
	*set = (struct ep_rule_set){ 0 };
	ep_vec_init(&set->rules, sizeof(struct ep_rule), EP_RULE_SET_MAX);
	ep_map_init(&set->index, EP_RULE_SET_MAX);
}

void ep_rule_set_fini(struct ep_rule_set *set)
{
	ep_vec_fini(&set->rules);
	ep_map_fini(&set->index);
}

static uint64_t hash_rule(const struct ep_rule *rule)
{
	uint64_t words[sizeof(*rule) / 8];
	uint64_t hash = 0;

	memcpy(words, rule, sizeof(words));
	for (size_t i = 0; i < EP_LEN(words); i++)
		hash = ep_mix64(hash ^ words[i]);
	return hash;
}

/* Two rules of one hash would be stored twice each time: wasteful, never wrong. */
static uint32_t find_or_push(struct ep_rule_set *set, const struct ep_rule *rule)
{
	uint64_t hash = hash_rule(rule);
	const uint64_t *found = ep_map_find(&set->index, hash);
	struct ep_rule *slot;

	if (found && memcmp(ep_vec_at(&set->rules, struct ep_rule, *found), rule, sizeof(*rule)) == 0)
		return EP_RULE_FIRST_TABLE + (uint32_t)*found;
	slot = ep_vec_push(&set->rules);
	if (!slot) {
		set->refused++;
		return EP_RULE_UNSUPPORTED;
	}
	*slot = *rule;
	(void)ep_map_set(&set->index, hash, set->rules.len - 1);
	return EP_RULE_FIRST_TABLE + (uint32_t)set->rules.len - 1;
}

uint32_t ep_rule_set_add(struct ep_rule_set *set, const struct ep_rule *rule)
{
	uint32_t number;

	if (set->last_number && memcmp(&set->last, rule, sizeof(*rule)) == 0)
		return set->last_number;
	number = find_or_push(set, rule);
	if (number == EP_RULE_UNSUPPORTED)
		return number;
	set->last = *rule;
	set->last_number = number;
	return number;
}
