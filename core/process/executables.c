/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/executables.h"
#include "core/process/executables_internal.h"
#include "core/process/analysis.h"
#include "core/plugin/job.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/symbol/described.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_EXECUTABLES 65536
#define MAX_FILES	65536 /* where nobody says how many descriptors there are */
#define MAX_RUNNING	3 /* analyses at once; libuv's pool has four threads */
/* An analysis ends when nobody has mapped its file for so long: samples of who did may wait for it. */
#define UNWANTED_NS (3 * EP_NS_PER_SEC)
/* And that of one which was prepared: the command that will map it waits for others. */
#define AWAIT_NS (30 * EP_NS_PER_SEC)

/* Of files that are known, one has some 100 KB; who makes many such files gets no names for more. */
#define MAX_DESCRIBED_BYTES ((uint64_t)16 << 20)

/* One analysis, waiting or under way. */
struct ep_executables_task {
	TAILQ_ENTRY(ep_executables_task) link; /* while it waits */
	struct ep_executables *executables;
	uint32_t id;
	bool alone; /* it found no memory beside others: it is tried once more, when there are none */
	struct ep_analysis analysis;
};

int ep_executables_new(struct uv_loop_s *loop, struct ep_delta_store *store,
		       struct ep_languages *languages,
		       void (*changed)(void *arg, struct ep_executable *executable),
		       void (*replaced)(void *arg, struct ep_executable *old,
					struct ep_executable *executable),
		       void *arg, struct ep_executables **ret_executables)
{
	struct ep_executables *executables = calloc(1, sizeof(*executables));

	if (!executables)
		return -ENOMEM;
	TAILQ_INIT(&executables->waiting);
	TAILQ_INIT(&executables->alone);
	TAILQ_INIT(&executables->idle);
	executables->loop = loop;
	executables->store = store;
	executables->languages = languages;
	executables->changed = changed;
	executables->replaced = replaced;
	executables->arg = arg;
	ep_open_files_init(&executables->files, MAX_FILES);
	executables->max_entries = MAX_EXECUTABLES;
	ep_map_init(&executables->by_file, MAX_EXECUTABLES);
	ep_map_init(&executables->by_id, MAX_EXECUTABLES);
	*ret_executables = executables;
	return 0;
}

void ep_executables_set_memory(struct ep_executables *executables, struct ep_memory_budget *memory)
{
	executables->memory = memory;
}

void ep_executables_set_max_files(struct ep_executables *executables, size_t max)
{
	executables->files.max = max;
}

void ep_executables_divide(struct ep_executables *executables)
{
	executables->divides = true;
}

static void join_idle(struct ep_executable *executable)
{
	if (!executable->owner || executable->is_idle)
		return;
	executable->is_idle = true;
	TAILQ_INSERT_TAIL(&executable->owner->idle, executable, idle);
}

static void leave_idle(struct ep_executable *executable)
{
	if (!executable->is_idle)
		return;
	executable->is_idle = false;
	TAILQ_REMOVE(&executable->owner->idle, executable, idle);
}

void ep_executables_set_leaving(struct ep_executables *executables,
				void (*leaving)(void *arg, struct ep_executable *executable), void *arg)
{
	executables->leaving = leaving;
	executables->leaving_arg = arg;
}

static void drop_described(struct ep_executables *executables, struct ep_executable *executable)
{
	executables->stats.described_bytes -= ep_described_symbols_bytes(executable->described);
	ep_described_symbols_unref(ep_take(executable->described));
}

/* Symbols of a file do not change: where it could not be described once more, the old ones hold. */
static void take_described(struct ep_executables *executables, struct ep_executable *executable,
			   struct ep_analysis *analysis)
{
	size_t bytes = ep_described_symbols_bytes(analysis->described);

	if (executable->described && !analysis->is_described)
		return;
	drop_described(executables, executable);
	if (bytes > MAX_DESCRIBED_BYTES - executables->stats.described_bytes) {
		if (executables->stats.nameless++ == 0)
			ep_log(EP_LOG_INFO,
			       "executables: %s: names that a language has for its code are left "
			       "out, as those of others have %" PRIu64 " MiB; this is said once",
			       executable->path, MAX_DESCRIBED_BYTES >> 20);
		return;
	}
	executables->stats.described_bytes += bytes;
	executable->described = ep_take(analysis->described);
}

