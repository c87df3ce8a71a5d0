/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/floods.h"
#include "core/base/clock.h"
#include "core/base/map.h"

void ep_floods_begin(struct ep_floods *floods, uint64_t now_ns)
{
	/* The drain that ends a session is one of all times. */
	floods->now_ns = now_ns == UINT64_MAX ? floods->now_ns : EP_MAX(floods->now_ns, now_ns);
	floods->drain++;
	floods->last = NULL;
}

static void refill(const struct ep_floods *floods, struct ep_flood *flow)
{
	uint64_t elapsed_ns = EP_MIN(floods->now_ns - flow->last_ns, EP_NS_PER_SEC);
	uint64_t left = flow->left + elapsed_ns * EP_FLOODS_PER_SECOND / EP_NS_PER_SEC;

	flow->left = (uint32_t)EP_MIN(left, (uint64_t)EP_FLOODS_BURST);
	flow->last_ns = floods->now_ns;
	flow->had_many = flow->n > EP_FLOODS_MANY && flow->drain + 1 == floods->drain;
	flow->drain = floods->drain;
	flow->n = flow->skipped = 0;
}

struct ep_flood *ep_floods_find(struct ep_floods *floods, uint32_t pid)
{
	struct ep_flood *flows = floods->flows[ep_mix64(pid) % EP_FLOODS_SETS], *most = &flows[0];

	for (size_t i = 0; i < EP_FLOODS_WAYS; i++) {
		struct ep_flood *flow = &flows[i];

		if (!flow->pid)
			*flow = (struct ep_flood){.pid = pid, .left = EP_FLOODS_BURST, .last_ns = floods->now_ns};
		if (flow->drain != floods->drain)
			refill(floods, flow);
		if (flow->pid == pid)
			return flow;
		if (flow->left > most->left)
			most = flow;
	}
	floods->forgotten += most->skipped;
	most->pid = pid;
	most->n = most->skipped = 0;
	most->had_many = false;
	return most;
}

void ep_floods_each(struct ep_floods *floods, bool many, void (*visit)(void *arg, uint32_t pid), void *arg)
{
	bool any = many || floods->any_skipped;

	floods->any_skipped = false;
	for (size_t i = 0; any && i < EP_FLOODS_SETS * EP_FLOODS_WAYS; i++) {
		struct ep_flood *flow = &floods->flows[i / EP_FLOODS_WAYS][i % EP_FLOODS_WAYS];

		if (!flow->pid || flow->drain != floods->drain)
			continue;
		if (flow->skipped || (many && (flow->n > EP_FLOODS_MANY || flow->had_many)))
			visit(arg, flow->pid);
		flow->skipped = 0;
	}
}
