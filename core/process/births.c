/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs run: forks, execs and exits, in order of time or late. */
#include "core/base/clock.h"
#include "core/process/internal.h"

#include <errno.h>
#include <string.h>

static void say_if_full(struct ep_processes *processes)
{
	bool is_full = processes->table.live.len >= processes->options.max_processes;

	if (processes->options.control)
		processes->options.control->no_copies = is_full;
}

struct ep_process *ep_processes_add(struct ep_processes *processes, struct ep_program program,
				    uint64_t born_ns)
{
	struct ep_process *process = ep_process_new(program);

	if (!process)
		return NULL;
	process->born_ns = born_ns;
	if (ep_table_add(&processes->table, process) < 0) {
		processes->stats.refused++;
		say_if_full(processes);
		ep_process_free(process);
		return NULL;
	}
	return process;
}

/* Its mappings stay until all samples up to that time were handled. */
void ep_processes_end(struct ep_processes *processes, struct ep_process *process, uint64_t time_ns)
{
	ep_reads_drop(&processes->reads, process);
	ep_process_languages_end(process);
	ep_table_end(&processes->table, process, time_ns);
	ep_publisher_end(&processes->publisher, process);
	processes->changed = true;
	say_if_full(processes);
}

void ep_processes_end_vanished(struct ep_processes *processes, struct ep_process *process)
{
	ep_publisher_forget(&processes->publisher, process);
	ep_processes_end(processes, process, ep_clock_mono_ns());
}

static struct ep_program program_of(const struct ep_process_event *event)
{
	return (struct ep_program){
		.pid = event->pid, .image = event->image, .start_ns = event->start_ns};
}

/* True when something younger was handed over before: what follows from both is to be mended. */
static bool is_late(const struct ep_processes *processes, uint64_t time_ns)
{
	return time_ns < processes->newest_ns;
}

/* The program of a birth or exec, if something reported it before: a sample, or /proc. */
static struct ep_process *find_met(const struct ep_processes *processes,
				   const struct ep_process_event *event)
{
	struct ep_process *live = ep_table_find_live(&processes->table, (pid_t)event->pid);

	if (live && ep_process_is(live, program_of(event)))
		return live;
	/* Else it has ended before this was reported. A pid may have many: not each time. */
	return is_late(processes, event->event.time_ns)
		       ? ep_table_find(&processes->table, program_of(event))
		       : NULL;
}

/* A program begins at the time of this event, and whatever its pid ran before is over. */
static struct ep_process *begin(struct ep_processes *processes,
				const struct ep_process_event *event)
{
	struct ep_process *live = ep_table_find_live(&processes->table, (pid_t)event->pid);
	uint64_t time_ns = event->event.time_ns, end_ns = 0;
	const struct ep_process_event *exit;
	struct ep_process *ended;

	/* It may be over by now; as far as we know it runs if not. */
	if (is_late(processes, time_ns)) {
		end_ns = ep_table_next_birth(&processes->table, (pid_t)event->pid, time_ns);
		exit = ep_recent_find_exit(&processes->recent, event->pid, event->start_ns,
					   time_ns);
		if (exit && (!end_ns || exit->event.time_ns < end_ns))
			end_ns = exit->event.time_ns;
	}
	if (live && live->born_ns <= time_ns)
		ep_processes_end(processes, live, time_ns);
	if (!end_ns)
		return ep_processes_add(processes, program_of(event), time_ns);
	ended = ep_process_new(program_of(event));
	if (ended) {
		ended->born_ns = time_ns;
		ep_table_add_ended(&processes->table, ended, end_ns);
	}
	return ended;
}

/* What was mapped since then was taken for an older program's, or for nobody's. */
static void replay(struct ep_processes *processes, const struct ep_process_event *event)
{
	if (is_late(processes, event->event.time_ns))
		ep_recent_each_mapping(&processes->recent, event->pid, event->event.time_ns,
				       ep_processes_map, processes);
}

/*
 * The mappings that its parent had at the fork, in the same namespace. 0, -E2BIG: there are too
 * many, -ENOMEM, -ESTALE: the parent's were learned after the fork.
 */
static int inherit_mappings(struct ep_processes *processes, struct ep_process *child,
			    struct ep_process *parent)
{
	const struct ep_vec *areas = ep_process_areas(parent);
	int r;

	if (areas->len == 0)
		return 0;
	if (processes->n_areas + areas->len > processes->max_areas) {
		processes->stats.disinherited++;
		return -E2BIG;
	}
	ep_mappings_join(parent->sharer.mappings, &child->sharer);
	/* Files are replaced in one namespace, for all who share mappings. */
	if (child->mount_ns != parent->mount_ns && parent->mount_ns &&
	    !ep_mappings_own(&child->sharer, &processes->n_areas)) {
		ep_mappings_leave(&child->sharer);
		return -ENOMEM;
	}
	r = ep_mappings_cut_time(&child->sharer, 0, child->born_ns + 1);
	return r > 0 ? -ESTALE : r;
}

