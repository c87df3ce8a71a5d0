/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples with copies of stacks, as a target can make them: the input is an event. What the walker
 * makes of it must be an event that the trace store takes, with all words that were there before.
 */
#include "core/trace/store.h"
#include "tests/kit/fuzz.h"
#include "tests/unit/walk_world.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
static struct walk_world world;
static struct ep_row rows[WALK_N_ROWS];
static struct ep_vec out;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	walk_world_init(&world);
	walk_invented(&world, rows);
	ep_vec_init(&out, 1, EP_WALK_MAX_BYTES);
	return 0;
}

/* Code that is a signal restorer's at every fourth address, and cannot be read at others. */
static int read_code(void *arg, uint32_t executable, uint64_t va, void *buf, size_t bytes)
{
	static const uint64_t restorer = 0x0f0000000fc0c748ull;

	assert(executable != 0 && executable <= EP_ROW_MAX_ID);
	memset(buf, 0, bytes);
	if (va % 4 == 0)
		memcpy(buf, &restorer, EP_MIN(bytes, sizeof(restorer)));
	return va % 4 == 1 ? -1 : 0;
}

static void check_words(const uint8_t *before)
{
	const uint8_t *after = (const uint8_t *)out.data;
	struct ep_sample old, new;
	struct ep_copy copy;
	size_t head, tail;

	memcpy(&old, before, sizeof(old));
	memcpy(&new, after, sizeof(new));
	before += sizeof(old);
	after += sizeof(new);
	memcpy(&copy, before + 8 * ((size_t)old.n_kernel + old.n_words), sizeof(copy));
	assert(new.hash != 0 && new.copy_bytes == 0 && new.n_kernel == old.n_kernel);
	assert(new.n_words >= old.n_words && new.n_frames >= old.n_frames);
	assert(out.len == sizeof(new) + 8 * ((size_t)new.n_kernel + new.n_words));
	head = 8 * ((size_t)old.n_kernel + copy.at_word);
	tail = 8 * ((size_t)old.n_words - copy.at_word);
	assert(memcmp(before, after, head) == 0);
	assert(memcmp(before + head, (uint8_t *)out.data + out.len - tail, tail) == 0);
}

/* The store refuses kinds of frames that there are not, which the walker passes on. */
static void check_store(const uint8_t *event)
{
	struct ep_sample sample;
	struct ep_store *store;
	int before, after;

	memcpy(&sample, event, sizeof(sample));
	if (sample.hash == 0 || ep_store_new(&EP_STORE_DEFAULT_LIMITS, 0, &store) < 0)
		return;
	before = ep_store_add(store, event, sizeof(sample) + 8 * ((size_t)sample.n_kernel +
								  sample.n_words));
	after = ep_store_add(store, out.data, out.len);
	assert(before == after || before == -12 || after == -12); /* ENOMEM */
	ep_store_free(store);
}

/* Marks that come late, on what BPF sent without a copy. */
static void check_marks(const uint8_t *data, size_t size)
{
	size_t len = out.len = 0;

	if (size > EP_WALK_MAX_BYTES || ep_vec_append(&out, data, size) < 0)
		return;
	len = out.len;
	if (ep_walk_mark(&out, rows, WALK_N_ROWS) < 0)
		return;
	assert(out.len == len || out.len == len + 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ep_walk_source source = {.read_code = read_code};

	check_marks(data, size);

	if (ep_walker_run(world.walker, data, size, rows, WALK_N_ROWS, &source, &out) == 0) {
		check_words(data);
		check_store(data);
	}
	(void)ep_walker_run(world.walker, data, size, rows, WALK_N_ROWS / 2, NULL, &out);
	return 0;
}
