/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/process.h"
#include "core/language/instance.h"
#include "core/proc/process.h"

struct ep_process *ep_process_new(struct ep_program program)
{
	struct ep_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->program = program;
	return process;
}

void ep_process_free(struct ep_process *process)
{
	for (size_t i = 0; i < process->languages.n; i++)
		ep_instance_release(process->languages.instances[i]);
	ep_mappings_leave(&process->sharer);
	ep_identity_unref(process->identity);
	free(process);
}

void ep_process_take_identity(struct ep_process *process, struct ep_identity *identity)
{
	if (!identity)
		return;
	ep_identity_unref(process->identity);
	process->identity = identity;
}

bool ep_process_is(const struct ep_process *process, struct ep_program program)
{
	const struct ep_program *own = &process->program;
	bool is_same_start = own->start_ns == 0 || program.start_ns == 0 ||
			     ep_process_same_start(own->start_ns, program.start_ns);

	return own->pid == program.pid && is_same_start &&
	       (own->image == program.image || own->image == EP_IMAGE_ANY ||
		program.image == EP_IMAGE_ANY);
}

/* True while its mappings are to be read. */
static bool is_awaited(const struct ep_process *process)
{
	return (process->state == EP_PROCESS_WAITING || process->state == EP_PROCESS_READING) &&
	       !process->read.identity_only;
}

const struct ep_vec *ep_process_areas(const struct ep_process *process)
{
	return ep_sharer_areas(&process->sharer);
}

bool ep_process_is_looking(const struct ep_process *process)
{
	return process->sharer.mappings && process->sharer.mappings->n_looking > 0;
}

bool ep_process_is_settled(struct ep_process *process)
{
	return !is_awaited(process) && !process->search.is_comparing &&
	       !ep_process_is_looking(process) &&
	       !ep_mappings_are_pending(process->sharer.mappings);
}

bool ep_process_is_unknown(const struct ep_process *process)
{
	if (process->state == EP_PROCESS_ENDED)
		return !process->read.was_known;
	return process->state == EP_PROCESS_NEW || is_awaited(process);
}

void ep_process_unread(struct ep_process *process)
{
	process->state = process->read.was_known ? EP_PROCESS_KNOWN : EP_PROCESS_NEW;
}

void ep_process_forget_mappings(struct ep_process *process)
{
	ep_mappings_leave(&process->sharer);
	if (process->state == EP_PROCESS_KNOWN)
		process->state = EP_PROCESS_NEW;
	process->read.was_known = false;
	process->read.identity_only = false;
}
