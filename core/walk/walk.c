/* SPDX-License-Identifier: Apache-2.0 */
#include "core/walk/walk.h"
#include "core/walk/internal.h"

#include <errno.h>
#include <string.h>

#define WORD_BYTES     sizeof(uint64_t)
#define MAX_COPY_BYTES (EP_COPY_PAGES * EP_COPY_PAGE_BYTES)
/* Nothing is mapped below (vm.mmap_min_addr as distributions set it) or above. */
#define USER_START     0x10000
#define USER_END       (1ull << 47)

struct ep_walker {
	struct ep_walker_options options;
	struct ep_steps *steps;
};

/* An event that was checked. */
struct pieces {
	struct ep_sample sample;
	struct ep_copy copy;
	const uint8_t *words; /* kernel, then user */
	const uint8_t *stack, *other;
	uint32_t head_frames; /* before at_word */
};

int ep_walker_new(const struct ep_walker_options *options, struct ep_walker **ret_walker)
{
	struct ep_walker *walker = calloc(1, sizeof(*walker));
	int r = walker ? ep_steps_new(&walker->steps) : -ENOMEM;

	if (r < 0) {
		free(walker);
		return r;
	}
	walker->options = *options;
	*ret_walker = walker;
	return 0;
}

void ep_walker_free(struct ep_walker *walker)
{
	if (!walker)
		return;
	ep_steps_free(walker->steps);
	free(walker);
}

/* --- the event -------------------------------------------------------------------------------- */

/* Bytes from the start of sp's page to where the copy begins: pages that were not there. */
static uint64_t skipped_bytes(const struct ep_copy *copy)
{
	return copy->addr - (copy->regs[EP_REG_SP] & ~(uint64_t)(EP_COPY_PAGE_BYTES - 1));
}

static bool check_other(const struct ep_copy *copy)
{
	return copy->other_bytes == 0 || (copy->other_bytes == EP_COPY_OTHER_BYTES &&
					  copy->other_addr % EP_COPY_OTHER_ALIGN == 0);
}

static bool check_copy(const struct ep_copy *copy, uint32_t copy_bytes)
{
	return check_other(copy) && copy->bytes <= MAX_COPY_BYTES &&
	       copy->bytes + copy->other_bytes == copy_bytes - sizeof(*copy) &&
	       copy->bytes % EP_COPY_PAGE_BYTES == 0 && copy->addr % EP_COPY_PAGE_BYTES == 0 &&
	       skipped_bytes(copy) <= MAX_COPY_BYTES - copy->bytes && copy->pc != 0 &&
	       (copy->known_regs & ~EP_KNOWN_ALL) == 0 &&
	       (copy->known_regs & EP_KNOWN_ALWAYS) == EP_KNOWN_ALWAYS &&
	       copy->return_address <= 1 && copy->by_pointer <= 1 && copy->interrupted <= 1 &&
	       copy->stood <= 1 && copy->guessed <= 1;
}

/* Frames must fill the words exactly, and one must end at at_word. */
static bool check_frames(struct pieces *pieces)
{
	const uint8_t *words = pieces->words + pieces->sample.n_kernel * WORD_BYTES;
	uint32_t at = 0, n_words = pieces->sample.n_words;
	bool has_border = pieces->copy.at_word == 0;

	pieces->head_frames = 0;
	for (uint32_t i = 0; i < pieces->sample.n_frames; i++) {
		uint64_t header;

		if (at >= n_words)
			return false;
		memcpy(&header, words + at * WORD_BYTES, sizeof(header));
		if (EP_FRAME_WORDS(header) > EP_FRAME_MAX_WORDS)
			return false;
		at += 1 + EP_FRAME_WORDS(header);
		has_border |= at == pieces->copy.at_word;
		pieces->head_frames += at <= pieces->copy.at_word;
	}
	return at == n_words && has_border;
}

static bool take_apart(const uint8_t *event, size_t bytes, struct pieces *pieces)
{
	const struct ep_sample *sample = &pieces->sample;
	size_t word_bytes;

	if (bytes < sizeof(*sample))
		return false;
	memcpy(&pieces->sample, event, sizeof(*sample));
	word_bytes = ((size_t)sample->n_kernel + sample->n_words) * WORD_BYTES;
	if (sample->event.type != EP_EVENT_TRACE || sample->n_kernel > EP_MAX_KERNEL ||
	    sample->n_words > EP_MAX_WORDS || sample->copy_bytes < sizeof(pieces->copy) ||
	    bytes - sizeof(*sample) != word_bytes + sample->copy_bytes)
		return false;
	pieces->words = event + sizeof(*sample);
	memcpy(&pieces->copy, pieces->words + word_bytes, sizeof(pieces->copy));
	pieces->stack = pieces->words + word_bytes + sizeof(pieces->copy);
	pieces->other = pieces->stack + pieces->copy.bytes;
	return check_copy(&pieces->copy, sample->copy_bytes) && check_frames(pieces);
}

/* The words that are there already: the kernel's, and frames that BPF found before it stopped. */
static struct ep_record *put_head(struct ep_walker *walker, const struct pieces *pieces)
{
	struct ep_record *record = ep_steps_begin(walker->steps, &pieces->copy);
	struct ep_sample *sample = &record->sample;

	*sample = pieces->sample;
	sample->n_words = (uint16_t)pieces->copy.at_word;
	sample->n_frames = (uint16_t)pieces->head_frames;
	sample->copy_bytes = 0;
	sample->error = EP_ERROR_NONE; /* BPF's is why there is a copy */
	sample->flags &= ~(EP_SAMPLE_RAW | EP_SAMPLE_UNKNOWN_ADDRESS | EP_SAMPLE_UNKNOWN_PROCESS);
	memcpy(record->words, pieces->words,
	       ((size_t)sample->n_kernel + sample->n_words) * WORD_BYTES);
	return record;
}

