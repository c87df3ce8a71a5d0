/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A language for test_native.c: where the native walk fails it knows a frame, whose registers are in
 * rax, rdx and rcx.
 */
#include "ebpf-profiler/bpf/unwinder.h"

EP_UNWINDER();

SEC("perf_event")
int unwind(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();

	if (!rec)
		return 0;
	if (ep_has_failed(rec))
		ep_resume(ctx, rec, rec->walk.regs[0], rec->walk.regs[1], rec->walk.regs[2]);
	else
		ep_next(ctx, rec);
	return 0;
}
