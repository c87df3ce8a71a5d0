/* SPDX-License-Identifier: Apache-2.0 */
/* What was found out beside the kernel's records: in /proc, and of the files of mappings. */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/process/internal.h"
#include "core/process/moved_text.h"

#include <errno.h>

/* A process with many mappings is not read so often, only to see if it is as it was. */
#define CHECK_REST_FACTOR 50
/* Telling processes of executables takes a twentieth of a CPU, and so much at once. */
#define NEWS_REST_FACTOR 20
#define NEWS_BURST_NS	 (2 * EP_NS_PER_SEC)
/* Of a process with a thousand mappings it takes less. */
#define READ_WORTH_NS (2 * EP_NS_PER_MS)

/* --- /proc ----------------------------------------------------------------------------------- */

/* It is read once more when that is asked for again. */
static void lack_refused(struct ep_process *process, const struct ep_executable *executable)
{
	if (executable && executable->refused && executable->state == EP_EXECUTABLE_FAILED)
		process->trust.refused_ns = executable->retry_ns;
}

/*
 * NULL: no memory. Where there is no entry for it, it is a file's code all the same, and not what a
 * JIT may have made.
 */
static struct ep_file_use *use_of_read(struct ep_processes *processes, struct ep_process *process,
				       struct ep_mappings *mappings,
				       const struct ep_process_read *read, size_t i)
{
	struct ep_executable *executable =
		ep_executables_get(processes->executables, (pid_t)process->program.pid,
				   ep_vec_at(&read->maps.mappings, struct ep_mapping, i),
				   ep_vec_at(&read->files, struct ep_proc_file, i), read->time_ns);

	lack_refused(process, executable);
	return ep_file_use_get(mappings, executable);
}

static int add_read_areas(struct ep_processes *processes, struct ep_process *process,
			  struct ep_mappings *mappings, const struct ep_process_read *read)
{
	int r = 0;

	for (size_t i = 0; i < read->files.len && r == 0; i++) {
		const struct ep_mapping *mapping =
			ep_vec_at(&read->maps.mappings, struct ep_mapping, i);
		bool is_file = ep_vec_at(&read->files, struct ep_proc_file, i)->bytes > 0;
		struct ep_area area = {
			.start = mapping->start,
			.end = mapping->end,
			.file_off = mapping->kind == EP_MAPPING_VDSO ? 0 : mapping->file_off,
			.time_ns = read->time_ns,
			.use = is_file ? use_of_read(processes, process, mappings, read, i) : NULL,
		};

		r = is_file && !area.use ? -ENOMEM : ep_mappings_append(mappings, area);
	}
	return r;
}

/* The new references are taken before the old ones go, so that what stays is not analysed anew. */
static void take_maps(struct ep_processes *processes, struct ep_process *process,
		      const struct ep_process_read *read)
{
	struct ep_mappings *mappings = ep_mappings_new(&processes->n_areas);
	const struct ep_vec *old = ep_process_areas(process);

	if (mappings) {
		/* Without memory it has the first ones. */
		(void)add_read_areas(processes, process, mappings, read);
		ep_moved_text_keep(mappings, old);
		ep_mappings_coarsen(mappings);
		/* What was heard of while it was read may not be in it. */
		ep_mappings_keep_newer(mappings, old, read->time_ns);
		ep_vec_shrink(&mappings->areas);
		ep_mappings_leave(&process->sharer);
		ep_mappings_join(mappings, &process->sharer);
	}
	process->languages.remapped = true;
	process->is_final = false;
}

/* Before others, if a sample waits for them. */
static void ask_for_maps(struct ep_processes *processes, struct ep_process *process)
{
	ep_reads_request(&processes->reads, process, 0);
	if (process->read.hurried)
		ep_reads_hurry(&processes->reads, process);
	processes->changed = true;
}

static void take_read(struct ep_processes *processes, struct ep_process *process,
		      const struct ep_process_read *read)
{
	/* Or something has wanted all of it meanwhile. */
	bool is_enough = process->read.identity_only;
	const struct ep_process_info *info = &read->info;
	struct ep_identity parts = {
		.comm = info->comm,
		.exe_path = info->exe_path,
		.container_id = info->container_id,
		.cgroup_path = info->cgroup_path,
		.cgroup = info->cgroup,
		.user = info->user,
		.environment = read->environment.data,
		.environment_bytes = read->environment.len,
		.was_read = true,
	};
	struct ep_cost cost = {0};

	if (process->program.start_ns == 0)
		process->program.start_ns = info->start_ns;
	ep_cgroup_paths_learn(&processes->cgroup_paths, info->cgroup, info->cgroup_path);
	ep_process_take_identity(process, ep_identity_new(&parts));
	process->read.is_identified = true;
	if (read->identity_only) {
		ep_process_unread(process);
		if (!is_enough)
			ask_for_maps(processes, process);
		return;
	}
	process->state = EP_PROCESS_KNOWN;
	process->trust.known_ns = read->time_ns;
	process->trust.check_ns =
		EP_MAX(process->trust.check_ns, read->time_ns + CHECK_REST_FACTOR * read->cost_ns);
	process->trust.floods = false;
	process->trust.refused_ns = read->lacks_files ? ep_clock_mono_ns() + EP_REFUSED_NS : 0;
	/* This was charged to struct ep_reads. To attach to it takes as long: the same mappings are
	 * read. */
	ep_cost_add(&cost, read->cost_ns, READ_WORTH_NS);
	ep_account_charge(NULL, &process->languages.account, &cost, ep_clock_mono_ns());
	take_maps(processes, process, read);
	ep_processes_mark(processes, process);
	if (process->read.hurried)
		ep_processes_hurry(processes, process);
	process->read.hurried = false;
}

