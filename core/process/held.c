/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/held.h"
#include "core/base/clock.h"
#include "core/process/executables.h"
#include "core/process/mappings.h"
#include "core/process/process_languages.h"
#include "core/trace/kinds.h"
#include "core/walk/walk.h"

#include <errno.h>
#include <string.h>

/* Of max_bytes so much is made free at once. */
#define SPARE 64

struct sample {
	TAILQ_ENTRY(sample) link;
	uint64_t since_ns;
	size_t bytes;
	bool lacks_code;    /* a worker reads it: */
	uint64_t code_turn; /* ep_file_code_turn, when it was walked */
	struct ep_sample event; /* words, then the copy, follow */
};

struct ep_held {
	TAILQ_HEAD(, sample) samples;
	struct ep_held_options options;
	struct ep_file_code *code;
	size_t bytes;
	struct ep_map program_bytes; /* hash of a program -> those of its samples */
	bool lacks_code; /* the walk at hand */
	bool is_walked;	 /* it needs no copy any more: only a language may be missing */
	struct ep_vec event; /* bytes: as it is passed on */
	struct ep_held_stats stats;
};

int ep_held_new(const struct ep_held_options *options, struct ep_held **ret_held)
{
	struct ep_held *held = calloc(1, sizeof(*held));

	if (!held)
		return -ENOMEM;
	if (ep_file_code_new(&options->code, &held->code) < 0) {
		free(held);
		return -ENOMEM;
	}
	TAILQ_INIT(&held->samples);
	ep_map_init(&held->program_bytes, UINT32_MAX); /* each has a sample that waits */
	held->options = *options;
	ep_vec_init(&held->event, 1, EP_WALK_MAX_BYTES);
	*ret_held = held;
	return 0;
}

void ep_held_free(struct ep_held *held)
{
	struct sample *sample;

	if (!held)
		return;
	while ((sample = TAILQ_FIRST(&held->samples)) != NULL) {
		TAILQ_REMOVE(&held->samples, sample, link);
		free(sample);
	}
	ep_map_fini(&held->program_bytes);
	ep_vec_fini(&held->event);
	ep_file_code_free(held->code);
	free(held);
}

/* --- placing raw frames ---------------------------------------------------------------------- */

/*
 * A raw address in code nobody can name, as a JIT makes it, ends up as it is. One that was reached
 * by frame pointer and lies in no executable mapping was no return address: the stack ends before it.
 */
static bool place_frame(const struct ep_process *process, uint64_t *words)
{
	uint32_t flags = EP_FRAME_FLAGS(words[0]);
	uint64_t back = flags & EP_FRAME_RETURN_ADDRESS ? 1 : 0, va;
	const struct ep_executable *executable;
	const struct ep_area *area;

	if (EP_FRAME_KIND(words[0]) != EP_FRAME_NATIVE || EP_FRAME_AUX(words[0]) != 0)
		return true;
	area = process ? ep_areas_find(ep_process_areas(process), words[1] - back) : NULL;
	if (!area)
		return !(flags & EP_FRAME_POINTER_WALK);
	executable = ep_area_executable(area);
	if (!executable || ep_executable_find_va(executable, area->file_off, &va) < 0)
		return true;
	words[0] = EP_FRAME_HEADER(EP_FRAME_NATIVE, flags, 1, executable->id);
	words[1] = va + (words[1] - area->start);
	return true;
}

/*
 * One frame of `n` words at `words`, written to `to`, which is not after it; returns the words
 * kept. After a frame that is none no native one is, but languages' frames are found by other ways.
 */
static size_t place_one(const struct ep_process *process, struct ep_sample *sample,
			uint64_t *words, size_t n, uint64_t *to, bool *broken)
{
	bool native = EP_FRAME_KIND(words[0]) == EP_FRAME_NATIVE;

	if (native && *broken)
		return 0;
	if (native && !place_frame(process, words)) {
		*broken = true;
		/* The kernel's part comes first; has the user's reported that it is not whole? */
		if (sample->error && !ep_error_is_of_kernel(sample->error))
			return 0;
		/* What seemed to be the way to the root was none. */
		to[0] = EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1, EP_ERROR_BAD_FRAME_POINTER);
		if (!sample->error)
			sample->error = EP_ERROR_BAD_FRAME_POINTER;
		return 2;
	}
	memmove(to, words, n * sizeof(*words));
	return n;
}

