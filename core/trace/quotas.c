/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trace/quotas.h"

#include <assert.h>

void ep_quotas_init(struct ep_quotas *quotas, size_t max_programs)
{
	*quotas = (struct ep_quotas){0};
	ep_vec_init(&quotas->all, sizeof(struct ep_quota), max_programs);
}

void ep_quotas_fini(struct ep_quotas *quotas)
{
	ep_vec_fini(&quotas->all);
	ep_index_fini(&quotas->index);
}

struct ep_quota *ep_quotas_at(const struct ep_quotas *quotas, uint32_t id)
{
	assert(id > 0 && id <= quotas->all.len);
	return ep_vec_at(&quotas->all, struct ep_quota, id - 1);
}

static bool is_of(const struct ep_quotas *quotas, uint32_t id, struct ep_program program)
{
	return id && ep_program_is_same(ep_quotas_at(quotas, id)->program, program);
}

int ep_quotas_add(struct ep_quotas *quotas, struct ep_program program, uint32_t *ret_id)
{
	struct ep_quota share = {.program = program};
	uint64_t hash;
	uint32_t id = quotas->last;
	size_t pos;
	int r;

	if (is_of(quotas, id, program)) {
		*ret_id = id;
		return 0;
	}
	hash = ep_program_hash(program);
	for (id = ep_index_first(&quotas->index, hash, &pos); id && !is_of(quotas, id, program);)
		id = ep_index_next(&quotas->index, hash, &pos);
	if (!id) {
		r = ep_vec_append(&quotas->all, &share, 1);
		if (r < 0)
			return r;
		id = (uint32_t)quotas->all.len;
		r = ep_index_add(&quotas->index, hash, id);
		if (r < 0) {
			quotas->all.len--;
			return r;
		}
	}
	quotas->last = id;
	*ret_id = id;
	return 0;
}

size_t ep_quotas_bytes(const struct ep_quotas *quotas)
{
	return quotas->all.cap * sizeof(struct ep_quota) + ep_index_bytes(&quotas->index);
}
