/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/files.h"
#include "core/base/clock.h"
#include "core/elf/file.h"
#include "core/plugin/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#define MAX_WAITING 4096
#define MAX_PER_JOB 64
#define MAX_JOBS    2
#define TOGETHER_NS (20 * EP_NS_PER_MS)

struct files_job {
	struct ep_files *files;
	struct ep_file_list questions;
};

static void on_due(void *arg);

void ep_files_init(struct ep_files *files, struct uv_loop_s *loop, struct ep_timer *timer,
		   void (*answered)(void *arg, struct ep_file_question *question), void *arg)
{
	*files = (struct ep_files){.loop = loop, .timer = timer, .answered = answered, .arg = arg};
	TAILQ_INIT(&files->waiting);
	ep_map_init(&files->waiting_by_pid, 2 * MAX_WAITING);
	files->tick = (struct ep_timeout){.run = on_due, .arg = files};
}

static bool is_same(const struct ep_file_question *a, const struct ep_file_question *b)
{
	return a->program.pid == b->program.pid && a->program.image == b->program.image &&
	       a->program.start_ns == b->program.start_ns &&
	       memcmp(&a->key, &b->key, sizeof(a->key)) == 0 && strcmp(a->path, b->path) == 0;
}

/* --- how many of a process wait -------------------------------------------------------------- */

static size_t waiting_of(const struct ep_files *files, uint32_t pid)
{
	const uint64_t *n = ep_map_find(&files->waiting_by_pid, pid);

	return n ? (size_t)*n : 0;
}

/* Without memory for the count nobody is refused for it. */
static void add_waiting(struct ep_files *files, const struct ep_file_question *question)
{
	uint32_t pid = question->program.pid;

	files->n_waiting++;
	(void)ep_map_set(&files->waiting_by_pid, pid, waiting_of(files, pid) + 1);
}

static void drop_waiting(struct ep_files *files, const struct ep_file_question *question)
{
	uint32_t pid = question->program.pid;
	size_t n = waiting_of(files, pid);

	files->n_waiting--;
	if (n > 1)
		(void)ep_map_set(&files->waiting_by_pid, pid, n - 1);
	else
		(void)ep_map_remove(&files->waiting_by_pid, pid);
}

/*
 * A process may ask while fewer of its questions wait than more may come: alone it gets half, and
 * leaves half to others.
 */
static bool may_ask(const struct ep_files *files, uint32_t pid)
{
	return files->n_waiting < MAX_WAITING &&
	       waiting_of(files, pid) < MAX_WAITING - files->n_waiting;
}

static void move(struct ep_file_question *question, struct ep_file_list *from,
		 struct ep_file_list *to)
{
	TAILQ_REMOVE(from, question, link);
	TAILQ_INSERT_TAIL(to, question, link);
}

static void move_to_waiting(struct ep_files *files, struct ep_file_question *question)
{
	ep_due_unset(&files->later, &question->later);
	files->n_later--;
	TAILQ_INSERT_TAIL(&files->waiting, question, link);
	add_waiting(files, question);
}

/* Those that are due soon go together: each wake-up costs more than a look. */
static void on_due(void *arg)
{
	struct ep_files *files = arg;
	uint64_t end_ns = ep_clock_mono_ns() + TOGETHER_NS;

	while (files->later.first && files->later.first->at_ns <= end_ns)
		move_to_waiting(files,
				EP_CONTAINER(files->later.first, struct ep_file_question, later));
	ep_files_run(files);
	if (files->later.first)
		ep_timer_set(files->timer, &files->tick, files->later.first->at_ns);
}

static void free_list(struct ep_file_list *list)
{
	struct ep_file_question *question;

	while ((question = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, question, link);
		ep_proc_file_close(&question->file);
		free(question);
	}
}

void ep_files_stop(struct ep_files *files)
{
	files->stopped = true;
	while (files->later.first)
		move_to_waiting(files,
				EP_CONTAINER(files->later.first, struct ep_file_question, later));
	free_list(&files->waiting);
	files->n_waiting = files->n_later = 0;
	ep_map_fini(&files->waiting_by_pid);
	ep_timer_unset(files->timer, &files->tick);
}

