/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/shared_rules.h"

#include <errno.h>
#include <string.h>

#include <xxhash.h>

void ep_shared_rules_init(struct ep_shared_rules *rules, struct ep_rule *entries)
{
	*rules = (struct ep_shared_rules){.entries = entries};
	ep_vec_init(&rules->refs, sizeof(uint32_t), EP_MAX_RULES);
	ep_vec_init(&rules->free, sizeof(uint32_t), EP_MAX_RULES);
	ep_map_init(&rules->index, EP_MAX_RULES);
}

void ep_shared_rules_fini(struct ep_shared_rules *rules)
{
	ep_vec_fini(&rules->refs);
	ep_vec_fini(&rules->free);
	ep_map_fini(&rules->index);
}

/* The key under which a rule is or would be: its hash, or the next number another rule left. */
static uint64_t key_of(const struct ep_shared_rules *rules, const struct ep_rule *rule,
		       const uint64_t **ret_index)
{
	uint64_t key = XXH3_64bits(rule, sizeof(*rule));
	const uint64_t *index;

	while ((index = ep_map_find(&rules->index, key)) != NULL) {
		if (memcmp(&rules->entries[*index], rule, sizeof(*rule)) == 0)
			break;
		key++;
	}
	*ret_index = index;
	return key;
}

static int new_entry(struct ep_shared_rules *rules, uint32_t *ret_index)
{
	uint32_t *refs;

	if (rules->free.len > 0) {
		*ret_index = *ep_vec_at(&rules->free, uint32_t, --rules->free.len);
		return 0;
	}
	if (rules->refs.len == EP_MAX_RULES)
		return -E2BIG;
	refs = ep_vec_push(&rules->refs);
	if (!refs)
		return -ENOMEM;
	*ret_index = (uint32_t)rules->refs.len - 1;
	return 0;
}

int ep_shared_rules_ref(struct ep_shared_rules *rules, const struct ep_rule *rule,
			uint32_t *ret_index)
{
	const uint64_t *present;
	uint64_t key = key_of(rules, rule, &present);
	uint32_t index;
	int r;

	if (present) {
		index = (uint32_t)*present;
	} else {
		r = new_entry(rules, &index);
		if (r == 0)
			r = ep_map_set(&rules->index, key, index);
		if (r < 0)
			return r;
		rules->entries[index] = *rule;
	}
	(*ep_vec_at(&rules->refs, uint32_t, index))++;
	*ret_index = index;
	return 0;
}

void ep_shared_rules_unref(struct ep_shared_rules *rules, uint32_t index)
{
	uint32_t *refs = ep_vec_at(&rules->refs, uint32_t, index);
	const uint64_t *present;
	uint64_t key;
	uint32_t *slot;

	if (--*refs > 0)
		return;
	key = key_of(rules, &rules->entries[index], &present);
	if (present)
		ep_map_remove(&rules->index, key);
	slot = ep_vec_push(&rules->free);
	if (slot)
		*slot = index;
}
