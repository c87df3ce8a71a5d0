/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/processes.h"
#include "core/agent/budget.h"
#include "core/agent/executables.h"
#include "core/agent/job.h"
#include "core/agent/process_read.h"
#include "core/agent/rows.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/bpf/events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <uv.h>

#include <bpf/bpf.h>

/* ld.so maps its libraries within a few ms of an exec: wait until most are there. */
#define SETTLE_NS (2 * EP_NS_PER_MS)
#define TICK_MS	  2
/* Room kept free in the delta store, so that nothing new has to wait for a chunk: 256 KiB. */
#define SPARE_WORDS 65536
/* Who a sampled process is can wait a little; many are gone by then. */
#define IDENTIFY_NS (20 * EP_NS_PER_MS)
/* Reads under way at once: the pool has four threads and other work to do. */
#define MAX_READS 4
/* First and longest wait before an unknown address makes us read a process again. */
#define BACKOFF_MIN_NS (50 * EP_NS_PER_MS)
#define BACKOFF_MAX_NS (30 * EP_NS_PER_SEC)
/* Reads that are not charged: every process of a busy machine once. */
#define READ_BURST 2000

struct process {
	TAILQ_ENTRY(process) queue; /* waiting to be read */
	pid_t pid;
	uint64_t start_ns; /* CLOCK_BOOTTIME; 0: not known yet */
	char *comm, *exe_path, *container_id;
	struct ep_vec places; /* struct ep_place_in_memory, sorted by start */
	uint32_t rows, n_rows; /* in the delta store */
	uint64_t due_ns;       /* when to read, while queued */
	uint64_t backoff_ns, next_retry_ns;
	uint64_t ended_ns; /* monotonic; 0: alive */
	bool queued, reading, stale; /* stale: changed while it was read */
	uint64_t exec_ns; /* CLOCK_MONOTONIC: of its last exec */
	bool read_once;	  /* named, by a read or from its parent */
	bool unnamed;	  /* executed something else since: comm and path are old */
	bool publish; /* rows are to be written */
};

TAILQ_HEAD(process_queue, process);

struct ep_processes {
	struct ep_processes_options options;
	struct ep_executables *executables;
	struct ep_map live;  /* pid -> struct process * */
	struct ep_vec ended; /* struct process *, by time of their end */
	struct process_queue queue;
	size_t queued, reading;
	struct ep_budget budget;
	uv_timer_t tick;
	uv_check_t publisher; /* writes rows once a loop turn, after all events were seen */
	bool ticking, publish, growing, stopped;
	struct ep_vec rows; /* scratch: struct ep_row */
	struct ep_processes_stats stats;
};

static void start_reads(struct ep_processes *processes);

/* --- table ----------------------------------------------------------------------------------- */

static struct process *find(const struct ep_processes *processes, pid_t pid)
{
	const uint64_t *value = ep_map_find(&processes->live, (uint64_t)pid);

	return value ? (struct process *)(uintptr_t)*value : NULL;
}

static bool is_same(const struct process *process, uint64_t start_ns)
{
	uint64_t a = process->start_ns / EP_CLOCK_TICK_NS, b = start_ns / EP_CLOCK_TICK_NS;

	return process->start_ns == 0 || a == b;
}

static struct process *add(struct ep_processes *processes, pid_t pid, uint64_t start_ns)
{
	struct process *process;

	if (processes->live.len >= processes->options.max_processes) {
		processes->stats.refused++;
		return NULL;
	}
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->start_ns = start_ns;
	ep_vec_init(&process->places, sizeof(struct ep_place_in_memory), EP_MAX_ROWS);
	if (ep_map_set(&processes->live, (uint64_t)pid, (uintptr_t)process) < 0) {
		free(process);
		return NULL;
	}
	processes->stats.live++;
	return process;
}

static void drop_places(struct ep_processes *processes, struct process *process)
{
	struct ep_place_in_memory *place;

	ep_vec_each(&process->places, place)
		ep_executables_unref(processes->executables, place->executable);
	ep_vec_fini(&process->places);
}

static void drop_rows(struct ep_processes *processes, struct process *process)
{
	ep_delta_store_drop_rows(processes->options.store, process->rows, process->n_rows);
	process->n_rows = 0;
}

static void free_process(struct process *process)
{
	free(process->comm);
	free(process->exe_path);
	free(process->container_id);
	free(process);
}