/* Its parent may have entered another namespace since its exec, or be unknown. */
static void take_mounts(struct ep_process *child, const struct ep_process_event *event,
			const struct ep_process *parent)
{
	if (event->mount_ns) {
		child->mount_ns = event->mount_ns;
		child->mount_inode = event->mount_inode;
	} else if (parent) {
		child->mount_ns = parent->mount_ns;
		child->mount_inode = parent->mount_inode;
	}
}

/* What it has executed since its birth, which was not known then. */
static void complete(struct ep_process *live, const struct ep_process_event *event,
		     const struct ep_process *parent)
{
	const struct ep_identity *own = live->identity, *from = parent->identity;
	struct ep_identity parts;

	if (live->program.start_ns != event->start_ns || live->born_from.pid)
		return;
	live->born_from = parent->program;
	if (!own || !from || own->was_read || *own->container_id)
		return;
	parts = *own;
	parts.container_id = from->container_id;
	ep_process_take_identity(live, ep_identity_new(&parts));
}

/*
 * It is what its parent was. What it mapped itself before this was reported, when a sample or /proc
 * had reported it, lies on top. Mappings that cannot be had are as unknown as those of a parent
 * that is.
 */
static void descend(struct ep_processes *processes, struct ep_process *child,
		    struct ep_process *parent, bool was_met)
{
	bool is_known = !ep_process_is_unknown(parent);
	struct ep_sharer own = {0};
	struct ep_mappings *mappings;
	int r;

	ep_process_take_identity(child, ep_identity_ref(parent->identity));
	child->born_from = parent->program;
	if (child->languages.n == 0)
		ep_process_languages_fork(child, parent);
	if (child->sharer.mappings)
		ep_mappings_join(child->sharer.mappings, &own);
	ep_mappings_leave(&child->sharer);
	r = inherit_mappings(processes, child, parent);
	mappings = own.mappings ? ep_mappings_own(&child->sharer, &processes->n_areas) : NULL;
	if (mappings)
		ep_mappings_keep_newer(mappings, ep_sharer_areas(&own), 0);
	ep_mappings_leave(&own);
	if (was_met) {
		if (r == 0 && is_known)
			ep_reads_spare(&processes->reads, child);
		child->languages.remapped = true;
		ep_processes_mark(processes, child);
		return;
	}
	child->read.was_known = r == 0 && is_known;
	if (child->state == EP_PROCESS_ENDED)
		return;
	child->trust.known_ns = parent->trust.known_ns;
	child->trust.check_ns = parent->trust.check_ns;
	child->trust.refused_ns = parent->trust.refused_ns;
	if (r == 0 && is_known)
		child->state = EP_PROCESS_KNOWN;
	if (r == -ENOMEM || r == -E2BIG)
		ep_publisher_forget_pid(&processes->publisher, child->program.pid);
	else
		ep_publisher_fork(&processes->publisher, child, parent);
}

/* What an exec tells, and what stays true of the program before it: where it runs. */
static struct ep_identity *identity_of_exec(const struct ep_processes *processes,
					    const struct ep_process_event *event,
					    const struct ep_process *old)
{
	char comm[EP_COMM_BYTES + 1] = "";
	struct ep_identity parts = {
		.comm = comm,
		.user = event->user,
		.cgroup = event->cgroup,
		.cgroup_path = ep_cgroup_paths_find(&processes->cgroup_paths, event->cgroup),
	};

	memcpy(comm, event->comm, sizeof(event->comm));
	if (old && old->identity) {
		parts.container_id = old->identity->container_id;
		parts.is_at_home = (old->identity->was_read || old->identity->is_at_home) &&
				   old->mount_ns && old->mount_ns == event->mount_ns;
	}
	return ep_identity_new(&parts);
}

/* It was over earlier than it seemed, and what was mapped since was not its own. */
static void cut_short(struct ep_process *old, uint64_t time_ns)
{
	old->ended_ns = EP_MIN(old->ended_ns, time_ns);
	(void)ep_mappings_cut_time(&old->sharer, 0, time_ns);
}

/*
 * It begins with nothing but its name. What was read of one that was met may have the name before,
 * which the task keeps for a moment; and of one that was there before us all we know may be of the
 * old image.
 */
