/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/executables.h"
#include "core/process/internal.h"
#include "core/base/clock.h"
#include "core/bpf/events.h"
#include "core/proc/process.h"

#include <string.h>

#include <bpf/bpf.h>

/* Who a sampled process is can wait a little; many are gone by then. */
#define IDENTIFY_NS (20 * EP_NS_PER_MS)
/* First and longest wait before an unknown address makes us read a process again. */
#define BACKOFF_MIN_NS (50 * EP_NS_PER_MS)
#define BACKOFF_MAX_NS (30 * EP_NS_PER_SEC)
/* Of the processes that ended, so many may be sampled on their way out. */
#define LAST_ENDED 64

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
		struct ep_live *process;

		if (!is_wanted(processes, *pid) || ep_live_find(processes, *pid))
			continue;
		process = ep_live_add(processes, *pid, 0);
		if (process)
			ep_live_enqueue(processes, process, 0);
	}
	ep_vec_fini(&pids);
	ep_live_start_reads(processes);
	return r;
}

void ep_processes_on_fork(struct ep_processes *processes, pid_t parent_pid, pid_t pid,
			  uint64_t start_ns)
{
	struct ep_live *parent = ep_live_find(processes, parent_pid), *process = ep_live_find(processes, pid);
	uint32_t key = (uint32_t)pid;

	processes->stats.forks++;
	if (process && ep_live_is_same(process, start_ns))
		return;
	if (process)
		ep_live_end(processes, process);
	process = ep_live_add(processes, pid, start_ns);
	if (process && parent)
		ep_live_fork_languages(process, parent);
	if (!process || !parent || parent->places.len == 0 ||
	    ep_places_copy(&process->places, &parent->places) < 0) {
		/* The rows that BPF gave it are another's, who may let go of them. */
		(void)bpf_map_delete_elem(processes->options.procs_fd, &key);
		if (process)
			ep_live_request(processes, process, EP_SETTLE_NS);
		return;
	}
	ep_live_mark(processes, process);
	if (!parent->read_once) {
		ep_live_request(processes, process, EP_SETTLE_NS);
		return;
	}
	ep_live_take_text(&process->comm, parent->comm);
	ep_live_take_text(&process->exe_path, parent->exe_path);
	ep_live_take_text(&process->container_id, parent->container_id);
	ep_live_take_environment(process, parent->environment, parent->environment_bytes);
	process->read_once = true;
	process->unnamed = parent->unnamed;
}

/*
 * BPF forgot the process at the exec; rows written since are gone or wrong. Mappings of the new
 * image may have been heard of before the exec itself: the two come by different ways.
 */
void ep_processes_on_exec(struct ep_processes *processes, pid_t pid, uint64_t start_ns,
			  uint64_t time_ns)
{
	struct ep_live *process = ep_live_find(processes, pid);
	uint32_t key = (uint32_t)pid;

	processes->stats.execs++;
	if (process && !ep_live_is_same(process, start_ns)) {
		ep_live_end(processes, process);
		process = NULL;
	}
	if (!process)
		process = ep_live_add(processes, pid, start_ns);
	if (!process)
		return;
	(void)bpf_map_delete_elem(processes->options.procs_fd, &key);
	ep_places_drop_older(&process->places, processes->executables, time_ns);
	ep_live_drop_rows(processes, process);
	ep_live_drop_languages(process);
	process->exec_ns = time_ns;
	process->unnamed = true;
	process->backoff_ns = 0;
	process->next_retry_ns = 0;
	process->publish = false;
	if (process->places.len > 0)
		ep_live_mark(processes, process);
	else if (!processes->options.hears_mappings)
		ep_live_request(processes, process, EP_SETTLE_NS);
}