static void unqueue(struct ep_processes *processes, struct process *process)
{
	if (!process->queued)
		return;
	TAILQ_REMOVE(&processes->queue, process, queue);
	process->queued = false;
	processes->queued--;
}

/* The process has ended; its name is kept for batches that still have samples of it. */
static void end(struct ep_processes *processes, struct process *process)
{
	uint32_t pid = (uint32_t)process->pid;
	struct process **slot;

	unqueue(processes, process);
	ep_map_remove(&processes->live, pid);
	(void)bpf_map_delete_elem(processes->options.procs_fd, &pid);
	drop_places(processes, process);
	drop_rows(processes, process);
	processes->stats.live--;
	process->ended_ns = ep_clock_mono_ns();
	slot = process->read_once ? ep_vec_push(&processes->ended) : NULL;
	if (slot)
		*slot = process;
	else
		free_process(process);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void grow_store(void *arg)
{
	struct ep_processes *processes = arg;

	(void)ep_delta_store_add_room(processes->options.store, SPARE_WORDS);
}

static void store_grown(void *arg)
{
	struct ep_processes *processes = arg;

	processes->growing = false;
	processes->publish = true; /* those that found no room are still marked */
}

static void need_room(struct ep_processes *processes)
{
	if (processes->growing || processes->stopped)
		return;
	processes->growing =
		ep_job_run(processes->options.loop, grow_store, store_grown, processes) == 0;
}

static void build_rows(struct ep_processes *processes, const struct process *process)
{
	const struct ep_place_in_memory *place;

	processes->rows.len = 0;
	ep_vec_each(&process->places, place) {
		if (ep_rows_add(&processes->rows, place) == 0)
			continue;
		processes->stats.cut++;
		break;
	}
}

static bool is_pending(const struct process *process)
{
	const struct ep_place_in_memory *place;

	ep_vec_each(&process->places, place) {
		if (place->executable && place->executable->state == EP_EXECUTABLE_PENDING)
			return true;
	}
	return false;
}

static void tell_bpf(struct ep_processes *processes, struct process *process, uint32_t rows,
		     uint32_t n_rows)
{
	struct ep_proc proc = {.start_ns = process->start_ns, .rows = rows, .n_rows = n_rows};
	uint32_t pid = (uint32_t)process->pid;

	if (bpf_map_update_elem(processes->options.procs_fd, &pid, &proc, BPF_ANY) < 0)
		processes->stats.refused++;
	drop_rows(processes, process);
	process->rows = rows;
	process->n_rows = n_rows;
}

/* Writes a process's rows. False when the store has no room at the moment. */
static bool publish(struct ep_processes *processes, struct process *process)
{
	uint32_t ref = 0;

	build_rows(processes, process);
	if (processes->rows.len > 0 &&
	    ep_delta_store_put_rows(processes->options.store, processes->rows.data,
				    processes->rows.len, &ref) < 0) {
		need_room(processes);
		return false;
	}
	tell_bpf(processes, process, ref, (uint32_t)processes->rows.len);
	process->publish = false;
	if (!process->queued && !process->reading && !is_pending(process))
		processes->options.settled(processes->options.arg, process->pid);
	return true;
}

static void publish_marked(uv_check_t *check)
{
	struct ep_processes *processes = check->data;
	struct ep_map_slot *slot;
	size_t pos = 0;

	if (processes->queued > 0)
		start_reads(processes);
	if (!processes->publish)
		return;
	processes->publish = false;
	while ((slot = ep_map_next(&processes->live, &pos)) != NULL) {
		struct process *process = (struct process *)(uintptr_t)slot->value;

		if (process->publish && !publish(processes, process))
			return;
	}
}

static void mark(struct ep_processes *processes, struct process *process)
{
	process->publish = true;
	processes->publish = true;
}

/* An executable was analysed or lost its tables: whoever maps it gets new rows. */
static void executable_changed(void *arg, struct ep_executable *executable)
{
	struct ep_processes *processes = arg;
	struct ep_map_slot *slot;
	size_t pos = 0;

	if (ep_delta_store_is_short(processes->options.store, SPARE_WORDS))
		need_room(processes);
	while ((slot = ep_map_next(&processes->live, &pos)) != NULL) {
		struct process *process = (struct process *)(uintptr_t)slot->value;
		const struct ep_place_in_memory *place;

		ep_vec_each(&process->places, place) {
			if (place->executable == executable) {
				mark(processes, process);
				break;
			}
		}
	}
}

/* --- reading --------------------------------------------------------------------------------- */

static void on_tick(uv_timer_t *timer)
{
	struct ep_processes *processes = timer->data;

	start_reads(processes);
	if (processes->queued == 0) {
		uv_timer_stop(&processes->tick);
		processes->ticking = false;
	}
}

static void enqueue(struct ep_processes *processes, struct process *process, uint64_t delay_ns)
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

/* Queues a read that the budget must pay for. */
static void request(struct ep_processes *processes, struct process *process, uint64_t delay_ns)
{
	if (process->queued || process->reading) {
		enqueue(processes, process, delay_ns);
		return;
	}
	if (ep_budget_take(&processes->budget, ep_clock_mono_ns()))
		enqueue(processes, process, delay_ns);
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

static void take_text(char **field, const char *text)
{
	char *copy = strdup(text);

	if (copy) {
		free(*field);
		*field = copy;
	}
}

static void take_info(struct process *process, const struct ep_process_info *info)
{
	if (process->start_ns == 0)
		process->start_ns = info->start_ns;
	take_text(&process->comm, info->comm);
	take_text(&process->exe_path, info->exe_path);
	take_text(&process->container_id, info->container_id);
	process->read_once = true;
	process->unnamed = false;
}

static bool has_file(const struct ep_mapping *mapping, const struct ep_proc_file *file)
{
	return mapping->kind == EP_MAPPING_VDSO || file->bytes > 0;
}

/* The new references are taken before the old ones go, so that what stays is not analysed anew. */
static void take_maps(struct ep_processes *processes, struct process *process,
		      const struct ep_process_read *read)
{
	struct ep_vec old = process->places;
	struct ep_place_in_memory *place;

	ep_vec_init(&process->places, sizeof(struct ep_place_in_memory), EP_MAX_ROWS);
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
		if (has_file(mapping, file))
			place->executable = ep_executables_get(processes->executables, process->pid,
							       mapping, file);
	}
	ep_vec_shrink(&process->places);
	ep_vec_each(&old, place)
		ep_executables_unref(processes->executables, place->executable);
	ep_vec_fini(&old);
}

static void take_read(struct ep_processes *processes, struct process *process,
		      const struct ep_process_read *read)
{
	pid_t pid = process->pid;

	if (read->result < 0) {
		processes->stats.gone++;
		ep_log(EP_LOG_DEBUG, "processes: pid %d: %s", (int)pid, ep_strerror(read->result));
		if (read->result == -ESRCH)
			end(processes, process);
		processes->options.settled(processes->options.arg, pid);
		return;
	}
	if (!is_same(process, read->info.start_ns)) { /* the pid was used again meanwhile */
		end(processes, process);
		process = add(processes, pid, read->info.start_ns);
		if (!process)
			return;
	}
	take_info(process, &read->info);
	take_maps(processes, process, read);
	mark(processes, process);
}

static void finish_read(void *arg)
{
	struct read_task *task = arg;
	struct ep_processes *processes = task->processes;
	struct process *process = find(processes, task->read.pid);

	processes->reading--;
	processes->stats.reads++;
	if (process && process->reading) {
		/* What was read of an image that is gone does not count. */
		bool replaced = task->read.time_ns < process->exec_ns, stale = process->stale;

		process->reading = false;
		process->stale = false;
		if (!replaced)
			take_read(processes, process, &task->read);
		process = find(processes, task->read.pid);
		if ((stale || replaced) && process)
			enqueue(processes, process, SETTLE_NS);
	}
	ep_process_read_fini(&task->read);
	free(task);
	start_reads(processes);
}

static int start_read(struct ep_processes *processes, struct process *process)
{
	struct read_task *task = calloc(1, sizeof(*task));
	int r;

	if (!task)
		return -ENOMEM;
	task->processes = processes;
	task->read.pid = process->pid;
	r = ep_job_run(processes->options.loop, run_read, finish_read, task);
	if (r < 0) {
		free(task);
		return r;
	}
	process->reading = true;
	processes->reading++;
	return 0;
}

static void start_reads(struct ep_processes *processes)
{
	uint64_t now_ns = ep_clock_mono_ns();
	struct process *process, *next;

	for (process = TAILQ_FIRST(&processes->queue); process; process = next) {
		next = TAILQ_NEXT(process, queue);
		if (processes->reading >= MAX_READS || processes->stopped)
			return;
		if (process->due_ns > now_ns)
			continue;
		unqueue(processes, process);
		(void)start_read(processes, process);
	}
}

/* --- events ---------------------------------------------------------------------------------- */

static bool is_wanted(const struct ep_processes *processes, pid_t pid)
{
	return !processes->options.wanted ||
	       processes->options.wanted(processes->options.arg, pid);
}

int ep_processes_scan(struct ep_processes *processes)
{
	struct ep_vec pids;
	pid_t *pid;
	int r;

	ep_vec_init(&pids, sizeof(pid_t), 1u << 22);
	r = ep_process_list(&pids);
	ep_vec_each(&pids, pid) {
		struct process *process;

		if (!is_wanted(processes, *pid) || find(processes, *pid))
			continue;
		process = add(processes, *pid, 0);
		if (process)
			enqueue(processes, process, 0);
	}
	ep_vec_fini(&pids);
	start_reads(processes);
	return r;
}

static int copy_places(struct process *child, const struct process *parent)
{
	struct ep_place_in_memory *place;
	int r = ep_vec_append(&child->places, parent->places.data, parent->places.len);

	if (r < 0)
		return r;
	ep_vec_each(&child->places, place) {
		if (place->executable)
			place->executable->refs++;
	}
	return 0;
}

void ep_processes_on_fork(struct ep_processes *processes, pid_t parent_pid, pid_t pid,
			  uint64_t start_ns)
{
	struct process *parent = find(processes, parent_pid), *process = find(processes, pid);

	processes->stats.forks++;
	if (process && is_same(process, start_ns))
		return;
	if (process)
		end(processes, process);
	process = add(processes, pid, start_ns);
	if (!process)
		return;
	if (!parent || !parent->read_once || copy_places(process, parent) < 0) {
		request(processes, process, SETTLE_NS);
		return;
	}
	take_text(&process->comm, parent->comm);
	take_text(&process->exe_path, parent->exe_path);
	take_text(&process->container_id, parent->container_id);
	process->read_once = true;
	process->unnamed = parent->unnamed;
	mark(processes, process);
}

/* Drops the places that were there before `time_ns`: they are the old image's. */
static void drop_old_places(struct ep_processes *processes, struct process *process,
			    uint64_t time_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < process->places.len; i++) {
		struct ep_place_in_memory place =
			*ep_vec_at(&process->places, struct ep_place_in_memory, i);

		if (place.time_ns < time_ns)
			ep_executables_unref(processes->executables, place.executable);
		else
			*ep_vec_at(&process->places, struct ep_place_in_memory, kept++) = place;
	}
	process->places.len = kept;
}