static void free_executable(struct ep_executables *executables, struct ep_executable *executable)
{
	leave_idle(executable);
	drop_described(executables, executable);
	ep_delta_store_drop_text(executables->store, executable->text);
	ep_open_files_drop(&executables->files, executable);
	for (size_t i = 0; i < executable->n_claims; i++)
		ep_claim_unref(executable->claims[i]);
	free(executable->path);
	free(executable);
}

void ep_executables_free(struct ep_executables *executables)
{
	struct ep_executable *executable;

	if (!executables)
		return;
	ep_map_each (&executables->by_id, executable)
		free_executable(executables, executable);
	ep_open_files_fini(&executables->files);
	ep_map_fini(&executables->by_id);
	ep_map_fini(&executables->by_file);
	free(executables);
}

/* --- identity -------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct ep_proc_file *file)
{
	return ep_mix64(file->inode + ep_mix64(file->dev + ep_mix64(file->generation)));
}

/* A chain has all states of a file that are known: whoever changes it in place makes another. */
static struct ep_executable *next_state(struct ep_map_link *link, const struct ep_proc_file *file)
{
	for (; link; link = link->next) {
		struct ep_executable *executable = EP_CONTAINER(link, struct ep_executable, link);

		if (ep_proc_file_is_same_inode(&executable->file, file))
			return executable;
	}
	return NULL;
}

static struct ep_executable *first_state(const struct ep_executables *executables,
					 const struct ep_proc_file *file)
{
	return next_state(ep_map_chain(&executables->by_file, hash_of(file)), file);
}

struct ep_executable *ep_executables_find(struct ep_executables *executables, uint32_t id)
{
	return ep_map_get(&executables->by_id, id);
}

struct ep_executable *ep_executables_find_current(struct ep_executables *executables, uint32_t id)
{
	struct ep_executable *executable = ep_executables_find(executables, id), *newer;

	if (!executable || !executable->newer)
		return executable;
	newer = ep_executables_find(executables, executable->newer);
	return newer && ep_proc_file_is_same_inode(&newer->file, &executable->file) ? newer : NULL;
}

/* The state that was seen last is the file's; who maps the inode maps that. */
static void note_seen(struct ep_executables *executables, struct ep_executable *seen,
		      uint64_t time_ns)
{
	struct ep_executable *state, *current = seen;

	seen->seen_ns = EP_MAX(seen->seen_ns, time_ns);
	for (state = first_state(executables, &seen->file); state;
	     state = next_state(state->link.next, &seen->file))
		current = state->seen_ns > current->seen_ns ? state : current;
	current->newer = 0;
	for (state = first_state(executables, &seen->file); state;
	     state = next_state(state->link.next, &seen->file)) {
		if (state == current || state->newer == current->id)
			continue;
		state->newer = current->id;
		if (executables->replaced && state->refs > 0)
			executables->replaced(executables->arg, state, current);
	}
}

/* --- analysis -------------------------------------------------------------------------------- */

static void run_task(void *arg)
{
	struct ep_executables_task *task = arg;

	ep_analysis_run(&task->analysis);
}

/* There was no memory for its tables: in the delta store, or while they were made. */
static bool has_no_room(const struct ep_analysis *analysis)
{
	return analysis->table_result == -E2BIG || ep_is_transient(analysis->table_result);
}

static void count_result(struct ep_executables *executables, const struct ep_analysis *analysis)
{
	executables->stats.busy--;
	if (analysis->result == -ECANCELED)
		executables->stats.stopped++;
	else if (analysis->result < 0)
		executables->stats.failed++;
	else
		executables->stats.analysed++;
	if (has_no_room(analysis))
		executables->stats.over_limit++;
}

