/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* How a record comes to the ring; and of a trace that was sent in this epoch its header alone. */
#ifndef EP_BPF_SEND_H
#define EP_BPF_SEND_H

#include "bpf/record.bpf.h"

/* The last eighth of the ring is for births and deaths of processes. */
#define SAMPLES_SHARE(bytes) ((bytes) - (bytes) / 8)
#define WAKE_SHARE(bytes)    ((bytes) / 4)

/* How long ago the program began; the process must be known. */
static __always_inline __u64 get_age(const struct ep_core_record *rec)
{
	return rec->born_ns ? rec->sample.event.time_ns - rec->born_ns : ~0ULL;
}

/* Is one of its languages not among these? Slot 0 is none. */
static __always_inline bool has_language_but(const struct ep_core_record *rec, __u32 these)
{
	__u32 slots = 0;

#pragma unroll
	for (__u32 i = 0; i < EP_MAX_LANGUAGES; i++)
		slots |= 1u << (rec->walk.core.slots[i] & 31);
	return slots & ~1u & ~these;
}

/* May the names of its new frames be gone in a moment? */
static __always_inline bool is_urgent(const struct ep_core_record *rec, const struct ep_control *control,
				      __u64 age_ns)
{
	if (age_ns < EP_YOUNG_NS)
		return has_language_but(rec, control->keeping);
	return age_ns < EP_PATIENT_AGE_NS || has_language_but(rec, control->patient);
}

/*
 * Sends the record. User space looks at the ring now and then by itself; it is woken when that
 * fills up, and by a new trace of a language whose names are urgent, or which asks to be looked at again.
 */
static __always_inline bool send_record(struct ep_core_record *rec, struct ep_control *control,
					__u64 bytes)
{
	__u64 used = bpf_ringbuf_query(&ep_ring, BPF_RB_AVAIL_DATA);
	__u64 flags = BPF_RB_NO_WAKEUP;
	bool is_new_name = rec->sample.event.type == EP_EVENT_TRACE && rec->walk.core.slots[0];
	__u64 age_ns = is_new_name ? get_age(rec) : 0;
	bool is_wanted = is_new_name && is_urgent(rec, control, age_ns);

	if (used > WAKE_SHARE(ep_config.ring_bytes) || is_wanted ||
	    (is_new_name && rec->sample.flags & EP_SAMPLE_REFRESH))
		flags = wake_flag(control);
	if (is_wanted && age_ns < EP_YOUNG_NS)
		control->young = 1;
	if (used <= SAMPLES_SHARE(ep_config.ring_bytes) &&
	    bpf_ringbuf_output(&ep_ring, rec, bytes, flags) == 0)
		return true;
	count(EP_COUNTER_RING_FULL);
	return false;
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

static __always_inline void count_frames(const struct ep_core_record *rec, struct ep_counts *counts)
{
	counts->n[EP_COUNTER_USER_FRAMES] += rec->sample.n_frames;
	counts->n[EP_COUNTER_STACK_READS] += rec->stack_reads;
	if (rec->pointer_frames)
		counts->n[EP_COUNTER_POINTER_FRAMES] += rec->pointer_frames;
	if (rec->read_faults)
		counts->n[EP_COUNTER_READ_FAULTS] += rec->read_faults;
}

static __always_inline __u64 take_hash(struct ep_core_record *rec)
{
	rec->sample.hash = hash_finish(rec->walk.core.hash);
	return rec->sample.hash;
}

static __always_inline void send_known(struct ep_core_record *rec, struct ep_counts *counts,
				       struct ep_control *control)
{
	rec->sample.event.type = EP_EVENT_KNOWN;
	if (send_record(rec, control, sizeof(rec->sample)))
		counts->n[EP_COUNTER_KNOWN_SENT]++;
}

/* A walk that is done, and nothing to ask of anybody. False: ep_finish is to send its frames. */
static __always_inline bool finish_known(struct ep_core_record *rec, struct ep_counts *counts)
{
	struct ep_control *control = get_control();

	if (!control || rec->sample.flags & EP_SAMPLE_RAW ||
	    !is_known(rec, take_hash(rec), control->epoch))
		return false;
	count_frames(rec, counts);
	send_known(rec, counts, control);
	return true;
}

#endif
