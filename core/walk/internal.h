/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a walk: bpf/native.bpf.h, compiled for user space (steps.c), after a few functions,
 * so that no other file sees the declarations BPF sources come with. And what frames say (marks.c).
 */
#ifndef EP_WALK_INTERNAL_H
#define EP_WALK_INTERNAL_H

#include "bpf/shared.h"
#include "core/walk/walk.h"

struct ep_steps; /* the record, as BPF has one for each CPU */

/* What steps read besides the record. All is borrowed for the run. */
struct ep_steps_world {
	const struct ep_delta_store *store;
	const struct ep_rule *rules;
	const struct ep_row *rows;
	uint32_t n_rows;
	const struct ep_walk_source *source;
	uint64_t stack_addr;
	uint32_t stack_bytes;
	const uint8_t *stack;
	/* And of the stack that the thread came from. */
	uint64_t other_addr;
	uint32_t other_bytes;
	const uint8_t *other;
	uint64_t failed_end; /* target address after the last read that failed */
};

int ep_steps_new(struct ep_steps **ret_steps);
void ep_steps_free(struct ep_steps *steps);

/* Sets the walk to where BPF stopped. The sample and its words, which it adds to, are the caller's. */
struct ep_record *ep_steps_begin(struct ep_steps *steps, const struct ep_copy *copy);
/* Pushes frames, up to max_words words of user frames. 0 at the root, else an enum ep_error. */
uint32_t ep_steps_run(struct ep_steps *steps, struct ep_steps_world *world, uint32_t max_words);
/* The error frame, and the sample's error. */
void ep_steps_push_error(struct ep_steps *steps, uint32_t error);
/* The hash that BPF would give this sample. */
uint64_t ep_steps_hash(const struct ep_record *record);

struct ep_frames_summary {
	uint32_t marks;	    /* bit n: a native frame runs the language in slot n */
	uint32_t languages; /* bit n: there is a frame of it */
	uint32_t error;	    /* of the first error frame */
	bool has_raw;	    /* a native frame is of no file */
};

/* What frames of `n_words` from `words` on say, aligned or not. */
struct ep_frames_summary ep_frames_summarize(const void *words, uint32_t n_words);

#endif
