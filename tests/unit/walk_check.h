/* SPDX-License-Identifier: Apache-2.0 */
/* Walks of events of an invented process (walk_world.h), and the frames that they must give. */
#ifndef EP_TESTS_WALK_CHECK_H
#define EP_TESTS_WALK_CHECK_H

#include "core/base/map.h"
#include "core/trace/store.h"
#include "tests/kit/test.h"
#include "tests/unit/event_hash.h"
#include "tests/unit/walk_world.h"

#define NATIVE	EP_FRAME_NATIVE
#define RETURN	EP_FRAME_RETURN_ADDRESS
#define POINTER EP_FRAME_POINTER_WALK
#define SLOTTED (WALK_SLOT << EP_FRAME_SLOT_SHIFT)
#define SPOKEN	(EP_FRAME_FIRST_DYNAMIC + WALK_SLOT)

struct frame {
	uint32_t kind, flags, aux;
	uint64_t word;
};

struct fixture {
	struct walk_world world;
	struct ep_row rows[WALK_N_ROWS];
	struct walk_event event;
	struct ep_vec out; /* the walked event */
	uint32_t n_asked;  /* for code */
	uint64_t code;	   /* what there is of it at every address of WALK_ABSENT */
};

static inline int set_up(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));

	assert_non_null(fx);
	walk_world_init(&fx->world);
	walk_invented(&fx->world, fx->rows);
	ep_vec_init(&fx->out, 1, EP_WALK_MAX_BYTES);
	*state = fx;
	return 0;
}

static inline int tear_down(void **state)
{
	ep_autofree struct fixture *fx = *state;

	walk_world_fini(&fx->world);
	ep_vec_fini(&fx->out);
	return 0;
}

static inline int read_code(void *arg, uint32_t executable, uint64_t va, void *buf, size_t bytes)
{
	struct fixture *fx = arg;

	fx->n_asked++;
	if (executable != WALK_OTHER_ID || va < WALK_VA || bytes != sizeof(fx->code))
		return -EFAULT;
	memcpy(buf, &fx->code, bytes);
	return 0;
}

/* 0 with the new event's sample. */
static inline int run(struct fixture *fx, struct ep_sample *ret_sample)
{
	struct ep_walk_source source = {.arg = fx, .read_code = read_code};
	int r;

	walk_event_flatten(&fx->event);
	r = ep_walker_run(fx->world.walker, fx->event.flat, fx->event.bytes, fx->rows, WALK_N_ROWS,
			  &source, &fx->out);
	if (r == 0)
		memcpy(ret_sample, fx->out.data, sizeof(*ret_sample));
	return r;
}

/* What holds of every event that comes out. */
static inline void check_event(struct fixture *fx, const struct ep_sample *sample)
{
	const uint8_t *words = (uint8_t *)fx->out.data + sizeof(*sample);
	struct ep_store *store = NULL;

	assert_int_equal(sample->copy_bytes, 0);
	assert_int_equal(fx->out.len,
			 sizeof(*sample) + 8 * ((size_t)sample->n_kernel + sample->n_words));
	assert_true(sample->hash == hash_event(sample, words));
	assert_int_equal(ep_store_new(&EP_STORE_DEFAULT_LIMITS, 0, &store), 0);
	assert_int_equal(ep_store_add(store, fx->out.data, fx->out.len), 0);
	ep_store_free(store);
}

/* Walks, and wants these frames (up to kind 0), and this error. */
static inline void expect(struct fixture *fx, const struct frame *frames, uint32_t error)
{
	struct ep_sample sample = {0};
	uint32_t n = 0, at;
	uint64_t words[2];

	assert_int_equal(run(fx, &sample), 0);
	check_event(fx, &sample);
	assert_int_equal(sample.error, error);
	for (at = 0; frames[n].kind; n++, at += 2) {
		assert_true(at + 2 <= sample.n_words);
		memcpy(words,
		       (uint8_t *)fx->out.data + sizeof(sample) +
			       8 * ((size_t)sample.n_kernel + at),
		       sizeof(words));
		if (words[0] !=
			    EP_FRAME_HEADER(frames[n].kind, frames[n].flags, 1, frames[n].aux) ||
		    words[1] != frames[n].word)
			fail_msg("frame %u: 0x%llx 0x%llx", n, (unsigned long long)words[0],
				 (unsigned long long)words[1]);
	}
	assert_int_equal(sample.n_frames, n);
	assert_int_equal(sample.n_words, at);
}

#define EXPECT(fx, error, ...) expect(fx, (const struct frame[]){__VA_ARGS__, {0}}, error)
#define AT(addr)	       {NATIVE, 0, WALK_CODE_ID, VA(addr)}
#define BACK(addr)	       {NATIVE, RETURN, WALK_CODE_ID, VA(addr)}
#define ERROR(error, addr)     {EP_FRAME_ERROR, 0, error, addr}

/* Walks, and wants this error; the number of frames. */
static inline uint32_t expect_error(struct fixture *fx, uint32_t error)
{
	struct ep_sample sample = {0};

	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.error, error);
	return sample.n_frames;
}

static inline uint8_t flags_of(const struct fixture *fx)
{
	return ((const struct ep_sample *)fx->out.data)->flags;
}

/* The ELF virtual address of code in WALK_CODE. */
#define VA(addr) ((addr) - WALK_CODE + WALK_VA)

#define FIXTURE_TEST(name) EP_TEST_ON(name, struct fixture *fx, set_up, tear_down)

#endif