/* An entry keeps the identity it is found under, even if the file changed before it was opened. */
static void take_result(struct ep_executables *executables, struct ep_executable *executable,
			struct ep_analysis *analysis)
{
	ep_open_files_drop(&executables->files, executable);
	executable->file.fd = ep_take_fd(analysis->file.fd);
	ep_open_files_take(&executables->files, executable, analysis->pid);
	memcpy(executable->build_id, analysis->build_id, sizeof(executable->build_id));
	memcpy(executable->file_id, analysis->file_id, sizeof(executable->file_id));
	memcpy(executable->go_build_id, analysis->go_build_id, sizeof(executable->go_build_id));
	memcpy(executable->segments, analysis->segments, sizeof(executable->segments));
	executable->n_segments = analysis->n_segments;
	executable->in_parts = analysis->is_in_parts;
	if (executable->in_parts)
		ep_text_parts_end(executable, &analysis->parts, !has_no_room(analysis));
	/* Where there is no space it keeps the parts that it has. */
	if (!executable->in_parts || !has_no_room(analysis)) {
		ep_delta_store_drop_text(executables->store, executable->text);
		executable->text = ep_take(analysis->text);
	}
	if (analysis->languages && analysis->opened) {
		executable->probed = true;
		memcpy(executable->claims, analysis->claims, sizeof(executable->claims));
		executable->n_claims = analysis->n_claims;
		analysis->n_claims = 0;
	}
	take_described(executables, executable, analysis);
	executable->described_va = analysis->described_va;
	executable->described_end = analysis->described_end;
	executable->state = analysis->result < 0 ? EP_EXECUTABLE_FAILED : EP_EXECUTABLE_READY;
	executable->unopened = analysis->result == -ECANCELED ||
			       (analysis->result < 0 && !analysis->opened);
	executable->refused = !analysis->opened && ep_proc_is_refused(analysis->result);
	if (executable->refused)
		executable->retry_ns = ep_clock_mono_ns() + EP_REFUSED_NS;
	if (analysis->result == 0 && has_no_room(analysis) && !executable->in_parts) {
		executable->state = EP_EXECUTABLE_EVICTED;
		executable->retry_ns = ep_clock_mono_ns() + EP_EXECUTABLE_RETRY_NS;
	}
}

/*
 * Loads the programs of languages that are wanted at once: of what a command is about to map, which starts
 * when they are loaded as a whole, and of what has been mapped and will load a runtime.
 */
static void load_languages(const struct ep_executable *executable)
{
	for (size_t i = 0; i < executable->n_claims; i++) {
		const struct ep_claim *claim = executable->claims[i];

		if (ep_claim_is_launcher(claim) ||
		    (executable->awaited_ns && ep_claim_is_runtime(claim)))
			ep_claim_load(claim, executable->awaited_ns != 0);
	}
}

static void free_task(struct ep_executables_task *task)
{
	ep_delta_store_drop_text(task->executables->store, task->analysis.text);
	ep_proc_file_close(&task->analysis.file);
	for (size_t i = 0; i < task->analysis.n_claims; i++)
		ep_claim_unref(task->analysis.claims[i]);
	ep_described_symbols_unref(task->analysis.described);
	free((char *)task->analysis.mapping.path);
	free(task);
}

static void start_waiting(struct ep_executables *executables);
static void queue_task(struct ep_executables *executables, struct ep_executables_task *task);

static bool wants_another_try(const struct ep_executables_task *task)
{
	return !task->alone &&
	       (task->analysis.result == -EAGAIN ||
		(task->analysis.result == 0 && task->analysis.table_result == -EAGAIN));
}

/* It waits as it came, with its file open, and runs alone. */
static void put_off(struct ep_executables *executables, struct ep_executables_task *task)
{
	struct ep_analysis *analysis = &task->analysis;

	for (size_t i = 0; analysis->languages && i < analysis->n_claims; i++)
		ep_claim_unref(analysis->claims[i]);
	if (analysis->languages)
		analysis->n_claims = 0;
	ep_described_symbols_unref(ep_take(analysis->described));
	analysis->result = analysis->table_result = 0;
	task->alone = true;
	queue_task(executables, task);
	executables->stats.put_off++;
}