/* Frames of languages, which take their place after the native ones. */
static void put_tail(struct ep_record *record, const struct pieces *pieces)
{
	struct ep_sample *sample = &record->sample;
	uint32_t first = pieces->sample.n_kernel + pieces->copy.at_word;
	uint32_t n = pieces->sample.n_words - pieces->copy.at_word;

	memcpy(record->words + sample->n_kernel + sample->n_words,
	       pieces->words + first * WORD_BYTES, n * WORD_BYTES);
	sample->n_words += n;
	sample->n_frames += pieces->sample.n_frames - pieces->head_frames;
}

/* --- the walk --------------------------------------------------------------------------------- */

/* After many frames a record has no space for another page (add_copy of bpf/finish.bpf.h). */
static bool has_room(const struct pieces *pieces)
{
	size_t words = (size_t)pieces->sample.n_kernel + pieces->sample.n_words;

	return words + (sizeof(pieces->copy) + pieces->copy.bytes + EP_COPY_PAGE_BYTES) / WORD_BYTES <=
	       EP_RECORD_WORDS;
}

/*
 * Of an unreadable piece of stack: was it there, and only not copied? It was if the walk has gone
 * on to another stack (after a signal frame), if a rule looked at memory elsewhere (for stacks in
 * the heap), or if the copy ends because it is full; a shorter one ends where the memory did.
 */
static bool is_behind_copy(const struct pieces *pieces, const struct ep_record *record,
			   const struct ep_steps_world *world)
{
	const struct ep_copy *copy = &pieces->copy;
	uint64_t skipped = skipped_bytes(copy), first = copy->addr - skipped, failed = world->failed_end;

	if (record->walk.regs[EP_REG_SP] - first > MAX_COPY_BYTES)
		return true;
	if (failed - first > MAX_COPY_BYTES && failed >= USER_START && failed < USER_END)
		return true;
	return (skipped + copy->bytes == MAX_COPY_BYTES || !has_room(pieces)) &&
	       failed > copy->addr + copy->bytes;
}

/*
 * At the root: marked frames whose language was not asked, or says nothing at all, not even why: BPF
 * did not know then that it was one. One that was asked may rightly have no frames.
 */
static bool lacks_language(const struct pieces *pieces, const struct ep_record *record)
{
	uint32_t first = pieces->copy.at_word, n_kernel = pieces->sample.n_kernel;
	struct ep_frames_summary late = ep_frames_summarize(record->words + n_kernel + first,
					record->sample.n_words - first);
	struct ep_frames_summary tail = ep_frames_summarize(pieces->words + (n_kernel + first) * WORD_BYTES,
					pieces->sample.n_words - first);

	for (size_t i = 0; i < EP_LEN(pieces->copy.slots); i++)
		late.marks &= ~(1u << (pieces->copy.slots[i] & 31));
	return (late.marks & ~tail.languages) && !tail.error;
}

static void walk(struct ep_walker *walker, const struct pieces *pieces,
		 struct ep_steps_world *world, struct ep_record *record)
{
	uint32_t tail = pieces->sample.n_words - pieces->copy.at_word;
	struct ep_frames_summary head = ep_frames_summarize(record->words + record->sample.n_kernel,
					record->sample.n_words);
	uint32_t error = ep_steps_run(walker->steps, world, EP_MAX_WORDS - tail);

	record->sample.error = (uint8_t)head.error;
	if (error == EP_ERROR_BAD_READ && is_behind_copy(pieces, record, world))
		error = EP_ERROR_COPY_END;
	if (error == 0 && lacks_language(pieces, record))
		error = EP_ERROR_LATE;
	/* Without space for the frame the sample says it. */
	if (error && record->sample.n_words + 2 + tail <= EP_MAX_WORDS)
		ep_steps_push_error(walker->steps, error);
	else if (!head.error)
		record->sample.error = (uint8_t)error;
}

static void finish(struct ep_record *record)
{
	struct ep_sample *sample = &record->sample;
	struct ep_frames_summary all = ep_frames_summarize(record->words + sample->n_kernel, sample->n_words);

	if (!sample->error)
		sample->error = (uint8_t)all.error;
	if (all.has_raw)
		sample->flags |= EP_SAMPLE_RAW;
	else
		sample->flags &= ~EP_SAMPLE_RAW;
	sample->hash = ep_steps_hash(record);
}

int ep_walker_run(struct ep_walker *walker, const void *event, size_t bytes,
		  const struct ep_row *rows, size_t n_rows, const struct ep_walk_source *source,
		  struct ep_vec *ret_event)
{
	struct ep_steps_world world = {
		.store = walker->options.store,
		.rules = walker->options.rules,
		.rows = rows,
		.n_rows = (uint32_t)n_rows,
		.source = source,
	};
	struct ep_record *record;
	struct pieces pieces;

	if (n_rows > EP_MAX_ROWS)
		return -EINVAL;
	if (!take_apart(event, bytes, &pieces))
		return -EBADMSG;
	world.stack_addr = pieces.copy.addr;
	world.stack_bytes = pieces.copy.bytes;
	world.stack = pieces.stack;
	world.other_addr = pieces.copy.other_addr;
	world.other_bytes = pieces.copy.other_bytes;
	world.other = pieces.other;
	record = put_head(walker, &pieces);
	walk(walker, &pieces, &world, record);
	put_tail(record, &pieces);
	finish(record);
	ret_event->len = 0;
	/* The words follow the sample (ebpf-profiler/bpf/record.h). */
	return ep_vec_append(ret_event, record,
			     sizeof(record->sample) +
				     ((size_t)record->sample.n_kernel + record->sample.n_words) *
					     WORD_BYTES);
}
