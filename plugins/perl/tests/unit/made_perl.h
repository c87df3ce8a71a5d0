/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter that is made up: pieces of Perl's structures in an array, as they are in a process,
 * and the frames that BPF would push of it.
 */
#ifndef TEST_PERL_MADE_H
#define TEST_PERL_MADE_H

#include "plugins/perl/perl.h"
#include "plugins/perl/symbolize/names.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#define BIAS  0x100000u /* of the file's mapping, where the array begins */
#define BYTES 0x10000u
#define HEAP  0x8000u /* structures are from here on */

struct made {
	struct fake_host host;
	struct pl_executable exe;
	struct pl_layout layout;
	struct pl_state state;
	uint8_t bytes[BYTES];
	uint64_t next; /* free memory */
};

static inline struct made *made_new(uint32_t minor, bool threads)
{
	struct made *made = calloc(1, sizeof(*made));

	assert_non_null(made);
	ep_test_owns(made, free);
	fake_host_init(&made->host, &made->state, sizeof(made->state));
	fake_memory_add(&made->host.memory, BIAS, made->bytes, BYTES);
	made->host.target.bias = BIAS;
	made->next = BIAS + HEAP;
	assert_true(pl_layout_find(minor, &made->layout));
	made->layout.threads = threads;
	made->exe.layout = made->layout;
	made->exe.host = fake_host_services(&made->host);
	return made;
}

/* --- memory -------------------------------------------------------------------------------------- */

static inline void put(struct made *made, uint64_t addr, const void *value, size_t bytes)
{
	fake_memory_put(&made->host.memory, addr, value, bytes);
}

static inline void put_word(struct made *made, uint64_t addr, uint64_t value)
{
	put(made, addr, &value, sizeof(value));
}

static inline void put_int(struct made *made, uint64_t addr, uint32_t value)
{
	put(made, addr, &value, sizeof(value));
}

static inline uint64_t take(struct made *made, size_t bytes)
{
	uint64_t addr = made->next;

	made->next += EP_ALIGN_UP(bytes, 16);
	assert_true(made->next <= BIAS + BYTES);
	return addr;
}

static inline uint64_t put_text(struct made *made, const char *text)
{
	uint64_t addr = take(made, strlen(text) + 1);

	put(made, addr, text, strlen(text) + 1);
	return addr;
}

/* --- Perl's structures ----------------------------------------------------------------------------- */

static inline uint64_t make_sv(struct made *made, uint32_t flags, uint64_t body, uint64_t u)
{
	uint64_t addr = take(made, sizeof(struct pl_sv));
	struct pl_sv sv = {.any = body, .refcount = 1, .flags = flags, .u = u};

	put(made, addr, &sv, sizeof(sv));
	return addr;
}

static inline uint64_t make_hek(struct made *made, const char *key, uint8_t flags)
{
	uint32_t n = (uint32_t)strlen(key);
	uint64_t addr = take(made, 8 + n + 2);

	put_int(made, addr + 4, n);
	put(made, addr + 8, key, n);
	put(made, addr + 8 + n + 1, &flags, 1);
	return addr;
}

/* HvAUX is behind the array of buckets, or in the body. */
static inline uint64_t make_stash(struct made *made, const char *name)
{
	uint64_t hek = name ? make_hek(made, name, 0) : 0;
	uint64_t body = take(made, 128), array = take(made, 8 * 8 + 64);

	put_word(made, body + 24, 7);
	put_word(made, made->layout.aux_in_body ? body + 32 : array + 64, hek);
	return make_sv(made, PL_SVT_PVHV | 0x02000000u, body, array);
}

static inline uint64_t make_glob(struct made *made, uint64_t stash, const char *name)
{
	uint64_t body = take(made, 64), gp = take(made, 96);
	uint64_t gv = make_sv(made, PL_SVT_PVGV | 0x8000u, body, gp);

	put_word(made, body + 32, make_hek(made, name, 0));
	put_word(made, body + 40, stash);
	put_word(made, gp + 56, gv);
	return gv;
}

/* The type of an op, whether it has a sibling, its flags. */
static inline void put_op(struct made *made, uint64_t addr, uint32_t type, uint64_t sibling,
			  bool more, uint8_t flags)
{
	uint16_t bits = (uint16_t)(type | (more ? 1 << 14 : 0));

	put_word(made, addr + 8, sibling);
	put(made, addr + 32, &bits, sizeof(bits));
	put(made, addr + 34, &flags, 1);
}

/* A statement; its sibling and parent are put by who has them. `file`: a text, or a glob. */
static inline uint64_t make_cop(struct made *made, uint64_t file, uint32_t line, uint32_t seq)
{
	uint64_t cop = take(made, 96);

	put_op(made, cop, made->layout.ops.nextstate, 0, false, 0);
	put_int(made, cop + 36, line);
	put_word(made, cop + 48, file);
	put_int(made, cop + 60, seq);
	return cop;
}

struct made_cv {
	uint64_t stash, start, root, gv;
	uint32_t seq, flags;
};

static inline uint64_t make_cv(struct made *made, const struct made_cv *cv)
{
	uint64_t body = take(made, 128);

	put_word(made, body + 32, cv->stash);
	put_word(made, body + 40, cv->start);
	put_word(made, body + 48, cv->root);
	put_word(made, body + 56, cv->gv);
	put_int(made, body + 88, cv->seq);
	put_int(made, body + 92, cv->flags);
	return make_sv(made, PL_SVT_PVCV, body, 0);
}

/* --- frames, as BPF pushes them ---------------------------------------------------------------------- */

static inline uint64_t check_of_cv(const struct made *made, uint64_t cv)
{
	__u64 words[PL_CV_WORDS], body;

	memcpy(&body, made->bytes + (cv - BIAS), sizeof(body));
	memcpy(words, made->bytes + (body + PL_CV_AT - BIAS), sizeof(words));
	return pl_check_cv(words);
}

static inline uint64_t check_of_cop(const struct made *made, uint64_t cop)
{
	__u32 ints[PL_COP_INTS];

	memcpy(ints, made->bytes + (cop + PL_COP_AT - BIAS), sizeof(ints));
	return pl_check_cop(ints);
}

/* Of a closure: its statement and its name. */
static inline uint64_t check_of_closure(const struct made *made, uint64_t cop, uint64_t what,
					bool named)
{
	uint64_t words[2] = {0}, body;

	memcpy(&body, made->bytes + (what - BIAS), sizeof(body));
	if (named)
		words[0] = body;
	else
		memcpy(words, made->bytes + (body + PL_GV_NAME_AT - BIAS), sizeof(words));
	return pl_check_name(check_of_cop(made, cop), words[0], words[1]);
}

static inline struct ep_raw_frame make_frame(enum pl_kind kind, uint64_t what, uint64_t check,
					     uint64_t cop, uint64_t op)
{
	uint32_t where = op ? (uint32_t)((int64_t)(op - cop) >> 3) & PL_OP_MASK : 0;

	return (struct ep_raw_frame){
		.aux = where | (uint32_t)(check & 0xff) << PL_OP_BITS,
		.n_words = 2,
		.words = {(what >> 3 & PL_ADDRESS_MASK) | (check >> 8 & 0xffff) << PL_CHECK_SHIFT |
				  (uint64_t)kind << PL_KIND_SHIFT,
			  (cop >> 3 & PL_ADDRESS_MASK) | check >> 24 << 44},
	};
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