static void finish_task(void *arg)
{
	struct ep_executables_task *task = arg;
	struct ep_executables *executables = task->executables;
	struct ep_executable *executable = ep_executables_find(executables, task->id);

	executables->running--;
	if (executable)
		executable->running = NULL;
	if (wants_another_try(task) && executable && !executables->stopped) {
		put_off(executables, task);
		start_waiting(executables);
		return;
	}
	count_result(executables, &task->analysis);
	if (task->analysis.result < 0)
		ep_log(EP_LOG_DEBUG, "executables: %s (pid %d): %s", task->analysis.mapping.path,
		       (int)task->analysis.pid, ep_strerror(task->analysis.result));
	if (executable) {
		take_result(executables, executable, &task->analysis);
		load_languages(executable);
		executables->changed(executables->arg, executable);
	}
	free_task(task);
	start_waiting(executables);
}

static struct ep_task_list *list_of(struct ep_executables *executables,
				    const struct ep_executables_task *task)
{
	return task->alone ? &executables->alone : &executables->waiting;
}

static void queue_task(struct ep_executables *executables, struct ep_executables_task *task)
{
	struct ep_executable *executable = ep_executables_find(executables, task->id);

	if (executable)
		executable->waiting = task;
	TAILQ_INSERT_TAIL(list_of(executables, task), task, link);
}

static void unqueue_task(struct ep_executables *executables, struct ep_executables_task *task)
{
	struct ep_executable *executable = ep_executables_find(executables, task->id);

	if (executable)
		executable->waiting = NULL;
	TAILQ_REMOVE(list_of(executables, task), task, link);
}

/*
 * The next that may run; NULL: none. One that wants to be alone waits for a few others only, and they for it: who
 * makes many of either kind keeps nobody from being analysed.
 */
static struct ep_executables_task *next_task(const struct ep_executables *executables)
{
	struct ep_executables_task *task = TAILQ_FIRST(&executables->waiting);
	struct ep_executables_task *alone = TAILQ_FIRST(&executables->alone);

	if (executables->running >= MAX_RUNNING || (executables->running > 0 && executables->is_alone))
		return NULL;
	if (alone && (!task || executables->since_alone >= MAX_RUNNING))
		return executables->running == 0 ? alone : NULL;
	return task;
}

/*
 * One thread of the pool is left to those who read processes and look for names. Where there is no memory for a job the
 * task stays first in its queue: another look is taken each second.
 */
static void start_waiting(struct ep_executables *executables)
{
	struct ep_executables_task *task;

	while ((task = next_task(executables)) != NULL) {
		struct ep_executable *executable = ep_executables_find(executables, task->id);

		if (ep_job_run(executables->loop, run_task, finish_task, task) < 0)
			return;
		unqueue_task(executables, task);
		executables->running++;
		executables->is_alone = task->alone;
		executables->since_alone = task->alone ? 0 : executables->since_alone + 1;
		if (executable)
			executable->running = task;
	}
}

void ep_executables_hurry(struct ep_executables *executables,
			  const struct ep_executable *executable)
{
	struct ep_executables_task *task = executable->waiting;

	if (!task)
		return;
	TAILQ_REMOVE(list_of(executables, task), task, link);
	TAILQ_INSERT_HEAD(list_of(executables, task), task, link);
}

/* Nobody wants it: it has not begun, or ends soon. */
static void stop_analysis(struct ep_executables *executables, struct ep_executable *executable)
{
	struct ep_executables_task *task = executable->waiting;

	if (executable->running)
		atomic_store_explicit(&executable->running->analysis.stopped, true, memory_order_relaxed);
	if (!task)
		return;
	unqueue_task(executables, task);
	free_task(task);
	executables->stats.busy--;
	executables->stats.failed++;
	executable->state = EP_EXECUTABLE_FAILED;
	executable->unopened = true;
}

void ep_executables_stop(struct ep_executables *executables)
{
	struct ep_executable *executable;

	executables->stopped = true;
	ep_map_each (&executables->by_id, executable)
		stop_analysis(executables, executable);
}

