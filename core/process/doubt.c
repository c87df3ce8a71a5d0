/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is not trusted any more, since records are missing. Who is invalidated:
 *
 *	lost in a ring that nobody in particular filled		all: anybody may have mapped something
 *	lost in a ring that a few processes filled		those; others are read once more
 *	skipped, as one process wrote too many			that process
 *	over its budget: see ep_processes_charge_mapping	that process
 *
 * A process that is invalidated is NEW: BPF forgets it, and it is read at its next sample. One that
 * floods changes while it is read, so that its reads are in vain: they come ever less often, and
 * its samples do not wait for them.
 */
#include "core/base/clock.h"
#include "core/process/internal.h"

/*
 * What records of its mappings may cost a process: a twentieth of a CPU, and so much at once. They
 * are counted, as they come: so much each, and for each area that has to move.
 */
static const struct ep_rate mapping_rate = {.unit_ns = 20, .burst = 100 * EP_NS_PER_MS};
#define MAPPING_COST_NS 500
#define AREA_COST_NS	6

bool ep_processes_charge_mapping(struct ep_process *process, uint64_t time_ns)
{
	ep_bucket_charge(&process->trust.cost, mapping_rate, MAPPING_COST_NS, time_ns);
	return ep_bucket_wait_ns(&process->trust.cost, mapping_rate, 0, time_ns) == 0;
}

void ep_processes_charge_areas(struct ep_process *process, uint64_t time_ns, size_t n_moved)
{
	ep_bucket_charge(&process->trust.cost, mapping_rate, AREA_COST_NS * n_moved, time_ns);
}

/* They can be read no more: samples of theirs that wait are passed on as they are. */
static void forget_ended(struct ep_ended_list *list)
{
	struct ep_process *process;

	TAILQ_FOREACH (process, list, ended)
		ep_process_forget_mappings(process);
}

/* Nothing that is known of its mappings is trusted any more, by us and by BPF. */
static void doubt(struct ep_processes *processes, struct ep_process *process)
{
	ep_publisher_unmark(&processes->publisher, process);
	ep_publisher_forget(&processes->publisher, process);
	ep_process_forget_mappings(process);
}

/* Births and deaths may be missing as well. */
void ep_processes_on_lost(struct ep_processes *processes)
{
	struct ep_process *process;

	processes->stats.doubts++;
	ep_map_each (&processes->table.live, process) {
		doubt(processes, process);
		if (!process->trust.floods)
			process->read.next_retry_ns = 0;
	}
	forget_ended(&processes->table.recent);
	forget_ended(&processes->table.lingering);
	processes->changed = true;
	processes->to_check = processes->check_pos ? 2 : 1;
	processes->doubted_ns = ep_clock_mono_ns();
}

void ep_processes_on_flood(struct ep_processes *processes, pid_t pid, uint64_t now_ns)
{
	struct ep_process *process = ep_table_find_live(&processes->table, pid);

	if (!process)
		return;
	processes->stats.floods++;
	if (!process->trust.floods || process->state != EP_PROCESS_NEW)
		doubt(processes, process);
	process->trust.floods = true;
	process->trust.doubted_ns = EP_MAX(process->trust.doubted_ns, now_ns);
	processes->changed = true;
}

void ep_processes_on_crowded(struct ep_processes *processes)
{
	processes->stats.crowded++;
	processes->crowded_ns = ep_clock_mono_ns();
}

bool ep_processes_check(struct ep_processes *processes, struct ep_process *process, uint64_t now_ns)
{
	bool may_be_wrong = process->trust.known_ns < processes->crowded_ns;
	bool lacks_files = process->trust.refused_ns && process->trust.refused_ns <= now_ns;

	if (process->state != EP_PROCESS_KNOWN || (!may_be_wrong && !lacks_files) ||
	    now_ns < process->trust.check_ns)
		return false;
	process->trust.check_ns = now_ns + EP_CHECK_NS;
	process->trust.refused_ns = 0;
	processes->stats.checks++;
	ep_reads_request(&processes->reads, process, 0);
	return true;
}