int ep_files_ask(struct ep_files *files, const struct ep_mapping_event *event,
		 const struct ep_file_key *key, struct ep_program program,
		 const struct ep_program *roots, size_t n_roots, uint64_t mount_ns,
		 const struct ep_proc_file *known, uint64_t due_ns, uint32_t *ret_number)
{
	struct ep_file_question *last = TAILQ_LAST(&files->waiting, ep_file_list), *question;
	struct ep_file_question asked = {
		.program = program,
		.addr = event->addr,
		.end = event->addr + event->bytes,
		.time_ns = event->time_ns,
		.key = *key,
		.mount_ns = mount_ns,
		.file = {.fd = -1},
	};

	if (files->stopped)
		return -ESHUTDOWN;
	if (known)
		asked.known = *known;
	memcpy(asked.roots, roots, EP_MIN(n_roots, EP_LEN(asked.roots)) * sizeof(*roots));
	snprintf(asked.path, sizeof(asked.path), "%s", event->name);
	/*
	 * A program may map one file thousands of times before it is looked at once: that is one
	 * question, about the place that is most likely still there.
	 */
	if (due_ns == 0 && last && is_same(last, &asked)) {
		last->addr = asked.addr;
		last->end = asked.end;
		last->time_ns = asked.time_ns;
		*ret_number = last->number;
		return 0;
	}
	if (due_ns ? files->n_later >= MAX_WAITING : !may_ask(files, program.pid)) {
		files->refused++;
		return -E2BIG;
	}
	question = malloc(sizeof(*question));
	if (!question)
		return -ENOMEM;
	*question = asked;
	files->last_number += 1 + (files->last_number == UINT32_MAX);
	*ret_number = question->number = files->last_number;
	files->asked++;
	if (due_ns) {
		files->n_later++;
		ep_due_set(&files->later, &question->later, due_ns);
		if (files->later.first == &question->later)
			ep_timer_set(files->timer, &files->tick, due_ns);
	} else {
		TAILQ_INSERT_TAIL(&files->waiting, question, link);
		add_waiting(files, question);
	}
	return 0;
}

/* --- on a worker ----------------------------------------------------------------------------- */

static bool has_build_id(const struct ep_file_question *question, int fd)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	uint8_t build_id[EP_ELF_BUILD_ID_MAX];
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), n;

	if (copy < 0 || ep_elf_open_fd(copy, &elf) < 0)
		return false;
	n = ep_elf_build_id(elf, build_id);
	return n > 0 && (uint32_t)n == question->key.build_id_bytes &&
	       memcmp(build_id, question->key.build_id, (size_t)n) == 0;
}

/*
 * A file that took the place of one that was deleted may have its inode, but not its generation.
 * Records have i_generation (kernel/events/core.c, perf_event_mmap_event). Maps and records may
 * name another device than stat does: core/proc/open.c, is_mapped_file; on overlayfs records name
 * that of a layer.
 */
static bool has_inode(const struct ep_file_key *key, const struct ep_proc_file *file)
{
	if (!key->inode || file->inode != key->inode ||
	    (file->generation && file->generation != (uint32_t)key->generation))
		return false;
	return major(file->dev) == 0 ||
	       (major(file->dev) == key->dev_major && minor(file->dev) == key->dev_minor);
}

/*
 * A process in which files are looked for: the root of the last one stays open for the next
 * question.
 */
struct place {
	struct ep_program program; /* pid 0: none yet */
	int result;
	struct ep_proc_root root;
};

/*
 * A program's view does not become ours again: one that is younger than the question is as good as
 * that of its time.
 */
static int open_place(struct place *place, struct ep_program program)
{
	if (place->program.pid == program.pid && place->program.start_ns == program.start_ns)
		return place->result;
	ep_proc_root_close(&place->root);
	place->program = program;
	place->result = ep_proc_root_open((pid_t)program.pid, program.start_ns, &place->root);
	if (place->result < 0)
		place->root.view = ep_proc_view_alone((pid_t)program.pid, program.start_ns);
	return place->result;
}

static bool speaks(const struct ep_file_question *question, struct ep_program program)
{
	return question->mount_ns &&
	       ep_proc_speaks_for((pid_t)program.pid, program.start_ns, question->mount_ns);
}

/* 0, or -ENOENT after it was closed. */
static int take_if_meant(struct ep_file_question *question, struct ep_program program,
			 struct ep_proc_file *file)
{
	bool is_meant = question->key.build_id_bytes > 0
				? (question->known.bytes &&
				   ep_proc_file_has_same_bytes(&question->known, file)) ||
					  has_build_id(question, file->fd)
				: has_inode(&question->key, file);

