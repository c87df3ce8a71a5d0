/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trace/kernel_code.h"
#include "core/trace/kinds.h"
#include "core/trace/store.h"
#include "core/trace/merge.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/queue.h>

/* Frames get older so often: with intervals of a minute each time one ends. */
#define AGE_NS ((uint64_t)50 * 1000 * 1000 * 1000)
/* A table is renewed when it has so many more than twice what is used. */
#define MANY_UNUSED 2048
/* So long after its end samples of an interval may come: those that waited (core/process/held.h), and a little. */
#define LATE_NS ((uint64_t)5 * 1000 * 1000 * 1000)
/* Kernel frames, user frames of one word at least each, and the error frame after them. */
#define MAX_FRAMES (EP_MAX_KERNEL + EP_MAX_WORDS + 1)

/* What stores of the same samples share. Each of them goes over to the latest table when its
 * interval ends. */
struct shared {
	LIST_HEAD(, ep_store) stores;
	struct ep_frames *latest; /* a reference */
	uint64_t aged_ns;	  /* when its frames became older */
};

struct ep_store {
	LIST_ENTRY(ep_store) link;
	struct shared *shared;
	struct ep_store_limits limits;
	struct ep_store_counters counters;
	struct ep_frames *frames;     /* a reference */
	struct ep_interval *current;  /* a reference */
	struct ep_interval *previous; /* a reference; NULL before the first interval ends */
	const struct ep_kernel_code *kernel_code; /* NULL: not followed */
	/* of the event in hand: */
	bool has_languages;   /* frames of languages to be merged */
	uint32_t first_error; /* of its error frames, 0: none */
	bool has_user_error;  /* one of them is of the user's part */
	size_t n_frame_ids;
	uint32_t frame_ids[MAX_FRAMES];
	struct ep_merge merge;
};

static int new_frames(const struct ep_store_limits *limits, struct ep_frames **ret_frames)
{
	return ep_frames_new(limits->max_frames, limits->max_string_bytes, limits->max_line_bytes,
			     ret_frames);
}

static int shared_new(const struct ep_store_limits *limits, uint64_t start_ns, struct shared **ret_shared)
{
	struct shared *shared = calloc(1, sizeof(*shared));
	int r = shared ? new_frames(limits, &shared->latest) : -ENOMEM;

	if (r < 0) {
		free(shared);
		return r;
	}
	LIST_INIT(&shared->stores);
	shared->aged_ns = start_ns;
	*ret_shared = shared;
	return 0;
}

static void shared_leave(struct ep_store *store)
{
	struct shared *shared = store->shared;

	LIST_REMOVE(store, link);
	if (!LIST_EMPTY(&shared->stores))
		return;
	ep_frames_unref(shared->latest);
	free(shared);
}

int ep_store_new_beside(struct ep_store *other, const struct ep_store_limits *limits, uint64_t start_ns,
			struct ep_store **ret_store)
{
	struct ep_store *store = calloc(1, sizeof(*store));
	int r = 0;

