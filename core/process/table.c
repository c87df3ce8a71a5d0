/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/executables.h"
#include "core/process/internal.h"
#include "core/base/clock.h"

#include <string.h>

#include <bpf/bpf.h>

struct ep_live *ep_live_find(const struct ep_processes *processes, pid_t pid)
{
	const uint64_t *value = ep_map_find(&processes->live, (uint64_t)pid);

	return value ? (struct ep_live *)(uintptr_t)*value : NULL;
}

bool ep_live_is_same(const struct ep_live *process, uint64_t start_ns)
{
	uint64_t a = process->start_ns / EP_CLOCK_TICK_NS, b = start_ns / EP_CLOCK_TICK_NS;

	return process->start_ns == 0 || a == b;
}

struct ep_live *ep_live_add(struct ep_processes *processes, pid_t pid, uint64_t start_ns)
{
	struct ep_live *process;

	if (processes->live.len >= processes->options.max_processes) {
		processes->stats.refused++;
		return NULL;
	}
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->start_ns = start_ns;
	ep_places_init(&process->places);
	if (ep_map_set(&processes->live, (uint64_t)pid, (uintptr_t)process) < 0) {
		free(process);
		return NULL;
	}
	processes->stats.live++;
	return process;
}

void ep_live_free(struct ep_live *process)
{
	ep_live_drop_languages(process);
	free(process->comm);
	free(process->exe_path);
	free(process->container_id);
	free(process->environment);
	free(process);
}

void ep_live_end(struct ep_processes *processes, struct ep_live *process)
{
	uint32_t pid = (uint32_t)process->pid;
	struct ep_live **slot;

	ep_live_unqueue(processes, process);
	ep_map_remove(&processes->live, pid);
	(void)bpf_map_delete_elem(processes->options.procs_fd, &pid);
	ep_places_clear(&process->places, processes->executables);
	ep_live_drop_rows(processes, process);
	processes->stats.live--;
	process->ended_ns = ep_clock_mono_ns();
	slot = process->read_once ? ep_vec_push(&processes->ended) : NULL;
	if (slot)
		*slot = process;
	else
		ep_live_free(process);
}

void ep_live_take_text(char **field, const char *text)
{
	char *copy = strdup(text);

	if (copy) {
		free(*field);
		*field = copy;
	}
}

void ep_live_take_environment(struct ep_live *process, const char *text, size_t bytes)
{
	char *copy = bytes ? malloc(bytes) : NULL;

	if (bytes && !copy)
		return;
	if (bytes)
		memcpy(copy, text, bytes);
	free(process->environment);
	process->environment = copy;
	process->environment_bytes = bytes;
}
