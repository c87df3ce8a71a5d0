/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/processes.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/proc/process.h"
#include "core/process/internal.h"
#include "core/process/moved_text.h"
#include "core/walk/walk.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define CHECKS 512
/* There may be thousands of executables, and none of them is in a hurry to go. */
#define SWEEP_EXECUTABLES_NS (4 * EP_NS_PER_SEC)
/* Executables that were replaced and wait for one look at who maps them. */
#define MAX_REPLACEMENTS 256

/* --- look-ups -------------------------------------------------------------------------------- */

const struct ep_identity *ep_processes_identity(const struct ep_processes *processes,
						struct ep_program program)
{
	const struct ep_process *process = ep_table_find(&processes->table, program);

	return process ? process->identity : NULL;
}

struct ep_executables *ep_processes_executables(struct ep_processes *processes)
{
	return processes->executables;
}

struct ep_executable *ep_processes_executable(struct ep_processes *processes, uint32_t id)
{
	return ep_executables_find(processes->executables, id);
}

uint64_t ep_processes_region(const struct ep_processes *processes, struct ep_program program, uint64_t addr)
{
	const struct ep_process *process = ep_table_find(&processes->table, program);

	return process ? ep_areas_region(ep_process_areas(process), addr) : 0;
}

/*
 * It says something new rarely (REFRESH_REST_NS of instance.c), and does not wait: copies of stacks
 * make good for rows that come late, but not for a language.
 */
void ep_processes_on_language(struct ep_processes *processes, pid_t pid)
{
	struct ep_process *process = ep_table_find_live(&processes->table, pid);

	if (!process || ep_process_areas(process)->len == 0)
		return;
	process->published.rests_until_ns = 0;
	ep_processes_mark(processes, process);
}

struct ep_instance *ep_processes_language(struct ep_processes *processes,
					  struct ep_program program, uint32_t slot)
{
	return ep_process_languages_find(&processes->table, program, slot);
}

uint64_t ep_processes_age_ns(const struct ep_processes *processes, struct ep_program program)
{
	const struct ep_process *process = ep_table_find(&processes->table, program);

	return process && process->born_ns ? ep_clock_mono_ns() - process->born_ns : UINT64_MAX;
}

/* --- housekeeping ---------------------------------------------------------------------------- */

int ep_processes_scan(struct ep_processes *processes)
{
	const struct ep_processes_options *options = &processes->options;
	struct ep_vec pids;
	pid_t *pid;
	int r;

	ep_vec_init(&pids, sizeof(pid_t), 1u << 22);
	r = ep_process_list(&pids);
	ep_vec_each (&pids, pid) {
		struct ep_program program = {.pid = (uint32_t)*pid, .image = EP_IMAGE_ANY};
		struct ep_process *process;

		if ((options->wanted && !options->wanted(options->arg, *pid)) ||
		    ep_table_find_live(&processes->table, *pid))
			continue;
		process = ep_processes_add(processes, program, 0);
		if (process)
			ep_reads_enqueue(&processes->reads, process, 0);
	}
	ep_vec_fini(&pids);
	ep_reads_run(&processes->reads);
	return r;
}

/* Where exit events were lost nothing else would ever end a process. A few at each call. */
static void end_vanished(struct ep_processes *processes)
{
	if (processes->check_cap != processes->table.live.cap)
		processes->check_pos = 0; /* all of them are elsewhere now */
	processes->check_cap = processes->table.live.cap;
	for (size_t i = 0; i < CHECKS && processes->to_check > 0; i++) {
		struct ep_process *process =
			ep_map_next_pointer(&processes->table.live, &processes->check_pos);

		if (!process) {
			processes->check_pos = 0;
			processes->to_check--;
			return;
		}
		if (kill((pid_t)process->program.pid, 0) == 0 || errno != ESRCH)
			continue;
		ep_processes_end_vanished(processes, process);
		processes->check_pos--; /* another one may be in its slot now */
	}
}

void ep_processes_compact(struct ep_processes *processes)
{
	ep_room_compact(&processes->room);
}

