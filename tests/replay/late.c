/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred unwinding (core/walk) of recorded stacks: each thread's registers and 24 KiB of its
 * stack as BPF would have copied them, had it known nothing of the process, and after them the
 * frames that the process's languages pushed. What must hold:
 *
 * 1. All of the copy was needed: the native frames are the first ones of the replayed stack.
 * 2. Else, where the replay ran out of tail calls, which deferred unwinding needs none of, it has
 * all native frames of the replayed one, and more.
 * 3. Else the event is the replayed one, word for word, with its error and its hash: but where a
 * language added flags to a frame it had pushed, whose order only BPF knows.
 *
 * Excepted are stacks with code that only a language can unwind, whose frames may be native: they
 * are late, and have the frames before it. Memory that the fixture does not have is zero in the
 * copy.
 */
#include "core/base/log.h"
#include "core/replay/replay_internal.h"
#include "core/walk/walk.h"
#include "tests/replay/replay.h"

#include <stdio.h>
#include <string.h>

#define BLOCKS (EP_COPY_PAGES * EP_COPY_PAGE_BYTES / EP_FIXTURE_BLOCK_BYTES)

struct late {
	const char *path;
	struct ep_replay *replay;
	struct ep_walker *walker;
	struct ep_vec wanted, made, got; /* events: replayed, with a copy, walked late */
	unsigned int n_equal, n_prefix, n_bad;
};

static int read_code(void *arg, uint32_t executable, uint64_t va, void *buf, size_t bytes)
{
	struct ep_replay *replay = arg;
	const struct ep_row *row;

	ep_vec_each (&replay->set.rows, row) {
		if (EP_ROW_ID(row->executable) == executable && va - row->va < row->end - row->start)
			return ep_replay_read(replay, va - row->va + row->start, buf, bytes);
	}
	return -1;
}

/* The words of the native part and its error, before the first frame of a language. */
static uint32_t native_words(const struct ep_sample *sample)
{
	const uint64_t *words = (const uint64_t *)(sample + 1) + sample->n_kernel;
	uint32_t at = 0;

	while (at < sample->n_words && EP_FRAME_KIND(words[at]) < EP_FRAME_FIRST_DYNAMIC)
		at += 1 + EP_FRAME_WORDS(words[at]);
	return at;
}

static uint32_t count_frames(const uint64_t *words, uint32_t n_words)
{
	uint32_t n = 0;

	for (uint32_t at = 0; at < n_words; at += 1 + EP_FRAME_WORDS(words[at]))
		n++;
	return n;
}

static void make_copy(const struct ep_replay_thread *thread, struct ep_copy *copy)
{
	*copy = (struct ep_copy){
		.pc = thread->regs[EP_REG_PC],
		.addr = thread->regs[EP_REG_SP] & ~(uint64_t)(EP_COPY_PAGE_BYTES - 1),
		.bytes = EP_COPY_PAGES * EP_COPY_PAGE_BYTES,
		.known_regs = EP_KNOWN_ALL,
		.return_address = thread->in_syscall,
	};
	memcpy(copy->regs, thread->regs, sizeof(copy->regs));
}

/* The event that BPF would have made: frames of languages, none of its own, and the copy. */
static int make_event(struct late *late, const struct ep_replay_thread *thread)
{
	const struct ep_sample *wanted = late->wanted.data;
	const uint64_t *words = (const uint64_t *)(wanted + 1) + wanted->n_kernel;
	uint32_t native = native_words(wanted);
	struct ep_sample sample = *wanted;
	uint8_t block[EP_FIXTURE_BLOCK_BYTES];
	struct ep_copy copy;
	int r;

	make_copy(thread, &copy);
	sample.n_words -= native;
	sample.n_frames = (uint16_t)count_frames(words + native, sample.n_words);
	sample.copy_bytes = sizeof(copy) + copy.bytes;
	sample.hash = 1;
	late->made.len = 0;
	r = ep_vec_append(&late->made, &sample, sizeof(sample));
	if (r == 0)
		r = ep_vec_append(&late->made, wanted + 1, sample.n_kernel * sizeof(*words));
	if (r == 0)
		r = ep_vec_append(&late->made, words + native, sample.n_words * sizeof(*words));
	if (r == 0)
		r = ep_vec_append(&late->made, &copy, sizeof(copy));
	for (uint32_t i = 0; r == 0 && i < BLOCKS; i++) {
		if (ep_fixture_read(late->replay->fixture, copy.addr + i * sizeof(block), block,
				    sizeof(block)) < 0)
			memset(block, 0, sizeof(block));
		r = ep_vec_append(&late->made, block, sizeof(block));
	}
	return r;
}

/* --- what came out ---------------------------------------------------------------------------- */

static void complain(struct late *late, uint32_t tid, const char *why)
{
	const struct ep_sample *got = late->got.data, *wanted = late->wanted.data;

	late->n_bad++;
	fprintf(stderr, "%s: thread %u: %s (errors %u and %u, %u and %u frames)\n", late->path, tid,
		why, wanted->error, got->error, wanted->n_frames, got->n_frames);
}

/* Words of the native frames that deferred unwinding got, without its error. */
static uint32_t got_native_words(const struct late *late)
{
	const struct ep_sample *got = late->got.data;
	const uint64_t *words = (const uint64_t *)(got + 1) + got->n_kernel;
	uint32_t n = 0;

	while (n < got->n_words && EP_FRAME_KIND(words[n]) == EP_FRAME_NATIVE)
		n += 1 + EP_FRAME_WORDS(words[n]);
	return n;
}