	if (!is_meant) {
		ep_proc_file_close(file);
		return -ENOENT;
	}
	question->file = *file;
	question->file.start_ns = program.start_ns;
	question->root = (pid_t)program.pid;
	return 0;
}

/*
 * What the process maps. It is its own; whether it is that of others as well is another question.
 */
static int look_at_mapping(struct ep_file_question *question, struct place *place)
{
	struct ep_program program = question->program;
	struct ep_proc_file file;
	int r = ep_proc_open_range((pid_t)program.pid, question->addr, question->end, &file);

	if (r < 0)
		return r;
	(void)open_place(place, program);
	ep_proc_file_set_view(&file, &place->root, question->path);
	r = take_if_meant(question, program, &file);
	question->counts = r == 0 && question->key.mount_ns && speaks(question, program);
	return r;
}

/* Since it was mapped. A modification time in the future is none that says so. */
static bool was_written_since(const struct ep_file_question *question,
			      const struct ep_proc_file *file)
{
	struct timespec now;
	int64_t now_ns, mapped_ns;

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (int64_t)now.tv_sec * (int64_t)EP_NS_PER_SEC + now.tv_nsec;
	mapped_ns = now_ns - (int64_t)(ep_clock_mono_ns() - question->time_ns);

	return file->mtime_ns > mapped_ns && file->mtime_ns <= now_ns;
}

/*
 * What has its path in the root of a process. Anybody can put a file of that build id under that
 * path in a view of his own: where it is known which mount namespace is meant, no other is looked
 * at.
 */
static int look_at_path(struct ep_file_question *question, struct place *place,
			struct ep_program program)
{
	bool counts = speaks(question, program);
	struct ep_proc_file file;
	int r = question->mount_ns && !counts ? -ENOENT : open_place(place, program);

	if (r == 0)
		r = ep_proc_open_below(&place->root, question->path, &file);
	if (r < 0)
		return r;
	if (was_written_since(question, &file)) {
		ep_proc_file_close(&file);
		return -ENOENT;
	}
	ep_proc_file_set_view(&file, &place->root, question->path);
	r = take_if_meant(question, program, &file);
	question->counts = r == 0 && counts;
	return r;
}

static void answer(struct ep_file_question *question, struct place *place)
{
	struct ep_program ours = {.pid = (uint32_t)getpid()};
	int r;

	question->looked_ns = ep_clock_mono_ns();
	r = look_at_mapping(question, place);
	for (size_t i = 0; r < 0 && i < EP_LEN(question->roots) && question->roots[i].pid; i++)
		r = look_at_path(question, place, question->roots[i]);
	if (r < 0 && question->mount_ns)
		r = look_at_path(question, place, ours);
	question->result = r;
}

static void run_files(void *arg)
{
	struct files_job *job = arg;
	struct ep_file_question *question;
	struct place place = {.root.fd = -1};

	TAILQ_FOREACH (question, &job->questions, link)
		answer(question, &place);
	ep_proc_root_close(&place.root);
}

/* --- on the loop ----------------------------------------------------------------------------- */

static void finish_files(void *arg)
{
	struct files_job *job = arg;
	struct ep_files *files = job->files;
	struct ep_file_question *question;

	files->running--;
	TAILQ_FOREACH (question, &job->questions, link) {
		files->found += question->result == 0;
		files->answered(files->arg, question);
	}
	free_list(&job->questions);
	free(job);
	ep_files_run(files);
}

void ep_files_run(struct ep_files *files)
{
	while (files->n_waiting > 0 && files->running < MAX_JOBS) {
		struct files_job *job = calloc(1, sizeof(*job));

		if (!job)
			return;
		job->files = files;
		TAILQ_INIT(&job->questions);
		for (size_t i = 0; i < MAX_PER_JOB && files->n_waiting > 0; i++) {
			drop_waiting(files, TAILQ_FIRST(&files->waiting));
			move(TAILQ_FIRST(&files->waiting), &files->waiting, &job->questions);
		}
		files->running++;
		if (ep_job_run(files->loop, run_files, finish_files, job) < 0) {
			struct ep_file_question *question;

			TAILQ_FOREACH (question, &job->questions, link)
				question->result = -ENOMEM;
			finish_files(job);
			return;
		}
	}
}
