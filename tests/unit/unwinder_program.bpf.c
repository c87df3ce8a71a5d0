/* SPDX-License-Identifier: GPL-2.0-only */
/* An unwinder for test_unwinder_program.c: verifiers refuse more than 60 frames of it in one run. */
#include "ebpf-profiler/bpf/unwinder.h"

EP_UNWINDER();

struct own_scratch {
	__u64 sequence, runs;
};
EP_SCRATCH(struct own_scratch)

__u64 all_runs;

SEC("perf_event")
int unwind(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	struct own_scratch *s = rec ? ep_get_scratch(rec) : NULL;

	if (!s)
		return 0;
	while (ep_self.frames_per_run > 60)
		__asm__ volatile("");
	all_runs += s->runs++;
	ep_next(ctx, rec);
	return 0;
}