/*
 * BPF forgot the process at the exec; rows written since are gone or wrong. Mappings of the new
 * image may have been heard of before the exec itself: the two come by different ways.
 */
void ep_processes_on_exec(struct ep_processes *processes, pid_t pid, uint64_t start_ns,
			  uint64_t time_ns)
{
	struct process *process = find(processes, pid);
	uint32_t key = (uint32_t)pid;

	processes->stats.execs++;
	if (process && !is_same(process, start_ns)) {
		end(processes, process);
		process = NULL;
	}
	if (!process)
		process = add(processes, pid, start_ns);
	if (!process)
		return;
	(void)bpf_map_delete_elem(processes->options.procs_fd, &key);
	drop_old_places(processes, process, time_ns);
	drop_rows(processes, process);
	process->exec_ns = time_ns;
	process->unnamed = true;
	process->backoff_ns = 0;
	process->next_retry_ns = 0;
	process->publish = false;
	if (process->places.len > 0)
		mark(processes, process);
	else if (!processes->options.hears_mappings)
		request(processes, process, SETTLE_NS);
}

/* Cuts [start, end) out of the places there are: something else is mapped there now. */
static void clear_range(struct ep_processes *processes, struct process *process, uint64_t start,
			uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < process->places.len; i++) {
		struct ep_place_in_memory place =
			*ep_vec_at(&process->places, struct ep_place_in_memory, i);

		if (place.start >= start && place.end <= end) {
			ep_executables_unref(processes->executables, place.executable);
			continue;
		}
		if (place.start < start && place.end > start)
			place.end = start;
		else if (place.start < end && place.end > end) {
			place.file_off += end - place.start;
			place.start = end;
		}
		*ep_vec_at(&process->places, struct ep_place_in_memory, kept++) = place;
	}
	process->places.len = kept;
}

