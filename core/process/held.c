/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/held.h"
#include "core/base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/queue.h>

struct sample {
	TAILQ_ENTRY(sample) link;
	uint64_t since_ns;
	size_t bytes;
	struct ep_sample event; /* words follow */
};

struct ep_held {
	TAILQ_HEAD(, sample) samples;
	struct ep_processes *processes;
	void (*pass)(void *arg, const void *event, size_t bytes);
	void *arg;
	size_t bytes, max_bytes;
};

int ep_held_new(struct ep_processes *processes, size_t max_bytes,
		void (*pass)(void *arg, const void *event, size_t bytes), void *arg,
		struct ep_held **ret_held)
{
	struct ep_held *held = calloc(1, sizeof(*held));

	if (!held)
		return -ENOMEM;
	TAILQ_INIT(&held->samples);
	held->processes = processes;
	held->pass = pass;
	held->arg = arg;
	held->max_bytes = max_bytes;
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
	free(held);
}

/*
 * A raw address in code nobody can name ends up as it is. One that was reached by frame pointer
 * and lies in no executable mapping was no return address: the stack ends before it.
 */
static bool place_frame(const struct ep_held *held, const struct ep_sample *sample,
			  uint64_t *words)
{
	uint32_t flags = EP_FRAME_FLAGS(words[0]), executable = 0;
	uint64_t back = flags & EP_FRAME_RETURN_ADDRESS ? 1 : 0, va = 0;
	int r;

	if (EP_FRAME_KIND(words[0]) != EP_FRAME_NATIVE || EP_FRAME_AUX(words[0]) != 0)
		return true;
	r = ep_processes_place(held->processes, (pid_t)sample->pid, sample->start_ns,
			       words[1] - back, &executable, &va);
	if (r == EP_PLACE_ANONYMOUS)
		return true;
	if (r < 0)
		return !(flags & EP_FRAME_POINTER_WALK);
	words[0] = EP_FRAME_HEADER(EP_FRAME_NATIVE, flags, 1, executable);
	words[1] = va + back;
	return true;
}

/* What seemed to be the way to the root was none. */
static void end_broken(struct ep_sample *sample, uint64_t *words)
{
	words[0] = EP_FRAME_HEADER(EP_FRAME_ERROR, 0, 1, EP_ERROR_BAD_FRAME_POINTER);
	if (!sample->error)
		sample->error = EP_ERROR_BAD_FRAME_POINTER;
}

/* Does the user's part say of itself that it is not whole? What the kernel's part says is first. */
static bool has_user_error(const struct ep_sample *sample)
{
	return sample->error && sample->error != EP_ERROR_KERNEL_DEPTH &&
	       sample->error != EP_ERROR_KERNEL_STACK;
}

/*
 * One frame of `n` words at `words`, written to `to`, which is not behind it; returns the words
 * kept. Behind a frame that is none no native one is, but languages' frames are found by other ways.
 */
static size_t place_one(const struct ep_held *held, struct ep_sample *sample, uint64_t *words,
			size_t n, uint64_t *to, bool *broken)
{
	bool native = EP_FRAME_KIND(words[0]) == EP_FRAME_NATIVE;

	if (native && *broken)
		return 0;
	if (native && !place_frame(held, sample, words)) {
		*broken = true;
		if (has_user_error(sample))
			return 0;
		end_broken(sample, to); /* where the frame was that is none */
		return 2;
	}
	memmove(to, words, n * sizeof(*words));
	return n;
}

static void place_frames(const struct ep_held *held, struct ep_sample *sample, size_t bytes)
{
	uint64_t *words = (uint64_t *)(sample + 1) + sample->n_kernel;
	size_t n = (bytes - sizeof(*sample)) / 8, kept = 0, n_frames = 0;
	bool broken = false;

	if (sample->n_kernel > n || sample->n_words > n - sample->n_kernel)
		return; /* the store refuses it */
	for (size_t at = 0, len; at < sample->n_words; at += len) {
		size_t more;

		len = 1 + EP_FRAME_WORDS(words[at]);
		if (at + len > sample->n_words || (len < 2 && EP_FRAME_KIND(words[at]) < 4))
			return;
		more = place_one(held, sample, words + at, len, words + kept, &broken);
		kept += more;
		n_frames += more > 0;
	}
	sample->n_words = (uint16_t)kept;
	sample->n_frames = (uint16_t)n_frames;
}

static void pass_on(struct ep_held *held, struct ep_sample *sample, size_t bytes)
{
	place_frames(held, sample, bytes);
	bytes = sizeof(*sample) + (size_t)(sample->n_kernel + sample->n_words) * 8;
	held->pass(held->arg, sample, bytes);
}

static void release(struct ep_held *held, struct sample *sample)
{
	TAILQ_REMOVE(&held->samples, sample, link);
	held->bytes -= sizeof(*sample) + sample->bytes;
	pass_on(held, &sample->event, sample->bytes);
	free(sample);
}

void ep_held_add(struct ep_held *held, const struct ep_sample *event, size_t bytes)
{
	size_t size = offsetof(struct sample, event) + bytes;
	struct sample *sample;

	while (held->bytes + size > held->max_bytes && !TAILQ_EMPTY(&held->samples))
		release(held, TAILQ_FIRST(&held->samples));
	sample = malloc(EP_MAX(size, sizeof(*sample)));
	if (!sample)
		return;
	sample->since_ns = ep_clock_mono_ns();
	sample->bytes = bytes;
	memcpy(&sample->event, event, bytes);
	held->bytes += sizeof(*sample) + bytes;
	TAILQ_INSERT_TAIL(&held->samples, sample, link);
	if (ep_processes_is_settled(held->processes, (pid_t)event->pid, event->start_ns))
		release(held, sample);
}

void ep_held_release(struct ep_held *held, pid_t pid)
{
	struct sample *sample, *next;

	for (sample = TAILQ_FIRST(&held->samples); sample; sample = next) {
		next = TAILQ_NEXT(sample, link);
		if (pid == 0 || (pid_t)sample->event.pid == pid)
			release(held, sample);
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

size_t ep_held_bytes(const struct ep_held *held)
{
	return held->bytes;
}
