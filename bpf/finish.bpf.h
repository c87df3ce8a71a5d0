/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The last program of a sample: has this trace been sent in this epoch? Then its header will do. */
#ifndef EP_BPF_FINISH_H
#define EP_BPF_FINISH_H

#include "bpf/send.bpf.h"

#define COPY_WORDS (sizeof(struct ep_copy) / 8)
#define PAGE_WORDS (EP_COPY_PAGE_BYTES / 8)

/*
 * Puts what keep_walk kept and the stack behind the words. Page by page, since a read is all or
 * nothing; each of one size and aligned, so that it ends where the mapping does. The first ones may
 * not be there yet: a function that has just made room for its frame has not touched it.
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
		/* Behind many frames there is room for fewer. */
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
	__builtin_memcpy(copy, &rec->copy, sizeof(*copy));
	rec->sample.copy_bytes = sizeof(*copy) + rec->copy.bytes;
	count(EP_COUNTER_COPIES);
}

SEC("perf_event")
int ep_finish(struct bpf_perf_event_data *ctx)
{
	struct ep_core_record *rec = get_record();
	__u64 hash, bytes = sizeof(struct ep_sample);
	struct ep_control *control = get_control();
	struct ep_counts *counts = get_counts();
	bool is_fixed; /* the same frames each time it is sent */
	__u32 epoch;

	if (!rec || !control || !counts)
		return 0;
	epoch = control->epoch;
	count_frames(rec, counts);
	hash = take_hash(rec);
	if (rec->copy.pc)
		add_copy(rec);
	is_fixed = !(rec->sample.flags & EP_SAMPLE_RAW) && !rec->copy.pc;
	if (is_fixed && is_known(rec, hash, epoch)) {
		send_known(rec, counts, control);
		return 0;
	}
	rec->sample.event.type = EP_EVENT_TRACE;
	bytes += (__u64)(rec->sample.n_kernel + rec->sample.n_words) * sizeof(__u64) +
		 rec->sample.copy_bytes;
	if (bytes > sizeof(struct ep_sample) + sizeof(rec->words))
		return 0;
	if (!send_record(rec, control, bytes))
		return 0;
	counts->n[EP_COUNTER_TRACES_SENT]++;
	if (is_fixed)
		bpf_map_update_elem(&ep_known, &hash, &epoch, BPF_ANY);
	return 0;
}

#endif
