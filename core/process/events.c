/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel said. Records come in order of time; one that comes late is applied by its time. */
#include "core/base/clock.h"
#include "core/bpf/events.h"
#include "core/plugin/host.h"
#include "core/process/internal.h"

#include <string.h>

/* Who a sampled process is can wait a little; many are gone by then. */
#define IDENTIFY_NS (20 * EP_NS_PER_MS)
/* First and longest wait before an unknown address makes us read a process again. */
#define BACKOFF_MIN_NS (50 * EP_NS_PER_MS)
#define BACKOFF_MAX_NS (30 * EP_NS_PER_SEC)

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

void ep_processes_end(struct ep_processes *processes, struct ep_process *process, uint64_t time_ns)
{
	ep_reads_drop(&processes->reads, process);
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

/*
 * All that its parent has at this time. What the parent's files are is being asked for it as well.
 * Places that cannot be copied are as unknown as the parent's own.
 */
static void inherit(struct ep_processes *processes, struct ep_process *child,
		    struct ep_process *parent)
{
	ep_process_take_identity(child, ep_identity_ref(parent->identity));
	child->born_from = parent->program;
	ep_languages_fork(child, parent);
	if (ep_places_copy(&child->places, &parent->places) < 0)
		return;
	if (parent->state == EP_PROCESS_KNOWN)
		child->state = EP_PROCESS_KNOWN;
	child->n_asked = parent->n_asked;
	parent->shares_asked |= child->n_asked > 0;
	ep_publisher_fork(&processes->publisher, child, parent);
}

static void on_fork(struct ep_processes *processes, const struct ep_process_event *event)
{
	uint64_t time_ns = event->event.time_ns;
	struct ep_process *parent, *process;

	processes->stats.forks++;
	process = ep_table_find_live(&processes->table, (pid_t)event->pid);
	if (process && ep_process_is(process, program_of(event)))
		return;
	if (process)
		ep_processes_end(processes, process, time_ns);
	process = ep_processes_add(processes, program_of(event), time_ns);
	parent = ep_table_find_at(&processes->table, (pid_t)event->parent_pid, time_ns);
	if (process && parent)
		inherit(processes, process, parent);
}

/* What an exec tells, and what stays true of the program before it: where it runs. */
static struct ep_identity *identity_of_exec(const struct ep_process_event *event,
					    const struct ep_process *old)
{
	char comm[EP_COMM_BYTES + 1] = "";
	struct ep_identity_parts parts = {.comm = comm};

	memcpy(comm, event->comm, sizeof(event->comm));
	if (old && old->identity)
		parts.container_id = old->identity->container_id;
	return ep_identity_new(&parts);
}

/* An exec's mappings are told of one by one, from the first on. */
static void await_mappings(struct ep_processes *processes, struct ep_process *process)
{
	if (processes->options.hears_mappings)
		process->state = EP_PROCESS_KNOWN;
	else
		ep_reads_request(&processes->reads, process, EP_SETTLE_NS);
}

/*
 * A sample told of it before. What was read of it meanwhile may have the name of the program before
 * it, which the task keeps for a moment more: it is read again when that is wanted.
 */
static void name_late(struct ep_processes *processes, struct ep_process *process,
		      const struct ep_process_event *event)
{
	ep_process_take_identity(process, identity_of_exec(event, process));
	process->born_ns = event->event.time_ns;
	ep_reads_drop(&processes->reads, process);
	await_mappings(processes, process);
	process->next_retry_ns = 0;
}

static void on_exec(struct ep_processes *processes, const struct ep_process_event *event)
{
	struct ep_process *old = ep_table_find_live(&processes->table, (pid_t)event->pid), *process;
	struct ep_program program = program_of(event);

	processes->stats.execs++;
	if (old && old->program.image == program.image && ep_process_is(old, program)) {
		name_late(processes, old, event);
		return;
	}
	if (old)
		ep_processes_end(processes, old, event->event.time_ns);
	process = ep_processes_add(processes, program, event->event.time_ns);
	if (!process)
		return;
	ep_process_take_identity(process, identity_of_exec(event, old));
	if (old)
		process->born_from = old->born_from;
	await_mappings(processes, process);
}

static void on_end(struct ep_processes *processes, const struct ep_process_event *event)
{
	struct ep_process *process = ep_table_find_live(&processes->table, (pid_t)event->pid);

	processes->stats.exits++;
	if (process && ep_process_is(process, program_of(event)))
		ep_processes_end(processes, process, event->event.time_ns);
}

void ep_processes_on_event(struct ep_processes *processes, const struct ep_process_event *event)
{
	if (event->event.type == EP_EVENT_FORK)
		on_fork(processes, event);
	else if (event->event.type == EP_EVENT_EXEC)
		on_exec(processes, event);
	else if (event->event.type == EP_EVENT_EXIT)
		on_end(processes, event);
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

/* An executable we know that this record is surely a mapping of; NULL when a look must tell. */
static struct ep_executable *recognise(struct ep_processes *processes,
				       const struct ep_mapping_event *event)
{
	if (event->build_id)
		return ep_executables_get_build_id(processes->executables, event->build_id,
						   event->build_id_bytes);
	if (event->has_inode)
		return ep_executables_get_inode(processes->executables, event);
	if (strcmp(event->name, "[vdso]") == 0 && event->addr >= EP_MAPS_COMPAT_END)
		return ep_executables_get_vdso(processes->executables);
	return NULL;
}

/* Its own root, and those of the processes it was forked from: one may be there still. */
static size_t find_roots(const struct ep_processes *processes, const struct ep_process *process,
			 pid_t roots[EP_FILE_MAX_ROOTS])
{
	size_t n = 0;

	while (process && n < EP_FILE_MAX_ROOTS) {
		roots[n++] = (pid_t)process->program.pid;
		process = process->born_from.pid
				  ? ep_table_find(&processes->table, process->born_from)
				  : NULL;
	}
	return n;
}

static void ask_file(struct ep_processes *processes, struct ep_process *process,
		     const struct ep_mapping_event *event, struct ep_place_in_memory *place)
{
	pid_t roots[EP_FILE_MAX_ROOTS] = {0};
	size_t n = find_roots(processes, process, roots);

	if (ep_files_ask(&processes->files, event, process->program, roots, n) < 0) {
		place->state = EP_PLACE_GONE;
		return;
	}
	place->state = EP_PLACE_ASKED;
	process->n_asked++;
}

/* What an exec maps first is the program; its interpreter comes behind it (fs/binfmt_elf.c). */
static void take_path(struct ep_process *process, const char *path)
{
	const struct ep_identity *old = process->identity;
	struct ep_identity_parts parts = {.exe_path = path};

	if (!old || old->was_read || *old->exe_path || *path != '/')
		return;
	parts.comm = old->comm;
	parts.container_id = old->container_id;
	ep_process_take_identity(process, ep_identity_new(&parts));
}

static struct ep_place_in_memory place_of(const struct ep_mapping_event *event)
{
	return (struct ep_place_in_memory){
		.start = event->addr,
		.end = event->addr + event->bytes,
		.file_off = strcmp(event->name, "[vdso]") == 0 ? 0 : event->file_off,
		.time_ns = event->time_ns,
	};
}

void ep_processes_on_mapping(struct ep_processes *processes, const struct ep_mapping_event *event)
{
	struct ep_process *process =
		ep_table_find_at(&processes->table, event->pid, event->time_ns);
	struct ep_place_in_memory place = place_of(event);
	int r;

	processes->stats.mappings++;
	if (!process)
		return; /* a sample brings it in; or it is of an image long gone */
	take_path(process, event->name);
	place.executable = recognise(processes, event);
	if (!place.executable && !is_anonymous(event->name))
		ask_file(processes, process, event, &place);
	else
		processes->stats.mappings_placed++;
	r = ep_places_insert(&process->places, processes->executables, place);
	if (r != 0)
		return;
	ep_places_coarsen(&process->places);
	process->remapped = true;
	process->is_final = false;
	ep_processes_mark(processes, process);
}

/*
 * Nothing that is known of mappings is believed any more, by us and by BPF; each process is read
 * when it is sampled. Births and deaths may be missing as well.
 */
void ep_processes_on_lost(struct ep_processes *processes)
{
	struct ep_map_slot *slot;
	size_t pos = 0;

	processes->stats.doubts++;
	while ((slot = ep_map_next(&processes->table.live, &pos)) != NULL) {
		struct ep_process *process = (struct ep_process *)(uintptr_t)slot->value;

		ep_publisher_unmark(&processes->publisher, process);
		ep_publisher_forget(&processes->publisher, process);
		ep_process_forget_places(process, processes->executables);
		process->next_retry_ns = 0;
	}
	processes->to_check = processes->table.live.len;
}

/* --- samples --------------------------------------------------------------------------------- */

/* A program nobody told of: it was there before us, or a record is missing. */
static struct ep_process *meet(struct ep_processes *processes, const struct ep_sample *sample)
{
	struct ep_process *process = ep_table_find_live(&processes->table, (pid_t)sample->pid);

	if (process && sample->event.time_ns < process->born_ns)
		return NULL; /* late, and of a program long gone */
	if (process)
		ep_processes_end(processes, process, sample->event.time_ns);
	return ep_processes_add(processes, ep_program_of(sample), 0);
}

/* A process that was there before us: from here on it is known which program it runs. */
static void take_image(struct ep_processes *processes, struct ep_process *process,
		       const struct ep_sample *sample)
{
	if (process->program.image != EP_IMAGE_ANY || process->state == EP_PROCESS_ENDED)
		return;
	process->program.image = sample->image;
	process->program.start_ns = sample->start_ns;
	ep_processes_mark(processes, process);
}

/* It was taken when BPF knew less than it knows by now. */
static bool is_outdated(const struct ep_process *process, const struct ep_sample *sample)
{
	return process->is_dirty || process->n_asked > 0 ||
	       sample->event.time_ns <= process->published_ns;
}

/* With growing delay; in between BPF is told not to send stacks that nobody can make use of. */
static void ask_again(struct ep_processes *processes, struct ep_process *process, uint64_t now_ns)
{
	if (now_ns < process->next_retry_ns) {
		if (process->state == EP_PROCESS_KNOWN && !process->is_final) {
			process->is_final = true;
			ep_publisher_mark(&processes->publisher, process);
		}
		return;
	}
	process->backoff_ns =
		EP_MIN(EP_MAX(process->backoff_ns * 2, BACKOFF_MIN_NS), BACKOFF_MAX_NS);
	process->next_retry_ns = now_ns + process->backoff_ns;
	ep_reads_request(&processes->reads, process, 0);
	ep_reads_hurry(&processes->reads, process);
}

/* Who it is was not worth a read before it used the CPU; an exec's records tell most of it. */
static void identify(struct ep_processes *processes, struct ep_process *process)
{
	const struct ep_identity *identity = process->identity;
	const char *const *variables;
	bool is_enough = identity && (identity->was_read || (*identity->exe_path &&
							     ep_host_environment(&variables) == 0));

	if (!is_enough && process->next_retry_ns == 0)
		ep_reads_request(&processes->reads, process, IDENTIFY_NS);
}

static void look(struct ep_processes *processes, struct ep_process *process,
		 const struct ep_sample *sample)
{
	bool is_unknown =
		sample->flags & (EP_SAMPLE_UNKNOWN_PROCESS | EP_SAMPLE_UNKNOWN_ADDRESS);

	process->sampled = true;
	if (process->state == EP_PROCESS_ENDED || sample->flags & EP_SAMPLE_KERNEL_THREAD) {
		if (process->state == EP_PROCESS_NEW)
			identify(processes, process);
		return;
	}
	take_image(processes, process, sample);
	if (process->state == EP_PROCESS_NEW || (is_unknown && !is_outdated(process, sample)))
		ask_again(processes, process, sample->event.time_ns);
	else
		identify(processes, process);
	if (sample->copy_bytes && !ep_process_is_settled(process)) {
		process->hurried = true;
		ep_places_hurry(&process->places, processes->executables);
	}
}

void ep_processes_on_sample(struct ep_processes *processes, const struct ep_sample *sample,
			    size_t bytes)
{
	struct ep_process *process = ep_table_find(&processes->table, ep_program_of(sample));

	if (!process)
		process = meet(processes, sample);
	if (process)
		look(processes, process, sample);
	if (sample->event.type == EP_EVENT_TRACE &&
	    (sample->copy_bytes || sample->flags & EP_SAMPLE_RAW))
		ep_held_add(processes->held, sample, bytes);
	else
		processes->options.pass(processes->options.arg, sample, bytes);
}
