/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from what was learned: the one place where the manager's parts meet. */
#include "core/base/clock.h"
#include "core/process/internal.h"
#include "core/process/moved_text.h"

/* So long after its end a program that was never sampled is wanted by nobody. */
#define UNSAMPLED_NS (EP_NS_PER_SEC / 2)
/* Samples of a program that ended, and names its languages remember, may be wanted so long. */
#define LINGER_NS (5 * EP_NS_PER_SEC / 2)
#define MANY_AREAS 1024

void ep_processes_mark(struct ep_processes *processes, struct ep_process *process)
{
	processes->changed = true;
	if (process->sharer.mappings)
		process->sharer.mappings->hurried = false;
	ep_publisher_mark(&processes->publisher, process);
}

void ep_processes_hurry(struct ep_processes *processes, struct ep_process *process)
{
	process->read.hurried = true;
	ep_mappings_hurry(process->sharer.mappings, processes->executables);
}

/* All its areas are looked through: where there are many, not while it pauses from its last rows.
 */
static bool may_look_at_text(const struct ep_process *process, uint64_t now_ns)
{
	return ep_process_areas(process)->len <= MANY_AREAS ||
	       now_ns >= process->published.rests_until_ns;
}

/* In this order: what is published may let samples go on their way. */
void ep_processes_act(struct ep_processes *processes)
{
	struct ep_process *process;

	if (processes->stopped)
		return;
	ep_processes_spread_news(processes);
	ep_file_looks_run(&processes->files.looks);
	ep_reads_run(&processes->reads);
	if (processes->publisher.n_dirty > 0) {
		uint64_t now_ns = ep_clock_mono_ns();

		TAILQ_FOREACH (process, &processes->publisher.dirty, published.dirty) {
			if (may_look_at_text(process, now_ns))
				ep_moved_text_look(processes, process);
			if (ep_process_languages_sync(process, processes->options.languages))
				ep_reads_request(&processes->reads, process, 0);
		}
		(void)ep_publisher_run(&processes->publisher, now_ns);
		/* Samples may wait for what has just been published. */
		processes->changed |= ep_held_bytes(processes->held) > 0;
	}
	if (processes->changed) {
		processes->changed = false;
		ep_held_retry(processes->held);
	}
}

void ep_processes_end_turn(struct ep_processes *processes, uint64_t time_ns)
{
	processes->known_until_ns = EP_MAX(processes->known_until_ns, time_ns);
	ep_processes_act(processes);
}

/* Rows that found no space are tried again; where there is none, tables give way to them. */
void ep_processes_on_room(void *arg)
{
	struct ep_processes *processes = arg;

	processes->changed = true;
	if (processes->room.state != EP_ROOM_FULL)
		return;
	ep_publisher_forget_starved(&processes->publisher);
	if (processes->room.small_starved)
		(void)ep_executables_evict_one(processes->executables);
	processes->room.small_starved = false;
}

/* --- programs that ended --------------------------------------------------------------------- */

static void let_go(struct ep_process *process)
{
	ep_mappings_leave(&process->sharer);
	ep_process_languages_drop(process);
}

/* Times of records and the clock are the same; nothing is let go before it was all heard of. */
void ep_processes_sweep_ended(struct ep_processes *processes, uint64_t now_ns, uint64_t keep_ns)
{
	struct ep_table *table = &processes->table;
	uint64_t known_ns = EP_MIN(now_ns, processes->known_until_ns);
	struct ep_process *process;

	while ((process = ep_table_first_ended(
			&table->recent, known_ns - EP_MIN(known_ns, UNSAMPLED_NS))) != NULL) {
		if (process->sampled) {
			ep_table_move(process, &table->recent, &table->lingering);
			continue;
		}
		ep_table_remove_ended(table, process, &table->recent);
		let_go(process);
		ep_process_free(process);
	}
	while ((process = ep_table_first_ended(&table->lingering,
					       known_ns - EP_MIN(known_ns, LINGER_NS))) != NULL) {
		let_go(process);
		ep_table_move(process, &table->lingering, &table->kept);
	}
	while ((process = ep_table_first_ended(&table->kept, now_ns - EP_MIN(now_ns, keep_ns))) !=
	       NULL) {
		ep_table_remove_ended(table, process, &table->kept);
		ep_process_free(process);
	}
}
