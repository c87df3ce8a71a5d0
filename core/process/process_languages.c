/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/process_languages.h"
#include "core/process/executables.h"
#include "core/language/instance.h"
#include "core/language/languages.h"
#include "core/process/loaded.h"
#include "core/process/rows.h"
#include "core/process/table.h"

#include <string.h>

#define MAX_FORKS 8 /* from a child to a parent that can still be read */

void ep_process_languages_drop(struct ep_process *process)
{
	for (size_t i = 0; i < process->languages.n; i++)
		ep_instance_release(process->languages.instances[i]);
	process->languages.n = 0;
	process->languages.told_ns = 0;
	process->languages.parent = (struct ep_program){0};
}

void ep_process_languages_fork(struct ep_process *child, const struct ep_process *parent)
{
	child->languages.parent = parent->program;
	child->languages.told_ns = parent->languages.told_ns;
	child->languages.account = parent->languages.account;
	child->languages.account.was_sampled = child->sampled;
	for (size_t i = 0; i < parent->languages.n; i++) {
		struct ep_instance *instance =
			ep_instance_fork(parent->languages.instances[i], (pid_t)child->program.pid,
					 &child->languages.account);

		if (instance)
			child->languages.instances[child->languages.n++] = instance;
	}
}

void ep_process_languages_end(const struct ep_process *process)
{
	for (size_t i = 0; i < process->languages.n; i++)
		ep_instance_end(process->languages.instances[i]);
}

void ep_process_languages_refresh(const struct ep_process *process)
{
	for (size_t i = 0; i < process->languages.n; i++)
		ep_instance_ask_refresh(process->languages.instances[i]);
}

void ep_process_languages_on_sample(const struct ep_process *process, uint64_t time_ns)
{
	for (size_t i = 0; i < process->languages.n; i++)
		ep_instance_on_sample(process->languages.instances[i], time_ns);
}

static bool is_runtime(const struct ep_executable *executable)
{
	for (size_t i = 0; i < executable->n_claims; i++) {
		if (ep_claim_is_runtime(executable->claims[i]))
			return true;
	}
	return false;
}

/* The claims of all areas, with where they are loaded. */
struct found {
	struct ep_claim *claim;
	uint64_t bias, addr;
	bool is_attached;
};

/* Lets go of what is not found any more, and marks what has an instance. */
static void drop_unfound(struct ep_process *process, struct found *found, size_t n)
{
	size_t kept = 0, at;

	for (size_t i = 0; i < process->languages.n; i++) {
		struct ep_instance *instance = process->languages.instances[i];

		for (at = 0; at < n && !ep_instance_is(instance, found[at].claim, found[at].bias);)
			at++;
		if (at < n) {
			found[at].is_attached = true;
			process->languages.instances[kept++] = instance;
		} else {
			ep_instance_leave(instance, process->program);
		}
	}
	process->languages.n = kept;
}

static struct ep_instance *find_slot(const struct ep_process *process, uint32_t slot);

/* True when it is the second runtime of a language: the first may be gone. */
static bool attach(struct ep_languages *languages, struct ep_process *process,
		   const struct found *found)
{
	struct ep_instance *instance;
	bool is_second;

	if (process->languages.n == EP_MAX_LANGUAGES) {
		ep_claim_tell_left_out(languages, found->claim, (pid_t)process->program.pid,
				       "four languages run in it already, this one's frames stay native");
		return false;
	}
	instance = ep_instance_new(languages, found->claim, (pid_t)process->program.pid,
				   &process->languages.account, found->bias, found->addr);
	if (!instance)
		return false;
	is_second = find_slot(process, ep_instance_slot(instance));
	if (is_second)
		ep_claim_tell_left_out(languages, found->claim, (pid_t)process->program.pid,
				       "a second runtime of the language, of the two only the first "
				       "that runs is walked");
	process->languages.instances[process->languages.n++] = instance;
	return is_second;
}

bool ep_process_languages_sync(struct ep_process *process, struct ep_languages *languages)
{
	struct found found[2 * EP_MAX_LANGUAGES];
	struct ep_loaded loaded[EP_MAX_LOADED];
	size_t n_loaded, n = 0;
	bool read_again = false;

	if (!languages)
		return false;
	n_loaded = ep_areas_find_loaded(ep_process_areas(process), is_runtime, loaded);
	for (size_t i = 0; i < n_loaded; i++) {
		const struct ep_executable *executable = loaded[i].executable;

		for (size_t j = 0; j < executable->n_claims && n < EP_LEN(found); j++) {
			if (ep_claim_is_runtime(executable->claims[j]))
				found[n++] = (struct found){.claim = executable->claims[j],
							    .bias = loaded[i].bias,
							    .addr = loaded[i].addr};
		}
	}
	drop_unfound(process, found, n);
	for (size_t i = 0; process->languages.remapped && i < process->languages.n; i++)
		ep_instance_refresh(process->languages.instances[i]);
	process->languages.remapped = false;
	for (size_t i = 0; i < n; i++)
		read_again |= !found[i].is_attached && attach(languages, process, &found[i]);
	return read_again;
}

/*
 * True when BPF is informed of a language. Of two runtimes of one language in a process (its
 * program and a library that brings another) the first with something to tell is the one that is
 * walked.
 */
static bool is_walked(const struct ep_process *process, size_t at)
{
	const struct ep_instance *instance = process->languages.instances[at];

	for (size_t i = 0; i < at; i++) {
		if (ep_instance_state(process->languages.instances[i]) != 0 &&
		    ep_instance_slot(process->languages.instances[i]) == ep_instance_slot(instance))
			return false;
	}
	return ep_instance_state(instance) != 0;
}

size_t ep_process_languages_views(const struct ep_process *process,
				 struct ep_language_view views[EP_MAX_LANGUAGES])
{
	size_t n = 0;

	for (size_t i = 0; i < process->languages.n; i++) {
		if (is_walked(process, i))
			ep_instance_get_view(process->languages.instances[i], &views[n++]);
	}
	return n;
}

uint32_t ep_process_languages_missed(const struct ep_process *process, uint64_t time_ns)
{
	if (process->languages.n == 0 ||
	    (process->languages.told_ns && time_ns >= process->languages.told_ns))
		return EP_ERROR_NONE;
	for (size_t i = 0; i < process->languages.n; i++) {
		if (!ep_instance_is_given_up(process->languages.instances[i]))
			return EP_ERROR_LATE;
	}
	return EP_ERROR_NONE;
}

bool ep_process_languages_await(const struct ep_process *process)
{
	if (process->languages.told_ns)
		return false;
	for (size_t i = 0; i < process->languages.n; i++) {
		if (ep_instance_is_awaited(process->languages.instances[i]))
			return true;
	}
	return false;
}

static struct ep_instance *find_slot(const struct ep_process *process, uint32_t slot)
{
	struct ep_instance *found = NULL;

	for (size_t i = 0; i < process->languages.n; i++) {
		if (ep_instance_slot(process->languages.instances[i]) == slot &&
		    (!found || is_walked(process, i)))
			found = process->languages.instances[i];
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
		if (process->languages.parent.pid == 0)
			break;
		process = ep_table_find(table, process->languages.parent);
		instance = process ? find_slot(process, slot) : NULL;
	}
	return own;
}
