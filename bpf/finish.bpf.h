/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The last program of a sample: has this trace been sent in this epoch? Then its header will do. */
#ifndef EP_BPF_FINISH_H
#define EP_BPF_FINISH_H

#include "bpf/send.bpf.h"
#include "bpf/uretprobe.bpf.h"

#define COPY_WORDS (sizeof(struct ep_copy) / 8)
#define PAGE_WORDS (EP_COPY_PAGE_BYTES / 8)
#define OTHER_WORDS (EP_COPY_OTHER_BYTES / 8)

/* Frame pointers that are followed to another stack. */
#define MAX_LINKS 24

/* Tail calls of a walk that is over before the next tick is due. */
#define SHORT_WALK 3

/*
 * Where frame pointers lead to from the stack that is copied; 0: they do not leave it. The first may
 * be elsewhere already: the leaf has none of its own, and its caller came from another stack
 * ("From one stack to another" in docs/stack-deltas.md). It may as well be any number, which leads
 * to a piece of memory that no rule looks at, or to none.
 */
static __always_inline __u64 find_other_stack(const struct ep_copy *copy)
{
	__u64 base = copy->regs[EP_REG_SP] & ~(__u64)(EP_COPY_PAGE_BYTES - 1);
	__u64 fp = copy->regs[EP_REG_FP], link[2];

	if (!(copy->known_regs & 1u << EP_REG_FP))
		return 0;
	/* 24 rounds of about 20 instructions. */
	for (__u32 i = 0; i < MAX_LINKS; i++) {
		if (fp - base >= EP_COPY_PAGES * EP_COPY_PAGE_BYTES)
			return fp;
		if (bpf_probe_read_user(link, sizeof(link), (void *)fp) || !link[1])
			return 0;
		fp = link[0];
	}
	return 0;
}

/* After what was copied of the first one, which ends at word `to`. */
static __always_inline void add_other_stack(struct ep_core_record *rec, __u64 to)
{
	__u64 addr = find_other_stack(&rec->copy) & ~(__u64)(EP_COPY_OTHER_ALIGN - 1);

	rec->copy.other_addr = 0;
	rec->copy.other_bytes = 0;
	EP_OPAQUE(to);
	if (!addr || to > EP_RECORD_WORDS - OTHER_WORDS ||
	    bpf_probe_read_user(rec->words + to, EP_COPY_OTHER_BYTES, (void *)addr))
		return;
	rec->copy.other_addr = addr;
	rec->copy.other_bytes = EP_COPY_OTHER_BYTES;
}

/*
 * Puts what keep_walk kept and the stack after the words. Page by page, since a read is all or
 * nothing; each of one size and aligned, so that it ends where the mapping does. The first ones may
 * not be there yet: a function that has just made space for its frame has not touched it.
 */
static __always_inline void add_copy(struct ep_core_record *rec)
{
	__u32 at = (__u32)rec->sample.n_kernel + rec->sample.n_words, pages = 0;
	struct ep_copy *copy;

	if (at > EP_RECORD_WORDS - COPY_WORDS - PAGE_WORDS)
		return;
	copy = (struct ep_copy *)(rec->words + at);
	rec->copy.addr = rec->copy.regs[EP_REG_SP] & ~(__u64)(EP_COPY_PAGE_BYTES - 1);
#pragma unroll
	for (__u32 i = 0; i < EP_COPY_PAGES; i++) {
		__u64 page = rec->copy.addr + (__u64)pages * EP_COPY_PAGE_BYTES;
		__u64 to = at + COPY_WORDS + pages * PAGE_WORDS;

		EP_OPAQUE(to); /* what is compared is what the address is made of */
		/* After many frames there is space for fewer. */
		if (to > EP_RECORD_WORDS - PAGE_WORDS)
			break;
		if (bpf_probe_read_user(rec->words + to, EP_COPY_PAGE_BYTES, (void *)page) == 0)
			pages++;
		else if (pages == 0)
			rec->copy.addr += EP_COPY_PAGE_BYTES;
		else
			break;
	}
	rec->copy.bytes = pages * EP_COPY_PAGE_BYTES;
	restore_returns(rec, at + COPY_WORDS, rec->copy.addr, (__u64)pages * PAGE_WORDS);
	add_other_stack(rec, at + COPY_WORDS + pages * PAGE_WORDS);
	__builtin_memcpy(copy, &rec->copy, sizeof(*copy));
	rec->sample.copy_bytes = sizeof(*copy) + rec->copy.bytes + rec->copy.other_bytes;
	count(EP_COUNTER_COPIES);
}

