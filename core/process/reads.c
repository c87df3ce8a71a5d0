/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/reads.h"
#include "core/base/clock.h"
#include "core/plugin/host.h"
#include "core/plugin/job.h"

#include <errno.h>

/* Reads that are due within that time of one another begin together. */
#define SLACK_NS (2 * EP_NS_PER_MS)
/* What a read may cost for its token; one of a huge process takes more tokens. */
#define TOKEN_NS 200000
/* Reads under way at once: the pool has four threads and other work to do. */
#define MAX_READS 4
/* One that waits longer for a worker is counted. */
#define LATE_NS (50 * EP_NS_PER_MS)
/* Reads that are not charged: every process of a busy machine once. */
#define READ_BURST 2000

static void on_tick(void *arg);

void ep_reads_init(struct ep_reads *reads, struct uv_loop_s *loop, struct ep_timer *timer,
		   uint32_t per_second,
		   void (*done)(void *arg, struct ep_program program,
				const struct ep_process_read *read),
		   void *arg)
{
	*reads = (struct ep_reads){.loop = loop,
				   .timer = timer,
				   .rate = ep_rate_per_second(per_second, READ_BURST),
				   .done = done,
				   .arg = arg};
	TAILQ_INIT(&reads->queue);
	TAILQ_INIT(&reads->deferred);
	reads->tick = (struct ep_timeout){.run = on_tick, .arg = reads};
}

void ep_reads_stop(struct ep_reads *reads)
{
	struct ep_process *process;

	reads->stopped = true;
	while ((process = TAILQ_FIRST(&reads->queue)) != NULL)
		ep_reads_drop(reads, process);
	while ((process = TAILQ_FIRST(&reads->deferred)) != NULL)
		ep_reads_drop(reads, process);
	ep_timer_unset(reads->timer, &reads->tick);
}

static void stop_deferring(struct ep_reads *reads, struct ep_process *process)
{
	if (process->read.is_deferred)
		TAILQ_REMOVE(&reads->deferred, process, read.link);
	process->read.is_deferred = false;
}

void ep_reads_drop(struct ep_reads *reads, struct ep_process *process)
{
	stop_deferring(reads, process);
	if (process->state != EP_PROCESS_WAITING)
		return;
	TAILQ_REMOVE(&reads->queue, process, read.link);
	reads->queued--;
	ep_process_unread(process);
}

void ep_reads_spare(struct ep_reads *reads, struct ep_process *process)
{
	ep_reads_drop(reads, process);
	process->read.was_known = true;
	if (process->state == EP_PROCESS_NEW)
		process->state = EP_PROCESS_KNOWN;
}

/* Whoever is due now waits for no timer: the loop starts reads in each of its turns. */
static void arm(struct ep_reads *reads, uint64_t now_ns, uint64_t due_ns)
{
	if (due_ns <= now_ns ||
	    (ep_timeout_is_set(&reads->tick) && reads->tick.due.at_ns <= due_ns + SLACK_NS))
		return;
	ep_timer_set(reads->timer, &reads->tick, due_ns + SLACK_NS);
}

static void on_tick(void *arg)
{
	struct ep_reads *reads = arg;
	uint64_t now_ns = ep_clock_mono_ns(), next_ns = UINT64_MAX;
	struct ep_process *process;

	ep_reads_run(reads);
	TAILQ_FOREACH (process, &reads->queue, read.link) {
		if (process->read.due_ns > now_ns)
			next_ns = EP_MIN(next_ns, process->read.due_ns);
	}
	if (!TAILQ_EMPTY(&reads->deferred))
		next_ns = EP_MIN(next_ns, now_ns + ep_bucket_wait_ns(&reads->budget, reads->rate, 1,
								     now_ns));
	if (next_ns != UINT64_MAX)
		arm(reads, now_ns, next_ns);
}

void ep_reads_enqueue(struct ep_reads *reads, struct ep_process *process, uint64_t delay_ns)
{
	uint64_t now_ns;

	if (reads->stopped ||
	    (process->state != EP_PROCESS_NEW && process->state != EP_PROCESS_KNOWN))
		return;
	stop_deferring(reads, process);
	now_ns = ep_clock_mono_ns();
	process->read.due_ns = now_ns + delay_ns;
	process->read.identity_only = false;
	process->read.was_known = process->state == EP_PROCESS_KNOWN;
	process->state = EP_PROCESS_WAITING;
	reads->queued++;
	TAILQ_INSERT_TAIL(&reads->queue, process, read.link);
	arm(reads, now_ns, process->read.due_ns);
}

