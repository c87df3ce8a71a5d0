/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For a snapshot program that first lists a sample's new frames, and then keeps them one by one: a
 * loop in a loop would be verified for each frame that is passed.
 */
#ifndef EP_SHARED_KEEP_BPF_H
#define EP_SHARED_KEEP_BPF_H

#include "ebpf-profiler/bpf/keeper.h"
#include "plugins/shared/bpf/step.bpf.h"

#define EP_KEEP_ROUNDS 192 /* frames of a sample that are looked at */
#define EP_KEEP_LISTED 32  /* space for new ones: a power of two */

/* Last in the snapshot program's scratch, not zeroed; its number of frames is before it. */
struct ep_kept_frame {
	__u64 header, word0, word1, word2;
};

static __always_inline __u64 ep_kept_word(const __u8 *piece, __u32 off)
{
	return *(const __u64 *)(piece + off);
}

/*
 * Up to `most` new frames of this language that have two words and more, from *n on. The first two
 * tell them from each other, and the bits `aux_mask` of aux.
 */
static __always_inline void ep_keep_list_new_at(const struct ep_record *rec, struct ep_keep *keep,
						struct ep_kept_frame *frames, __u64 *n, __u64 most,
						__u32 aux_mask)
{
	for (__u64 i = 0; i < EP_KEEP_ROUNDS; i++) {
		const __u64 *frame = ep_keep_list(rec, keep);
		__u64 at = *n;

		if (!frame || at >= most)
			break;
		/* One word says nothing. */
		if (ep_keep_is_mine(frame) && EP_FRAME_WORDS(frame[0]) >= 2) {
			at &= EP_KEEP_LISTED - 1;
			frames[at].header = frame[0];
			frames[at].word0 = frame[1];
			frames[at].word1 = frame[2];
			frames[at].word2 = frame[3];
			*n = at + ep_keep_is_new(rec, keep, frame[1],
						 frame[2] ^ (EP_FRAME_AUX(frame[0]) & aux_mask));
		}
		EP_MEET();
	}
}

static __always_inline void ep_keep_list_new(const struct ep_record *rec, struct ep_keep *keep,
					     struct ep_kept_frame *frames, __u64 *n, __u64 most)
{
	ep_keep_list_new_at(rec, keep, frames, n, most, 0);
}

/* All of a frame, so many bytes, is to be in one event. True: a new one begins. */
static __always_inline bool ep_keep_make_room(const struct ep_record *rec, struct ep_keep *keep,
					      __u64 bytes)
{
	if (keep->kept.bytes <= EP_KEPT_BYTES - bytes || keep->n_sent >= EP_KEEP_MAX_SENT)
		return false;
	ep_keep_send(rec, keep);
	return true;
}

/*
 * The program: lists up to `most` new frames, as ep_keep_list_new_at does, and keeps each by
 * keep_frame(&k, frame), all of a frame in one event: at most `bytes`. `k` is a struct of the
 * language, which is filled here: rec, state, keep, and its scratch `s`, which has `n` and
 * `frames`. Where a new event begins, `forget(s)` forgets what was kept in the one before.
 */
#define EP_KEEP_FRAMES(ctx, k, most, bytes_, aux_mask, forget, keep_frame)                         \
	do {                                                                                       \
		struct ep_record *rec_ = ep_get_record();                                          \
                                                                                                   \
		(k).rec = rec_;                                                                    \
		(k).s = rec_ ? ep_get_scratch(rec_) : NULL;                                        \
		(k).keep = rec_ ? ep_keep_begin(rec_) : NULL;                                      \
		(k).state = rec_ ? ep_get_state(rec_) : NULL;                                      \
		if ((k).s && (k).keep && (k).state) {                                              \
			ep_keep_list_new_at(rec_, (k).keep, (k).s->frames, &(k).s->n, most,        \
					    aux_mask);                                             \
			for (__u64 i_ = 0; i_ < (most); i_++) {                                    \
				if (ep_keep_make_room(rec_, (k).keep, bytes_))                     \
					forget((k).s);                                             \
				EP_MEET();                                                         \
				if (i_ >= (k).s->n ||                                              \
				    (k).keep->kept.bytes > EP_KEPT_BYTES - (bytes_))               \
					break;                                                     \
				keep_frame(&(k), &(k).s->frames[i_ & (EP_KEEP_LISTED - 1)]);       \
			}                                                                          \
			ep_keep_send(rec_, (k).keep);                                              \
		}                                                                                  \
		ep_keep_end(ctx, rec_);                                                            \
	} while (0)

#endif
