/* SPDX-License-Identifier: Apache-2.0 */
/* What was found out beside the kernel's records: in /proc, and of the files behind mappings. */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/process/internal.h"
#include "core/process/moved_text.h"

#include <errno.h>

/* A process with many mappings is not read so often, only to see if it is as it was. */
#define CHECK_REST_FACTOR 50
/* A look at all places for news of executables: a twentieth of a CPU, and so much at once. */
#define NEWS_REST_FACTOR 20
#define NEWS_BURST_NS	 (2 * EP_NS_PER_SEC)
/* Of a process with a thousand mappings it takes less. */
#define READ_WORTH_NS (2 * EP_NS_PER_MS)

/* --- /proc ----------------------------------------------------------------------------------- */

/* It is read once more when that is asked for again. */
static void lack_refused(struct ep_process *process, const struct ep_executable *executable)
{
	if (executable && executable->refused && executable->state == EP_EXECUTABLE_FAILED)
		process->refused_ns = executable->retry_ns;
}

static void add_read_place(struct ep_processes *processes, struct ep_process *process,
			   const struct ep_process_read *read, size_t i)
{
	const struct ep_mapping *mapping = ep_vec_at(&read->maps.mappings, struct ep_mapping, i);
	struct ep_proc_file *file = ep_vec_at(&read->files, struct ep_proc_file, i);
	struct ep_area *place = ep_vec_push(&process->places);

	if (!place)
		return;
	*place = (struct ep_area){
		.start = mapping->start,
		.end = mapping->end,
		.file_off = mapping->kind == EP_MAPPING_VDSO ? 0 : mapping->file_off,
		.time_ns = read->time_ns,
	};
	if (file->bytes > 0) {
		place->executable =
			ep_executables_get(processes->executables, (pid_t)process->program.pid,
					   mapping, file, read->time_ns);
		/* It is a file's code, though nobody can say which: not what a JIT may have made. */
		place->state = place->executable ? EP_AREA_KNOWN : EP_AREA_GONE;
	}
	lack_refused(process, place->executable);
}

/* The new references are taken before the old ones go, so that what stays is not analysed anew. */
static void take_maps(struct ep_processes *processes, struct ep_process *process,
		      const struct ep_process_read *read)
{
	struct ep_vec old = process->places;

	ep_areas_init(&process->places);
	for (size_t i = 0; i < read->files.len; i++)
		add_read_place(processes, process, read, i);
	ep_moved_text_keep(&process->places, &old);
	ep_areas_coarsen(&process->places);
	/* What was heard of while it was read may not be in it. */
	ep_areas_keep_newer(&process->places, &old, read->time_ns);
	ep_vec_shrink(&process->places);
	ep_areas_clear(&old);
	process->remapped = true;
	process->is_final = false;
}

/* Before others, if a sample waits for them. */
static void ask_for_maps(struct ep_processes *processes, struct ep_process *process)
{
	ep_reads_request(&processes->reads, process, 0);
	if (process->hurried)
		ep_reads_hurry(&processes->reads, process);
	processes->changed = true;
}

static void take_read(struct ep_processes *processes, struct ep_process *process,
		      const struct ep_process_read *read)
{
	bool is_enough = process->identity_only; /* or something has wanted all of it meanwhile */
	const struct ep_process_info *info = &read->info;
	struct ep_identity parts = {
		.comm = info->comm,
		.exe_path = info->exe_path,
		.container_id = info->container_id,
		.environment = read->environment.data,
		.environment_bytes = read->environment.len,
		.was_read = true,
	};
	struct ep_cost cost = {0};

	if (process->program.start_ns == 0)
		process->program.start_ns = info->start_ns;
	ep_process_take_identity(process, ep_identity_new(&parts));
	if (read->identity_only) {
		ep_process_unread(process);
		if (!is_enough)
			ask_for_maps(processes, process);
		return;
	}
	process->state = EP_PROCESS_KNOWN;
	process->trusted_ns = read->time_ns;
	process->check_ns = EP_MAX(process->check_ns, read->time_ns + CHECK_REST_FACTOR * read->cost_ns);
	process->floods = false;
	process->refused_ns = read->lacks_files ? ep_clock_mono_ns() + EP_REFUSED_NS : 0;
	process->coarse_len = 0;
	/* This was paid by struct ep_reads. To attach to it takes as long: the same mappings are read. */
	ep_cost_add(&cost, read->cost_ns, READ_WORTH_NS);
	ep_account_charge(NULL, &process->account, &cost, ep_clock_mono_ns());
	take_maps(processes, process, read);
	ep_processes_mark(processes, process);
	if (process->hurried)
		ep_processes_hurry(processes, process);
	process->hurried = false;
}

