/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the name of a language's frame costs, for benches (tests/kit/names.py): each function of a
 * recorded process is named ROUNDS times when nothing is known of the process, and then all in turn
 * when all are known. A line for each function: the language, median ns of a new one, reads of the
 * process's memory for it, mean ns of a known frame. What is read is in the fixture, so a read
 * costs no system call here: what one would cost stands in the line as well.
 */
#include "core/base/clock.h"
#include "core/replay/replay_internal.h"
#include "tests/replay/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROUNDS		9
#define KNOWN		200000
#define READS		20000
#define MAX_FUNCTIONS	4096
#define MAX_EVENT_BYTES (sizeof(struct ep_sample) + EP_RECORD_WORDS * 8)
#define ADDRESS_MASK	((1ull << 48) - 1)

struct function {
	struct ep_replay_language *language;
	struct ep_raw_frame frame;
	uint64_t ns[ROUNDS], reads;
};

static struct function functions[MAX_FUNCTIONS];
static size_t n_functions;

static int take_name(void *arg, const struct ep_name *name)
{
	*(uint64_t *)arg += name->line;
	return 0;
}

/* By the plugin itself. */
static int name_function(const struct function *function)
{
	const struct ep_replay_language *language = function->language;
	uint64_t lines = 0;
	struct ep_names names = {.add = take_name, .arg = &lines};

	if (!language->attached.instance)
		return -ESRCH;
	return language->ops->symbolize(language->attached.instance, &function->frame, &names);
}

/* The first word begins with the address of what runs. */
static bool is_there(const struct function *new)
{
	for (size_t i = 0; i < n_functions; i++) {
		if (functions[i].language == new->language &&
		    ((functions[i].frame.words[0] ^ new->frame.words[0]) & ADDRESS_MASK) == 0)
			return true;
	}
	return false;
}

/* Each function once, of those that have a name. */
static void add_functions(struct ep_replay *replay, const struct ep_vec *event)
{
	const struct ep_sample *sample = event->data;
	const uint64_t *words = (const uint64_t *)(sample + 1) + sample->n_kernel;

	for (uint32_t at = 0; at < sample->n_words; at += 1 + EP_FRAME_WORDS(words[at])) {
		struct function new = {
			.language = ep_replay_language_of_kind(replay, EP_FRAME_KIND(words[at])),
			.frame = {
				.aux = EP_FRAME_AUX(words[at]),
				.n_words = EP_MIN(EP_FRAME_WORDS(words[at]), EP_FRAME_MAX_WORDS),
				.flags = EP_FRAME_FLAGS(words[at]) & ~(uint32_t)EP_FRAME_ENTRY,
			},
		};

		memcpy(new.frame.words, &words[at + 1], new.frame.n_words * sizeof(words[0]));
		if (new.language && n_functions < MAX_FUNCTIONS && !is_there(&new) &&
		    name_function(&new) == 0)
			functions[n_functions++] = new;
	}
}

static int find_functions(const struct replay *replay)
{
	ep_cleanup(ep_vec_fini) struct ep_vec event = {0};
	int r = 0;

	n_functions = 0;
	ep_vec_init(&event, 1, MAX_EVENT_BYTES);
	for (size_t i = 0; r == 0 && i < replay->fixture->threads.len; i++) {
		r = ep_replay_walk(replay->replay, i, &event);
		if (r == 0)
			add_functions(replay->replay, &event);
	}
	return r;
}

static int name_new(struct ep_replay *replay, size_t round)
{
	int r = ep_replay_attach(replay);

	for (size_t i = 0; r == 0 && i < n_functions; i++) {
		uint64_t reads = ep_replay_faults(replay)->reads, start_ns = ep_clock_mono_ns();

		r = name_function(&functions[i]);
		functions[i].ns[round] = ep_clock_mono_ns() - start_ns;
		functions[i].reads = ep_replay_faults(replay)->reads - reads;
	}
	return r;
}

/* Mean ns of CPU time. */
static double name_known(void)
{
	uint64_t start_ns = ep_clock_thread_cpu_ns();

	for (size_t i = 0; i < KNOWN; i++)
		(void)name_function(&functions[i % n_functions]);
	return (double)(ep_clock_thread_cpu_ns() - start_ns) / KNOWN;
}

/* The same of 64 bytes of a process. */
static double time_read(void)
{
	static uint8_t from[64], to[sizeof(from)];
	struct iovec local = {to, sizeof(to)}, remote = {from, sizeof(from)};
	uint64_t start_ns = ep_clock_thread_cpu_ns();

	for (int i = 0; i < READS; i++)
		(void)process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	return (double)(ep_clock_thread_cpu_ns() - start_ns) / READS;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

int replay_names(const struct replay *replay)
{
	int r = find_functions(replay);
	double known_ns, read_ns;

	for (size_t round = 0; r == 0 && round < ROUNDS; round++)
		r = name_new(replay->replay, round);
	if (r != 0 || n_functions == 0)
		return r < 0 ? r : -ENODATA;
	known_ns = name_known();
	read_ns = time_read();
	for (size_t i = 0; i < n_functions; i++) {
		struct function *function = &functions[i];

		qsort(function->ns, ROUNDS, sizeof(function->ns[0]), compare);
		printf("%s %" PRIu64 " %" PRIu64 " %.0f %.0f\n", function->language->name,
		       function->ns[ROUNDS / 2], function->reads, read_ns, known_ns);
	}
	return 0;
}
