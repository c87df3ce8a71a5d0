/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter that is made up: pieces of Perl's structures in an array, as they are in a
 * process, a program in it, and frames of each kind.
 */
#ifndef TEST_PERL_MADE_H
#define TEST_PERL_MADE_H

#include "plugins/perl/perl.h"
#include "plugins/perl/symbolize/names.h"
#include "plugins/perl/tests/frames.h"
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
	struct memory memory; /* of the process; reads are not counted */
	uint8_t bytes[BYTES];
	uint64_t next; /* free memory */
	/* A program: a sub of a package, its statements on lines 17 and 12, the first one. */
	uint64_t stash, gv, file, cop, start;
};

static const struct {
	uint32_t minor;
	bool threads;
} made_releases[] = {{28, true}, {32, true}, {34, false}, {36, true}, {40, true}, {44, false}};

static inline int made_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	const struct made *made = (const struct made *)arg;
	const void *at = fake_memory_find(&made->host.memory, addr, bytes);

	if (at)
		memcpy(buf, at, bytes);
	return at ? 0 : -EFAULT;
}

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
	made->memory = (struct memory){made_read, made};
	return made;
}

/* --- memory */

#define MADE_END (BIAS + BYTES)
#include "tests/kit/made.h"

/* Where the body of an SV is. */
static inline uint64_t word_at(struct made *made, uint64_t addr)
{
	uint64_t word = 0;

	(void)made_read(made, addr, &word, sizeof(word));
	return word;
}

static inline uint64_t put_text(struct made *made, const char *text)
{
	uint64_t addr = make(made, strlen(text) + 1);

	put(made, addr, text, strlen(text) + 1);
	return addr;
}

/* --- Perl's structures ------------------------------------------------------------------------ */

static inline uint64_t make_sv(struct made *made, uint32_t flags, uint64_t body, uint64_t u)
{
	uint64_t addr = make(made, sizeof(struct pl_sv));
	struct pl_sv sv = {.any = body, .refcount = 1, .flags = flags, .u = u};

	put(made, addr, &sv, sizeof(sv));
	return addr;
}

static inline uint64_t make_hek(struct made *made, const char *key, uint8_t flags)
{
	uint32_t n = (uint32_t)strlen(key);
	uint64_t addr = make(made, 8 + n + 2);

	put_int(made, addr + 4, n);
	put(made, addr + 8, key, n);
	put(made, addr + 8 + n + 1, &flags, 1);
	return addr;
}

/* HvAUX is after the array of buckets, or in the body. */
static inline uint64_t make_stash(struct made *made, const char *name)
{
	uint64_t hek = name ? make_hek(made, name, 0) : 0;
	uint64_t body = make(made, 128), array = make(made, 8 * 8 + 64);

	put_word(made, body + 24, 7);
	put_word(made, made->layout.aux_in_body ? body + 32 : array + 64, hek);
	return make_sv(made, PL_SVT_PVHV | 0x02000000u, body, array);
}

/* It gets names: where they are, and how many. */
static inline void put_names(struct made *made, uint64_t stash, uint64_t names, uint32_t n)
{
	uint64_t aux = made->layout.aux_in_body ? word_at(made, stash) + 32
						: word_at(made, stash + 16) + 64;

	put_word(made, aux, names);
	put_int(made, aux + 28, n);
}

static inline uint64_t make_glob(struct made *made, uint64_t stash, const char *name)
{
	uint64_t body = make(made, 64), gp = make(made, 96);
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
	uint64_t cop = make(made, 96);

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
	uint64_t body = make(made, 128);

	put_word(made, body + 32, cv->stash);
	put_word(made, body + 40, cv->start);
	put_word(made, body + 48, cv->root);
	put_word(made, body + 56, cv->gv);
	put_int(made, body + 88, cv->seq);
	put_int(made, body + 92, cv->flags);
	return make_sv(made, PL_SVT_PVCV, body, 0);
}

static inline struct ep_raw_frame make_sub(struct made *made, const struct made_cv *cv)
{
	return sub_frame(&made->memory, make_cv(made, cv), made->cop);
}

