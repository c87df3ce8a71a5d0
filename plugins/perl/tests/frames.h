/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as BPF pushes them, with their checks: for unit tests and fuzz targets. */
#ifndef TEST_PERL_FRAMES_H
#define TEST_PERL_FRAMES_H

#include "plugins/perl/perl_shared.h"
#include "plugins/shared/read/memory.h"

static inline uint64_t check_of_cv(const struct memory *memory, uint64_t cv)
{
	__u64 words[PL_CV_WORDS] = {0}, body = 0;

	(void)memory_read(memory, cv, &body, sizeof(body));
	(void)memory_read(memory, body + PL_CV_AT, words, sizeof(words));
	return pl_check_cv(words);
}

static inline uint64_t check_of_cop(const struct memory *memory, uint64_t cop)
{
	__u32 ints[PL_COP_INTS] = {0};

	(void)memory_read(memory, cop + PL_COP_AT, ints, sizeof(ints));
	return pl_check_cop(ints);
}

/* The statement and the name of a closure; the name is a HEK's or a glob's. */
static inline uint64_t check_of_closure(const struct memory *memory, uint64_t cop, uint64_t what,
					bool is_hek)
{
	uint64_t words[2] = {0}, body = 0;

	(void)memory_read(memory, what, &body, sizeof(body));
	if (is_hek)
		words[0] = body;
	else
		(void)memory_read(memory, body + PL_GV_NAME_AT, words, sizeof(words));
	return pl_check_name(check_of_cop(memory, cop), words[0], words[1]);
}

/* `op`: where it is in the statement; 0: not known. */
static inline struct ep_raw_frame make_frame(enum pl_kind kind, uint64_t what, uint64_t check,
					     uint64_t cop, uint64_t op)
{
	uint32_t where = op ? (uint32_t)((int64_t)(op - cop) >> 3) & PL_OP_MASK : 0;

	return (struct ep_raw_frame){
		.aux = where | (uint32_t)(check & 0xff) << PL_OP_BITS,
		.n_words = 2,
		.words = {(what >> 3 & PL_ADDRESS_MASK) | (check >> 8 & 0xffff) << PL_CHECK_SHIFT |
				  (uint64_t)kind << PL_KIND_SHIFT,
			  (cop >> 3 & PL_ADDRESS_MASK) | check >> 24 << PL_ADDRESS_BITS},
	};
}

static inline struct ep_raw_frame sub_frame(const struct memory *memory, uint64_t cv, uint64_t cop)
{
	return make_frame(PL_KIND_SUB, cv, check_of_cv(memory, cv), cop, 0);
}

static inline struct ep_raw_frame block_frame(const struct memory *memory, enum pl_kind kind,
					      uint64_t cop)
{
	return make_frame(kind, 0, check_of_cop(memory, cop), cop, 0);
}

static inline struct ep_raw_frame closure_frame(const struct memory *memory, uint64_t what,
						bool is_hek, uint64_t cop)
{
	struct ep_raw_frame frame = make_frame(PL_KIND_CLOSURE, what,
					       check_of_closure(memory, cop, what, is_hek), cop, 0);

	frame.flags = is_hek ? PL_FRAME_NAMED | PL_FRAME_LEXICAL : 0;
	return frame;
}

/* The same with a third word. */
static inline struct ep_raw_frame with_name(struct ep_raw_frame frame, uint64_t word)
{
	frame.flags |= PL_FRAME_NAME;
	frame.n_words = 3;
	frame.words[2] = word;
	return frame;
}

#endif
