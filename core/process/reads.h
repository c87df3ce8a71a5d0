/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading /proc/PID, on workers, within a budget: a storm of short-lived processes must not become
 * one of reads. A process in the queue is WAITING, then READING; what was read is given to `done`,
 * which decides what becomes of the process. While the budget is exhausted a request is deferred:
 * the process stays what it is and is queued when its turn comes, in the order of requests. Most of
 * those that are deferred in a storm end before that. Loop's thread only.
 */
#ifndef EP_PROCESS_READS_H
#define EP_PROCESS_READS_H

#include "core/base/bucket.h"
#include "core/plugin/timer.h"
#include "core/process/process.h"
#include "core/process/read.h"

TAILQ_HEAD(ep_read_queue, ep_process);

struct ep_reads_stats {
	uint64_t reads, deferred; /* done; deferred since the budget was exhausted */
	uint64_t late;		  /* done, after they waited more than 50 ms for a worker */
};

struct ep_reads {
	struct uv_loop_s *loop;
	struct ep_read_queue queue, deferred;
	size_t queued, running;
	struct ep_bucket budget;
	struct ep_rate rate;
	struct ep_timer *timer;
	struct ep_timeout tick; /* when the next is due that is not due yet */
	bool stopped;
	/* `read` is borrowed. The process may have ended since, or executed something else. */
	void (*done)(void *arg, struct ep_program program, const struct ep_process_read *read);
	void *arg;
	struct ep_reads_stats stats;
};

void ep_reads_init(struct ep_reads *reads, struct uv_loop_s *loop, struct ep_timer *timer,
		   uint32_t per_second,
		   void (*done)(void *arg, struct ep_program program,
				const struct ep_process_read *read),
		   void *arg);
/* Nothing is read any more. */
void ep_reads_stop(struct ep_reads *reads);

/* Has it read after a while, whatever the budget says. Nothing happens if it waits already. */
void ep_reads_enqueue(struct ep_reads *reads, struct ep_process *process, uint64_t delay_ns);
/*
 * The same, within the budget. Who it is is not enough from here on: where that is under way
 * already, identity_only is found unset when it is done.
 */
void ep_reads_request(struct ep_reads *reads, struct ep_process *process, uint64_t delay_ns);
/* Who it is, of a KNOWN one, as which it counts meanwhile. Of others it comes with the rest. */
void ep_reads_request_identity(struct ep_reads *reads, struct ep_process *process,
			       uint64_t delay_ns);
/* A sample waits for it: it is read next. */
void ep_reads_hurry(struct ep_reads *reads, struct ep_process *process);
/* Neither queued nor deferred any more, before it ends. */
void ep_reads_drop(struct ep_reads *reads, struct ep_process *process);
/* All of its mappings are known by now: it need not be read, if that has not begun. */
void ep_reads_spare(struct ep_reads *reads, struct ep_process *process);
/* Starts what is due. */
void ep_reads_run(struct ep_reads *reads);

#endif
