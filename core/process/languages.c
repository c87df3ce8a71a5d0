/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/executables.h"
#include "core/process/internal.h"
#include "core/process/rows.h"

#include <string.h>

#define MAX_FORKS 8 /* from a child to a parent that can still be read */

void ep_live_drop_languages(struct ep_live *process)
{
	for (size_t i = 0; i < process->n_languages; i++)
		ep_instance_release(process->languages[i]);
	process->n_languages = 0;
	process->parent_pid = 0;
}

void ep_live_fork_languages(struct ep_live *child, const struct ep_live *parent)
{
	child->parent_pid = parent->pid;
	child->parent_start_ns = parent->start_ns;
	for (size_t i = 0; i < parent->n_languages; i++) {
		struct ep_instance *instance =
			ep_instance_fork(parent->languages[i], child->pid);

		if (instance)
			child->languages[child->n_languages++] = instance;
	}
}

/* The claims of all places, with where they are loaded. */
struct found {
	struct ep_claim *claim;
	uint64_t bias, addr;
};

static size_t find_place_claims(const struct ep_place_in_memory *place, struct found *found,
				size_t max)
{
	const struct ep_executable *executable = place->executable;
	size_t n = 0;
	uint64_t va;

	if (!executable || executable->n_claims == 0 ||
	    ep_executable_find_va(executable, place->file_off, &va) < 0)
		return 0;
	for (size_t i = 0; i < executable->n_claims && n < max; i++)
		found[n++] = (struct found){executable->claims[i], place->start - va,
						place->start};
	return n;
}

/* Several places of one executable are one. */
static size_t find_claims(const struct ep_live *process, struct found *found, size_t max)
{
	const struct ep_place_in_memory *place;
	size_t n = 0;

	ep_vec_each(&process->places, place) {
		size_t more = find_place_claims(place, found + n, max - n);

		if (more > 0 && n > 0 && found[n - 1].claim == found[n + more - 1].claim &&
		    found[n - 1].bias == found[n].bias)
			continue;
		n += more;
	}
	return n;
}

static bool is_found(const struct ep_instance *instance, const struct found *found, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ep_instance_is(instance, found[i].claim, found[i].bias))
			return true;
	}
	return false;
}

static bool is_attached(const struct ep_live *process, const struct found *found)
{
	for (size_t i = 0; i < process->n_languages; i++) {
		if (ep_instance_is(process->languages[i], found->claim, found->bias))
			return true;
	}
	return false;
}

static void drop_unfound(struct ep_live *process, const struct found *found, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < process->n_languages; i++) {
		struct ep_instance *instance = process->languages[i];

		if (is_found(instance, found, n))
			process->languages[kept++] = instance;
		else
			ep_instance_release(instance);
	}
	process->n_languages = kept;
}

static struct ep_instance *find_slot(const struct ep_live *process, uint32_t slot);

/* Nobody tells of a library that was closed: where a second runtime comes, the first may be gone. */
static void attach(struct ep_processes *processes, struct ep_live *process,
		   const struct found *found)
{
	struct ep_instance *instance;

	if (process->n_languages == EP_MAX_LANGUAGES || is_attached(process, found))
		return;
	instance = ep_instance_new(processes->options.unwinders, found->claim, process->pid,
				   found->bias, found->addr);
	if (!instance)
		return;
	if (find_slot(process, ep_instance_slot(instance)))
		ep_live_request(processes, process, 0);
	process->languages[process->n_languages++] = instance;
}

void ep_live_sync_languages(struct ep_processes *processes, struct ep_live *process)
{
	struct found found[2 * EP_MAX_LANGUAGES];
	size_t n;

	if (!processes->options.unwinders)
		return;
	n = find_claims(process, found, EP_LEN(found));
	drop_unfound(process, found, n);
	for (size_t i = 0; process->remapped && i < process->n_languages; i++)
		ep_instance_mappings_changed(process->languages[i]);
	process->remapped = false;
	for (size_t i = 0; i < n; i++)
		attach(processes, process, &found[i]);
}

/*
 * True when BPF is told of a language. Of two runtimes of one language in a process (its program
 * and a library that brings another) the first with something to tell is the one that is walked.
 */
static bool is_told(const struct ep_live *process, size_t at)
{
	const struct ep_instance *instance = process->languages[at];

	for (size_t i = 0; i < at; i++) {
		if (ep_instance_state(process->languages[i]) != 0 &&
		    ep_instance_slot(process->languages[i]) == ep_instance_slot(instance))
			return false;
	}
	return ep_instance_state(instance) != 0;
}

/* Rows that cannot be marked for want of room stay native. */
void ep_live_mark_rows(struct ep_processes *processes, const struct ep_live *process)
{
	for (size_t i = 0; i < process->n_languages; i++) {
		const struct ep_instance *instance = process->languages[i];
		const struct ep_range *ranges;
		size_t n = ep_instance_ranges(instance, &ranges);
		struct ep_vec rows = processes->rows;

		if (n == 0 || !is_told(process, i))
			continue;
		processes->marked.len = 0;
		if (ep_rows_mark(&rows, ranges, n, ep_instance_slot(instance),
				 &processes->marked) < 0)
			continue;
		processes->rows = processes->marked;
		processes->marked = rows;
	}
}

void ep_live_tell_languages(const struct ep_live *process, struct ep_proc *proc)
{
	size_t n = 0;

	for (size_t i = 0; i < process->n_languages; i++) {
		if (!is_told(process, i))
			continue;
		proc->states[n] = (uint16_t)ep_instance_state(process->languages[i]);
		proc->slots[n++] = (uint8_t)ep_instance_slot(process->languages[i]);
	}
}

void ep_processes_on_language(struct ep_processes *processes, pid_t pid)
{
	struct ep_live *process = ep_live_find(processes, pid);

	if (process && process->places.len > 0)
		ep_live_mark(processes, process);
}

static struct ep_instance *find_slot(const struct ep_live *process, uint32_t slot)
{
	struct ep_instance *found = NULL;

	for (size_t i = 0; i < process->n_languages; i++) {
		if (ep_instance_slot(process->languages[i]) == slot &&
		    (!found || is_told(process, i)))
			found = process->languages[i];
	}
	return found;
}

/* Alive, or among those that ended last. */
static const struct ep_live *find_process(const struct ep_processes *processes, pid_t pid,
					  uint64_t start_ns)
{
	const struct ep_live *process = ep_live_find(processes, pid);

	if (process && ep_live_is_same(process, start_ns))
		return process;
	for (size_t i = processes->ended.len; i-- > 0;) {
		process = *ep_vec_at(&processes->ended, struct ep_live *, i);
		if (process->pid == pid && ep_live_is_same(process, start_ns))
			return process;
	}
	return NULL;
}

/*
 * Many a forked child is gone before it can be attached to. What its frames name was its parent's:
 * there it can still be read, and the plugin tells whether it is the same.
 */
struct ep_instance *ep_processes_language(struct ep_processes *processes,
					  struct ep_program program, uint32_t slot)
{
	const struct ep_live *process =
		find_process(processes, (pid_t)program.pid, program.start_ns);
	struct ep_instance *own = process ? find_slot(process, slot) : NULL, *instance = own;

	for (uint32_t i = 0; i < MAX_FORKS && instance; i++) {
		if (!ep_instance_is_missed(instance, process->ended_ns != 0))
			return instance;
		if (process->parent_pid == 0)
			break;
		process = find_process(processes, process->parent_pid, process->parent_start_ns);
		instance = process ? find_slot(process, slot) : NULL;
	}
	return own;
}
