/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/executables.h"
#include "core/agent/job.h"
#include "core/agent/processes_internal.h"
#include "core/agent/rows.h"

#include <bpf/bpf.h>

/* Room kept free in the delta store, so that nothing new has to wait for a chunk: 256 KiB. */
#define SPARE_WORDS 65536

void ep_live_drop_rows(struct ep_processes *processes, struct ep_live *process)
{
	ep_delta_store_drop_rows(processes->options.store, process->rows, process->n_rows);
	process->n_rows = 0;
}

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

static void build_rows(struct ep_processes *processes, const struct ep_live *process)
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

static void tell_bpf(struct ep_processes *processes, struct ep_live *process, uint32_t rows,
		     uint32_t n_rows)
{
	struct ep_proc proc = {.start_ns = process->start_ns, .rows = rows, .n_rows = n_rows};
	uint32_t pid = (uint32_t)process->pid;

	if (bpf_map_update_elem(processes->options.procs_fd, &pid, &proc, BPF_ANY) < 0)
		processes->stats.refused++;
	ep_live_drop_rows(processes, process);
	process->rows = rows;
	process->n_rows = n_rows;
}

/* Writes a process's rows. False when the store has no room at the moment. */
static bool publish(struct ep_processes *processes, struct ep_live *process)
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
	if (!process->queued && !process->reading && !ep_places_are_pending(&process->places))
		processes->options.settled(processes->options.arg, process->pid);
	return true;
}

void ep_live_publish_marked(uv_check_t *check)
{
	struct ep_processes *processes = check->data;
	struct ep_map_slot *slot;
	size_t pos = 0;

	if (processes->queued > 0)
		ep_live_start_reads(processes);
	if (!processes->publish)
		return;
	processes->publish = false;
	while ((slot = ep_map_next(&processes->live, &pos)) != NULL) {
		struct ep_live *process = (struct ep_live *)(uintptr_t)slot->value;

		if (process->publish && !publish(processes, process))
			return;
	}
}

void ep_live_mark(struct ep_processes *processes, struct ep_live *process)
{
	process->publish = true;
	processes->publish = true;
}

void ep_live_executable_changed(void *arg, struct ep_executable *executable)
{
	struct ep_processes *processes = arg;
	struct ep_map_slot *slot;
	size_t pos = 0;

	if (ep_delta_store_is_short(processes->options.store, SPARE_WORDS))
		need_room(processes);
	while ((slot = ep_map_next(&processes->live, &pos)) != NULL) {
		struct ep_live *process = (struct ep_live *)(uintptr_t)slot->value;
		if (ep_places_have(&process->places, executable))
			ep_live_mark(processes, process);
	}
}
