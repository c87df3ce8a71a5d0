/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts native frames and frames of languages of one event together. An event has them one after
 * the other (ebpf-profiler/bpf/record.h):
 *
 *	native part | its error | frames of language A | A's error | frames of language B | ...
 *
 * The native part ends with the last native frame; frames of languages before that (an "enter"
 * language's) are where they belong. A frame in it whose flags have a slot is a *marker*: it ran
 * that language. Frames of a language come in *groups*, each ending at a frame that was entered
 * from native code (or where the language's frames end). With k markers and n groups:
 *
 *	both complete	aligned at the root: the last marker becomes the last group. Markers too
 *			many stay native frames, at the leaf: no frame was set up yet. Groups too
 *			many come before the first marker's group.
 *	an error	aligned at the leaf, where both walks began. Markers too many stay native
 *			frames. Groups too many come after the native part's error, or where that
 *			is complete after the last marker's group.
 *
 * Where there are more groups than markers, the first one is dropped if it is one frame that may not run yet.
 *
 * A gap (EP_FRAME_GAP) in the native part may hide markers. Those before the first one are aligned
 * at the leaf, those after the last one at the root; groups that are left have their markers in
 * between, or nowhere: then they are after the first gap, as all that are left when a walk failed.
 *
 * An error of a language stays after its last group, without any before its first marker. It is
 * that of the language that registered it (core/trace/kinds.h), else of the one before it.
 * An error of a language without markers is one of the native walk: it asked that language.
 * What has no marker to go to stays after the native part.
 */
#ifndef EP_TRACE_MERGE_H
#define EP_TRACE_MERGE_H

#include "core/base/util.h"
#include "ebpf-profiler/bpf/record.h"

/* Frames that move together: a group, or an error. */
struct ep_merge_item {
	uint16_t at; /* word of its first frame */
	uint16_t n_frames;
	uint16_t next; /* of the same language; 0: none */
	uint8_t is_error, is_placed;
};

struct ep_merge_language {
	uint16_t n_markers, n_groups;
	uint16_t n_before, n_behind; /* of the markers: the first gap, the last one */
	uint16_t n_seen;     /* markers that were passed */
	uint16_t head, tail; /* items that are not placed */
	uint16_t failed;     /* it has an error */
	uint16_t doubtful;   /* its first group is of a frame that may not run (EP_FRAME_DOUBTFUL) */
};

/* Scratch memory, used again for each event; 43 KiB. */
struct ep_merge {
	const uint8_t *words; /* of the event in hand, as the members below */
	uint32_t n_words, native_end;
	uint32_t n_gaps; /* in the native part */
	bool native_failed, passed_gap;
	uint32_t n_items, n_order;
	struct ep_merge_language languages[EP_SLOT_COUNT];
	struct ep_merge_item items[EP_MAX_WORDS + 1]; /* from 1 */
	uint16_t order[EP_MAX_WORDS];
};

/*
 * `words` are the words of the user frames of a checked event, aligned or not: lengths add up to
 * n_words <= EP_MAX_WORDS. `failed`: the event says that it is incomplete. The count of frames that are,
 * leaf first; where each begins in `words` is in merge->order. Markers that stay native frames
 * still have their slot. O(frames).
 */
uint32_t ep_merge_frames(struct ep_merge *merge, const void *words, uint32_t n_words, bool failed);

#endif
