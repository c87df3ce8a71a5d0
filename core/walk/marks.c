/* SPDX-License-Identifier: Apache-2.0 */
/* Which native frames run a language, as frames and rows say it. */
#include "core/walk/internal.h"

#include <errno.h>
#include <string.h>

#define WORD_BYTES sizeof(uint64_t)

/* --- what frames say -------------------------------------------------------------------------- */

static void look_at(uint64_t header, struct ep_frames_summary *summary)
{
	uint32_t kind = EP_FRAME_KIND(header), slot = kind - EP_FRAME_FIRST_DYNAMIC;

	if (kind == EP_FRAME_NATIVE) {
		summary->marks |= 1u << (EP_FRAME_FLAGS(header) >> EP_FRAME_SLOT_SHIFT);
		summary->has_raw |= EP_FRAME_AUX(header) == 0;
	} else if (kind == EP_FRAME_ERROR && !summary->error) {
		summary->error = EP_FRAME_AUX(header);
	} else if (kind >= EP_FRAME_FIRST_DYNAMIC && slot < EP_SLOT_COUNT) {
		summary->languages |= 1u << slot;
	}
}

struct ep_frames_summary ep_frames_summarize(const void *words, uint32_t n_words)
{
	struct ep_frames_summary summary = {0};
	uint64_t header;

	for (uint32_t at = 0; at < n_words; at += 1 + EP_FRAME_WORDS(header)) {
		memcpy(&header, (const uint8_t *)words + at * WORD_BYTES, sizeof(header));
		look_at(header, &summary);
	}
	summary.marks &= ~1u; /* slot 0: no language */
	return summary;
}

/* --- marks that come late --------------------------------------------------------------------- */

/* Of a language's code in this file; NULL: it is none's. */
static const struct ep_row *find_marked(const struct ep_row *rows, size_t n, uint32_t executable,
					uint64_t va)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t slot = EP_ROW_SLOT(rows[i].executable);

		if (slot != 0 && slot != EP_ROW_SLOT_ANY &&
		    EP_ROW_ID(rows[i].executable) == executable && va >= rows[i].va &&
		    va - rows[i].va < rows[i].end - rows[i].start)
			return &rows[i];
	}
	return NULL;
}

/*
 * Sets the mark of one frame, as mark_frame of bpf/native.bpf.h does: whichever instruction it is
 * at, the frame is that of its row. Code that only the language unwinds keeps its place. Returns
 * the bit of its language, or 0.
 */
static uint32_t mark_frame(uint64_t frame[2], const struct ep_row *rows, size_t n_rows)
{
	uint32_t executable = EP_FRAME_AUX(frame[0]);
	uint64_t back = EP_FRAME_FLAGS(frame[0]) & EP_FRAME_RETURN_ADDRESS ? 1 : 0;
	const struct ep_row *row;
	uint32_t slot;

	if (EP_FRAME_KIND(frame[0]) != EP_FRAME_NATIVE || executable == 0 ||
	    EP_FRAME_FLAGS(frame[0]) >> EP_FRAME_SLOT_SHIFT)
		return 0;
	row = find_marked(rows, n_rows, executable, frame[1] - back);
	if (!row)
		return 0;
	slot = EP_ROW_SLOT(row->executable);
	if (!(row->executable & EP_ROW_ENTER)) {
		frame[0] |= (uint64_t)slot << EP_FRAME_SLOT_SHIFT << 8;
		frame[1] = row->va;
	}
	return 1u << slot;
}

/* The counts of an event are those of its bytes, and its frames fill its words. */
static bool is_well_formed(const struct ep_vec *event)
{
	const struct ep_sample *sample = event->data;
	const uint64_t *words = (const uint64_t *)(sample + 1);
	uint32_t at = 0;

	if (event->len < sizeof(*sample) || sample->copy_bytes || sample->n_kernel > EP_MAX_KERNEL ||
	    sample->n_words > EP_MAX_WORDS ||
	    event->len != sizeof(*sample) +
				  ((size_t)sample->n_kernel + sample->n_words) * WORD_BYTES)
		return false;
	words += sample->n_kernel;
	while (at < sample->n_words) {
		if (EP_FRAME_KIND(words[at]) == EP_FRAME_NATIVE && EP_FRAME_WORDS(words[at]) != 1)
			return false;
		at += 1 + EP_FRAME_WORDS(words[at]);
	}
	return at == sample->n_words;
}

/* As BPF pushes it (ep_push_error), at the end of what the event has. */
static int push_late(struct ep_vec *event)
{
	const uint64_t frame[2] = {EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1, EP_ERROR_LATE), 0};
	struct ep_sample *sample = event->data;
	int r = 0;

	sample->error = EP_ERROR_LATE;
	if (sample->n_words + 2 > EP_MAX_WORDS)
		return 0;
	r = ep_vec_append(event, frame, sizeof(frame));
	if (r < 0)
		return r;
	sample = event->data;
	sample->n_words += 2;
	sample->n_frames++;
	return 0;
}

int ep_walk_mark(struct ep_vec *event, const struct ep_row *rows, size_t n_rows)
{
	struct ep_frames_summary said;
	struct ep_sample *sample;
	uint64_t *words;
	uint32_t marks = 0;
	int r = 0;

	if (!is_well_formed(event))
		return -EBADMSG;
	sample = event->data;
	words = (uint64_t *)(sample + 1) + sample->n_kernel;
	said = ep_frames_summarize(words, sample->n_words);
	for (uint32_t at = 0; at < sample->n_words; at += 1 + EP_FRAME_WORDS(words[at]))
		marks |= mark_frame(words + at, rows, n_rows);
	if (!marks)
		return 0;
	if ((marks & ~said.languages) && !said.error && !sample->error)
		r = push_late(event);
	/* The words follow the sample, as in a record (ebpf-profiler/bpf/record.h). */
	sample = event->data;
	sample->hash = ep_steps_hash((const struct ep_record *)sample);
	return r;
}