/* With the program that most tests begin with. */
static inline struct made *made_program(uint32_t minor, bool threads)
{
	struct made *made = made_new(minor, threads);

	made->stash = make_stash(made, "My::Package");
	made->gv = make_glob(made, made->stash, "work");
	made->file = threads ? put_text(made, "/lib/Work.pm")
			     : make_glob(made, made->stash, "_</lib/Work.pm");
	made->cop = make_cop(made, made->file, 17, 100);
	made->start = make_cop(made, made->file, 12, 99);
	return made;
}

/*
 * A block in the program's statement, whose first statement was taken out of the order of
 * execution. Returns the call in it; the op after that is 48 bytes further on.
 *
 *	cop ─sibling─► null ─kids─► (ex-statement, line 18) ─► call ─next─► after
 */
static inline uint64_t make_block(struct made *made, uint64_t far)
{
	uint64_t block = make(made, 48), inner = make_cop(made, made->file, 18, 100), call;

	made->next += far;
	call = make(made, 96);
	put_op(made, made->cop, made->layout.ops.nextstate, block, true, 0);
	put_op(made, block, 5, 0, false, 4);
	put_word(made, block + 40, inner);
	put_op(made, inner, 0, call, true, 0);
	put_word(made, inner + 24, made->layout.ops.nextstate);
	put_op(made, call, made->layout.ops.entersub, block, false, 0);
	put_word(made, call, call + 48);
	return call;
}

static inline uint64_t hash_of(const char *path)
{
	__u64 words[PL_FILE_WORDS] = {0};

	memcpy(words, path, EP_MIN(strlen(path), sizeof(words) - 1));
	return pl_hash_file(words);
}

/* On line 5 of a file that is loaded; `at`: where its name is. */
static inline struct ep_raw_frame file_frame(enum pl_kind kind, uint64_t what, const char *path,
					     uint64_t at)
{
	struct ep_raw_frame frame = make_frame(kind, what, 0, 0, 0);

	frame.aux = 5;
	frame.flags = PL_FRAME_FILE;
	frame.n_words = 3;
	frame.words[1] = at;
	frame.words[2] = hash_of(path);
	return frame;
}

/* Frames of each kind, on line 17 of the program, and what they are called. */
#define MADE_CASES 9

struct made_case {
	struct ep_raw_frame frame;
	const char *name;
	uint32_t start_line;
};

static inline struct made_case made_case(struct made *made, uint32_t i)
{
	struct made_cv cv = {.stash = made->stash, .gv = made->gv, .start = made->start, .seq = i};
	uint64_t other = make_stash(made, "Other"), names = make(made, 16);

	switch (i) {
	case 0:
		return (struct made_case){make_sub(made, &cv), "My::Package::work", 12};
	case 1: /* as caller says it: a sub that another package has imported is the first one's */
		cv.gv = make_glob(made, made->stash, "work");
		put_word(made, word_at(made, cv.gv + 16) + 56, make_glob(made, other, "origin"));
		return (struct made_case){make_sub(made, &cv), "Other::origin", 12};
	case 2: /* without a glob it has its HEK and stash */
		cv.gv = make_hek(made, "quick", 0);
		cv.flags = PL_CVF_NAMED;
		return (struct made_case){make_sub(made, &cv), "My::Package::quick", 12};
	case 3:
		cv.gv = make_hek(made, "quick", 0);
		cv.flags = PL_CVF_NAMED | PL_CVF_LEXICAL;
		return (struct made_case){make_sub(made, &cv), "quick", 12};
	case 4: /* of several names of a package the first (hv.h: HvNAME) */
	case 5: /* also where none of them is its own any more */
		put_word(made, names, make_hek(made, "First", 0));
		put_names(made, other, names, i == 4 ? 2 : (uint32_t)-2);
		cv.gv = make_glob(made, other, "work");
		return (struct made_case){make_sub(made, &cv), "First::work", 12};
	case 6:
		return (struct made_case){closure_frame(&made->memory, made->gv, false, made->cop),
					  "My::Package::work", 0};
	case 7:
		return (struct made_case){
			closure_frame(&made->memory, make_hek(made, "inner", 0), true, made->cop),
			"inner", 0};
	default:
		return (struct made_case){block_frame(&made->memory, PL_KIND_BLOCK, made->cop),
					  "(eval)", 0};
	}
}

#endif