/* 0; -EBADMSG when the words are not those that the sample and its frames count. */
static int place_frames(const struct ep_process *process, struct ep_sample *sample, size_t bytes)
{
	uint64_t *words = (uint64_t *)(sample + 1) + sample->n_kernel;
	size_t n = (bytes - sizeof(*sample)) / 8, kept = 0, n_frames = 0;
	bool broken = false;

	if (sample->n_kernel > n || sample->n_words > n - sample->n_kernel)
		return -EBADMSG;
	for (size_t at = 0, len; at < sample->n_words; at += len) {
		size_t more;

		len = 1 + EP_FRAME_WORDS(words[at]);
		if (at + len > sample->n_words || (len < 2 && EP_FRAME_KIND(words[at]) <= EP_FRAME_TASK))
			return -EBADMSG;
		more = place_one(process, sample, words + at, len, words + kept, &broken);
		kept += more;
		n_frames += more > 0;
	}
	sample->n_words = (uint16_t)kept;
	sample->n_frames = (uint16_t)n_frames;
	return 0;
}

/* --- walking copies -------------------------------------------------------------------------- */

static int append(struct ep_vec *event, const void *data, size_t bytes)
{
	event->len = 0;
	return ep_vec_append(event, data, bytes);
}

/* A walk that lacks some of it is made again when that is there. */
static int read_code(void *arg, uint32_t id, uint64_t va, void *buf, size_t bytes)
{
	struct ep_held *held = arg;
	int r = ep_file_code_read(held->code, id, va, buf, bytes);

	held->lacks_code |= r == -EAGAIN;
	return r;
}

bool ep_sample_has_raw_code(const struct ep_sample *sample, size_t bytes)
{
	const uint64_t *words = (const uint64_t *)(sample + 1) + sample->n_kernel;
	size_t n = (bytes - sizeof(*sample)) / 8;

	if (sample->n_kernel > n)
		return false;
	n = EP_MIN(n - sample->n_kernel, (size_t)sample->n_words);
	for (size_t at = 0; at < n; at += 1 + EP_FRAME_WORDS(words[at])) {
		if (EP_FRAME_KIND(words[at]) == EP_FRAME_NATIVE && EP_FRAME_AUX(words[at]) == 0)
			return true;
	}
	return false;
}

/*
 * A walk has ended in a part of a library that has no tables yet (text_parts.h). True: they are
 * being made.
 */
static bool wants_parts(struct ep_executables *executables, const struct ep_sample *sample,
			size_t bytes)
{
	const uint64_t *words = (const uint64_t *)(sample + 1) + sample->n_kernel;
	size_t n = (bytes - sizeof(*sample)) / 8;
	bool wants = false;

	n = EP_MIN(n - EP_MIN(n, (size_t)sample->n_kernel), (size_t)sample->n_words);
	for (size_t at = 0; at + 1 < n; at += 1 + EP_FRAME_WORDS(words[at])) {
		uint64_t back = EP_FRAME_FLAGS(words[at]) & EP_FRAME_RETURN_ADDRESS ? 1 : 0;
		struct ep_executable *executable = NULL;

		if (EP_FRAME_KIND(words[at]) == EP_FRAME_NATIVE && EP_FRAME_AUX(words[at]))
			executable = ep_executables_find(executables, EP_FRAME_AUX(words[at]));
		if (executable && executable->in_parts)
			wants |= ep_text_parts_want(executable, words[at + 1] - back);
	}
	return wants;
}

static bool is_known(const struct ep_process *process)
{
	return process && ep_process_areas(process)->len > 0;
}

/* Leaves the event to pass on in held->event. 0, or a negative errno: it is malformed. */
static int walk(struct ep_held *held, const struct ep_process *process,
		const struct ep_sample *sample, size_t bytes)
{
	const struct ep_walk_source source = {.read_code = read_code, .arg = held};
	size_t copy = EP_MIN((size_t)sample->copy_bytes, bytes - sizeof(*sample));
	const struct ep_vec *rows;
	int r;

	if (!is_known(process)) { /* it ends where BPF stopped, and says why */
		r = append(&held->event, sample, bytes - copy);
		if (r == 0)
			((struct ep_sample *)held->event.data)->copy_bytes = 0;
		return r;
	}
	rows = ep_publisher_build(held->options.publisher, process);
	return ep_walker_run(held->options.walker, sample, bytes, rows->data, rows->len, &source,
			     &held->event);
}

/* --- waiting --------------------------------------------------------------------------------- */

/* The event as it is passed on, in held->event: as whole as it can be made now. 0, or -errno. */
static int complete(struct ep_held *held, const struct ep_process *process,
		    const struct ep_sample *sample, size_t bytes)
{
	int r = sample->copy_bytes ? walk(held, process, sample, bytes)
				   : append(&held->event, sample, bytes);
	struct ep_sample *event = held->event.data;

	if (r < 0 || sample->copy_bytes)
		return r;
	r = place_frames(process, event, held->event.len);
	if (r == 0)
		held->event.len = sizeof(*event) + (size_t)(event->n_kernel + event->n_words) * 8;
	return r;
}