int ep_executables_analyse(struct ep_executables *executables, struct ep_executable *executable,
			   pid_t pid, const struct ep_mapping *mapping, int fd)
{
	struct ep_executables_task *task = executables->stopped ? NULL : calloc(1, sizeof(*task));

	if (!task) {
		ep_closep(&fd);
		return -ENOMEM;
	}
	task->executables = executables;
	task->id = executable->id;
	task->analysis.pid = pid;
	task->analysis.mapping = *mapping;
	task->analysis.mapping.path = strdup(mapping->path);
	task->analysis.store = executables->store;
	task->analysis.memory = executables->memory;
	task->analysis.may_be_in_parts = executables->divides;
	task->analysis.parts = executable->parts;
	if (!executable->probed)
		task->analysis.languages = executables->languages;
	/* Who claimed it once describes it again. */
	for (size_t i = 0; i < executable->n_claims; i++)
		task->analysis.claims[i] = ep_claim_ref(executable->claims[i]);
	task->analysis.n_claims = executable->n_claims;
	task->analysis.file.fd = fd;
	task->analysis.expected = executable->file;
	if (!task->analysis.mapping.path) {
		free_task(task);
		return -ENOMEM;
	}
	executables->stats.busy++;
	executable->state = EP_EXECUTABLE_PENDING;
	queue_task(executables, task);
	start_waiting(executables);
	return 0;
}

/* --- entries --------------------------------------------------------------------------------- */

static uint64_t idle_ns_of(const struct ep_executable *executable, uint64_t now_ns)
{
	return now_ns - EP_MIN(now_ns, executable->idle_since_ns);
}

/* Nobody maps it, or is going to, and no worker is at it. */
static bool is_unused(const struct ep_executable *executable, uint64_t now_ns)
{
	return executable->refs == 0 && executable->state != EP_EXECUTABLE_PENDING && now_ns >= executable->awaited_ns;
}

static void forget(struct ep_executables *executables, struct ep_executable *executable)
{
	ep_map_unlink(&executables->by_file, &executable->link);
	ep_map_remove(&executables->by_id, executable->id);
	executables->stats.live--;
	free_executable(executables, executable);
}

/*
 * There are as many entries as there may be. Of the unused ones those go, with their tables, that are idle for more than
 * half as long as the one that is idle longest: so a look at all of them makes space for many.
 */
static void forget_idle_longest(struct ep_executables *executables)
{
	uint64_t now_ns = ep_clock_mono_ns(), longest_ns = 0;
	struct ep_executable *executable;
	size_t pos = 0;

	ep_map_each (&executables->by_id, executable) {
		if (is_unused(executable, now_ns))
			longest_ns = EP_MAX(longest_ns, idle_ns_of(executable, now_ns));
	}
	while ((executable = ep_map_next_pointer(&executables->by_id, &pos)) != NULL) {
		uint64_t idle_ns = idle_ns_of(executable, now_ns);

		/* Batches may still name those that were mapped a moment ago. */
		if (!is_unused(executable, now_ns) || idle_ns < EP_MAX(longest_ns / 2, executables->keep_ns))
			continue;
		forget(executables, executable);
		executables->stats.forgotten++;
		pos--; /* another one may be in its slot now */
	}
}

/* False: processes map as many files as there may be entries. */
static bool make_space(struct ep_executables *executables)
{
	if (executables->by_id.len < executables->max_entries)
		return true;
	forget_idle_longest(executables);
	if (executables->by_id.len < executables->max_entries)
		return true;
	if (executables->stats.refused++ == 0)
		ep_log(EP_LOG_WARN,
		       "executables: %zu files are in use, more are not looked at: their code has no names and no "
		       "unwind rules; this is said once, SIGUSR1 shows how often",
		       executables->max_entries);
	return false;
}

/*
 * An id is used again when all others were: 67 million executables later no interval, batch or
 * sample that waits can name the old one.
 */
