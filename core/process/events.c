/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel said. Records come in order of time; one that comes late is applied by its time. */
#include "core/base/backoff.h"
#include "core/base/clock.h"
#include "core/bpf/events.h"
#include "core/plugin/host.h"
#include "core/process/internal.h"
#include "core/process/moved_text.h"

#include <errno.h>
#include <string.h>

/* Who a sampled process is can wait a little; many are gone by then. */
#define IDENTIFY_NS (20 * EP_NS_PER_MS)
/* Where an exec has told all that anybody asks. */
#define IDENTIFY_LATER_NS (EP_NS_PER_SEC / 2)
/* Before an unknown address makes us read a process again. */
static const struct ep_backoff ask_again_backoff = {
	.first = 50 * EP_NS_PER_MS, .longest = 30 * EP_NS_PER_SEC, .percent = 200};
/* Areas are made coarser when there are so many more than the last time. */
#define COARSEN_STEP 256

/* --- births and deaths ----------------------------------------------------------------------- */

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
static void end_process(struct ep_processes *processes, struct ep_process *process,
			uint64_t time_ns)
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
	end_process(processes, process, ep_clock_mono_ns());
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

/* The program of a birth or exec, if something told of it before: a sample, or /proc. */
static struct ep_process *find_met(const struct ep_processes *processes,
				   const struct ep_process_event *event)
{
	struct ep_process *live = ep_table_find_live(&processes->table, (pid_t)event->pid);

	if (live && ep_process_is(live, program_of(event)))
		return live;
	/* Else it has ended before this was told. There may be many under one pid: not each time. */
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
		end_process(processes, live, time_ns);
	if (!end_ns)
		return ep_processes_add(processes, program_of(event), time_ns);
	ended = ep_process_new(program_of(event));
	if (ended) {
		ended->born_ns = time_ns;
		ep_table_add_ended(&processes->table, ended, end_ns);
	}
	return ended;
}

static void map(void *arg, const struct ep_mapping_event *event);

