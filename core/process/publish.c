/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/executables.h"
#include "core/process/job.h"
#include "core/process/internal.h"
#include "core/process/rows.h"

#include <bpf/bpf.h>

/* Room kept free in the delta store, so that nothing new has to wait for a chunk: 256 KiB. */
#define SPARE_WORDS 65536u
/* A process with more rows gets them only if there is room. */
#define SMALL_ROWS 1024

void ep_live_drop_rows(struct ep_processes *processes, struct ep_live *process)
{
	ep_delta_store_drop_rows(processes->options.store, process->rows, process->n_rows);
	process->n_rows = 0;
}

static void grow_store(void *arg)
{
	struct ep_processes *processes = arg;

	processes->room_result =
		ep_delta_store_add_room(processes->options.store, processes->room_words);
}

/* Without new rows BPF would go on with old ones, whose tables may be gone. */
static void forget_rows(struct ep_processes *processes, struct ep_live *process)
{
	uint32_t pid = (uint32_t)process->pid;

	(void)bpf_map_delete_elem(processes->options.procs_fd, &pid);
	ep_live_drop_rows(processes, process);
}

/* The store is as large as it may be. Tables give way to rows, but not to those of a giant. */
static void be_full(struct ep_processes *processes)
{
	struct ep_map_slot *slot;
	size_t pos = 0;

	processes->full = true;
	while ((slot = ep_map_next(&processes->live, &pos)) != NULL) {
		struct ep_live *process = (struct ep_live *)(uintptr_t)slot->value;

		if (process->publish && process->no_room == processes->room_turn)
			forget_rows(processes, process);
	}
	if (processes->small_starved)
		(void)ep_executables_evict_one(processes->executables);
	processes->small_starved = false;
}

static void try_again(struct ep_processes *processes)
{
	processes->full = false;
	processes->room_turn++;
	processes->publish = true; /* those that found no room are still marked */
}

static void store_grown(void *arg)
{
	struct ep_processes *processes = arg;

	processes->growing = false;
	if (processes->room_result < 0)
		be_full(processes);
	else
		try_again(processes);
}

static void need_room(struct ep_processes *processes, uint32_t words)
{
	if (processes->growing || processes->full || processes->stopped)
		return;
	processes->room_words = EP_MAX(words, SPARE_WORDS);
	processes->growing =
		ep_job_run(processes->options.loop, grow_store, store_grown, processes) == 0;
}

void ep_live_retry_rows(struct ep_processes *processes)
{
	if (processes->full)
		try_again(processes);
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
	ep_live_mark_rows(processes, process);
}

static void tell_bpf(struct ep_processes *processes, struct ep_live *process, uint32_t rows,
		     uint32_t n_rows)
{
	struct ep_proc proc = {.start_ns = process->start_ns, .rows = rows, .n_rows = (uint16_t)n_rows, .image = EP_IMAGE_ANY};
	uint32_t pid = (uint32_t)process->pid;

	ep_live_tell_languages(process, &proc);
	if (bpf_map_update_elem(processes->options.procs_fd, &pid, &proc, BPF_ANY) < 0) {
		processes->stats.refused++;
		(void)bpf_map_delete_elem(processes->options.procs_fd, &pid);
	}
	ep_live_drop_rows(processes, process);
	process->rows = rows;
	process->n_rows = n_rows;
}

static void starve(struct ep_processes *processes, struct ep_live *process)
{
	size_t n_rows = processes->rows.len;

	process->no_room = processes->room_turn;
	if (n_rows <= SMALL_ROWS)
		processes->small_starved = true;
	if (processes->full)
		forget_rows(processes, process);
	need_room(processes, (uint32_t)(n_rows * sizeof(struct ep_row) / 4));
}

/* Writes a process's rows, if the store has room for them now. */
static void publish(struct ep_processes *processes, struct ep_live *process)
{
	uint32_t ref = 0;

	ep_live_sync_languages(processes, process);
	build_rows(processes, process);
	if (processes->rows.len > 0 &&
	    ep_delta_store_put_rows(processes->options.store, processes->rows.data,
				    processes->rows.len, &ref) < 0) {
		starve(processes, process);
		return;
	}
	tell_bpf(processes, process, ref, (uint32_t)processes->rows.len);
	process->publish = false;
	if (!process->queued && !process->reading && !ep_places_are_pending(&process->places))
		processes->options.settled(processes->options.arg, process->pid);
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

		if (process->publish && process->no_room != processes->room_turn)
			publish(processes, process);
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
		need_room(processes, SPARE_WORDS);
	while ((slot = ep_map_next(&processes->live, &pos)) != NULL) {
		struct ep_live *process = (struct ep_live *)(uintptr_t)slot->value;
		if (ep_places_have(&process->places, executable))
			ep_live_mark(processes, process);
	}
}