static void become(struct ep_processes *processes, struct ep_process *child,
		   const struct ep_process_event *event, const struct ep_process *old, bool was_met)
{
	bool hears = processes->options.hears_mappings;

	ep_process_take_identity(child, identity_of_exec(processes, event,
							 was_met && child->identity ? child : old));
	child->mount_ns = event->mount_ns;
	child->mount_inode = event->mount_inode;
	child->path_ns = UINT64_MAX;
	if (was_met) {
		(void)ep_mappings_cut_time(&child->sharer, event->event.time_ns, UINT64_MAX);
		if (hears)
			ep_reads_spare(&processes->reads, child);
		if (hears && child->state == EP_PROCESS_READING)
			child->state = EP_PROCESS_KNOWN; /* what is being read is not trusted */
		child->languages.remapped = true;
		ep_processes_mark(processes, child);
		return;
	}
	if (old)
		child->born_from = old->born_from;
	child->read.was_known = hears;
	child->trust.known_ns = event->event.time_ns;
	if (child->state != EP_PROCESS_ENDED && hears)
		child->state = EP_PROCESS_KNOWN;
	else
		ep_reads_request(&processes->reads, child, EP_SETTLE_NS);
}

/*
 * What the process ran until an exec: of one that was met, the newest that has ended. NULL: nobody
 * knows.
 */
static struct ep_process *find_old(const struct ep_processes *processes,
				   const struct ep_process_event *event, struct ep_process *met)
{
	struct ep_program any = program_of(event);
	struct ep_process *old;

	any.image = EP_IMAGE_ANY;
	if (!met)
		old = ep_table_find_at(&processes->table, (pid_t)event->pid, event->event.time_ns);
	else if (met->state == EP_PROCESS_ENDED)
		old = met->older;
	else
		old = ep_table_newest_ended(&processes->table, (pid_t)event->pid);
	return old && ep_process_is(old, any) ? old : NULL;
}

/*
 * A program begins, by fork or exec. This may be reported in order or late, before or after a
 * sample of it, so only times count: it is made of what there was at this time, and what has
 * happened since is done once more.
 *
 *	from	the parent of a fork; what the process ran until an exec
 *	child	the program, if something reported it before; else it begins now
 */
static void on_birth(struct ep_processes *processes, const struct ep_process_event *event)
{
	bool is_exec = event->event.type == EP_EVENT_EXEC, was_met;
	uint64_t time_ns = event->event.time_ns;
	struct ep_process *child = find_met(processes, event), *live, *from;

	if (is_exec && child && child->program.image != event->image)
		child = NULL;
	was_met = child != NULL;
	from = is_exec ? find_old(processes, event, child)
		       : ep_table_find_at(&processes->table, (pid_t)event->parent_pid, time_ns);
	if (is_exec && was_met && child->born_ns)
		return;
	if (!was_met)
		child = begin(processes, event);
	if (is_exec && from && (!was_met || from->ended_ns > time_ns))
		cut_short(from, time_ns);
	if (child && !is_exec && !child->mount_ns)
		take_mounts(child, event, from);
	if (child && is_exec) {
		child->born_ns = time_ns;
		become(processes, child, event, from, was_met);
	} else if (child && from && (!was_met || (!child->born_ns && !child->identity))) {
		child->born_ns = time_ns;
		descend(processes, child, from, was_met);
	}
	live = ep_table_find_live(&processes->table, (pid_t)event->pid);
	if (!is_exec && was_met && child == live)
		return; /* it has all that came since */
	if (!is_exec && !child && (!live || live->born_ns <= time_ns))
		ep_publisher_forget_pid(&processes->publisher, event->pid);
	if (!is_exec && live && live != child && from)
		complete(live, event, from);
	if (child || !is_exec)
		replay(processes, event);
}

/* Whatever it ran: a record of an exec may be late, or missing. */
static void on_end(struct ep_processes *processes, const struct ep_process_event *event)
{
	struct ep_process *process = ep_table_find_live(&processes->table, (pid_t)event->pid);
	struct ep_program any = program_of(event);

	processes->stats.exits++;
	ep_recent_add_exit(&processes->recent, event);
	any.image = EP_IMAGE_ANY;
	if (process && ep_process_is(process, any))
		ep_processes_end(processes, process, event->event.time_ns);
}

void ep_processes_on_event(struct ep_processes *processes, const struct ep_process_event *event)
{
	processes->stats.forks += event->event.type == EP_EVENT_FORK;
	processes->stats.execs += event->event.type == EP_EVENT_EXEC;
	if (event->event.type == EP_EVENT_FORK || event->event.type == EP_EVENT_EXEC)
		on_birth(processes, event);
	else if (event->event.type == EP_EVENT_EXIT)
		on_end(processes, event);
	processes->newest_ns = EP_MAX(processes->newest_ns, event->event.time_ns);
}