/* Records that were lost since may have told of something else: it is read once more. */
static void read_again(struct ep_processes *processes, struct ep_process *process)
{
	process->state = EP_PROCESS_NEW;
	ask_for_maps(processes, process);
}

/*
 * Before it is believed, all that happened while it was read is heard of: a process that has
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
	if (read->time_ns < process->doubted_ns) { /* in vain; its next sample asks again, in a while */
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

/* A place may have been cut since, or be gone. True when there was one. */
static bool settle(struct ep_processes *processes, struct ep_process *process,
		   const struct ep_file_question *question, struct ep_executable *executable)
{
	struct ep_area *place;
	bool found = false;

	ep_vec_each (&process->places, place) {
		if (place->state != EP_AREA_ASKED || place->question != question->number)
			continue;
		found = true;
		place->state = executable ? EP_AREA_KNOWN : EP_AREA_GONE;
		place->question = 0;
		place->executable = ep_executable_ref(executable);
		lack_refused(process, executable);
	}
	if (!ep_areas_are_asked(&process->places))
		ep_process_stop_asking(process);
	if (found)
		ep_processes_mark(processes, process);
	return found;
}

/* The one that mapped it may have executed something else since, or be gone. */
static void settle_pid(struct ep_processes *processes, const struct ep_file_question *question,
		       struct ep_executable *executable)
{
	pid_t pid = (pid_t)question->program.pid;
	struct ep_process *process = ep_table_find_live(&processes->table, pid);
	bool found = process && process->is_asking &&
		     settle(processes, process, question, executable);

	process = ep_table_newest_ended(&processes->table, pid);
	for (; process && !found; process = process->older)
		found = process->is_asking && settle(processes, process, question, executable);
}

/*
 * A running process still maps something, even when the file that the record named is gone. For a process
 * that has ended, the build id decides if it was seen under the same path in the same namespace.
 */
static struct ep_executable *do_without(struct ep_processes *processes,
					const struct ep_file_question *question,
					const struct ep_hint *hint)
{
	struct ep_process *process =
		ep_table_find_live(&processes->table, (pid_t)question->program.pid);

	ep_log(EP_LOG_DEBUG, "processes: pid %u: %s: %s", question->program.pid, question->path,
	       ep_strerror(question->result));
	if (process && ep_process_is(process, question->program)) {
		ep_reads_request(&processes->reads, process, 0);
		return NULL;
	}
	if (!hint || !hint->key.build_id_bytes || ep_processes_is_contested(processes, hint))
		return NULL;
	return ep_executables_get_current(processes->executables, hint->executable);
}

