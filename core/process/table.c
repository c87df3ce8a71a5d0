/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/table.h"

#include <errno.h>

#define MAX_ENDED 131072

void ep_table_init(struct ep_table *table, size_t max_live)
{
	*table = (struct ep_table){0};
	ep_map_init(&table->live, max_live);
	ep_map_init(&table->ended, MAX_ENDED);
	TAILQ_INIT(&table->recent);
	TAILQ_INIT(&table->lingering);
	TAILQ_INIT(&table->kept);
}

void ep_table_fini(struct ep_table *table)
{
	ep_map_fini(&table->live);
	ep_map_fini(&table->ended);
}

struct ep_process *ep_table_find_live(const struct ep_table *table, pid_t pid)
{
	return ep_map_get(&table->live, (uint64_t)pid);
}

struct ep_process *ep_table_find(const struct ep_table *table, struct ep_program program)
{
	struct ep_process *process = ep_map_get(&table->live, program.pid);

	if (process && ep_process_is(process, program))
		return process;
	for (process = ep_map_get(&table->ended, program.pid); process; process = process->older) {
		if (ep_process_is(process, program))
			return process;
	}
	return NULL;
}

struct ep_process *ep_table_find_at(const struct ep_table *table, pid_t pid, uint64_t time_ns)
{
	struct ep_process *process = ep_map_get(&table->live, (uint64_t)pid);

	if (process && time_ns >= process->born_ns)
		return process;
	for (process = ep_table_newest_ended(table, pid); process; process = process->older) {
		if (time_ns >= process->born_ns && time_ns <= process->ended_ns)
			return process;
	}
	return NULL;
}

uint64_t ep_table_next_birth(const struct ep_table *table, pid_t pid, uint64_t time_ns)
{
	const struct ep_process *process = ep_map_get(&table->live, (uint64_t)pid);
	uint64_t next_ns = process && process->born_ns > time_ns ? process->born_ns : 0;

	for (process = ep_table_newest_ended(table, pid); process; process = process->older) {
		if (process->born_ns > time_ns && (!next_ns || process->born_ns < next_ns))
			next_ns = process->born_ns;
	}
	return next_ns;
}

struct ep_process *ep_table_newest_ended(const struct ep_table *table, pid_t pid)
{
	return ep_map_get(&table->ended, (uint64_t)pid);
}

int ep_table_add(struct ep_table *table, struct ep_process *process)
{
	return ep_map_set(&table->live, process->program.pid, (uintptr_t)process);
}

void ep_table_end(struct ep_table *table, struct ep_process *process, uint64_t time_ns)
{
	(void)ep_map_remove(&table->live, process->program.pid);
	ep_table_add_ended(table, process, time_ns);
}

/* Without memory for the index it is found no more, but is swept like the others. */
void ep_table_add_ended(struct ep_table *table, struct ep_process *process, uint64_t time_ns)
{
	uint32_t pid = process->program.pid;

	process->read.was_known = !ep_process_is_unknown(process);
	process->state = EP_PROCESS_ENDED;
	process->ended_ns = time_ns;
	process->older = ep_map_get(&table->ended, (uint64_t)pid);
	if (process->older)
		process->older->newer = process;
	(void)ep_map_set(&table->ended, pid, (uintptr_t)process);
	TAILQ_INSERT_TAIL(&table->recent, process, ended);
	table->n_ended++;
}

struct ep_process *ep_table_first_ended(struct ep_ended_list *list, uint64_t before_ns)
{
	struct ep_process *process = TAILQ_FIRST(list);

	return process && process->ended_ns < before_ns ? process : NULL;
}

void ep_table_move(struct ep_process *process, struct ep_ended_list *from,
		   struct ep_ended_list *to)
{
	TAILQ_REMOVE(from, process, ended);
	TAILQ_INSERT_TAIL(to, process, ended);
}

/* In constant time: a script that executes itself over and over makes a long chain. */
static void unlink_ended(struct ep_table *table, struct ep_process *process)
{
	uint32_t pid = process->program.pid;

	if (process->older)
		process->older->newer = process->newer;
	if (process->newer)
		process->newer->older = process->older;
	else if (ep_map_get(&table->ended, (uint64_t)pid) != process)
		return; /* it never was in the index */
	else if (process->older)
		(void)ep_map_set(&table->ended, pid, (uintptr_t)process->older);
	else
		(void)ep_map_remove(&table->ended, pid);
}

void ep_table_remove_ended(struct ep_table *table, struct ep_process *process,
			   struct ep_ended_list *list)
{
	unlink_ended(table, process);
	TAILQ_REMOVE(list, process, ended);
	table->n_ended--;
}
