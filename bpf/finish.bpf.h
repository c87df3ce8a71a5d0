/* SPDX-License-Identifier: GPL-2.0-only */
/* The last program of a sample: has this trace been sent in this epoch? Then its header will do. */
#ifndef EP_BPF_FINISH_H
#define EP_BPF_FINISH_H

#include "bpf/record.bpf.h"

/* User space polls; it is woken only when the ring is half full, since a wake-up costs 5 us. */
static __always_inline __u64 wakeup_flag(void)
{
	__u64 used = bpf_ringbuf_query(&ep_ring, BPF_RB_AVAIL_DATA);
	__u64 size = bpf_ringbuf_query(&ep_ring, BPF_RB_RING_SIZE);

	return used > size / 2 ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

static __always_inline __u32 current_epoch(void)
{
	__u32 zero = 0;
	struct ep_control *control = bpf_map_lookup_elem(&ep_control, &zero);

	return control ? control->epoch : 0;
}

static __always_inline struct ep_recent *recent_entry(const struct ep_core_record *rec, __u64 hash)
{
	__u32 index = rec->sample.event.cpu * EP_RECENT_LEN + (__u32)(hash >> (64 - EP_RECENT_SHIFT));

	return bpf_map_lookup_elem(&ep_recent, &index);
}

static __always_inline void keep_recent(struct ep_recent *recent, __u64 hash, __u32 epoch)
{
	if (!recent)
		return;
	recent->hash = hash;
	recent->epoch = epoch;
}

static __always_inline bool is_known(const struct ep_core_record *rec, __u64 hash, __u32 epoch)
{
	struct ep_recent *recent = recent_entry(rec, hash);
	__u32 *sent;

	if (recent && recent->hash == hash && recent->epoch == epoch)
		return true;
	sent = bpf_map_lookup_elem(&ep_known, &hash);
	if (!sent || *sent != epoch)
		return false;
	keep_recent(recent, hash, epoch);
	return true;
}

static __always_inline void count_frames(struct ep_core_record *rec)
{
	count(EP_COUNTER_USER_FRAMES, rec->sample.n_frames);
	count(EP_COUNTER_STACK_READS, rec->walk.stack_reads);
	if (rec->walk.pointer_frames)
		count(EP_COUNTER_POINTER_FRAMES, rec->walk.pointer_frames);
	if (rec->walk.read_faults)
		count(EP_COUNTER_READ_FAULTS, rec->walk.read_faults);
}

SEC("perf_event")
int ep_finish(struct bpf_perf_event_data *ctx)
{
	struct ep_core_record *rec = get_record();
	__u64 hash, bytes = sizeof(struct ep_sample);
	__u32 epoch = current_epoch();

	if (!rec)
		return 0;
	count_frames(rec);
	hash = hash_finish(rec->walk.hash);
	rec->sample.hash = hash;
	if (!(rec->sample.flags & EP_SAMPLE_RAW) && is_known(rec, hash, epoch)) {
		rec->sample.event.type = EP_EVENT_KNOWN;
		if (bpf_ringbuf_output(&ep_ring, rec, bytes, wakeup_flag()))
			count(EP_COUNTER_RING_FULL, 1);
		else
			count(EP_COUNTER_KNOWN_SENT, 1);
		return 0;
	}
	rec->sample.event.type = EP_EVENT_TRACE;
	bytes += (__u64)(rec->sample.n_kernel + rec->sample.n_words) * sizeof(__u64);
	if (bytes > sizeof(struct ep_sample) + sizeof(rec->words))
		return 0;
	if (bpf_ringbuf_output(&ep_ring, rec, bytes, wakeup_flag())) {
		count(EP_COUNTER_RING_FULL, 1);
		return 0;
	}
	count(EP_COUNTER_TRACES_SENT, 1);
	if (!(rec->sample.flags & EP_SAMPLE_RAW))
		bpf_map_update_elem(&ep_known, &hash, &epoch, BPF_ANY);
	return 0;
}

#endif