void ep_processes_sweep(struct ep_processes *processes, uint64_t keep_ns)
{
	uint64_t now_ns = ep_clock_mono_ns();

	ep_held_expire(processes->held, EP_HELD_MAX_NS);
	end_vanished(processes);
	ep_processes_sweep_ended(processes, now_ns, keep_ns);
	ep_executables_let_go(processes->executables, now_ns);
	if (now_ns - processes->swept_ns >= SWEEP_EXECUTABLES_NS) {
		processes->swept_ns = now_ns;
		ep_executables_sweep(processes->executables, now_ns, keep_ns);
	}
	ep_room_retry(&processes->room);
}

void ep_processes_release(struct ep_processes *processes)
{
	ep_held_expire(processes->held, 0);
}

bool ep_processes_know(const struct ep_processes *processes, pid_t pid)
{
	return ep_table_find_live(&processes->table, pid) != NULL;
}

size_t ep_processes_busy(const struct ep_processes *processes)
{
	return processes->reads.queued + processes->reads.running +
	       processes->files.looks.n_waiting + processes->files.looks.running +
	       processes->comparisons + ep_held_busy(processes->held) +
	       (processes->room.state == EP_ROOM_GROWING) +
	       ep_executables_stats(processes->executables)->busy;
}

size_t ep_processes_waiting_bytes(const struct ep_processes *processes)
{
	return ep_held_bytes(processes->held);
}

/* Who shares what he is with others has a part of it. */
static void add_bytes(const struct ep_process *process, struct ep_processes_bytes *bytes)
{
	const struct ep_mappings *mappings = process->sharer.mappings;
	const struct ep_identity *identity = process->identity;

	bytes->programs += sizeof(*process);
	if (mappings)
		bytes->mappings +=
			(sizeof(*mappings) + mappings->areas.cap * sizeof(struct ep_area) +
			 mappings->areas.len * sizeof(struct ep_file_use)) /
			mappings->refs;
	if (identity)
		bytes->programs += (sizeof(*identity) + identity->environment_bytes + strlen(identity->comm) +
				    strlen(identity->exe_path) + strlen(identity->container_id) +
				    strlen(identity->cgroup_path)) /
				   identity->refs;
}

struct ep_processes_bytes ep_processes_bytes(const struct ep_processes *processes)
{
	const struct ep_table *table = &processes->table;
	const struct ep_ended_list *lists[] = {&table->recent, &table->lingering, &table->kept};
	struct ep_processes_bytes bytes = {.programs = ep_map_bytes(&table->live) + ep_map_bytes(&table->ended)};
	const struct ep_process *process;

	ep_map_each (&table->live, process)
		add_bytes(process, &bytes);
	for (size_t i = 0; i < EP_LEN(lists); i++) {
		TAILQ_FOREACH (process, lists[i], ended)
			add_bytes(process, &bytes);
	}
	return bytes;
}

