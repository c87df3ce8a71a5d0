/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A language's second program, its snapshot program (ep_unwinder_ops.keeper). Names are read from a
 * process's memory some time after the sample, and a short program takes that memory with it. So
 * when a new trace of a program in the first second since its fork or exec is about to be sent, the
 * snapshot programs of its languages send what the names of its frames are made of: pieces of
 * memory, read right then. Where symbolize finds the process or the code gone it is called again,
 * and reads the pieces as if they were the process. Known traces, and programs that are older, cost
 * nothing.
 *
 *	#include "ebpf-profiler/bpf/keeper.h"
 *	EP_KEEPER();
 *
 *	SEC("perf_event")
 *	int toy_keep(struct bpf_perf_event_data *ctx)
 *	{
 *		struct ep_record *rec = ep_get_record();
 *		struct ep_keep *keep = rec ? ep_keep_begin(rec) : NULL;
 *		const struct toy_state *state = rec ? ep_get_state(rec) : NULL;
 *
 *		for (__u64 i = 0; rec && keep && state && i < 48; i++) {
 *			const __u64 *frame = ep_keep_next(rec, keep);
 *
 *			if (!frame)
 *				break;
 *			if (ep_keep_is_mine(frame) && ep_keep_is_new(rec, keep, frame[1], EP_FRAME_AUX(frame[0])))
 *				ep_keep_memory(keep, frame[1], 64);
 *		}
 *		if (rec && keep)
 *			ep_keep_send(rec, keep);
 *		ep_keep_end(ctx, rec);
 *		return 0;
 *	}
 *
 * It must come to ep_keep_end, or the sample is lost. What is kept for one frame is what symbolize
 * needs to name it, whole, and at most EP_KEEP_ITEM_BYTES with 16 bytes for each piece.
 */
#ifndef EP_BPF_KEEPER_H
#define EP_BPF_KEEPER_H

#include "ebpf-profiler/bpf/internal/keep.h"
#include "ebpf-profiler/bpf/unwinder.h"

/* The descriptor's snapshot program object begins as its unwinder does. */
#define EP_KEEPER() EP_UNWINDER()

#define EP_KEEP_ITEM_BYTES 2560
#define EP_KEEP_MAX_SENT   2 /* events of one sample, before its last */
#define EP_KEEP_SEEN_SHIFT 13

/* Of one CPU, while the snapshot program runs. */
struct ep_keep {
	struct ep_kept kept;
	__u8 bytes[EP_KEPT_BYTES + 4 * EP_KEPT_PIECE_BYTES];
	__u32 at, end; /* the next frame and the end of all: words of the record's */
	__u32 n_sent, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ep_keep);
} ep_keeps SEC(".maps");

/* What was kept before, by a hash; another may take its place, and then it is kept once more. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << EP_KEEP_SEEN_SHIFT);
	__type(key, __u32);
	__type(value, __u64);
} ep_keep_seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* the core's is put in its place */
} ep_ring SEC(".maps");

/* What was added since the last time. */
static __always_inline void ep_keep_send(const struct ep_record *rec, struct ep_keep *keep)
{
	__u64 bytes = keep->kept.bytes;

	EP_OPAQUE(bytes);
	if (bytes == 0 || bytes > EP_KEPT_BYTES)
		return;
	keep->kept.event.type = EP_EVENT_KEPT;
	keep->kept.event.cpu = rec->sample.event.cpu;
	keep->kept.event.time_ns = rec->sample.event.time_ns;
	keep->kept.start_ns = rec->sample.start_ns;
	keep->kept.pid = rec->sample.pid;
	keep->kept.image = rec->sample.image;
	keep->kept.slot = ep_self.slot;
	bpf_ringbuf_output(&ep_ring, keep, sizeof(keep->kept) + bytes, BPF_RB_NO_WAKEUP);
	keep->kept.bytes = 0;
	keep->n_sent++;
}

/*
 * The next frame of the sample, its header and its words, leaf first; NULL: there is none. For a
 * loop that lists frames, and adds nothing.
 */
static __always_inline const __u64 *ep_keep_list(const struct ep_record *rec, struct ep_keep *keep)
{
	__u64 at = keep->at;

	EP_OPAQUE(at);
	if (at >= keep->end || at > EP_RECORD_WORDS - 1 - EP_FRAME_MAX_WORDS)
		return NULL;
	keep->at = (__u32)at + 1 + EP_FRAME_WORDS(rec->words[at]);
	return rec->words + at;
}

/*
 * The same; what has been added is sent when there is no space for as much again, a few times in a
 * sample.
 */