static struct ep_executable *add(struct ep_executables *executables, pid_t pid,
				 const struct ep_mapping *mapping, const struct ep_proc_file *file)
{
	struct ep_executable *executable = make_space(executables) ? calloc(1, sizeof(*executable)) : NULL;

	if (!executable)
		return NULL;
	do
		executables->last_id = executables->last_id % EP_ROW_MAX_ID + 1;
	while (ep_map_find(&executables->by_id, executables->last_id));
	executable->id = executables->last_id;
	executable->owner = executables;
	executable->file = *file;
	executable->file.fd = -1;
	executable->path = strdup(mapping->kind == EP_MAPPING_VDSO ? "[vdso]" : mapping->path);
	executable->pid = pid;
	if (!executable->path ||
	    ep_map_set(&executables->by_id, executable->id, (uintptr_t)executable) < 0 ||
	    ep_map_link(&executables->by_file, hash_of(file), &executable->link) < 0) {
		ep_map_remove(&executables->by_id, executable->id);
		free_executable(executables, executable);
		return NULL;
	}
	if (mapping->kind == EP_MAPPING_VDSO)
		executables->vdso = executable->id;
	executables->stats.live++;
	return executable;
}

/*
 * An idle entry whose tables were dropped is analysed anew; one whose file could not be opened even
 * while others map it.
 */
static bool needs_analysis(const struct ep_executable *executable)
{
	if (executable->state == EP_EXECUTABLE_FAILED)
		return executable->unopened &&
		       (!executable->refused || ep_clock_mono_ns() >= executable->retry_ns);
	return executable->refs == 0 && executable->state == EP_EXECUTABLE_EVICTED;
}

/* Its file is closed, as nobody mapped it. */
static bool was_let_go(const struct ep_executable *executable)
{
	return executable->refs == 0 && executable->state == EP_EXECUTABLE_READY &&
	       executable->file.inode && executable->file.fd < 0;
}

static void take_file(struct ep_executables *executables, struct ep_executable *executable, pid_t pid,
		      int fd)
{
	executable->file.fd = fd;
	ep_open_files_take(&executables->files, executable, pid);
}

/* The file's descriptor, if it is open, is taken in every case. NULL: no memory. */
static struct ep_executable *find_or_add(struct ep_executables *executables, pid_t pid,
					 const struct ep_mapping *mapping,
					 struct ep_proc_file *file, uint64_t seen_ns)
{
	struct ep_executable *executable = first_state(executables, file);
	ep_autoclose int fd = ep_take_fd(file->fd);
	bool fresh;

	while (executable && !ep_proc_file_is_same(&executable->file, file))
		executable = next_state(executable->link.next, file);
	fresh = !executable;
	if (fresh)
		executable = add(executables, pid, mapping, file);
	if (!executable)
		return NULL;
	executable->pid = pid;
	executable->file.start_ns = file->start_ns;
	if (fd >= 0 && executable->file.fd < 0 && executable->state == EP_EXECUTABLE_READY)
		take_file(executables, executable, pid, ep_take_fd(fd));
	else if ((fresh || needs_analysis(executable)) &&
		 ep_executables_analyse(executables, executable, pid, mapping, ep_take_fd(fd)) < 0)
		executable->state = EP_EXECUTABLE_FAILED;
	note_seen(executables, executable, seen_ns);
	return executable;
}

struct ep_executable *ep_executable_ref(struct ep_executable *executable)
{
	if (executable) {
		executable->refs++;
		executable->idle_since_ns = 0;
		leave_idle(executable);
	}
	return executable;
}

struct ep_executable *ep_executables_get(struct ep_executables *executables, pid_t pid,
					 const struct ep_mapping *mapping,
					 struct ep_proc_file *file, uint64_t seen_ns)
{
	return ep_executable_ref(find_or_add(executables, pid, mapping, file, seen_ns));
}

int ep_executables_prepare(struct ep_executables *executables, const char *path,
			   struct ep_proc_file *file)
{
	struct ep_mapping mapping = {.kind = EP_MAPPING_FILE, .path = path};
	uint64_t now_ns = ep_clock_mono_ns();
	struct ep_executable *executable =
		find_or_add(executables, getpid(), &mapping, file, now_ns);

