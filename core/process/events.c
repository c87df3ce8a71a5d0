/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings and samples, as the kernel reported of them. One that comes late is applied by its time.
 */
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
/* Where an exec has reported all that anybody asks. */
#define IDENTIFY_LATER_NS (EP_NS_PER_SEC / 2)
/* Before an unknown address makes us read a process again. */
static const struct ep_backoff ask_again_backoff = {
	.first = 50 * EP_NS_PER_MS, .longest = 30 * EP_NS_PER_SEC, .percent = 200};
/* Areas are made coarser when there are so many more than the last time. */
#define COARSEN_STEP 256

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

/* What an exec maps first is the program; its interpreter comes after it (fs/binfmt_elf.c). */
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

void ep_processes_map(void *arg, const struct ep_mapping_event *event)
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
	ep_processes_map(processes, event);
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

/* A program nobody reported: it was there before us, or a record is missing. */
static struct ep_process *meet(struct ep_processes *processes, const struct ep_sample *sample)
{
	struct ep_process *process = ep_table_find_live(&processes->table, (pid_t)sample->pid);

	if (process && sample->event.time_ns < process->born_ns)
		return NULL; /* late, and of a program long gone */
	if (has_exited(processes, sample))
		return NULL; /* nobody would ever end it */
	if (process)
		ep_processes_end(processes, process, sample->event.time_ns);
	return ep_processes_add(processes, ep_program_of(sample), 0);
}

/* With growing delay; in between BPF is informed not to send stacks that nobody can make use of. */
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
 * What a read would add to what an exec has reported: variables, or a container that the program
 * before it was not in. A child is what it was forked from, until it takes other rights.
 */
static uint64_t identify_wait_ns(const struct ep_process *process)
{
	const char *const *variables;

	return process->identity && (process->identity->was_read ||
				     (process->identity->is_at_home &&
				      ep_host_environment(&variables) == 0))
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
 * of a file that was moved, which had not been published to BPF when the sample was taken.
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