/* They are the first of the replayed ones. */
static bool is_prefix(const struct late *late)
{
	const struct ep_sample *got = late->got.data, *wanted = late->wanted.data;
	const uint64_t *got_words = (const uint64_t *)(got + 1) + got->n_kernel;
	const uint64_t *words = (const uint64_t *)(wanted + 1) + wanted->n_kernel;
	uint32_t n = got_native_words(late);

	return n <= wanted->n_words && memcmp(got_words, words, n * sizeof(*words)) == 0;
}

/* The first frame that deferred unwinding has not got is native, in code that a language enters. */
static bool ends_at_entered(const struct late *late)
{
	const struct ep_sample *wanted = late->wanted.data;
	const uint64_t *frame = (const uint64_t *)(wanted + 1) + wanted->n_kernel + got_native_words(late);
	const struct ep_row *row;
	uint64_t va;

	if (got_native_words(late) >= wanted->n_words || EP_FRAME_KIND(*frame) != EP_FRAME_NATIVE)
		return false;
	va = frame[1] - (EP_FRAME_FLAGS(*frame) & EP_FRAME_RETURN_ADDRESS ? 1 : 0);
	ep_vec_each (&late->replay->set.rows, row) {
		if ((row->executable & EP_ROW_ENTER) && EP_ROW_ID(row->executable) == EP_FRAME_AUX(*frame) &&
		    va - row->va < row->end - row->start)
			return true;
	}
	return false;
}

/* Only where the copy ends, or code of a language begins. */
static void compare_early(struct late *late, uint32_t tid)
{
	const struct ep_sample *got = late->got.data, *wanted = late->wanted.data;

	late->n_prefix++;
	if (!is_prefix(late))
		complain(late, tid, "other frames in a copy that ends early");
	else if (native_words(wanted) > 0 && got->n_words == 0)
		complain(late, tid, "no frame at all");
	else if (got->error == EP_ERROR_LATE && native_words(wanted) >= wanted->n_words &&
		 !ends_at_entered(late))
		complain(late, tid, "late, and no language is in it");
}

static void compare_longer(struct late *late, uint32_t tid)
{
	const struct ep_sample *got = late->got.data, *wanted = late->wanted.data;
	const uint64_t *words = (const uint64_t *)(wanted + 1) + wanted->n_kernel;
	uint32_t n = 0;

	while (n < wanted->n_words && EP_FRAME_KIND(words[n]) == EP_FRAME_NATIVE)
		n += 1 + EP_FRAME_WORDS(words[n]);
	late->n_prefix++;
	if (n == 0 || got->n_words <= n ||
	    memcmp(got + 1, wanted + 1, ((size_t)got->n_kernel + n) * 8) != 0)
		complain(late, tid, "other frames than before tail calls ran out");
}

static void compare(struct late *late, uint32_t tid)
{
	const struct ep_sample *got = late->got.data, *wanted = late->wanted.data;

	if (got->error == EP_ERROR_COPY_END || got->error == EP_ERROR_LATE) {
		compare_early(late, tid);
		return;
	}
	if (wanted->error == EP_ERROR_TAIL_CALLS && got->error != wanted->error) {
		compare_longer(late, tid);
		return;
	}
	late->n_equal++;
	if (got->n_words != wanted->n_words || got->error != wanted->error ||
	    memcmp(got + 1, wanted + 1, ((size_t)got->n_kernel + got->n_words) * 8) != 0)
		complain(late, tid, "other frames than at once");
	else if ((got->hash != wanted->hash && !(wanted->flags & EP_SAMPLE_ADDED)) ||
		 got->n_frames != wanted->n_frames)
		complain(late, tid, "equal frames, another hash or count");
}

static int walk_thread(struct late *late, size_t i)
{
	const struct ep_replay_thread *thread =
		ep_vec_at(&late->replay->fixture->threads, struct ep_replay_thread, i);
	struct ep_walk_source source = {.arg = late->replay, .read_code = read_code};
	int r = ep_replay_walk(late->replay, i, &late->wanted);

	if (r == 0)
		r = make_event(late, thread);
	if (r == 0)
		r = ep_walker_run(late->walker, late->made.data, late->made.len,
				  late->replay->set.rows.data, late->replay->set.rows.len, &source,
				  &late->got);
	if (r == 0)
		compare(late, thread->tid);
	return r;
}

int replay_late(const char *path, const struct replay *replay)
{
	struct late late = {.path = path, .replay = replay->replay};
	struct ep_walker_options options = {
		.store = replay->replay->store,
		.rules = ep_kernel_entry(replay->replay->kernel, "ep_rules", 0),
	};
	int r = ep_walker_new(&options, &late.walker);

	ep_vec_init(&late.wanted, 1, EP_WALK_MAX_BYTES);
	ep_vec_init(&late.made, 1, 2 * EP_WALK_MAX_BYTES);
	ep_vec_init(&late.got, 1, EP_WALK_MAX_BYTES);
	for (size_t i = 0; r == 0 && i < replay->fixture->threads.len; i++)
		r = walk_thread(&late, i);
	printf("%s: %u stacks as at once, %u up to where the copy or native code ends\n", path,
	       late.n_equal, late.n_prefix);
	ep_vec_fini(&late.wanted);
	ep_vec_fini(&late.made);
	ep_vec_fini(&late.got);
	ep_walker_free(late.walker);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", path, ep_strerror(r));
	return r < 0 || late.n_bad > 0 || late.n_equal + late.n_prefix == 0;
}