/* True while waiting may help. */
static bool may_learn(struct ep_process *process)
{
	if (!process)
		return false;
	return !ep_process_is_settled(process) ||
	       (process->state == EP_PROCESS_NEW && !process->trust.floods);
}

static bool awaits_language(const struct ep_process *process)
{
	return process && ep_process_languages_await(process);
}

/*
 * Of native frames that were walked before BPF knew the languages of the process it is known by now
 * which of them run one.
 */
static void mark(struct ep_held *held, const struct ep_process *process)
{
	const struct ep_sample *event = held->event.data;
	const struct ep_vec *rows;

	if (!process || event->error || !process->languages.told_ns ||
	    ep_process_languages_missed(process, event->event.time_ns) == EP_ERROR_NONE)
		return;
	rows = ep_publisher_build(held->options.publisher, process);
	(void)ep_walk_mark(&held->event, rows->data, rows->len);
}

/* BPF did not know it, since nobody can. */
static void blame_flood(struct ep_sample *sample, size_t bytes)
{
	uint64_t *words = (uint64_t *)(sample + 1);
	size_t n = EP_MIN((bytes - sizeof(*sample)) / 8, (size_t)sample->n_kernel + sample->n_words);

	for (size_t at = sample->n_kernel; at + 1 < n; at += 1 + EP_FRAME_WORDS(words[at])) {
		if (EP_FRAME_KIND(words[at]) == EP_FRAME_ERROR &&
		    EP_FRAME_AUX(words[at]) == EP_ERROR_NOT_ANALYSED)
			words[at] = EP_FRAME_HEADER(EP_FRAME_ERROR, EP_FRAME_FLAGS(words[at]), 1,
						    EP_ERROR_UNSTEADY);
	}
	sample->error = EP_ERROR_UNSTEADY;
	sample->hash ^= ep_mix64(EP_ERROR_UNSTEADY); /* another trace than the one that says something else */
}

/* False when it should wait. `final`: it will not get any better. */
static bool try_pass(struct ep_held *held, const struct ep_sample *sample, size_t bytes, bool final)
{
	struct ep_process *process = ep_table_find(held->options.table, ep_program_of(sample));
	bool learns = may_learn(process), awaits = awaits_language(process);
	bool waits = !final && (learns || awaits);
	struct ep_sample *event;

	held->lacks_code = held->is_walked = false;
	if (waits && !(sample->copy_bytes && is_known(process)))
		return false;
	if (complete(held, process, sample, bytes) < 0) {
		held->stats.dropped++; /* nobody could use it */
		return true;
	}
	event = held->event.data;
	if (!final && process && event->error && sample->copy_bytes &&
	    wants_parts(held->options.code.executables, event, held->event.len))
		return false;
	if ((waits && (event->error || awaits)) || (held->lacks_code && !final)) {
		held->is_walked = !event->error && !held->lacks_code &&
				  !ep_sample_has_raw_code(event, held->event.len);
		return false;
	}
	mark(held, process);
	event = held->event.data;
	/*
	 * A whole stack goes through code that nobody knows: its files or its languages may not be known
	 * yet. Until the turn ends a dirty process has not met the languages of what was analysed in it.
	 */
	if (process && !event->error && ep_sample_has_raw_code(event, held->event.len)) {
		uint32_t error = EP_ERROR_NOT_ANALYSED;

		if (!learns && !process->published.is_dirty)
			error = ep_process_languages_missed(process, event->event.time_ns);
		else if (!final)
			return false;
		event->error = (uint8_t)error;
	}
	if (process && process->trust.floods && event->error == EP_ERROR_NOT_ANALYSED)
		blame_flood(event, held->event.len);
	held->stats.unknown += sample->copy_bytes && !is_known(process);
	held->stats.walked += !event->error;
	held->stats.incomplete += event->error != 0;
	held->options.pass(held->options.arg, event, held->event.len);
	return true;
}

/* How much of a program's waits. Two of one hash are taken for one. */
static size_t waits_of(const struct ep_held *held, uint64_t program_hash)
{
	const uint64_t *bytes = ep_map_find(&held->program_bytes, program_hash);

	return bytes ? (size_t)*bytes : 0;
}

static void set_waits(struct ep_held *held, uint64_t program_hash, size_t bytes)
{
	if (bytes == 0)
		ep_map_remove(&held->program_bytes, program_hash);
	else
		(void)ep_map_set(&held->program_bytes, program_hash, bytes); /* else it seems to have less */
}