	if (!store)
		return -ENOMEM;
	store->limits = *limits;
	if (other)
		store->shared = other->shared;
	else
		r = shared_new(limits, start_ns, &store->shared);
	if (r < 0) {
		free(store);
		return r;
	}
	LIST_INSERT_HEAD(&store->shared->stores, store, link);
	store->frames = ep_frames_ref(store->shared->latest);
	r = ep_interval_new(store->frames, limits->max_interval_bytes, start_ns, &store->current);
	if (r < 0) {
		ep_store_free(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

int ep_store_new(const struct ep_store_limits *limits, uint64_t start_ns, struct ep_store **ret_store)
{
	return ep_store_new_beside(NULL, limits, start_ns, ret_store);
}

void ep_store_free(struct ep_store *store)
{
	if (!store)
		return;
	ep_interval_unref(store->previous);
	ep_interval_unref(store->current);
	ep_frames_unref(store->frames);
	shared_leave(store);
	free(store);
}

void ep_store_set_kernel_code(struct ep_store *store, const struct ep_kernel_code *code)
{
	store->kernel_code = code;
}

static uint32_t kernel_code_at(const struct ep_store *store, uint64_t lookup_addr, uint64_t time_ns)
{
	return store->kernel_code ? ep_kernel_code_at(store->kernel_code, lookup_addr, time_ns) : 0;
}

/* 0, -EDQUOT: its program has its share; -E2BIG, -ENOMEM. */
static int push_frame(struct ep_store *store, uint64_t header, const uint64_t *words,
		      const struct ep_sample *sample)
{
	assert(store->n_frame_ids < MAX_FRAMES);
	return ep_frames_add(store->frames, header, words, ep_program_of(sample),
			     &store->frame_ids[store->n_frame_ids++]);
}

/* The innermost kernel frame was interrupted; the others are where a call will return to. */
static int push_kernel(struct ep_store *store, const struct ep_sample *sample, const uint8_t *bytes)
{
	for (uint32_t i = 0; i < sample->n_kernel; i++) {
		uint32_t flags = i > 0 ? EP_FRAME_RETURN_ADDRESS : 0;
		uint32_t code;
		uint64_t address;
		int r;

		memcpy(&address, bytes + i * sizeof(address), sizeof(address));
		code = kernel_code_at(store, address - (i > 0), sample->event.time_ns);
		r = push_frame(store, EP_FRAME_HEADER(EP_FRAME_KERNEL, flags, 1, code), &address,
			       sample);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The frame at bytes; check_frames has been there before: lengths are right. */
static int push_user_frame(struct ep_store *store, const struct ep_sample *sample,
			   const uint8_t *bytes, uint32_t *ret_n_words)
{
	uint64_t header, words[EP_FRAME_MAX_WORDS];
	uint32_t n_words;

	memcpy(&header, bytes, sizeof(header));
	n_words = EP_FRAME_WORDS(header);
	memcpy(words, bytes + sizeof(header), n_words * sizeof(*words));
	*ret_n_words = 1 + n_words;
	return push_frame(store, header, words, sample);
}

/* The header says that the user's part is not whole, and no frame does. */
static bool lacks_error_frame(const struct ep_store *store, const struct ep_sample *sample)
{
	return sample->error && !ep_error_is_of_kernel(sample->error) && !store->has_user_error;
}

static int push_user(struct ep_store *store, const struct ep_sample *sample, const uint8_t *bytes)
{
	uint32_t n_frames = sample->n_frames, at = 0;

	if (store->has_languages)
		n_frames = ep_merge_frames(&store->merge, bytes, sample->n_words,
					   lacks_error_frame(store, sample));
	for (uint32_t i = 0; i < n_frames; i++) {
		uint32_t n_words;
		int r;

		if (store->has_languages)
			at = store->merge.order[i];
		r = push_user_frame(store, sample, bytes + at * sizeof(uint64_t), &n_words);
		if (r < 0)
			return r;
		at += n_words;
	}
	return 0;
}

/* In the place of the frame that was refused. */
static int end_by_share(struct ep_store *store, uint8_t *ret_error)
{
	store->counters.over_share++;
	store->frame_ids[store->n_frame_ids - 1] = EP_ERROR_SHARE;
	*ret_error = EP_ERROR_SHARE;
	return 0;
}

/*
 * Puts the event's frames into frame_ids, leaf first: kernel, user, and when the walk ended early
 * an error frame, whether BPF sent one or only noted it in the header. 0, -E2BIG, -ENOMEM.
 */
static int push_all(struct ep_store *store, const struct ep_sample *sample, const uint8_t *bytes,
		    uint8_t *ret_error)
{
	bool is_said = ep_error_text(sample->error) != NULL;
	uint32_t error = is_said ? sample->error : store->first_error;
	int r;

	store->n_frame_ids = 0;
	r = push_kernel(store, sample, bytes);
	if (r == 0)
		r = push_user(store, sample, bytes + sample->n_kernel * sizeof(uint64_t));
	if (r == -EDQUOT)
		return end_by_share(store, ret_error);
	if (r == 0 && ((is_said && lacks_error_frame(store, sample)) || store->n_frame_ids == 0)) {
		error = error ? error : EP_ERROR_LOST;
		r = push_frame(store, EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 0, error), NULL, sample);
	}
	*ret_error = (uint8_t)error;
	return r;
}

static bool check_frame(uint64_t header)
{
	uint32_t kind = EP_FRAME_KIND(header), n_words = EP_FRAME_WORDS(header);

	if (n_words > EP_FRAME_MAX_WORDS || kind == EP_FRAME_NONE)
		return false;
	if (kind == EP_FRAME_ERROR || kind == EP_FRAME_GAP)
		return ep_error_text(EP_FRAME_AUX(header)) != NULL;
	if (kind == EP_FRAME_TASK)
		return ep_task_text(EP_FRAME_AUX(header)) != NULL;
	return kind < EP_FRAME_ERROR ? n_words > 0 : kind >= EP_FRAME_FIRST_DYNAMIC;
}

/* Frames must fill the words exactly, with kinds and lengths that exist. */
static bool check_frames(struct ep_store *store, const struct ep_sample *sample,
			 const uint8_t *bytes)
{
	uint32_t at = 0;

	store->has_languages = false;
	store->first_error = 0;
	store->has_user_error = false;
	for (uint32_t i = 0; i < sample->n_frames; i++) {
		uint64_t header;

		if (at >= sample->n_words)
			return false;
		memcpy(&header, bytes + at * sizeof(header), sizeof(header));
		if (!check_frame(header))
			return false;
		if (EP_FRAME_KIND(header) == EP_FRAME_ERROR) {
			if (!store->first_error)
				store->first_error = EP_FRAME_AUX(header);
			store->has_user_error |= !ep_error_is_of_kernel(EP_FRAME_AUX(header));
		}
		store->has_languages |= EP_FRAME_KIND(header) >= EP_FRAME_FIRST_DYNAMIC;
		at += 1 + EP_FRAME_WORDS(header);
	}
	return at == sample->n_words;
}

static bool check_event(struct ep_store *store, const struct ep_sample *sample,
			const uint8_t *event, size_t bytes)
{
	size_t words = (size_t)sample->n_kernel + sample->n_words;

	if (sample->hash == 0)
		return false;
	if (sample->event.type == EP_EVENT_KNOWN)
		return true;
	return sample->event.type == EP_EVENT_TRACE && sample->n_kernel <= EP_MAX_KERNEL &&
	       sample->n_words <= EP_MAX_WORDS &&
	       bytes - sizeof(*sample) >= words * sizeof(uint64_t) &&
	       check_frames(store, sample,
			    event + sizeof(*sample) + sample->n_kernel * sizeof(uint64_t));
}

/* A stack of which only the process is known. Hash 0 is none BPF makes: one trace per process. */
static int add_without_stack(struct ep_store *store, const struct ep_sample *sample, enum ep_error why)
{
	struct ep_sample lost = *sample;
	uint32_t frame_id = why;
	bool collision;

	lost.hash = 0;
	return ep_interval_add_trace(store->current, &lost, &frame_id, 1, (uint8_t)why, &collision);
}

/* The trace of frame_ids, or when its program has its share of them, one that says so. */
static int keep_trace(struct ep_store *store, const struct ep_sample *sample, uint8_t error, bool *ret_collision)
{
	int r = ep_interval_add_trace(store->current, sample, store->frame_ids, store->n_frame_ids, error,
				      ret_collision);

	if (r != -EDQUOT)
		return r;
	store->counters.over_share += error != EP_ERROR_SHARE;
	return add_without_stack(store, sample, EP_ERROR_SHARE);
}

/* Raw addresses that found their place meanwhile differ from those of an earlier event. */
static int add_with_frames(struct ep_store *store, const struct ep_sample *sample, uint8_t error)
{
	bool collision = false;
	int r = keep_trace(store, sample, error, &collision);

	store->counters.collisions += collision && !(sample->flags & EP_SAMPLE_RAW);
	return r;
}

static int add_trace(struct ep_store *store, const struct ep_sample *sample, const uint8_t *words)
{
	uint8_t error = 0;
	int r = push_all(store, sample, words, &error);

	store->counters.traces++;
	if (r == -E2BIG) {
		store->counters.frames_full++;
		return add_without_stack(store, sample, EP_ERROR_LOST);
	}
	return r < 0 ? r : add_with_frames(store, sample, error);
}

/* Of a frame of a trace that was seen before. */
static bool is_replaced(const struct ep_store *store, const struct ep_frame *frame, uint64_t time_ns)
{
	return frame->kind == EP_FRAME_KERNEL &&
	       kernel_code_at(store, ep_frame_lookup_addr(frame), time_ns) != frame->aux;
}

/* Frames of a trace of this or of the previous interval, whose table may be another one. */
static int push_copies(struct ep_store *store, const struct ep_interval *interval,
		       const struct ep_trace *trace, uint64_t time_ns)
{
	struct ep_program program = *ep_interval_process(interval, trace->process);
	const uint32_t *ids = ep_interval_frame_ids(interval, trace);
	struct ep_frames *old = ep_interval_frames(interval);

	store->n_frame_ids = 0;
	for (uint32_t i = 0; i < trace->n_frames; i++) {
		uint32_t *id = &store->frame_ids[store->n_frame_ids++];
		struct ep_frame frame;
		int r;

		*id = ids[i];
		ep_frames_get(old, ids[i], &frame);
		if (is_replaced(store, &frame, time_ns))
			frame.aux = kernel_code_at(store, ep_frame_lookup_addr(&frame), time_ns);
		else if (old == store->frames)
			continue;
		r = ep_frames_add(
			store->frames,
			EP_FRAME_HEADER(frame.kind, frame.flags, frame.n_words, frame.aux),
			frame.words, program, id);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Its trace may have come, and been refused. */
static int add_unknown(struct ep_store *store, const struct ep_sample *sample)
{
	if (ep_interval_is_over_share(store->current, ep_program_of(sample))) {
		store->counters.over_share++;
		return add_without_stack(store, sample, EP_ERROR_SHARE);
	}
	store->counters.unknown++;
	return add_without_stack(store, sample, EP_ERROR_LOST);
}

static int copy_from_previous(struct ep_store *store, const struct ep_sample *sample)
{
	const struct ep_trace *trace;
	uint32_t id = 0;
	uint8_t error;
	int r;

	if (store->previous)
		id = ep_interval_find(store->previous, sample->hash, ep_program_of(sample));
	if (!id)
		return add_unknown(store, sample);
	trace = ep_interval_trace(store->previous, id);
	error = trace->error;
	r = push_copies(store, store->previous, trace, sample->event.time_ns);
	if (r == -EDQUOT)
		r = end_by_share(store, &error);
	if (r == -E2BIG) {
		store->counters.frames_full++;
		return add_without_stack(store, sample, EP_ERROR_LOST);
	}
	store->counters.copied += r == 0;
	return r < 0 ? r : add_with_frames(store, sample, error);
}

/* A trace of this interval, one of whose kernel addresses is other code by now; NULL: there is none, or none is. */
static const struct ep_trace *find_replaced(const struct ep_store *store, const struct ep_sample *sample)
{
	const struct ep_trace *trace;
	const uint32_t *ids;
	uint32_t id;

	if (!store->kernel_code || !ep_kernel_code_has_changed(store->kernel_code))
		return NULL;
	id = ep_interval_find(store->current, sample->hash, ep_program_of(sample));
	if (!id)
		return NULL;
	trace = ep_interval_trace(store->current, id);
	ids = ep_interval_frame_ids(store->current, trace);
	for (uint32_t i = 0; i < trace->n_frames; i++) {
		struct ep_frame frame;

		ep_frames_get(store->frames, ids[i], &frame);
		if (frame.kind != EP_FRAME_KERNEL)
			return NULL;
		if (is_replaced(store, &frame, sample->event.time_ns))
			return trace;
	}
	return NULL;
}

/* Traces of equal hash are kept apart by their frames: those with the code before stay as they are. */
static int add_replaced(struct ep_store *store, const struct ep_sample *sample, const struct ep_trace *trace)
{
	uint8_t error = trace->error;
	bool collision;
	int r = push_copies(store, store->current, trace, sample->event.time_ns);

	store->counters.replaced++;
	if (r == -EDQUOT)
		r = end_by_share(store, &error);
	if (r == -E2BIG) {
		store->counters.frames_full++;
		return add_without_stack(store, sample, EP_ERROR_LOST);
	}
	return r < 0 ? r : keep_trace(store, sample, error, &collision);
}

static int add_known(struct ep_store *store, const struct ep_sample *sample)
{
	const struct ep_trace *replaced = find_replaced(store, sample);
	int r;

	store->counters.known++;
	if (replaced)
		return add_replaced(store, sample, replaced);
	r = ep_interval_add_known(store->current, sample);
	return r == EP_INTERVAL_UNKNOWN ? copy_from_previous(store, sample) : r;
}

int ep_store_add(struct ep_store *store, const void *event, size_t bytes)
{
	struct ep_sample sample;
	int r;

	if (bytes < sizeof(sample)) {
		store->counters.malformed++;
		return -EBADMSG;
	}
	memcpy(&sample, event, sizeof(sample));
	if (!check_event(store, &sample, event, bytes)) {
		store->counters.malformed++;
		return -EBADMSG;
	}
	if (sample.event.type == EP_EVENT_KNOWN)
		r = add_known(store, &sample);
	else
		r = add_trace(store, &sample, (const uint8_t *)event + sizeof(sample));
	if (r < 0) {
		store->counters.over_limit++;
		ep_interval_add_lost(store->current, 1);
	} else {
		store->counters.samples++;
	}
	return r;
}

void ep_store_add_lost(struct ep_store *store, uint64_t samples)
{
	ep_interval_add_lost(store->current, samples);
}

void ep_store_add_due(struct ep_store *store, uint64_t samples)
{
	ep_interval_add_due(store->current, samples);
}

void ep_store_begin(struct ep_store *store, uint64_t now_ns)
{
	ep_interval_begin(store->current, now_ns);
}

const struct ep_interval *ep_store_current(const struct ep_store *store)
{
	return store->current;
}

/* Others have the old table until their interval ends: who waited longest renews it, and no other
 * waits as long again. */
static bool is_oldest(const struct ep_store *store)
{
	const struct ep_store *other;

	LIST_FOREACH (other, &store->shared->stores, link) {
		if (ep_interval_start_ns(other->current) < ep_interval_start_ns(store->current))
			return false;
	}
	return true;
}

/* The frames of the current interval are used; most others may be of programs that are gone. */
static bool has_many_unused(const struct ep_store *store, uint64_t now_ns)
{
	struct shared *shared = store->shared;

	if (now_ns < shared->aged_ns + AGE_NS || !is_oldest(store))
		return false;
	shared->aged_ns = now_ns;
	return ep_frames_count(shared->latest) > 2 * ep_frames_age(shared->latest) + MANY_UNUSED;
}

/* Without memory for a new one the latest goes on. */
static int next_frames(struct ep_store *store, uint64_t now_ns, struct ep_frames **ret_frames)
{
	struct shared *shared = store->shared;
	struct ep_frames *next = NULL;
	int r = 0;

	if (store->frames == shared->latest)
		ep_interval_use_frames(store->current);
	if (ep_frames_is_full(shared->latest))
		r = new_frames(&store->limits, &next);
	else if (has_many_unused(store, now_ns) && ep_frames_renew(shared->latest, &next) == 0)
		store->counters.renewals++;
	if (r < 0)
		return r;
	if (next) {
		ep_frames_unref(shared->latest);
		shared->latest = next;
	}
	*ret_frames = ep_frames_ref(shared->latest);
	return 0;
}

/* The interval before the one being finished is used again when its batch has been made. */
static int next_interval(struct ep_store *store, struct ep_frames *frames, uint64_t now_ns,
			 struct ep_interval **ret_interval)
{
	if (store->previous && ep_interval_reset(store->previous, frames, now_ns) == 0) {
		*ret_interval = ep_take(store->previous);
		return 0;
	}
	return ep_interval_new(frames, store->limits.max_interval_bytes, now_ns, ret_interval);
}

int ep_store_seal(struct ep_store *store, uint64_t now_ns, struct ep_interval **ret_interval)
{
	struct ep_interval *interval = NULL;
	struct ep_frames *frames = NULL;
	int r;

	r = next_frames(store, now_ns, &frames);
	if (r == 0)
		r = next_interval(store, frames, now_ns, &interval);
	if (r < 0) {
		ep_frames_unref(frames);
		return r;
	}
	if (frames != store->frames) {
		store->counters.resets++;
		store->counters.names_over_share += ep_frames_names_over_share(store->frames);
	}
	ep_frames_unref(store->frames);
	store->frames = frames;
	ep_interval_seal(store->current, now_ns);
	ep_interval_unref(store->previous);
	store->previous = store->current;
	store->current = interval;
	*ret_interval = ep_interval_ref(store->previous);
	return 0;
}

/* It keeps its own memory for the next interval; one that is in use is looked at again. */
void ep_store_rest(struct ep_store *store, uint64_t now_ns)
{
	struct ep_interval *previous = store->previous;

	if (previous && ep_interval_frames(previous) != store->frames && now_ns >= ep_interval_end_ns(previous) + LATE_NS)
		(void)ep_interval_reset(previous, store->frames, now_ns);
}

struct ep_frames *ep_store_frames(struct ep_store *store)
{
	return store->frames;
}

const struct ep_store_counters *ep_store_counters(const struct ep_store *store)
{
	return &store->counters;
}

static const struct ep_frames *frames_before(const struct ep_store *store)
{
	return store->previous ? ep_interval_frames(store->previous) : NULL;
}

/* A table that stores share is the first one's. */
static size_t own_bytes(const struct ep_store *store, const struct ep_frames *frames)
{
	const struct ep_store *other;

	LIST_FOREACH (other, &store->shared->stores, link) {
		if (other == store)
			break;
		if (other->frames == frames || frames_before(other) == frames)
			return 0;
	}
	return ep_frames_bytes(frames);
}

size_t ep_store_frames_bytes(const struct ep_store *store)
{
	const struct ep_frames *before = frames_before(store);

	return own_bytes(store, store->frames) + (before && before != store->frames ? own_bytes(store, before) : 0);
}

size_t ep_store_bytes(const struct ep_store *store)
{
	size_t bytes = sizeof(*store) + ep_store_frames_bytes(store) + ep_interval_bytes(store->current);

	if (store->previous)
		bytes += ep_interval_bytes(store->previous);
	return bytes;
}
