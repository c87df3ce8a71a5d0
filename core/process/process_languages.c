/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/process_languages.h"
#include "core/process/executables.h"
#include "core/process/language.h"
#include "core/process/places.h"
#include "core/process/rows.h"
#include "core/process/table.h"

#include <string.h>

#define MAX_FORKS 8 /* from a child to a parent that can still be read */

void ep_process_languages_drop(struct ep_process *process)
{
	for (size_t i = 0; i < process->n_languages; i++)
		ep_instance_release(process->languages[i]);
	process->n_languages = 0;
	process->parent = (struct ep_program){0};
}

void ep_process_languages_fork(struct ep_process *child, const struct ep_process *parent)
{
	child->parent = parent->program;
	for (size_t i = 0; i < parent->n_languages; i++) {
		struct ep_instance *instance =
			ep_instance_fork(parent->languages[i], (pid_t)child->program.pid);

		if (instance)
			child->languages[child->n_languages++] = instance;
	}
}

void ep_process_languages_refresh(const struct ep_process *process)
{
	for (size_t i = 0; i < process->n_languages; i++)
		ep_instance_ask_refresh(process->languages[i]);
}

static bool is_runtime(const struct ep_executable *executable)
{
	for (size_t i = 0; executable && i < executable->n_claims; i++) {
		if (ep_claim_is_runtime(executable->claims[i]))
			return true;
	}
	return false;
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

	if (!is_runtime(executable) ||
	    ep_executable_find_va(executable, place->file_off, &va) < 0)
		return 0;
	for (size_t i = 0; i < executable->n_claims && n < max; i++) {
		if (ep_claim_is_runtime(executable->claims[i]))
			found[n++] = (struct found){executable->claims[i], place->start - va,
						    place->start};
	}
	return n;
}

/* The largest place of each executable that has claims. More of them than of languages: not all. */
struct wholes {
	const struct ep_place_in_memory *of[2 * EP_MAX_LANGUAGES];
	size_t n;
};

static const struct ep_place_in_memory **find_whole(struct wholes *wholes,
						    const struct ep_executable *executable)
{
	for (size_t i = 0; i < wholes->n; i++) {
		if (wholes->of[i]->executable == executable)
			return &wholes->of[i];
	}
	return NULL;
}

static void add_whole(struct wholes *wholes, const struct ep_place_in_memory *place)
{
	const struct ep_place_in_memory **whole;

	if (!is_runtime(place->executable))
		return;
	whole = find_whole(wholes, place->executable);
	if (!whole && wholes->n < EP_LEN(wholes->of))
		wholes->of[wholes->n++] = place;
	else if (whole && place->end - place->start > (*whole)->end - (*whole)->start)
		*whole = place;
}

static bool is_copy(struct wholes *wholes, const struct ep_place_in_memory *place)
{
	const struct ep_place_in_memory **whole = find_whole(wholes, place->executable);

	return whole && ep_place_is_part(place, *whole);
}

/*
 * Several places of one executable are one, and a copy of some of its code is none. A process may
 * have made a hundred thousand of them: each is compared with one other.
 */