/* An executable we know that this record is a mapping of; NULL when only a read can tell. */
static struct ep_executable *recognise(struct ep_processes *processes,
				       const struct ep_mapping_event *event)
{
	if (event->build_id)
		return ep_executables_get_build_id(processes->executables, event->build_id,
						   event->build_id_bytes);
	if (strcmp(event->name, "[vdso]") == 0 && event->addr >= EP_MAPS_COMPAT_END)
		return ep_executables_get_vdso(processes->executables);
	return NULL;
}

void ep_processes_on_mapping(struct ep_processes *processes,
			     const struct ep_mapping_event *event)
{
	struct ep_live *process = ep_live_find(processes, event->pid);
	struct ep_place_in_memory place = {
		.start = event->addr,
		.end = event->addr + event->bytes,
		.file_off = event->file_off,
		.time_ns = event->time_ns,
	};
	bool anonymous;

	processes->stats.mappings++;
	if (!process || event->time_ns < process->exec_ns)
		return; /* an exec or a sample brings it in; or it is of an image long gone */
	process->backoff_ns = 0;
	process->next_retry_ns = 0;
	place.executable = recognise(processes, event);
	anonymous = strcmp(event->name, "//anon") == 0; /* kernel/events/core.c */
	if (strcmp(event->name, "[vdso]") == 0)
		place.file_off = 0;
	if ((!place.executable && !anonymous) ||
	    ep_places_insert(&process->places, processes->executables, place) < 0) {
		ep_live_request(processes, process, 0);
		return;
	}
	ep_places_coarsen(&process->places);
	process->remapped = true;
	processes->stats.mappings_placed++;
	if (process->reading) /* what is being read may not have it */
		process->stale = true;
	ep_live_mark(processes, process);
}

void ep_processes_on_exit(struct ep_processes *processes, pid_t pid)
{
	struct ep_live *process = ep_live_find(processes, pid);

	processes->stats.exits++;
	if (!process)
		return;
	ep_live_end(processes, process);
	processes->options.settled(processes->options.arg, pid);
}

/* A sample behind the exit: its process is among those that ended last. */
static void mark_ended(struct ep_processes *processes, pid_t pid)
{
	size_t n = processes->ended.len;

	for (size_t i = n; i > 0 && n - i < LAST_ENDED; i--) {
		struct ep_live *process = *ep_vec_at(&processes->ended, struct ep_live *, i - 1);

		if (process->pid == pid) {
			process->sampled = true;
			return;
		}
	}
}

/* Who it is was not worth a read before it used the CPU. */
void ep_processes_on_sampled(struct ep_processes *processes, pid_t pid)
{
	struct ep_live *process = ep_live_find(processes, pid);

	if (!process) {
		mark_ended(processes, pid);
		return;
	}
	process->sampled = true;
	if (process->unnamed && !process->queued && !process->reading)
		ep_live_request(processes, process, IDENTIFY_NS);
}

void ep_processes_on_unknown(struct ep_processes *processes, pid_t pid, uint64_t start_ns)
{
	struct ep_live *process = ep_live_find(processes, pid);

	if (process && !ep_live_is_same(process, start_ns)) {
		ep_live_end(processes, process);
		process = NULL;
	}
	if (!process)
		process = ep_live_add(processes, pid, start_ns);
	if (process)
		process->sampled = true;
	if (process && !process->publish)
		ep_processes_on_unknown_address(processes, pid);
}

void ep_processes_on_unknown_address(struct ep_processes *processes, pid_t pid)
{
	struct ep_live *process = ep_live_find(processes, pid);
	uint64_t now_ns = ep_clock_mono_ns();

	if (process)
		process->sampled = true;
	if (!process || now_ns < process->next_retry_ns)
		return;
	process->backoff_ns = EP_MIN(EP_MAX(process->backoff_ns * 2, BACKOFF_MIN_NS),
				     BACKOFF_MAX_NS);
	process->next_retry_ns = now_ns + process->backoff_ns;
	ep_live_request(processes, process, 0);
	ep_live_hurry(processes, process);
	ep_live_start_reads(processes);
}
