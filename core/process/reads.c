/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/executables.h"
#include "core/process/job.h"
#include "core/process/read.h"
#include "core/process/internal.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/plugin/host.h"

#include <errno.h>

#define TICK_MS 2
/* What a read may cost for its token; one of a huge process takes more tokens. */
#define TOKEN_NS 200000
/* Reads under way at once: the pool has four threads and other work to do. */
#define MAX_READS 4

void ep_live_unqueue(struct ep_processes *processes, struct ep_live *process)
{
	if (!process->queued)
		return;
	TAILQ_REMOVE(&processes->queue, process, queue);
	process->queued = false;
	processes->queued--;
}

void ep_live_hurry(struct ep_processes *processes, struct ep_live *process)
{
	process->hurried = true;
	ep_places_hurry(&process->places, processes->executables);
	if (!process->queued)
		return;
	process->due_ns = 0;
	TAILQ_REMOVE(&processes->queue, process, queue);
	TAILQ_INSERT_HEAD(&processes->queue, process, queue);
}

static void on_tick(uv_timer_t *timer)
{
	struct ep_processes *processes = timer->data;

	ep_live_start_reads(processes);
	if (processes->queued == 0) {
		uv_timer_stop(&processes->tick);
		processes->ticking = false;
	}
}

void ep_live_enqueue(struct ep_processes *processes, struct ep_live *process, uint64_t delay_ns)
{
	if (process->reading)
		process->stale = true;
	if (process->reading || process->queued || processes->stopped)
		return;
	process->due_ns = ep_clock_mono_ns() + delay_ns;
	process->queued = true;
	processes->queued++;
	TAILQ_INSERT_TAIL(&processes->queue, process, queue);
	if (!processes->ticking) {
		processes->ticking = true;
		uv_timer_start(&processes->tick, on_tick, TICK_MS, TICK_MS);
	}
}

void ep_live_request(struct ep_processes *processes, struct ep_live *process, uint64_t delay_ns)
{
	if (process->queued || process->reading) {
		ep_live_enqueue(processes, process, delay_ns);
		return;
	}
	if (ep_budget_take(&processes->budget, ep_clock_mono_ns()))
		ep_live_enqueue(processes, process, delay_ns);
	else
		processes->stats.deferred++;
}

struct read_task {
	struct ep_processes *processes;
	struct ep_process_read read;
};

static void run_read(void *arg)
{
	struct read_task *task = arg;

	ep_process_read_run(&task->read);
}

static void take_info(struct ep_live *process, const struct ep_process_info *info)
{
	if (process->start_ns == 0)
		process->start_ns = info->start_ns;
	ep_live_take_text(&process->comm, info->comm);
	ep_live_take_text(&process->exe_path, info->exe_path);
	ep_live_take_text(&process->container_id, info->container_id);
	process->read_once = true;
	process->unnamed = false;
}

/* The new references are taken before the old ones go, so that what stays is not analysed anew. */
static void take_maps(struct ep_processes *processes, struct ep_live *process,
		      const struct ep_process_read *read)
{
	struct ep_vec old = process->places;
	struct ep_place_in_memory *place;

	ep_places_init(&process->places);
	for (size_t i = 0; i < read->files.len; i++) {
		const struct ep_mapping *mapping =
			ep_vec_at(&read->maps.mappings, struct ep_mapping, i);
		const struct ep_proc_file *file = ep_vec_at(&read->files, struct ep_proc_file, i);

		place = ep_vec_push(&process->places);
		if (!place)
			break;
		*place = (struct ep_place_in_memory){
			.start = mapping->start,
			.end = mapping->end,
			.file_off = mapping->kind == EP_MAPPING_VDSO ? 0 : mapping->file_off,
			.time_ns = read->time_ns,
		};
		if (file->bytes > 0)
			place->executable = ep_executables_get(processes->executables, process->pid,
							       mapping, file);
	}
	ep_places_coarsen(&process->places);
	process->remapped = true;
	ep_vec_shrink(&process->places);
	ep_places_clear(&old, processes->executables);
}

static void take_read(struct ep_processes *processes, struct ep_live *process,
		      const struct ep_process_read *read)
{
	pid_t pid = process->pid;

	if (read->result < 0) {
		processes->stats.gone++;
		ep_log(EP_LOG_DEBUG, "processes: pid %d: %s", (int)pid, ep_strerror(read->result));
		if (read->result == -ESRCH)
			ep_live_end(processes, process);
		processes->options.settled(processes->options.arg, pid);
		return;
	}
	if (!ep_live_is_same(process, read->info.start_ns)) { /* the pid was used again meanwhile */
		ep_live_end(processes, process);
		process = ep_live_add(processes, pid, read->info.start_ns);
		if (!process)
			return;
	}
	take_info(process, &read->info);
	ep_live_take_environment(process, read->environment.data, read->environment.len);
	take_maps(processes, process, read);
	ep_live_mark(processes, process);
	if (process->hurried)
		ep_places_hurry(&process->places, processes->executables);
	process->hurried = false;
}

static void finish_read(void *arg)
{
	struct read_task *task = arg;
	struct ep_processes *processes = task->processes;
	struct ep_live *process = ep_live_find(processes, task->read.pid);

	processes->reading--;
	processes->stats.reads++;
	ep_budget_charge(&processes->budget, task->read.cost_ns / TOKEN_NS);
	if (process && process->reading) {
		/* What was read of an image that is gone does not count. */
		bool replaced = task->read.time_ns < process->exec_ns, stale = process->stale;

		process->reading = false;
		process->stale = false;
		if (!replaced)
			take_read(processes, process, &task->read);
		process = ep_live_find(processes, task->read.pid);
		if ((stale || replaced) && process)
			ep_live_enqueue(processes, process, EP_SETTLE_NS);
	}
	ep_process_read_fini(&task->read);
	free(task);
	ep_live_start_reads(processes);
}

static int start_read(struct ep_processes *processes, struct ep_live *process)
{
	struct read_task *task = calloc(1, sizeof(*task));
	int r;

	if (!task)
		return -ENOMEM;
	task->processes = processes;
	task->read.pid = process->pid;
	task->read.n_variables = ep_host_environment(&task->read.variables);
	r = ep_job_run(processes->options.loop, run_read, finish_read, task);
	if (r < 0) {
		free(task);
		return r;
	}
	process->reading = true;
	processes->reading++;
	return 0;
}

void ep_live_start_reads(struct ep_processes *processes)
{
	uint64_t now_ns = ep_clock_mono_ns();
	struct ep_live *process, *next;

	for (process = TAILQ_FIRST(&processes->queue); process; process = next) {
		next = TAILQ_NEXT(process, queue);
		if (processes->reading >= MAX_READS || processes->stopped)
			return;
		if (process->due_ns > now_ns)
			continue;
		ep_live_unqueue(processes, process);
		(void)start_read(processes, process);
	}
}