static size_t find_claims(const struct ep_process *process, struct found *found, size_t max)
{
	const struct ep_place_in_memory *place;
	struct wholes wholes = {.n = 0};
	size_t n = 0;

	ep_vec_each(&process->places, place)
		add_whole(&wholes, place);
	ep_vec_each(&process->places, place) {
		size_t more = find_place_claims(place, found + n, max - n);

		if (more > 0 && is_copy(&wholes, place))
			continue;
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

static bool is_attached(const struct ep_process *process, const struct found *found)
{
	for (size_t i = 0; i < process->n_languages; i++) {
		if (ep_instance_is(process->languages[i], found->claim, found->bias))
			return true;
	}
	return false;
}

static void drop_unfound(struct ep_process *process, const struct found *found, size_t n)
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

static struct ep_instance *find_slot(const struct ep_process *process, uint32_t slot);

/* True when it is the second runtime of a language: the first may be gone. */
static bool attach(struct ep_languages *languages, struct ep_process *process,
		   const struct found *found)
{
	struct ep_instance *instance;
	bool is_second;

	if (is_attached(process, found))
		return false;
	if (process->n_languages == EP_MAX_LANGUAGES) {
		ep_claim_tell_left_out(languages, found->claim, (pid_t)process->program.pid,
				       "four languages run in it already, this one's frames stay native");
		return false;
	}
	instance = ep_instance_new(languages, found->claim, (pid_t)process->program.pid,
				   found->bias, found->addr);
	if (!instance)
		return false;
	is_second = find_slot(process, ep_instance_slot(instance));
	if (is_second)
		ep_claim_tell_left_out(languages, found->claim, (pid_t)process->program.pid,
				       "a second runtime of the language, of the two only the first "
				       "that runs is walked");
	process->languages[process->n_languages++] = instance;
	return is_second;
}

bool ep_process_languages_sync(struct ep_process *process, struct ep_languages *languages)
{
	struct found found[2 * EP_MAX_LANGUAGES];
	bool read_again = false;
	size_t n;

	if (!languages)
		return false;
	n = find_claims(process, found, EP_LEN(found));
	drop_unfound(process, found, n);
	for (size_t i = 0; process->remapped && i < process->n_languages; i++)
		ep_instance_refresh(process->languages[i]);
	process->remapped = false;
	for (size_t i = 0; i < n; i++)
		read_again |= attach(languages, process, &found[i]);
	return read_again;
}

/*
 * True when BPF is told of a language. Of two runtimes of one language in a process (its program
 * and a library that brings another) the first with something to tell is the one that is walked.
 */
static bool is_told(const struct ep_process *process, size_t at)
{
	const struct ep_instance *instance = process->languages[at];

	for (size_t i = 0; i < at; i++) {
		if (ep_instance_state(process->languages[i]) != 0 &&
		    ep_instance_slot(process->languages[i]) == ep_instance_slot(instance))
			return false;
	}
	return ep_instance_state(instance) != 0;
}

uint32_t ep_process_languages_anonymous(const struct ep_process *process)
{
	for (size_t i = 0; i < process->n_languages; i++) {
		if (ep_instance_takes_anonymous(process->languages[i]) && is_told(process, i))
			return EP_ROW_ANONYMOUS;
	}
	return 0;
}

/* Rows that cannot be marked for want of room stay native. */
void ep_process_languages_mark_rows(const struct ep_process *process, struct ep_vec *rows,
				    struct ep_vec *scratch)
{
	for (size_t i = 0; i < process->n_languages; i++) {
		const struct ep_instance *instance = process->languages[i];
		const struct ep_range *ranges;
		size_t n = ep_instance_ranges(instance, &ranges);
		struct ep_vec unmarked = *rows;

		if (n == 0 || !is_told(process, i))
			continue;
		scratch->len = 0;
		if (ep_rows_mark(&unmarked, ranges, n, ep_instance_slot(instance), scratch) < 0)
			continue;
		*rows = *scratch;
		*scratch = unmarked;
	}
}

int ep_process_languages_add_codes(const struct ep_process *process, struct ep_vec *entries)
{
	struct ep_ranges languages[EP_MAX_LANGUAGES];
	size_t n = 0;

	for (size_t i = 0; i < process->n_languages; i++) {
		if (!is_told(process, i))
			continue;
		languages[n].n = ep_instance_ranges(process->languages[i], &languages[n].ranges);
		n++;
	}
	return ep_rows_add_codes(entries, languages, n);
}

static bool has_mark(const struct ep_instance *instance)
{
	const struct ep_range *ranges;
	size_t n = ep_instance_ranges(instance, &ranges);

	return ep_ranges_have_mark(ranges, n);
}

void ep_process_languages_tell(const struct ep_process *process, struct ep_proc *proc)
{
	size_t n = 0;

	for (size_t i = 0; i < process->n_languages; i++) {
		if (!is_told(process, i))
			continue;
		if (ep_instance_takes_anonymous(process->languages[i]))
			proc->flags |= (uint16_t)(1u << (EP_PROC_TAKERS_SHIFT + n));
		if (ep_instance_resumes(process->languages[i]))
			proc->flags |= (uint16_t)(1u << (EP_PROC_RESUMERS_SHIFT + n));
		if (has_mark(process->languages[i]))
			proc->flags |= EP_PROC_MARKS;
		proc->states[n] = (uint16_t)ep_instance_state(process->languages[i]);
		proc->slots[n++] = (uint8_t)ep_instance_slot(process->languages[i]);
	}
}

static struct ep_instance *find_slot(const struct ep_process *process, uint32_t slot)
{
	struct ep_instance *found = NULL;

	for (size_t i = 0; i < process->n_languages; i++) {
		if (ep_instance_slot(process->languages[i]) == slot &&
		    (!found || is_told(process, i)))
			found = process->languages[i];
	}
	return found;
}

struct ep_instance *ep_process_languages_find(const struct ep_table *table,
					      struct ep_program program, uint32_t slot)
{
	const struct ep_process *process = ep_table_find(table, program);
	struct ep_instance *own = process ? find_slot(process, slot) : NULL, *instance = own;

	for (uint32_t i = 0; i < MAX_FORKS && instance; i++) {
		if (!ep_instance_is_missed(instance, process->ended_ns != 0))
			return instance;
		if (process->parent.pid == 0)
			break;
		process = ep_table_find(table, process->parent);
		instance = process ? find_slot(process, slot) : NULL;
	}
	return own;
}