/* Takes the reference of place->executable. */
static int insert_place(struct ep_processes *processes, struct process *process,
			struct ep_place_in_memory place)
{
	size_t i;

	clear_range(processes, process, place.start, place.end);
	if (!ep_vec_push(&process->places)) {
		ep_executables_unref(processes->executables, place.executable);
		return -ENOMEM;
	}
	for (i = process->places.len - 1; i > 0; i--) {
		const struct ep_place_in_memory *before =
			ep_vec_at(&process->places, struct ep_place_in_memory, i - 1);

		if (before->start < place.start)
			break;
		*ep_vec_at(&process->places, struct ep_place_in_memory, i) = *before;
	}
	*ep_vec_at(&process->places, struct ep_place_in_memory, i) = place;
	return 0;
}

/* An executable we know that this record is a mapping of; NULL when only a read can tell. */
static struct ep_executable *recognise(struct ep_processes *processes,
				       const struct ep_mapping_event *event)
{
	if (event->build_id)
		return ep_executables_get_build_id(processes->executables, event->build_id,
						   event->build_id_bytes);
	if (strcmp(event->name, "[vdso]") == 0)
		return ep_executables_get_vdso(processes->executables);
	return NULL;
}

void ep_processes_on_mapping(struct ep_processes *processes,
			     const struct ep_mapping_event *event)
{
	struct process *process = find(processes, event->pid);
	struct ep_place_in_memory place = {
		.start = event->addr,
		.end = event->addr + event->bytes,
		.file_off = event->file_off,
		.time_ns = event->time_ns,
	};

	processes->stats.mappings++;
	if (!process || event->time_ns < process->exec_ns)
		return; /* an exec or a sample brings it in; or it is of an image long gone */
	process->backoff_ns = 0;
	process->next_retry_ns = 0;
	place.executable = recognise(processes, event);
	if (strcmp(event->name, "[vdso]") == 0)
		place.file_off = 0;
	if (!place.executable || place.end <= place.start ||
	    insert_place(processes, process, place) < 0) {
		request(processes, process, 0);
		return;
	}
	processes->stats.mappings_placed++;
	if (process->reading) /* what is being read may not have it */
		process->stale = true;
	mark(processes, process);
}

