/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The native unwinder of the BPF side, over memory of ours (shim/bpf/bpf_helpers.h). */
#include "core/walk/internal.h"
#include "core/base/bisect.h"
#include "core/unwind/delta_store.h"

#include <errno.h>
#include <string.h>

/* The program around the steps is not wanted: it stays a prototype and a function nobody calls. */
#define ep_native(parameter)                                                                       \
	ep_steps_not_wanted(parameter);                                                            \
	static __attribute__((unused)) int ep_steps_unused(parameter)
#include "bpf/native.bpf.h"

/* Of a kernel that nothing is known of: no step asks it. Weak: a program that has BPF's own has its. */
const volatile struct ep_config ep_config __attribute__((weak));

/* After the chunks of the store: the rows of the process at hand. */
#define ROWS_CHUNK EP_MAX_CHUNKS
_Static_assert(EP_MAX_ROWS * sizeof(struct ep_row) <= EP_CHUNK_BYTES, "rows fit into a chunk");

#define FRAME_WORDS 2 /* of a native frame, and of an error frame */

struct ep_steps {
	struct ep_core_record rec;
};

/* Helpers have no argument for it: what the steps on this thread read. */
static _Thread_local struct ep_steps_world *current;

static void *ep_steps_chunk(__u32 index)
{
	if (index == ROWS_CHUNK)
		return (void *)current->rows;
	return (void *)ep_delta_store_chunk(current->store, index);
}

static void *ep_steps_rule(__u32 index)
{
	return index < EP_MAX_RULES ? (void *)&current->rules[index] : NULL;
}

/* The row that an address is in, NULL when there is none. */
static const struct ep_row *find_row_at(const struct ep_steps_world *world, uint64_t addr)
{
	size_t n = ep_bisect(world->n_rows, i, world->rows[i].start <= addr);

	if (n == 0 || addr >= world->rows[n - 1].end)
		return NULL;
	return &world->rows[n - 1];
}

/* Instructions: they are what the file has. */
static bool read_code(const struct ep_steps_world *world, void *to, uint32_t bytes, uint64_t addr)
{
	const struct ep_row *row = world->source ? find_row_at(world, addr) : NULL;

	if (!row || !EP_ROW_ID(row->executable) || row->end - addr < bytes)
		return false;
	return world->source->read_code(world->source->arg, EP_ROW_ID(row->executable),
					addr - row->start + row->va, to, bytes) == 0;
}

/* A piece of a stack: `piece_bytes` from `addr` on. */
static bool read_piece(void *to, uint32_t bytes, uint64_t from, const uint8_t *piece, uint64_t addr,
		       uint32_t piece_bytes)
{
	uint64_t off = from - addr;

	if (off >= piece_bytes || piece_bytes - off < bytes)
		return false;
	memcpy(to, piece + off, bytes);
	return true;
}

static long ep_steps_read(void *to, __u32 bytes, __u64 from)
{
	struct ep_steps_world *world = current;

	if (read_piece(to, bytes, from, world->stack, world->stack_addr, world->stack_bytes) ||
	    read_piece(to, bytes, from, world->other, world->other_addr, world->other_bytes))
		return 0;
	if (read_code(world, to, bytes, from))
		return 0;
	memset(to, 0, bytes);
	world->failed_end = from + bytes;
	return -EFAULT;
}

int ep_steps_new(struct ep_steps **ret_steps)
{
	*ret_steps = calloc(1, sizeof(**ret_steps));
	return *ret_steps ? 0 : -ENOMEM;
}

void ep_steps_free(struct ep_steps *steps)
{
	free(steps);
}

struct ep_record *ep_steps_begin(struct ep_steps *steps, const struct ep_copy *copy)
{
	struct ep_core_record *rec = &steps->rec;

	/* All but the words and the window is of this walk alone. */
	memset(&rec->walk, 0,
	       offsetof(struct ep_core_record, window) - offsetof(struct ep_core_record, walk));
	rec->no_copy = 1;
	rec->window_base = ~0ULL;
	rec->walk.pc = copy->pc;
	rec->walk.known_regs = copy->known_regs;
	rec->walk.return_address = copy->return_address;
	rec->walk.by_pointer = copy->by_pointer;
	rec->walk.interrupted = copy->interrupted;
	rec->stood = copy->stood;
	rec->guessed = copy->guessed;
	rec->known = 1;
	rec->walk.core.rows = EP_REF(ROWS_CHUNK, 0);
	memcpy(rec->walk.regs, copy->regs, sizeof(copy->regs));
	return &rec->record;
}

/* Whoever takes anonymous code would have been asked: any slot stands for it. */
static void set_takers(struct ep_core_record *rec, const struct ep_steps_world *world)
{
	for (uint32_t i = 0; i < world->n_rows; i++) {
		if (EP_ROW_SLOT(world->rows[i].executable) == EP_ROW_SLOT_ANY) {
			rec->takers = 1;
			rec->walk.core.slots[0] = EP_ROW_SLOT_ANY;
			return;
		}
	}
}

uint32_t ep_steps_run(struct ep_steps *steps, struct ep_steps_world *world, uint32_t max_words)
{
	struct ep_core_record *rec = &steps->rec;
	struct ep_steps_world *outer = current;
	uint32_t step = STEP_AGAIN;

	current = world;
	rec->walk.core.n_rows = world->n_rows;
	set_takers(rec, world);
	/* Each step pushes a frame; one for an error has space after it. */
	while (step == STEP_AGAIN) {
		if (rec->sample.n_words + 2 * FRAME_WORDS > max_words)
			step = EP_ERROR_TOO_DEEP;
		else
			step = step_frame(rec);
		if (step == EP_ERROR_BAD_FRAME_POINTER && guess_caller(rec))
			step = STEP_AGAIN;
	}
	current = outer;
	if (step == STEP_ROOT)
		return 0;
	/* Its language would have had to run in the process. */
	return step == STEP_ENTER ? EP_ERROR_LATE : step;
}

void ep_steps_push_error(struct ep_steps *steps, uint32_t error)
{
	ep_push_error(&steps->rec.record, error, steps->rec.walk.pc);
}

/* As ep_entry begins it, each push goes on, and ep_finish ends it. */
uint64_t ep_steps_hash(const struct ep_record *record)
{
	const struct ep_sample *sample = &record->sample;
	uint64_t hash = ep_hash_word((uint64_t)sample->image << 32 | sample->pid, sample->start_ns);
	uint32_t at = 0;

	for (; at < sample->n_kernel; at++)
		hash = ep_hash_word(hash, record->words[at]);
	if (sample->n_kernel)
		hash = ep_hash_word(hash, sample->n_kernel);
	for (; at < (uint32_t)sample->n_kernel + sample->n_words; at++)
		hash = ep_hash_word(hash, record->words[at]);
	return hash_finish(hash);
}