/* Records that were lost since may have reported something else: it is read once more. */
static void read_again(struct ep_processes *processes, struct ep_process *process)
{
	process->state = EP_PROCESS_NEW;
	ask_for_maps(processes, process);
}

/*
 * Before it is trusted, all that happened while it was read is heard of: a process that has
 * executed something else since is another program.
 */
void ep_processes_on_read(void *arg, struct ep_program program, const struct ep_process_read *read)
{
	struct ep_processes *processes = arg;
	struct ep_process *process;
	struct ep_program found = program;

	if (processes->stopped)
		return;
	processes->options.catch_up(processes->options.arg);
	process = ep_table_find_live(&processes->table, (pid_t)program.pid);
	if (!process || process->state != EP_PROCESS_READING || !ep_process_is(process, program))
		return;
	if (read->time_ns < process->born_ns)
		return; /* of what the process was before; its own is under way */
	if (read->result < 0) {
		processes->stats.gone++;
		ep_log(EP_LOG_DEBUG, "processes: pid %u: %s", program.pid,
		       ep_strerror(read->result));
		ep_process_unread(process);
		if (read->result == -ESRCH)
			ep_processes_end_vanished(processes, process);
		processes->changed = true;
		return;
	}
	/* In vain: its next sample asks again, in a while. */
	if (read->time_ns < process->trust.doubted_ns) {
		ep_process_unread(process);
		processes->changed = true;
		return;
	}
	if (read->time_ns < processes->doubted_ns) {
		read_again(processes, process);
		return;
	}
	found.start_ns = read->info.start_ns;
	if (!ep_process_is(process, found)) { /* the pid was used again meanwhile */
		ep_processes_end_vanished(processes, process);
		found.image = EP_IMAGE_ANY;
		process = ep_processes_add(processes, found, 0);
		if (process && read->identity_only) {
			read_again(processes, process);
			return;
		}
	}
	if (process)
		take_read(processes, process, read);
}

/* --- files ----------------------------------------------------------------------------------- */

static struct ep_process *process_of(struct ep_sharer *sharer)
{
	return EP_CONTAINER(sharer, struct ep_process, sharer);
}

/* What an area of theirs is was found out. */
static void tell_sharers(struct ep_processes *processes, struct ep_mappings *mappings,
			 const struct ep_executable *executable)
{
	struct ep_sharer *sharer;

	LIST_FOREACH (sharer, &mappings->sharers, link) {
		lack_refused(process_of(sharer), executable);
		ep_processes_mark(processes, process_of(sharer));
	}
}

void ep_processes_on_file(void *arg, struct ep_file_look *look, struct ep_executable *executable)
{
	struct ep_processes *processes = arg;
	struct ep_process *process =
		ep_table_find_live(&processes->table, (pid_t)look->program.pid);
	struct ep_file_use *use;

	if (processes->stopped)
		return;
	if (look->result < 0 && process && ep_process_is(process, look->program))
		ep_reads_request(&processes->reads, process, 0);
	while ((use = LIST_FIRST(&look->waiters)) != NULL) {
		ep_file_use_set(use, ep_executable_ref(executable));
		tell_sharers(processes, use->mappings, executable);
	}
	processes->changed = true;
}

/* --- executables ----------------------------------------------------------------------------- */

/* The next use in other mappings: those of these may go, when what they lead to is replaced. */
static struct ep_file_use *next_mappings(struct ep_file_use *use)
{
	const struct ep_mappings *mappings = use->mappings;

	while (use && use->mappings == mappings)
		use = LIST_NEXT(use, in_file);
	return use;
}

static void replace_in(struct ep_processes *processes, struct ep_mappings *mappings)
{
	struct ep_sharer *sharer;
	uint64_t mount_ns = 0;
	int r;

	if (mappings->replaced == processes->stats.replaces)
		return;
	mappings->replaced = processes->stats.replaces;
	LIST_FOREACH (sharer, &mappings->sharers, link)
		mount_ns = mount_ns ? mount_ns
				    : process_of(sharer)->mount_ns; /* of some it is not known */
	r = ep_mappings_replace(mappings, &processes->replacements, mount_ns);
	if (r == 0)
		return;
	LIST_FOREACH (sharer, &mappings->sharers, link) {
		struct ep_process *process = process_of(sharer);

		process->languages.remapped = true;
		ep_processes_mark(processes, process);
		if (r == EP_AREAS_LOST)
			ep_reads_request(&processes->reads, process, 0);
	}
}