static uint64_t hash_of(const struct sample *sample)
{
	return ep_program_hash(ep_program_of(&sample->event));
}

static void drop(struct ep_held *held, struct sample *sample)
{
	size_t bytes = sizeof(*sample) + sample->bytes, known = waits_of(held, hash_of(sample));

	TAILQ_REMOVE(&held->samples, sample, link);
	held->bytes -= bytes;
	set_waits(held, hash_of(sample), known - EP_MIN(known, bytes));
	free(sample);
}

static void release(struct ep_held *held, struct sample *sample)
{
	(void)try_pass(held, &sample->event, sample->bytes, true);
	drop(held, sample);
}

static uint64_t find_most(const struct ep_held *held)
{
	const struct ep_map_slot *slot, *most = NULL;
	size_t pos = 0;

	while ((slot = ep_map_next(&held->program_bytes, &pos)) != NULL) {
		if (!most || slot->value > most->value)
			most = slot;
	}
	return most ? most->key : hash_of(TAILQ_FIRST(&held->samples));
}

/*
 * The oldest go of the program that has most waiting: one that floods pushes out its own. A little more than is
 * needed, since all that wait are looked through.
 */
static void make_room(struct ep_held *held, size_t bytes)
{
	size_t max = held->options.max_bytes;
	struct sample *sample, *next;

	if (held->bytes + bytes <= max)
		return;
	max -= max / SPARE;
	while (held->bytes + bytes > max && !TAILQ_EMPTY(&held->samples)) {
		uint64_t most = find_most(held);

		for (sample = TAILQ_FIRST(&held->samples); sample && held->bytes + bytes > max; sample = next) {
			next = TAILQ_NEXT(sample, link);
			if (hash_of(sample) != most)
				continue;
			held->stats.pushed_out++;
			release(held, sample);
		}
	}
}

/* What is kept of a sample that try_pass did not pass on: without its copy, if it was walked. */
static struct sample *keep(struct ep_held *held, const struct ep_sample *event, size_t bytes)
{
	struct sample *sample;

	if (held->is_walked) {
		event = held->event.data;
		bytes = held->event.len;
	}
	sample = malloc(EP_MAX(offsetof(struct sample, event) + bytes, sizeof(*sample)));
	if (!sample)
		return NULL;
	sample->since_ns = ep_clock_mono_ns();
	sample->bytes = bytes;
	sample->lacks_code = held->lacks_code;
	sample->code_turn = ep_file_code_turn(held->code);
	memcpy(&sample->event, event, bytes);
	return sample;
}

void ep_held_add(struct ep_held *held, const struct ep_sample *event, size_t bytes)
{
	uint64_t program_hash = ep_program_hash(ep_program_of(event));
	struct sample *sample;
	size_t size;

	if (try_pass(held, event, bytes, false))
		return;
	sample = keep(held, event, bytes);
	if (!sample) {
		(void)try_pass(held, event, bytes, true);
		return;
	}
	size = sizeof(*sample) + sample->bytes;
	make_room(held, size);
	held->bytes += size;
	set_waits(held, program_hash, waits_of(held, program_hash) + size);
	TAILQ_INSERT_TAIL(&held->samples, sample, link);
}

/* One is walked again when nothing more is awaited; in between it would mostly be in vain. */
void ep_held_retry(struct ep_held *held)
{
	struct sample *sample, *next;

	for (sample = TAILQ_FIRST(&held->samples); sample; sample = next) {
		struct ep_process *process =
			ep_table_find(held->options.table, ep_program_of(&sample->event));

		next = TAILQ_NEXT(sample, link);
		if (sample->lacks_code ? sample->code_turn == ep_file_code_turn(held->code)
				       : may_learn(process) || awaits_language(process))
			continue;
		if (try_pass(held, &sample->event, sample->bytes, false)) {
			drop(held, sample);
			continue;
		}
		sample->lacks_code = held->lacks_code;
		sample->code_turn = ep_file_code_turn(held->code);
	}
}

void ep_held_expire(struct ep_held *held, uint64_t max_age_ns)
{
	uint64_t now_ns = ep_clock_mono_ns();
	struct sample *sample;

	while ((sample = TAILQ_FIRST(&held->samples)) != NULL &&
	       now_ns - sample->since_ns >= max_age_ns)
		release(held, sample);
}

bool ep_held_busy(const struct ep_held *held)
{
	return ep_file_code_busy(held->code);
}

size_t ep_held_bytes(const struct ep_held *held)
{
	return held->bytes;
}

const struct ep_held_stats *ep_held_stats(const struct ep_held *held)
{
	return &held->stats;
}