	if (!executable)
		return -ENOMEM;
	executable->awaited_ns = now_ns + AWAIT_NS;
	if (executable->refs == 0) {
		leave_idle(executable);
		executable->idle_since_ns = now_ns;
		join_idle(executable);
	}
	if (executable->state != EP_EXECUTABLE_PENDING)
		load_languages(executable);
	return 0;
}

struct ep_executable *ep_executables_get_current(struct ep_executables *executables, uint32_t id)
{
	struct ep_executable *executable = ep_executables_find_current(executables, id);

	return executable && !executable->refused && !needs_analysis(executable) && !was_let_go(executable)
		       ? ep_executable_ref(executable)
		       : NULL;
}

struct ep_executable *ep_executables_get_vdso(struct ep_executables *executables)
{
	struct ep_executable *executable = ep_executables_find(executables, executables->vdso);

	return executable && executable->state == EP_EXECUTABLE_READY
		       ? ep_executable_ref(executable)
		       : NULL;
}

void ep_executable_unref(struct ep_executable *executable)
{
	if (!executable || --executable->refs > 0)
		return;
	executable->idle_since_ns = ep_clock_mono_ns();
	join_idle(executable);
}

/* True when nothing is open any more. */
static bool let_go(struct ep_executables *executables, struct ep_executable *executable, uint64_t now_ns)
{
	if (now_ns < executable->awaited_ns)
		return false;
	if (executable->state == EP_EXECUTABLE_PENDING) {
		if (idle_ns_of(executable, now_ns) < UNWANTED_NS)
			return false;
		stop_analysis(executables, executable);
		return executable->state != EP_EXECUTABLE_PENDING;
	}
	if (executables->leaving)
		executables->leaving(executables->leaving_arg, executable);
	ep_open_files_drop(&executables->files, executable);
	return true;
}

void ep_executables_let_go(struct ep_executables *executables, uint64_t now_ns)
{
	struct ep_executable *executable, *next;

	start_waiting(executables);
	for (executable = TAILQ_FIRST(&executables->idle); executable; executable = next) {
		next = TAILQ_NEXT(executable, idle);
		if (let_go(executables, executable, now_ns))
			leave_idle(executable);
	}
}

void ep_executables_sweep(struct ep_executables *executables, uint64_t now_ns, uint64_t idle_ns)
{
	struct ep_executable *executable;
	size_t pos = 0;

	executables->keep_ns = idle_ns;
	ep_executables_let_go(executables, now_ns);
	while ((executable = ep_map_next_pointer(&executables->by_id, &pos)) != NULL) {
		if (!is_unused(executable, now_ns) || idle_ns_of(executable, now_ns) < idle_ns || executable->text)
			continue;
		forget(executables, executable);
		pos--; /* another one may be in its slot now */
	}
}

size_t ep_executables_bytes(const struct ep_executables *executables)
{
	size_t bytes = sizeof(*executables) + ep_map_bytes(&executables->by_id) + ep_map_bytes(&executables->by_file) +
		       executables->stats.described_bytes;
	const struct ep_executable *executable;

	ep_map_each (&executables->by_id, executable)
		bytes += sizeof(*executable) + strlen(executable->path) + 1;
	return bytes;
}

const struct ep_executables_stats *ep_executables_stats(struct ep_executables *executables)
{
	executables->stats.closed = executables->files.closed;
	return &executables->stats;
}

int ep_executable_find_va(const struct ep_executable *executable, uint64_t file_off,
			  uint64_t *ret_va)
{
	for (size_t i = 0; i < executable->n_segments; i++) {
		const struct ep_elf_segment *segment = &executable->segments[i];
		uint64_t page = segment->file_off & (EP_PAGE_BYTES - 1);
		uint64_t first = segment->file_off - page;
		uint64_t bytes = EP_ALIGN_UP(segment->file_bytes + page, EP_PAGE_BYTES);

		if (file_off - first < bytes) {
			*ret_va = segment->va - page + (file_off - first);
			return 0;
		}
	}
	return -ENODATA;
}