void ep_processes_print_counters(const struct ep_processes *p, FILE *out)
{
	const struct ep_reads_stats *reads = &p->reads.stats;
	const struct ep_publisher_stats *rows = &p->publisher.stats;
	const struct ep_held_stats *held = ep_held_stats(p->held);
	const struct ep_executables_stats *files = ep_executables_stats(p->executables);

	ep_put_count(out, "processes known", p->table.live.len);
	ep_put_count(out, "programs that ended and are remembered", p->table.n_ended);
	ep_put_count(out, "processes read", reads->reads);
	ep_put_count(out, "processes gone while read", p->stats.gone);
	ep_put_count(out, "processes refused: too many", p->stats.refused + rows->refused);
	ep_put_count(out, "process reads deferred for want of budget", reads->deferred);
	ep_put_count(out, "process reads that waited more than 50 ms for a worker", reads->late);
	ep_put_count(out, "forks", p->stats.forks);
	ep_put_count(out, "forks that took no mappings over: too many", p->stats.disinherited);
	ep_put_count(out, "execs", p->stats.execs);
	ep_put_count(out, "exits", p->stats.exits);
	ep_put_count(out, "new executable mappings", p->stats.mappings);
	ep_put_count(out, "new mappings of files that were known", p->stats.mappings_known);
	ep_put_count(out, "files looked at for the others", p->files.looks.asked);
	ep_put_count(out, "files found", p->files.looks.found);
	ep_put_count(out, "files not looked at: too many at once", p->files.looks.refused);
	ep_put_count(out, "rows of processes written", rows->published);
	ep_put_count(out, "rows of processes with too many mappings", rows->cut);
	ep_put_count(out, "rows that had not changed", rows->unchanged);
	ep_put_count(out, "rows put off for want of budget", rows->put_off);
	ep_put_count(out, "samples walked to their root in user space", held->walked);
	ep_put_count(out, "samples walked there as far as it went", held->incomplete);
	ep_put_count(out, "samples of processes nobody knows", held->unknown);
	ep_put_count(out, "samples that could not wait: too many", held->pushed_out);
	ep_put_count(out, "samples dropped there: malformed, or no memory", held->dropped);
	ep_put_count(out, "times that nothing known was trusted", p->stats.doubts);
	ep_put_count(out, "times that a process mapped more than can be followed", p->stats.floods);
	ep_put_count(out, "times that such a process took records of others with it", p->stats.crowded);
	ep_put_count(out, "process reads to see whether it did", p->stats.checks);
	ep_put_count(out, "texts that were moved out of their files", p->stats.moved_texts);
	ep_put_count(out, "texts of ELF images in memory of no file", p->stats.images);
	ep_put_count(out, "executables known", files->live);
	ep_put_count(out, "executables forgotten for new ones: too many", files->forgotten);
	ep_put_count(out, "executables not looked at: too many in use", files->refused);
	ep_put_count(out, "files of executables closed for want of descriptors", files->closed);
	ep_put_count(out, "analyses that nobody wanted any more", files->stopped);
	ep_put_count(out, "analyses put off until others gave memory back", files->put_off);
	ep_put_count(out, "executables analysed", files->analysed);
	ep_put_count(out, "executables that are no ELF file we can read", files->failed);
	ep_put_count(out, "executables whose tables were dropped for memory", files->evicted);
	ep_put_count(out, "executables whose tables were dropped since nobody mapped them for minutes", files->aged);
	ep_put_count(out, "executables whose tables did not fit", files->over_limit);
	ep_put_count(out, "executables whose described names did not fit", files->nameless);
}

/* --- life ------------------------------------------------------------------------------------ */

static void on_before_poll(uv_prepare_t *handle)
{
	ep_processes_act(handle->data);
}

static void on_after_poll(uv_check_t *handle)
{
	ep_processes_act(handle->data);
}

static void on_code(void *arg)
{
	struct ep_processes *processes = arg;

	processes->changed = true;
}

static int new_held(struct ep_processes *processes)
{
	const struct ep_processes_options *options = &processes->options;
	struct ep_walker_options walker = {.store = options->store, .rules = options->rules};
	struct ep_held_options held = {
		.table = &processes->table,
		.publisher = &processes->publisher,
		.code = {
			.loop = options->loop,
			.executables = processes->executables,
			.done = on_code,
			.arg = processes,
		},
		.max_bytes = options->held_bytes,
		.pass = options->pass,
		.arg = options->arg,
	};
	int r = ep_walker_new(&walker, &processes->walker);

	held.walker = processes->walker;
	return r < 0 ? r : ep_held_new(&held, &processes->held);
}

static void free_parts(struct ep_processes *processes)
{
	ep_held_free(processes->held);
	ep_walker_free(processes->walker);
	ep_executables_free(processes->executables);
	ep_vec_fini(&processes->replacements);
	free(processes);
}