void ep_processes_on_exit(struct ep_processes *processes, pid_t pid)
{
	struct process *process = find(processes, pid);

	processes->stats.exits++;
	if (!process)
		return;
	end(processes, process);
	processes->options.settled(processes->options.arg, pid);
}

/* Who it is was not worth a read before it used the CPU. */
void ep_processes_on_sampled(struct ep_processes *processes, pid_t pid)
{
	struct process *process = find(processes, pid);

	if (process && process->unnamed && !process->queued && !process->reading)
		request(processes, process, IDENTIFY_NS);
}

void ep_processes_on_unknown(struct ep_processes *processes, pid_t pid, uint64_t start_ns)
{
	struct process *process = find(processes, pid);

	if (process && !is_same(process, start_ns)) {
		end(processes, process);
		process = NULL;
	}
	if (!process)
		process = add(processes, pid, start_ns);
	if (process && !process->publish)
		ep_processes_on_unknown_address(processes, pid);
}

void ep_processes_on_unknown_address(struct ep_processes *processes, pid_t pid)
{
	struct process *process = find(processes, pid);
	uint64_t now_ns = ep_clock_mono_ns();

	if (!process || now_ns < process->next_retry_ns)
		return;
	process->backoff_ns = EP_MIN(EP_MAX(process->backoff_ns * 2, BACKOFF_MIN_NS),
				     BACKOFF_MAX_NS);
	process->next_retry_ns = now_ns + process->backoff_ns;
	request(processes, process, 0);
	start_reads(processes);
}

/* --- look-ups -------------------------------------------------------------------------------- */

bool ep_processes_is_settled(struct ep_processes *processes, pid_t pid, uint64_t start_ns)
{
	const struct process *process = find(processes, pid);

	if (!process || !is_same(process, start_ns))
		return true;
	return !process->queued && !process->reading && !process->publish && !is_pending(process);
}

int ep_processes_place(struct ep_processes *processes, pid_t pid, uint64_t start_ns, uint64_t addr,
		       uint32_t *ret_executable, uint64_t *ret_va)
{
	const struct process *process = find(processes, pid);
	const struct ep_place_in_memory *place;
	uint64_t va;

	if (!process || !is_same(process, start_ns))
		return -ENODATA;
	ep_vec_each(&process->places, place) {
		if (addr < place->start || addr >= place->end)
			continue;
		if (!place->executable ||
		    ep_executable_find_va(place->executable, place->file_off, &va) < 0)
			return -ENODATA;
		*ret_executable = place->executable->id;
		*ret_va = va + (addr - place->start);
		return 0;
	}
	return -ENODATA;
}