static void defer(struct ep_reads *reads, struct ep_process *process)
{
	uint64_t now_ns = ep_clock_mono_ns();

	if (reads->stopped)
		return;
	process->read.is_deferred = true;
	TAILQ_INSERT_TAIL(&reads->deferred, process, read.link);
	reads->stats.deferred++;
	arm(reads, now_ns, now_ns + ep_bucket_wait_ns(&reads->budget, reads->rate, 1, now_ns));
}

/* Queues those whose turn has come. */
static void queue_deferred(struct ep_reads *reads)
{
	struct ep_process *process;

	while ((process = TAILQ_FIRST(&reads->deferred)) != NULL &&
	       ep_bucket_take(&reads->budget, reads->rate, ep_clock_mono_ns())) {
		bool identity_only = process->read.identity_only;

		stop_deferring(reads, process);
		ep_reads_enqueue(reads, process, 0);
		process->read.identity_only = identity_only;
	}
}

void ep_reads_request(struct ep_reads *reads, struct ep_process *process, uint64_t delay_ns)
{
	if (process->state == EP_PROCESS_WAITING && process->read.identity_only) {
		process->read.due_ns = EP_MIN(process->read.due_ns, ep_clock_mono_ns() + delay_ns);
		arm(reads, ep_clock_mono_ns(), process->read.due_ns);
	}
	process->read.identity_only = false;
	if (process->read.is_deferred ||
	    (process->state != EP_PROCESS_NEW && process->state != EP_PROCESS_KNOWN))
		return;
	if (TAILQ_EMPTY(&reads->deferred) &&
	    ep_bucket_take(&reads->budget, reads->rate, ep_clock_mono_ns()))
		ep_reads_enqueue(reads, process, delay_ns);
	else
		defer(reads, process);
}

void ep_reads_request_identity(struct ep_reads *reads, struct ep_process *process,
			       uint64_t delay_ns)
{
	if (process->state != EP_PROCESS_KNOWN || process->read.is_deferred)
		return;
	ep_reads_request(reads, process, delay_ns);
	process->read.identity_only =
		process->state == EP_PROCESS_WAITING || process->read.is_deferred;
}

void ep_reads_hurry(struct ep_reads *reads, struct ep_process *process)
{
	process->read.hurried = true;
	process->read.identity_only = false;
	if (process->state != EP_PROCESS_WAITING)
		return;
	process->read.due_ns = 0;
	TAILQ_REMOVE(&reads->queue, process, read.link);
	TAILQ_INSERT_HEAD(&reads->queue, process, read.link);
}

struct read_task {
	struct ep_reads *reads;
	struct ep_program program;
	uint64_t asked_ns, waited_ns; /* for a worker */
	struct ep_process_read read;
};

static void run_read(void *arg)
{
	struct read_task *task = arg;

	task->waited_ns = ep_clock_mono_ns() - task->asked_ns;
	ep_process_read_run(&task->read);
}

static void finish_read(void *arg)
{
	struct read_task *task = arg;
	struct ep_reads *reads = task->reads;

	reads->running--;
	reads->stats.reads++;
	reads->stats.late += task->waited_ns > LATE_NS;
	ep_bucket_drain(&reads->budget, reads->rate, task->read.cost_ns / TOKEN_NS,
			ep_clock_mono_ns());
	reads->done(reads->arg, task->program, &task->read);
	ep_process_read_fini(&task->read);
	free(task);
}

static int start_read(struct ep_reads *reads, const struct ep_process *process)
{
	struct read_task *task = calloc(1, sizeof(*task));
	int r;

	if (!task)
		return -ENOMEM;
	task->reads = reads;
	task->program = process->program;
	task->asked_ns = ep_clock_mono_ns();
	task->read.pid = (pid_t)process->program.pid;
	task->read.identity_only = process->read.identity_only;
	task->read.n_variables = ep_host_environment(&task->read.variables);
	r = ep_job_run(reads->loop, run_read, finish_read, task);
	if (r < 0)
		free(task);
	return r;
}

void ep_reads_run(struct ep_reads *reads)
{
	struct ep_process *process, *next;
	uint64_t now_ns;

	queue_deferred(reads);
	now_ns = reads->queued > 0 ? ep_clock_mono_ns() : 0;
	for (process = TAILQ_FIRST(&reads->queue); process; process = next) {
		next = TAILQ_NEXT(process, read.link);
		if (reads->running >= MAX_READS || reads->stopped)
			return;
		if (process->read.due_ns > now_ns)
			continue;
		ep_reads_drop(reads, process);
		if (start_read(reads, process) < 0)
			continue;
		process->state = EP_PROCESS_READING;
		reads->running++;
	}
}
