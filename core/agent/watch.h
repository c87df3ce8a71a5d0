/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the kernel's records are looked at. Stacks are whole however late they are seen, so this is
 * about cost: an idle machine wakes us twice a second, a storm of processes as often as a twentieth
 * of a CPU allows.
 *
 *	IDLE ──── an exec, a mapping, a ring that fills up, a new trace of a language ──► look, then
 *	   ▲                                                                               │    ▲
 *	   │         20 times as long as all since the last pause took ── PAUSE ◄──────────┘    │
 *	   │                               │                                                    │
 *	   └────── look ◄── up to 25 ms ── DELAY ─── an exec of what a language was met in ─────┘
 *
 * (8 ms where a language has something new in a program younger than 1 s; after the first wake-ups since
 * it was quiet 2 ms at most, and no delay), and twice a second in any case. The kernel wakes who is
 * IDLE alone (struct ep_control: `asleep`), but for such an exec, which has a ring of its own.
 *
 * With a filter most mappings are those of processes that are not recorded. They wait for the next look, and
 * the side-band wakes nobody for the next 25 ms; all else does.
 *
 * Loop's thread only.
 */
#ifndef EP_AGENT_WATCH_H
#define EP_AGENT_WATCH_H

#include "bpf/shared.h"
#include "core/base/util.h"
#include "core/base/bucket.h"

#include <uv.h>

#define EP_WATCH_TICK_MS 500
/* Pauses after which it is looked at once: a struct ep_rate. */
#define EP_WATCH_SHORT_RESTS {.unit_ns = EP_NS_PER_SEC / 10, .burst = 50}

struct ep_watch_options {
	uv_loop_t *loop;
	struct ep_control *control;
	int ring_fd, side_fd; /* -1: there is none */
	int exec_fd; /* never -1; can be read when a program was executed that is not to wait */
	uint32_t max_rest_ms; /* what comes meanwhile must fit into the ring */
	/* Looks at all records. True when some could not be handled yet. */
	bool (*look)(void *arg);
	/* Is something on side_fd worth a look? It is cheap, and it is asked some 40 times a second. NULL: all is. */
	bool (*matters)(void *arg);
	void (*tick)(void *arg); /* every EP_WATCH_TICK_MS, after a look */
	void *arg;
};

struct ep_watch {
	struct ep_watch_options options;
	uv_timer_t rest, ticks;
	uv_timer_t pause; /* of the side-band alone */
	uv_poll_t polls[3]; /* the first one is that of exec_fd, the last one may be that of side_fd */
	uv_poll_t *side; /* NULL: there is none */
	size_t n_polls;
	uint64_t doze_ms; /* the batching delay after this pause */
	uint64_t cpu_ns; /* of this thread, when it last went to sleep */
	struct ep_bucket short_rests, execs, young, free_peeks;
	uint64_t wakes;	 /* how often something woke it */
	uint64_t peeks;	 /* and how often that was nothing to look at */
};

/* 0 or a negative errno. Nothing happens before the start. */
int ep_watch_init(struct ep_watch *watch, const struct ep_watch_options *options);
void ep_watch_start(struct ep_watch *watch);
/* Closes its handles; the loop must run once more before the memory goes. */
void ep_watch_close(struct ep_watch *watch);

#endif