/*
 * A new trace of a recently started program, or of code that lives for a moment: each of its
 * languages sends what names are made of (ebpf-profiler/bpf/keeper.h) and comes back here, so that
 * it is on the ring before the frames are. Two tail calls are left of the kernel's for that.
 */
static __always_inline void ask_keepers(void *ctx, struct ep_core_record *rec)
{
#pragma unroll
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++) {
		if (rec->keepers > i)
			continue;
		rec->keepers = i + 1;
		if (rec->walk.core.slots[i] && rec->walk.core.tail_calls < EP_MAX_TAIL_CALLS)
			ep_go_to(ctx, &rec->record, EP_SLOT_FIRST_KEEPER + rec->walk.core.slots[i]);
	}
}

/* The first time that ep_finish runs for a sample. */
static __always_inline __u64 begin_finish(struct ep_core_record *rec, struct ep_counts *counts)
{
	count_frames(rec, counts);
	if (rec->copy.pc)
		add_copy(rec);
	return take_hash(rec);
}

static __always_inline void send_trace(void *ctx, struct ep_core_record *rec, struct ep_counts *counts,
				       struct ep_control *control)
{
	__u64 hash, bytes = sizeof(struct ep_sample);
	__u32 epoch = control->epoch;
	bool is_fixed; /* the same frames each time it is sent */

	hash = rec->keepers ? rec->sample.hash : begin_finish(rec, counts);
	is_fixed = !(rec->sample.flags & EP_SAMPLE_RAW) && !rec->copy.pc;
	if (is_fixed && !rec->keepers && is_known(rec, hash, epoch)) {
		send_known(rec, counts, control);
		return;
	}
	if (rec->walk.core.slots[0] &&
	    (rec->keepers || rec->sample.flags & (EP_SAMPLE_YOUNG | EP_SAMPLE_KEEP)))
		ask_keepers(ctx, rec);
	rec->sample.event.type = EP_EVENT_TRACE;
	bytes += (__u64)(rec->sample.n_kernel + rec->sample.n_words) * sizeof(__u64) +
		 rec->sample.copy_bytes;
	if (bytes > sizeof(struct ep_sample) + sizeof(rec->words))
		return;
	if (!send_record(rec, control, bytes))
		return;
	counts->n[EP_COUNTER_TRACES_SENT]++;
	if (is_fixed)
		bpf_map_update_elem(&ep_known, &hash, &epoch, BPF_ANY);
}

/*
 * The kernel arms the timer again after this sample: ticks that are over by then never come
 * (perf_swevent_hrtimer calls hrtimer_forward_now, linux/kernel/events/core.c). They are this process's: its
 * stack took so long. User space knows how many ticks are missing, but not whose they are. After few
 * tail calls the clock is not read: no period is that short (core/bpf/period.h).
 */
static __always_inline void count_overrun(struct bpf_perf_event_data *ctx, const struct ep_core_record *rec,
					  struct ep_counts *counts)
{
	__u64 period_ns = ctx->sample_period, took_ns;

	if (rec->walk.core.tail_calls <= SHORT_WALK || !period_ns)
		return;
	took_ns = bpf_ktime_get_ns() - rec->sample.event.time_ns;
	if (took_ns >= period_ns)
		counts->n[EP_COUNTER_OVERRUN] += took_ns / period_ns;
}

SEC("perf_event")
int ep_finish(struct bpf_perf_event_data *ctx)
{
	struct ep_core_record *rec = get_record();
	struct ep_control *control = get_control();
	struct ep_counts *counts = get_counts();

	if (!rec || !control || !counts)
		return 0;
	send_trace(ctx, rec, counts, control);
	count_overrun(ctx, rec, counts);
	return 0;
}

#endif