/* They are in processes that run. */
static void replace_all(struct ep_processes *processes)
{
	struct ep_vec *all = &processes->replacements;
	struct ep_replacement *one;
	struct ep_process *process;

	processes->stats.replaces++;
	ep_map_each (&processes->table.live, process) {
		int r = ep_areas_replace(&process->places, all, process->mount_ns);

		if (r == 0)
			continue;
		process->remapped = true;
		ep_processes_mark(processes, process);
		if (r == EP_AREAS_LOST)
			ep_reads_request(&processes->reads, process, 0);
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
 * Who maps it is found by a look at the places of all processes, a million at most, and whoever puts one file in the
 * place of another in a loop asks for one after the other. So they are looked for together, in the time that there is
 * for news: NEWS_REST_FACTOR. Meanwhile processes have what they had until the file was looked at.
 */
static void replace_places(struct ep_processes *processes, const struct ep_replacement *replacement)
{
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
	(void)ep_vec_append(all, replacement, 1); /* there is room from the beginning */
	old->replacement = (uint32_t)all->len;
	(void)ep_executable_ref(old);
	(void)ep_executable_ref(replacement->executable);
	ep_processes_spread_news(processes);
}

void ep_processes_on_replaced(void *arg, struct ep_executable *old,
			      struct ep_executable *executable)
{
	replace_places(arg, &(struct ep_replacement){.old = old, .executable = executable});
}

/*
 * With a reference. NULL: nobody knows. What was found in a process that does not speak for the
 * record's mount namespace is that process's own, and no hint for others.
 */
static struct ep_executable *take_answer(struct ep_processes *processes,
					 struct ep_file_question *question)
{
	struct ep_hint *hint = ep_hints_get(&processes->hints, &question->key, question->path);
	struct ep_mapping mapping = {.kind = EP_MAPPING_FILE, .path = question->path};
	struct ep_executable *executable, *believed;

	if (hint)
		hint->is_due = false;
	if (question->result < 0)
		return do_without(processes, question, hint);
	executable = ep_executables_get(processes->executables, question->root, &mapping,
					&question->file, question->looked_ns);
	if (!hint || !executable || !question->counts)
		return executable;
	/* Where it names another file now, who was believed since the last look is read. */
	believed = ep_executables_find_current(processes->executables, hint->executable);
	/* One file in two views, as something was mounted there meanwhile: those who have the other
	 * one keep it. */
	if (believed && ep_proc_file_has_same_bytes(&believed->file, &executable->file))
		believed = executable;
	hint->executable = believed ? believed->id : 0;
	if (believed && believed != executable && !ep_processes_is_contested(processes, hint))
		replace_places(processes, &(struct ep_replacement){
			.old = believed, .mount_ns = hint->key.mount_ns, .since_ns = hint->looked_ns});
	ep_hint_confirm(&processes->hints, hint, executable->id, question->looked_ns);
	return executable;
}

void ep_processes_on_file(void *arg, struct ep_file_question *question)
{
	struct ep_processes *processes = arg;
	struct ep_process *heir, *next;
	struct ep_executable *executable;

	if (processes->stopped)
		return;
	executable = take_answer(processes, question);
	settle_pid(processes, question, executable);
	/* Children that were forked while the file was looked at have places of their own. */
	for (heir = LIST_FIRST(&processes->heirs); heir; heir = next) {
		next = LIST_NEXT(heir, heir);
		(void)settle(processes, heir, question, executable);
	}
	ep_executable_unref(executable);
	processes->changed = true;
}

/* --- executables ----------------------------------------------------------------------------- */

/* True when one of its places is of an executable about which there is news. */
static bool has_news(struct ep_process *process, uint64_t since)
{
	const struct ep_area *place;
	bool found = false;

	ep_vec_each (&process->places, place) {
		if (!place->executable || place->executable->news <= since)
			continue;
		found = true;
		lack_refused(process, place->executable);
	}
	return found;
}

/*
 * Who maps it is found by a look at the places of all processes. There may be a million of them, and whoever makes small
 * files in a loop has one analysed after the other: looks have a twentieth of a CPU, and what comes meanwhile goes with
 * the next one.
 */
static void spread(struct ep_processes *processes)
{
	uint64_t since = processes->spread;
	struct ep_process *process;

	processes->spread = processes->news;
	processes->stats.spreads++;
	ep_map_each (&processes->table.live, process) {
		if (has_news(process, since))
			ep_processes_mark(processes, process);
	}
}

static void look_at_all(struct ep_processes *processes)
{
	uint64_t from_ns = ep_clock_mono_ns(), cost_ns;

	if (processes->replacements.len)
		replace_all(processes);
	if (processes->spread != processes->news)
		spread(processes);
	cost_ns = NEWS_REST_FACTOR * (ep_clock_mono_ns() - from_ns);
	from_ns -= EP_MIN(from_ns, NEWS_BURST_NS);
	processes->news_paid_ns = EP_MAX(processes->news_paid_ns, from_ns) + cost_ns;
}

void ep_processes_spread_news(struct ep_processes *processes)
{
	bool has_news = processes->spread != processes->news || processes->replacements.len > 0;

	if (has_news && processes->news_paid_ns <= ep_clock_mono_ns())
		look_at_all(processes);
}

/* An executable that nobody maps changes no process. Dropped tables may be used until the end of this turn only. */
void ep_processes_on_executable(void *arg, struct ep_executable *executable)
{
	struct ep_processes *processes = arg;

	ep_room_look(&processes->room);
	processes->changed = true;
	if (executable->refs == 0)
		return;
	executable->news = ++processes->news;
	if (executable->state == EP_EXECUTABLE_EVICTED)
		look_at_all(processes);
	else
		ep_processes_spread_news(processes);
}
