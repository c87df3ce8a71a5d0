/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/processes.h"
#include "core/process/executables.h"
#include "core/process/internal.h"
#include "core/process/rows.h"
#include "core/base/clock.h"

#include <errno.h>
#include <signal.h>

/* Reads that are not charged: every process of a busy machine once. */
#define READ_BURST 2000
/* A process's last sample can be behind its exit. */
#define UNSAMPLED_NS (2 * EP_NS_PER_SEC)
#define CHECKS	     512
/* Frames of a process that has ended may still want names that its languages remember. */
#define LANGUAGES_LINGER_NS (3 * EP_NS_PER_SEC)

/* --- look-ups -------------------------------------------------------------------------------- */

bool ep_processes_is_settled(struct ep_processes *processes, pid_t pid, uint64_t start_ns)
{
	const struct ep_live *process = ep_live_find(processes, pid);

	if (!process || !ep_live_is_same(process, start_ns))
		return true;
	return !process->queued && !process->reading && !process->publish && !ep_places_are_pending(&process->places);
}

int ep_processes_place(struct ep_processes *processes, pid_t pid, uint64_t start_ns, uint64_t addr,
		       uint32_t *ret_executable, uint64_t *ret_va)
{
	const struct ep_live *process = ep_live_find(processes, pid);
	const struct ep_place_in_memory *place;

	if (!process || !ep_live_is_same(process, start_ns))
		return -ENODATA;
	place = ep_places_find(&process->places, addr);
	if (!place)
		return -ENODATA;
	if (!place->executable ||
	    ep_executable_find_va(place->executable, place->file_off, ret_va) < 0)
		return EP_PLACE_ANONYMOUS;
	*ret_executable = place->executable->id;
	*ret_va += addr - place->start;
	return 0;
}

static void describe(const struct ep_live *process, struct ep_process_description *ret)
{
	*ret = (struct ep_process_description){
		.comm = process->comm,
		.exe_path = process->exe_path,
		.container_id = process->container_id,
		.environment = process->environment,
		.environment_bytes = process->environment_bytes,
	};
}

int ep_processes_describe(struct ep_processes *processes, struct ep_program program,
			  struct ep_process_description *ret)
{
	pid_t pid = (pid_t)program.pid;
	uint64_t start_ns = program.start_ns;
	const struct ep_live *process = ep_live_find(processes, pid);

	if (process && ep_live_is_same(process, start_ns)) {
		describe(process, ret);
		return 0;
	}
	for (size_t i = processes->ended.len; i-- > 0;) {
		process = *ep_vec_at(&processes->ended, struct ep_live *, i);
		if (process->pid == pid && ep_live_is_same(process, start_ns)) {
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

int ep_processes_prepare(struct ep_processes *processes, const char *path,
			 struct ep_proc_file *file)
{
	return ep_executables_prepare(processes->executables, path, file);
}

/* --- housekeeping ---------------------------------------------------------------------------- */

/* Names of processes that were never sampled are wanted by nobody: after a fork storm, thousands. */
static bool is_over(const struct ep_live *process, uint64_t now_ns, uint64_t keep_ns)
{
	uint64_t age_ns = now_ns - process->ended_ns;

	return age_ns >= keep_ns || (!process->sampled && age_ns >= UNSAMPLED_NS);
}

static void sweep_ended(struct ep_processes *processes, uint64_t now_ns, uint64_t keep_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < processes->ended.len; i++) {
		struct ep_live *process = *ep_vec_at(&processes->ended, struct ep_live *, i);

		if (now_ns - process->ended_ns > LANGUAGES_LINGER_NS)
			ep_live_drop_languages(process);
		if (is_over(process, now_ns, keep_ns))
			ep_live_free(process);
		else
			*ep_vec_at(&processes->ended, struct ep_live *, kept++) = process;
	}
	processes->ended.len = kept;
}

/* Where the exit event was lost nothing else would ever end a process. A few at each call. */
static void end_vanished(struct ep_processes *processes)
{
	for (size_t i = 0; i < CHECKS; i++) {
		const struct ep_map_slot *slot =
			ep_map_next(&processes->live, &processes->check_pos);
		pid_t pid = slot ? (pid_t)slot->key : 0;

		if (!slot) {
			processes->check_pos = 0;
			return;
		}
		if (kill(pid, 0) == 0 || errno != ESRCH)
			continue;
		ep_live_end(processes, (struct ep_live *)(uintptr_t)slot->value);
		processes->options.settled(processes->options.arg, pid);
	}
}

void ep_processes_sweep(struct ep_processes *processes, uint64_t keep_ns)
{
	uint64_t now_ns = ep_clock_mono_ns();

	end_vanished(processes);
	sweep_ended(processes, now_ns, keep_ns);
	ep_executables_sweep(processes->executables, now_ns, keep_ns);
	ep_live_retry_rows(processes);
}

bool ep_processes_evict_one(struct ep_processes *processes)
{
	return ep_executables_evict_one(processes->executables);
}

void ep_processes_restore_one(struct ep_processes *processes)
{
	ep_executables_restore_one(processes->executables, ep_clock_mono_ns());
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
	processes->room_turn = 1;
	ep_map_init(&processes->live, options->max_processes);
	ep_vec_init(&processes->ended, sizeof(struct ep_live *), 65536);
	ep_vec_init(&processes->rows, sizeof(struct ep_row), EP_MAX_ROWS);
	ep_vec_init(&processes->marked, sizeof(struct ep_row), EP_MAX_ROWS);
	ep_budget_init(&processes->budget, options->reads_per_second, READ_BURST,
		       ep_clock_mono_ns());
	r = ep_executables_new(options->loop, options->store, options->unwinders, ep_live_executable_changed, processes,
			       &processes->executables);
	if (r < 0) {
		free(processes);
		return r;
	}
	uv_timer_init(options->loop, &processes->tick);
	uv_check_init(options->loop, &processes->publisher);
	processes->tick.data = processes;
	processes->publisher.data = processes;
	uv_check_start(&processes->publisher, ep_live_publish_marked);
	*ret = processes;
	return 0;
}

void ep_processes_stop(struct ep_processes *processes)
{
	struct ep_live *process;

	processes->stopped = true;
	while ((process = TAILQ_FIRST(&processes->queue)) != NULL)
		ep_live_unqueue(processes, process);
	ep_executables_stop(processes->executables);
	uv_close((uv_handle_t *)&processes->tick, NULL);
	uv_close((uv_handle_t *)&processes->publisher, NULL);
}

void ep_processes_free(struct ep_processes *processes)
{
	struct ep_map_slot *slot;
	struct ep_live **ended;
	size_t pos = 0;

	if (!processes)
		return;
	while ((slot = ep_map_next(&processes->live, &pos)) != NULL) {
		struct ep_live *process = (struct ep_live *)(uintptr_t)slot->value;

		ep_places_clear(&process->places, processes->executables);
		ep_live_free(process);
	}
	ep_vec_each(&processes->ended, ended)
		ep_live_free(*ended);
	ep_map_fini(&processes->live);
	ep_vec_fini(&processes->ended);
	ep_vec_fini(&processes->rows);
	ep_vec_fini(&processes->marked);
	ep_executables_free(processes->executables);
	free(processes);
}