static __always_inline const __u64 *ep_keep_next(const struct ep_record *rec, struct ep_keep *keep)
{
	if (keep->kept.bytes > EP_KEPT_BYTES - 2 * EP_KEEP_ITEM_BYTES && keep->n_sent < EP_KEEP_MAX_SENT)
		ep_keep_send(rec, keep);
	return ep_keep_list(rec, keep);
}

static __always_inline bool ep_keep_is_mine(const __u64 *frame)
{
	return EP_FRAME_KIND(frame[0]) == ep_self.kind;
}

/*
 * From the first frame of this language on. NULL: the ring is a quarter full, and space in it is
 * for samples.
 */
static __always_inline struct ep_keep *ep_keep_begin(const struct ep_record *rec)
{
	__u32 zero = 0;
	struct ep_keep *keep = bpf_map_lookup_elem(&ep_keeps, &zero);

	if (!keep || bpf_ringbuf_query(&ep_ring, BPF_RB_AVAIL_DATA) >
			     bpf_ringbuf_query(&ep_ring, BPF_RB_RING_SIZE) / 4)
		return NULL;
	keep->kept.bytes = 0;
	keep->n_sent = 0;
	keep->at = rec->sample.n_kernel;
	keep->end = keep->at + rec->sample.n_words;
	/* Nearly always the native frames come first. 256 rounds of about 20 instructions. */
	for (__u64 i = 0; i < 256; i++) {
		__u64 at = keep->at;

		EP_OPAQUE(at);
		if (at >= keep->end || at > EP_RECORD_WORDS - 1 ||
		    EP_FRAME_KIND(rec->words[at]) == ep_self.kind)
			break;
		keep->at = (__u32)at + 1 + EP_FRAME_WORDS(rec->words[at]);
	}
	return keep;
}

/*
 * True when what these two numbers tell from all else in this program was not kept yet, and there
 * is space for it: it is to be kept now.
 */
static __always_inline bool ep_keep_is_new(const struct ep_record *rec, const struct ep_keep *keep,
					   __u64 key0, __u64 key1)
{
	__u64 hash = ep_hash_word(rec->sample.start_ns, (__u64)rec->sample.pid << 32 | rec->sample.image);
	__u32 index;
	__u64 *seen;

	hash = ep_hash_word(ep_hash_word(hash, key0), key1);
	index = (__u32)(hash >> (64 - EP_KEEP_SEEN_SHIFT));
	seen = bpf_map_lookup_elem(&ep_keep_seen, &index);
	if (!seen || *seen == hash || keep->kept.bytes > EP_KEPT_BYTES - EP_KEEP_ITEM_BYTES)
		return false;
	*seen = hash;
	return true;
}

/*
 * Adds memory of the process: [addr, addr + bytes), up to EP_KEPT_PIECE_BYTES. NULL, and nothing is
 * added: it cannot be read. Else where the bytes are, until the next call.
 */
static __always_inline const __u8 *ep_keep_memory(struct ep_keep *keep, __u64 addr, __u64 bytes)
{
	__u64 at = keep->kept.bytes, size = bytes;
	struct ep_kept_piece *piece;

	EP_OPAQUE(at);
	if (at > EP_KEPT_BYTES - sizeof(*piece) - EP_KEPT_PIECE_BYTES || bytes == 0 ||
	    bytes > EP_KEPT_PIECE_BYTES)
		return NULL;
	/*
	 * For 5.10, which forgets what was compared when it is spilled; there is space for that
	 * much.
	 */
	EP_OPAQUE(size);
	size &= 2 * EP_KEPT_PIECE_BYTES - 1;
	EP_OPAQUE(at);
	piece = (struct ep_kept_piece *)(keep->bytes + (at & (EP_KEPT_BYTES - 1)));
	if (bpf_probe_read_user(piece + 1, size, (void *)addr))
		return NULL;
	piece->addr = addr;
	piece->bytes = (__u32)bytes;
	piece->pad = 0;
	keep->kept.bytes = (__u32)at + sizeof(*piece) + (((__u32)bytes + 7) & ~7u);
	return (const __u8 *)(piece + 1);
}

/* More of the piece that was added last, from where it begins; the same results. */
static __always_inline const __u8 *ep_keep_longer(struct ep_keep *keep, __u64 addr, __u64 was, __u64 bytes)
{
	keep->kept.bytes -= sizeof(struct ep_kept_piece) + (((__u32)was + 7) & ~7u);
	return ep_keep_memory(keep, addr, bytes);
}

/* Back to the sample. Last statement. */
static __always_inline void ep_keep_end(void *ctx, struct ep_record *rec)
{
	if (rec)
		ep_go_to(ctx, rec, EP_SLOT_FINISH);
}

#endif