/* What was mapped since then was taken for an older program's, or for nobody's. */
static void replay(struct ep_processes *processes, const struct ep_process_event *event)
{
	if (is_late(processes, event->event.time_ns))
		ep_recent_each_mapping(&processes->recent, event->pid, event->event.time_ns,
				       map, processes);
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

/* Mappings that cannot be had are as unknown as those of a parent that is. */
static void inherit(struct ep_processes *processes, struct ep_process *child,
		    struct ep_process *parent)
{
	int r;

	ep_process_take_identity(child, ep_identity_ref(parent->identity));
	child->born_from = parent->program;
	ep_process_languages_fork(child, parent);
	r = inherit_mappings(processes, child, parent);
	child->read.was_known = r == 0 && !ep_process_is_unknown(parent);
	if (child->state == EP_PROCESS_ENDED)
		return;
	child->trust.known_ns = parent->trust.known_ns;
	child->trust.check_ns = parent->trust.check_ns;
	child->trust.refused_ns = parent->trust.refused_ns;
	if (r == 0 && !ep_process_is_unknown(parent))
		child->state = EP_PROCESS_KNOWN;
	if (r == -ENOMEM || r == -E2BIG)
		ep_publisher_forget_pid(&processes->publisher, child->program.pid);
	else
		ep_publisher_fork(&processes->publisher, child, parent);
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

/* A sample told of it before: it has nothing yet but what it mapped itself. */
static void inherit_late(struct ep_processes *processes, struct ep_process *child,
			 struct ep_process *parent, uint64_t time_ns)
{
	struct ep_sharer own = {0};
	struct ep_mappings *mappings;

	child->born_ns = time_ns;
	ep_process_take_identity(child, ep_identity_ref(parent->identity));
	child->born_from = parent->program;
	if (child->languages.n == 0)
		ep_process_languages_fork(child, parent);
	if (child->sharer.mappings)
		ep_mappings_join(child->sharer.mappings, &own);
	ep_mappings_leave(&child->sharer);
	if (inherit_mappings(processes, child, parent) == 0 && !ep_process_is_unknown(parent))
		ep_reads_spare(&processes->reads, child);
	mappings = own.mappings ? ep_mappings_own(&child->sharer, &processes->n_areas) : NULL;
	if (mappings)
		ep_mappings_keep_newer(mappings, ep_sharer_areas(&own), 0);
	ep_mappings_leave(&own);
	child->languages.remapped = true;
	ep_processes_mark(processes, child);
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

static void on_fork(struct ep_processes *processes, const struct ep_process_event *event)
{
	uint64_t time_ns = event->event.time_ns;
	struct ep_process *parent, *process, *live;

	processes->stats.forks++;
	live = ep_table_find_live(&processes->table, (pid_t)event->pid);
	parent = ep_table_find_at(&processes->table, (pid_t)event->parent_pid, time_ns);
	process = find_met(processes, event);
	if (process && !process->mount_ns)
		take_mounts(process, event, parent);
	if (process && parent && !process->born_ns && !process->identity)
		inherit_late(processes, process, parent, time_ns);
	if (process && process == live)
		return;
	if (!process) {
		process = begin(processes, event);
		if (!process && (!live || live->born_ns <= time_ns))
			ep_publisher_forget_pid(&processes->publisher, event->pid);
		if (process)
			take_mounts(process, event, parent);
		if (process && parent)
			inherit(processes, process, parent);
	}
	live = ep_table_find_live(&processes->table, (pid_t)event->pid);
	if (live && live != process && parent)
		complete(live, event, parent);
	replay(processes, event);
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

/* A sample told of it before; of one that was there before us all we know may be of the old image. */
static void name_late(struct ep_processes *processes, struct ep_process *process,
		      const struct ep_process_event *event)
{
	uint64_t time_ns = event->event.time_ns;
	struct ep_process *old;

	process->born_ns = time_ns;
	process->mount_ns = event->mount_ns;
	process->mount_inode = event->mount_inode;
	old = process->state == EP_PROCESS_ENDED
		      ? process->older
		      : ep_table_newest_ended(&processes->table, (pid_t)event->pid);
	if (old && old->program.start_ns == event->start_ns && old->ended_ns > time_ns)
		cut_short(old, time_ns);
	/* What was read meanwhile may have the name before, which the task keeps for a moment. */
	ep_process_take_identity(process, identity_of_exec(processes, event, process->identity ? process : old));
	process->path_ns = UINT64_MAX;
	(void)ep_mappings_cut_time(&process->sharer, time_ns, UINT64_MAX);
	if (processes->options.hears_mappings)
		ep_reads_spare(&processes->reads, process);
	if (processes->options.hears_mappings && process->state == EP_PROCESS_READING)
		process->state = EP_PROCESS_KNOWN; /* what is being read is not believed */
	process->languages.remapped = true;
	ep_processes_mark(processes, process);
	replay(processes, event);
}

static void on_exec(struct ep_processes *processes, const struct ep_process_event *event)
{
	struct ep_program any = program_of(event);
	struct ep_process *old = ep_table_find_at(&processes->table, (pid_t)event->pid,
						  event->event.time_ns);
	struct ep_process *process = find_met(processes, event);

	any.image = EP_IMAGE_ANY;
	if (old && !ep_process_is(old, any))
		old = NULL; /* nobody knows what the same process ran until now */
	processes->stats.execs++;
	if (process && process->program.image == event->image) {
		if (!process->born_ns)
			name_late(processes, process, event);
		return;
	}
	process = begin(processes, event);
	if (old)
		cut_short(old, event->event.time_ns);
	if (!process)
		return;
	ep_process_take_identity(process, identity_of_exec(processes, event, old));
	process->mount_ns = event->mount_ns;
	process->mount_inode = event->mount_inode;
	process->path_ns = UINT64_MAX;
	if (old)
		process->born_from = old->born_from;
	process->read.was_known = processes->options.hears_mappings;
	process->trust.known_ns = event->event.time_ns;
	if (process->state != EP_PROCESS_ENDED && processes->options.hears_mappings)
		process->state = EP_PROCESS_KNOWN;
	else
		ep_reads_request(&processes->reads, process, EP_SETTLE_NS);
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
		end_process(processes, process, event->event.time_ns);
}

void ep_processes_on_event(struct ep_processes *processes, const struct ep_process_event *event)
{
	if (event->event.type == EP_EVENT_FORK)
		on_fork(processes, event);
	else if (event->event.type == EP_EVENT_EXEC)
		on_exec(processes, event);
	else if (event->event.type == EP_EVENT_EXIT)
		on_end(processes, event);
	processes->newest_ns = EP_MAX(processes->newest_ns, event->event.time_ns);
}

/* --- mappings -------------------------------------------------------------------------------- */

/* Names that are no file's: kernel/events/core.c, perf_event_mmap_event, and d_path of shmem. */
static bool is_anonymous(const char *name)
{
	static const char *const prefixes[] = {"//anon", "[", "/SYSV", "/dev/zero", "anon_inode:",
					       "//toolong", "//enomem"};

	for (size_t i = 0; i < EP_LEN(prefixes); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

/* What an exec maps first is the program; its interpreter comes behind it (fs/binfmt_elf.c). */
static void take_path(struct ep_process *process, const struct ep_mapping_event *event)
{
	const struct ep_identity *old = process->identity;
	struct ep_identity parts;

	if (!old || old->was_read || event->time_ns >= process->path_ns ||
	    *event->name != '/' || is_anonymous(event->name))
		return;
	process->path_ns = event->time_ns;
	parts = *old;
	parts.exe_path = event->name;
	ep_process_take_identity(process, ep_identity_new(&parts));
}

static void coarsen(struct ep_mappings *mappings)
{
	if (mappings->areas.len < mappings->coarse_len + COARSEN_STEP + mappings->coarse_len / 4)
		return;
	ep_mappings_coarsen(mappings);
	mappings->coarse_len = mappings->areas.len;
}

/* False: other records of the same time are missing, or would be, so this one is ignored. */
static bool is_followed(struct ep_processes *processes, struct ep_process *process,
			const struct ep_mapping_event *event)
{
	if (event->time_ns < process->trust.doubted_ns ||
	    (process->trust.floods && process->state == EP_PROCESS_NEW))
		return false;
	if (ep_processes_charge_mapping(process, event->time_ns))
		return true;
	if (process->state != EP_PROCESS_ENDED)
		ep_processes_on_flood(processes, event->pid, ep_clock_mono_ns());
	return false;
}

/* Its use in these mappings; NULL: it is no file's code. 0, -ENOMEM. */
static int find_use(struct ep_processes *processes, struct ep_process *process,
		    struct ep_mappings *mappings, const struct ep_mapping_event *event,
		    struct ep_file_use **ret_use)
{
	bool is_vdso = strcmp(event->name, "[vdso]") == 0 && event->addr >= EP_MAPS_COMPAT_END;
	struct ep_executable *vdso =
		is_vdso ? ep_executables_get_vdso(processes->executables) : NULL;

	*ret_use = NULL;
	if (!vdso && is_anonymous(event->name)) {
		processes->stats.mappings_known++;
		return 0;
	}
	*ret_use = vdso ? ep_file_use_get(mappings, vdso)
			: ep_file_cache_get(&processes->files, process, mappings, event);
	if (!*ret_use) { /* gone, until /proc tells */
		ep_reads_request(&processes->reads, process, 0);
		*ret_use = ep_file_use_get(mappings, NULL);
	}
	processes->stats.mappings_known += *ret_use && (*ret_use)->executable;
	return *ret_use ? 0 : -ENOMEM;
}

static void map(void *arg, const struct ep_mapping_event *event)
{
	struct ep_processes *processes = arg;
	struct ep_process *process =
		ep_table_find_at(&processes->table, event->pid, event->time_ns);
	struct ep_mappings *mappings;
	struct ep_area area = {
		.start = event->addr,
		.end = event->addr + event->bytes,
		.file_off = strcmp(event->name, "[vdso]") == 0 ? 0 : event->file_off,
		.time_ns = event->time_ns,
		.is_memfd = ep_is_memfd_path(event->name),
	};
	int r;

	if (!process)
		return; /* a sample brings it in; or it is of an image long gone */
	if (!is_followed(processes, process, event))
		return;
	take_path(process, event);
	mappings = ep_mappings_own(&process->sharer, &processes->n_areas);
	if (!mappings || find_use(processes, process, mappings, event, &area.use) < 0)
		return;
	r = ep_mappings_insert(mappings, area);
	if (r == EP_AREAS_SAME &&
	    ep_moved_text_may_have_changed(ep_areas_find(&mappings->areas, event->addr)))
		ep_processes_mark(processes, process);
	if (r != 0)
		return;
	ep_processes_charge_areas(process, event->time_ns,
				  ep_areas_behind(&mappings->areas, event->addr));
	coarsen(mappings);
	process->languages.remapped = true;
	process->is_final = false;
	ep_processes_mark(processes, process);
}

void ep_processes_on_mapping(struct ep_processes *processes, const struct ep_mapping_event *event)
{
	processes->stats.mappings++;
	ep_recent_add_mapping(&processes->recent, event);
	map(processes, event);
	processes->newest_ns = EP_MAX(processes->newest_ns, event->time_ns);
}

/* --- samples --------------------------------------------------------------------------------- */

/*
 * A filter ends a program that executes something which is not wanted (bpf/process.bpf.h, ep_exec), and what that is
 * renamed to may be wanted again. A sample after the end of which BPF says that its process is unknown is of such a
 * one: it does not say so of a process that exits.
 */
static bool has_exited(const struct ep_processes *processes, const struct ep_sample *sample)
{
	uint64_t since_ns = sample->flags & EP_SAMPLE_UNKNOWN_PROCESS ? sample->event.time_ns : 0;

	return ep_recent_find_exit(&processes->recent, sample->pid, sample->start_ns, since_ns) != NULL;
}

/* A program nobody told of: it was there before us, or a record is missing. */
static struct ep_process *meet(struct ep_processes *processes, const struct ep_sample *sample)
{
	struct ep_process *process = ep_table_find_live(&processes->table, (pid_t)sample->pid);

	if (process && sample->event.time_ns < process->born_ns)
		return NULL; /* late, and of a program long gone */
	if (has_exited(processes, sample))
		return NULL; /* nobody would ever end it */
	if (process)
		end_process(processes, process, sample->event.time_ns);
	return ep_processes_add(processes, ep_program_of(sample), 0);
}

/* With growing delay; in between BPF is told not to send stacks that nobody can make use of. */
static void ask_again(struct ep_processes *processes, struct ep_process *process, uint64_t now_ns)
{
	if (now_ns < process->read.next_retry_ns) {
		if (!ep_process_is_unknown(process) && !process->is_final) {
			process->is_final = true;
			ep_publisher_mark(&processes->publisher, process);
		}
		return;
	}
	process->read.backoff_ns = ep_backoff_after(ask_again_backoff, process->read.backoff_ns);
	process->read.next_retry_ns = now_ns + process->read.backoff_ns;
	ep_reads_request(&processes->reads, process, 0);
	ep_reads_hurry(&processes->reads, process);
}

/*
 * What a read would add to what an exec has told: variables, or a container that the program before it was not in. A child
 * is what it was forked from, until it takes other rights.
 */
static uint64_t identify_wait_ns(const struct ep_process *process)
{
	const char *const *variables;

	return process->identity &&
		       (process->identity->was_read ||
			(process->identity->is_at_home && ep_host_environment(&variables) == 0))
		       ? IDENTIFY_LATER_NS
		       : IDENTIFY_NS;
}

/*
 * Who it is was not worth a read before it used the CPU. An exec's records tell its name and path;
 * its container and environment are worth a look if it lives long enough.
 */
static void look(struct ep_processes *processes, struct ep_process *process,
		 const struct ep_sample *sample)
{
	bool is_unknown =
		sample->flags & (EP_SAMPLE_UNKNOWN_PROCESS | EP_SAMPLE_UNKNOWN_ADDRESS);
	/* It was taken when BPF knew less than it knows by now. */
	bool is_outdated = process->published.is_dirty || ep_process_is_looking(process) ||
			   sample->event.time_ns <= process->published.at_ns;

	process->sampled = true;
	if (process->state == EP_PROCESS_ENDED || sample->flags & EP_SAMPLE_KERNEL_THREAD) {
		if (process->state == EP_PROCESS_NEW)
			ep_reads_request(&processes->reads, process, IDENTIFY_NS);
		return;
	}
	/* A process that was there before us: from here on it is known which program it runs. */
	if (process->program.image == EP_IMAGE_ANY) {
		process->program.image = sample->image;
		process->program.start_ns = sample->start_ns;
		ep_processes_mark(processes, process);
	}
	if (process->state == EP_PROCESS_NEW || (is_unknown && !is_outdated))
		ask_again(processes, process, sample->event.time_ns);
	else if (!ep_processes_check(processes, process, sample->event.time_ns) &&
		 !process->read.is_identified)
		ep_reads_request_identity(&processes->reads, process, identify_wait_ns(process));
	if (sample->copy_bytes && !ep_process_is_settled(process))
		ep_processes_hurry(processes, process);
	ep_process_languages_on_sample(process, sample->event.time_ns);
	if (sample->flags & EP_SAMPLE_REFRESH)
		ep_process_languages_refresh(process);
}

/*
 * Where code of no file was walked by frame pointers: a language that BPF does not know yet may be at it. Or it is text
 * of a file that was moved, which BPF had not been told when the sample was taken.
 */
static bool may_lack_language(struct ep_process *process, const struct ep_sample *sample,
			      size_t bytes)
{
	return (!ep_process_is_settled(process) || process->published.is_dirty ||
		sample->event.time_ns <= process->published.at_ns ||
		ep_process_languages_missed(process, sample->event.time_ns) != EP_ERROR_NONE) &&
	       ep_sample_has_raw_code(sample, bytes);
}

/* From the first on that has code of no file: samples of known stacks come without their frames. */
static bool may_run_moved_text(const struct ep_process *process, const struct ep_sample *sample,
			       size_t bytes)
{
	return process->state != EP_PROCESS_ENDED &&
	       (process->search.look_ns || sample->flags & EP_SAMPLE_RAW ||
		(sample->event.type == EP_EVENT_TRACE && ep_sample_has_raw_code(sample, bytes)));
}

void ep_processes_on_sample(struct ep_processes *processes, const struct ep_sample *sample,
			    size_t bytes)
{
	struct ep_process *process = ep_table_find(&processes->table, ep_program_of(sample));

	if (!process)
		process = meet(processes, sample);
	if (process)
		look(processes, process, sample);
	if (process && may_run_moved_text(process, sample, bytes))
		ep_moved_text_on_sample(processes, process, sample->event.time_ns);
	if (sample->event.type == EP_EVENT_TRACE &&
	    (sample->copy_bytes || sample->flags & EP_SAMPLE_RAW ||
	     (process && may_lack_language(process, sample, bytes))))
		ep_held_add(processes->held, sample, bytes);
	else
		processes->options.pass(processes->options.arg, sample, bytes);
}
