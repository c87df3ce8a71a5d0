/* SPDX-License-Identifier: GPL-2.0-only */
/* Gives every frame back: the walk is another file's. */
#include <ebpf-profiler/bpf/unwinder.h>

#include "hotspot_shared.h"

EP_UNWINDER();

SEC("perf_event")
int hotspot_unwind(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();

	if (!rec)
		return 0;
	if (ep_is_entered(rec))
		ep_give_back(ctx, rec);
	ep_next(ctx, rec);
	return 0;
}