static void describe(const struct process *process, struct ep_process_description *ret)
{
	*ret = (struct ep_process_description){
		.comm = process->comm,
		.exe_path = process->exe_path,
		.container_id = process->container_id,
	};
}

int ep_processes_describe(struct ep_processes *processes, pid_t pid, uint64_t start_ns,
			  struct ep_process_description *ret)
{
	const struct process *process = find(processes, pid);

	if (process && is_same(process, start_ns)) {
		describe(process, ret);
		return 0;
	}
	for (size_t i = processes->ended.len; i-- > 0;) {
		process = *ep_vec_at(&processes->ended, struct process *, i);
		if (process->pid == pid && is_same(process, start_ns)) {
			describe(process, ret);
			return 0;
		}
	}
	return -ENODATA;
}

struct ep_executable *ep_processes_executable(struct ep_processes *processes, uint32_t id)
{
	return ep_executables_find(processes->executables, id);
}

/* --- housekeeping ---------------------------------------------------------------------------- */

void ep_processes_sweep(struct ep_processes *processes, uint64_t keep_ns)
{
	uint64_t now_ns = ep_clock_mono_ns();
	size_t n = 0;

	while (n < processes->ended.len) {
		struct process *process = *ep_vec_at(&processes->ended, struct process *, n);

		if (now_ns - process->ended_ns < keep_ns)
			break;
		free_process(process);
		n++;
	}
	if (n > 0) {
		processes->ended.len -= n;
		memmove(processes->ended.data, ep_vec_at(&processes->ended, struct process *, n),
			processes->ended.len * sizeof(struct process *));
	}
	ep_executables_sweep(processes->executables, now_ns, keep_ns);
}

bool ep_processes_evict_one(struct ep_processes *processes)
{
	return ep_executables_evict_one(processes->executables);
}

size_t ep_processes_busy(const struct ep_processes *processes)
{
	return processes->queued + processes->reading + processes->growing +
	       ep_executables_stats(processes->executables)->busy;
}

const struct ep_processes_stats *ep_processes_stats(const struct ep_processes *processes)
{
	return &processes->stats;
}

const struct ep_executables_stats *ep_processes_executables_stats(struct ep_processes *processes)
{
	return ep_executables_stats(processes->executables);
}

int ep_processes_new(const struct ep_processes_options *options, struct ep_processes **ret)
{
	struct ep_processes *processes = calloc(1, sizeof(*processes));
	int r;

	if (!processes)
		return -ENOMEM;
	processes->options = *options;
	TAILQ_INIT(&processes->queue);
	ep_map_init(&processes->live, options->max_processes);
	ep_vec_init(&processes->ended, sizeof(struct process *), 65536);
	ep_vec_init(&processes->rows, sizeof(struct ep_row), EP_MAX_ROWS);
	ep_budget_init(&processes->budget, options->reads_per_second, READ_BURST,
		       ep_clock_mono_ns());
	r = ep_executables_new(options->loop, options->store, executable_changed, processes,
			       &processes->executables);
	if (r < 0) {
		free(processes);
		return r;
	}
	uv_timer_init(options->loop, &processes->tick);
	uv_check_init(options->loop, &processes->publisher);
	processes->tick.data = processes;
	processes->publisher.data = processes;
	uv_check_start(&processes->publisher, publish_marked);
	*ret = processes;
	return 0;
}

void ep_processes_stop(struct ep_processes *processes)
{
	processes->stopped = true;
	uv_close((uv_handle_t *)&processes->tick, NULL);
	uv_close((uv_handle_t *)&processes->publisher, NULL);
}

void ep_processes_free(struct ep_processes *processes)
{
	struct ep_map_slot *slot;
	struct process **ended;
	size_t pos = 0;

	if (!processes)
		return;
	while ((slot = ep_map_next(&processes->live, &pos)) != NULL) {
		struct process *process = (struct process *)(uintptr_t)slot->value;

		drop_places(processes, process);
		free_process(process);
	}
	ep_vec_each(&processes->ended, ended)
		free_process(*ended);
	ep_map_fini(&processes->live);
	ep_vec_fini(&processes->ended);
	ep_vec_fini(&processes->rows);
	ep_executables_free(processes->executables);
	free(processes);
}