static void replace_all(struct ep_processes *processes)
{
	struct ep_vec *all = &processes->replacements;
	struct ep_replacement *one;

	processes->stats.replaces++;
	ep_vec_each (all, one) {
		struct ep_file_use *use = LIST_FIRST(&one->old->uses), *next;

		for (; use; use = next) {
			next = next_mappings(use);
			replace_in(processes, use->mappings);
		}
	}
	ep_vec_each (all, one) {
		one->old->replacement = 0;
		ep_executable_unref(one->executable);
		ep_executable_unref(one->old);
	}
	all->len = 0;
}

/* One waits already: where they differ it is not known what is mapped, and processes are read for that. */
static void merge_replacement(struct ep_replacement *one, const struct ep_replacement *other)
{
	one->since_ns = EP_MIN(one->since_ns, other->since_ns);
	if (one->mount_ns == other->mount_ns && one->executable == other->executable)
		return;
	ep_executable_unref(one->executable);
	one->executable = NULL;
	one->mount_ns = one->mount_ns == other->mount_ns ? one->mount_ns : 0;
}

/*
 * Thousands of processes may map it, and whoever puts one file in the place of another in a loop
 * asks for one after the other. So they are reported together, in the time that there is for news:
 * NEWS_REST_FACTOR. Meanwhile processes have what they had until the file was looked at.
 */
void ep_processes_on_replacement(void *arg, const struct ep_replacement *replacement)
{
	struct ep_processes *processes = arg;
	struct ep_vec *all = &processes->replacements;
	struct ep_executable *old = replacement->old;

	if (old->refs == 0)
		return;
	if (old->replacement) {
		merge_replacement(ep_vec_at(all, struct ep_replacement, old->replacement - 1), replacement);
		return;
	}
	if (all->len == all->max)
		replace_all(processes);
	(void)ep_vec_append(all, replacement, 1); /* there is space from the beginning */
	old->replacement = (uint32_t)all->len;
	(void)ep_executable_ref(old);
	(void)ep_executable_ref(replacement->executable);
	ep_processes_spread_news(processes);
}

void ep_processes_on_replaced(void *arg, struct ep_executable *old,
			      struct ep_executable *executable)
{
	ep_processes_on_replacement(arg,
				    &(struct ep_replacement){.old = old, .executable = executable});
}

/*
 * Whoever makes small files in a loop, which many processes map, has one analysed after the other:
 * telling them has a twentieth of a CPU, and what comes meanwhile goes with the next time.
 */
static void spread(struct ep_processes *processes)
{
	struct ep_executable *executable;
	struct ep_file_use *use;

	processes->stats.spreads++;
	while ((executable = TAILQ_FIRST(&processes->news)) != NULL) {
		TAILQ_REMOVE(&processes->news, executable, news);
		executable->is_news = false;
		LIST_FOREACH (use, &executable->uses, in_file)
			tell_sharers(processes, use->mappings, executable);
		ep_executable_unref(executable);
	}
}

static void tell_all(struct ep_processes *processes)
{
	uint64_t from_ns = ep_clock_mono_ns(), cost_ns;

	if (processes->replacements.len)
		replace_all(processes);
	if (!TAILQ_EMPTY(&processes->news))
		spread(processes);
	cost_ns = NEWS_REST_FACTOR * (ep_clock_mono_ns() - from_ns);
	from_ns -= EP_MIN(from_ns, NEWS_BURST_NS);
	processes->news_paid_ns = EP_MAX(processes->news_paid_ns, from_ns) + cost_ns;
}

void ep_processes_spread_news(struct ep_processes *processes)
{
	bool has_news = !TAILQ_EMPTY(&processes->news) || processes->replacements.len > 0;

	if (has_news && processes->news_paid_ns <= ep_clock_mono_ns())
		tell_all(processes);
}

/* An executable that nobody maps changes no process. Dropped tables may be used until the end of this turn only. */
void ep_processes_on_executable(void *arg, struct ep_executable *executable)
{
	struct ep_processes *processes = arg;

	ep_room_look(&processes->room);
	processes->changed = true;
	if (executable->refs == 0)
		return;
	if (!executable->is_news) {
		executable->is_news = true;
		(void)ep_executable_ref(executable);
		TAILQ_INSERT_TAIL(&processes->news, executable, news);
	}
	if (executable->state == EP_EXECUTABLE_EVICTED)
		tell_all(processes);
	else
		ep_processes_spread_news(processes);
}