int ep_processes_new(const struct ep_processes_options *options, struct ep_processes **ret)
{
	struct ep_processes *processes = calloc(1, sizeof(*processes));
	int r;

	if (!processes)
		return -ENOMEM;
	processes->options = *options;
	processes->max_areas = EP_MAX_AREAS;
	ep_vec_init(&processes->replacements, sizeof(struct ep_replacement), MAX_REPLACEMENTS);
	r = ep_executables_new(options->loop, options->store, options->languages,
			       ep_processes_on_executable, ep_processes_on_replaced, processes,
			       &processes->executables);
	if (r == 0)
		r = ep_vec_reserve(&processes->replacements, MAX_REPLACEMENTS);
	if (r == 0) {
		ep_executables_set_memory(processes->executables, options->memory);
		if (options->max_files)
			ep_executables_set_max_files(processes->executables, options->max_files);
		if (options->divides)
			ep_executables_divide(processes->executables);
		ep_executables_set_leaving(processes->executables, options->leaving, options->arg);
		r = new_held(processes);
	}
	if (r < 0) {
		free_parts(processes);
		return r;
	}
	ep_table_init(&processes->table, options->max_processes);
	ep_room_init(&processes->room, options->loop, options->store, ep_processes_on_room,
		     processes);
	ep_publisher_init(&processes->publisher, &processes->room, options->procs,
			  options->procs ? options->procs_arg : &processes->options.procs_fd);
	ep_reads_init(&processes->reads, options->loop, options->timer, options->reads_per_second,
		      ep_processes_on_read, processes);
	processes->files = (struct ep_file_cache){
		.executables = processes->executables,
		.table = &processes->table,
		.found = ep_processes_on_file,
		.replaced = ep_processes_on_replacement,
		.arg = processes,
	};
	ep_file_cache_init(&processes->files, options->loop, options->timer);
	TAILQ_INIT(&processes->news);
	uv_prepare_init(options->loop, &processes->before_poll);
	uv_check_init(options->loop, &processes->after_poll);
	processes->before_poll.data = processes->after_poll.data = processes;
	uv_prepare_start(&processes->before_poll, on_before_poll);
	uv_check_start(&processes->after_poll, on_after_poll);
	*ret = processes;
	return 0;
}

void ep_processes_stop(struct ep_processes *processes)
{
	processes->stopped = true;
	processes->room.stopped = true;
	ep_reads_stop(&processes->reads);
	ep_file_looks_stop(&processes->files.looks);
	ep_moved_text_stop(processes);
	ep_executables_stop(processes->executables);
	uv_close((uv_handle_t *)&processes->before_poll, NULL);
	uv_close((uv_handle_t *)&processes->after_poll, NULL);
}

static void free_process(struct ep_processes *processes, struct ep_process *process)
{
	ep_publisher_unmark(&processes->publisher, process);
	ep_room_unref(&processes->room, process->published.rows);
	ep_process_free(process);
}

static void free_ended(struct ep_processes *processes, struct ep_ended_list *list)
{
	struct ep_process *process;

	while ((process = TAILQ_FIRST(list)) != NULL) {
		ep_table_remove_ended(&processes->table, process, list);
		free_process(processes, process);
	}
}

static void free_news(struct ep_processes *processes)
{
	struct ep_executable *executable;
	struct ep_replacement *one;

	TAILQ_FOREACH (executable, &processes->news, news)
		ep_executable_unref(executable);
	ep_vec_each (&processes->replacements, one) {
		ep_executable_unref(one->executable);
		ep_executable_unref(one->old);
	}
}

void ep_processes_free(struct ep_processes *processes)
{
	struct ep_process *process;

	if (!processes)
		return;
	ep_map_each (&processes->table.live, process)
		free_process(processes, process);
	free_news(processes);
	free_ended(processes, &processes->table.recent);
	free_ended(processes, &processes->table.lingering);
	free_ended(processes, &processes->table.kept);
	ep_table_fini(&processes->table);
	ep_publisher_fini(&processes->publisher);
	ep_recent_fini(&processes->recent);
	ep_cgroup_paths_fini(&processes->cgroup_paths);
	ep_file_cache_fini(&processes->files);
	free_parts(processes);
}
