/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/files.h"
#include "core/elf/file.h"
#include "core/process/job.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#define MAX_WAITING 4096
#define MAX_PER_JOB 64
#define MAX_JOBS    2

struct files_job {
	struct ep_files *files;
	struct ep_file_list questions;
};

void ep_files_init(struct ep_files *files, struct uv_loop_s *loop,
		   void (*answered)(void *arg, struct ep_file_question *question), void *arg)
{
	*files = (struct ep_files){.loop = loop, .answered = answered, .arg = arg};
	TAILQ_INIT(&files->waiting);
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
	free_list(&files->waiting);
	files->n_waiting = 0;
}

static void fill_in(struct ep_file_question *question, const struct ep_mapping_event *event,
		    struct ep_program program, const pid_t *roots, size_t n_roots)
{
	question->program = program;
	question->addr = event->addr;
	question->end = event->addr + event->bytes;
	question->time_ns = event->time_ns;
	question->file.fd = -1;
	memcpy(question->roots, roots, EP_MIN(n_roots, EP_LEN(question->roots)) * sizeof(*roots));
	question->build_id_bytes =
		event->build_id ? EP_MIN(event->build_id_bytes, sizeof(question->build_id)) : 0;
	if (question->build_id_bytes > 0)
		memcpy(question->build_id, event->build_id, question->build_id_bytes);
	question->inode = event->has_inode ? event->inode : 0;
	question->inode_generation = event->inode_generation;
	question->dev_major = event->device_major;
	question->dev_minor = event->device_minor;
	snprintf(question->path, sizeof(question->path), "%s", event->name);
}

static bool is_same(const struct ep_file_question *a, const struct ep_file_question *b)
{
	return a->program.pid == b->program.pid && a->program.image == b->program.image &&
	       a->program.start_ns == b->program.start_ns &&
	       a->build_id_bytes == b->build_id_bytes &&
	       memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0 && a->inode == b->inode &&
	       a->inode_generation == b->inode_generation && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor && strcmp(a->path, b->path) == 0;
}

/*
 * A program may map one file thousands of times before it is looked at once: that is one question,
 * about the place that is most likely still there.
 */
static bool join_last(struct ep_files *files, const struct ep_file_question *question)
{
	struct ep_file_question *last = TAILQ_LAST(&files->waiting, ep_file_list);

	if (!last || !is_same(last, question))
		return false;
	last->addr = question->addr;
	last->end = question->end;
	last->time_ns = question->time_ns;
	return true;
}

static int add_question(struct ep_files *files, const struct ep_file_question *asked)
{
	struct ep_file_question *question;

	if (files->n_waiting == MAX_WAITING) {
		files->refused++;
		return -E2BIG;
	}
	question = malloc(sizeof(*question));
	if (!question)
		return -ENOMEM;
	*question = *asked;
	files->last_number += 1 + (files->last_number == UINT32_MAX);
	question->number = files->last_number;
	TAILQ_INSERT_TAIL(&files->waiting, question, link);
	files->n_waiting++;
	files->asked++;
	return 0;
}

int ep_files_ask(struct ep_files *files, const struct ep_mapping_event *event,
		 struct ep_program program, const pid_t *roots, size_t n_roots,
		 uint32_t *ret_number)
{
	struct ep_file_question question = {0};
	int r = 0;

	if (files->stopped)
		return -ESHUTDOWN;
	fill_in(&question, event, program, roots, n_roots);
	if (!join_last(files, &question))
		r = add_question(files, &question);
	if (r == 0)
		*ret_number = TAILQ_LAST(&files->waiting, ep_file_list)->number;
	return r;
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
	return n > 0 && (size_t)n == question->build_id_bytes &&
	       memcmp(build_id, question->build_id, (size_t)n) == 0;
}

/*
 * A file that took the place of one that was deleted may have its inode, but not its generation.
 * Records have i_generation (kernel/events/core.c, perf_event_mmap_event); so does this ioctl, where
 * the file system has it (fs/ext4/ioctl.c, EXT4_IOC_GETVERSION and its like).
 */
static bool has_generation(const struct ep_file_question *question, int fd)
{
	unsigned int generation = 0;

	return ioctl(fd, FS_IOC_GETVERSION, &generation) < 0 ||
	       generation == (uint32_t)question->inode_generation;
}

/* Maps and records may name another device than stat does: core/proc/open.c, is_mapped_file. */
static bool has_inode(const struct ep_file_question *question, const struct ep_proc_file *file)
{
	if (file->inode != question->inode || !has_generation(question, file->fd))
		return false;
	if (major(file->dev) == question->dev_major && minor(file->dev) == question->dev_minor)
		return true;
	return major(file->dev) == 0 && question->dev_major == 0;
}

static bool is_meant(const struct ep_file_question *question, const struct ep_proc_file *file)
{
	if (question->build_id_bytes > 0)
		return has_build_id(question, file->fd);
	return question->inode && has_inode(question, file);
}

/* The record's file, if that is what was opened. */
static int take_file(struct ep_file_question *question, struct ep_proc_file *file, pid_t root)
{
	if (!is_meant(question, file)) {
		ep_proc_file_close(file);
		return -ENOENT;
	}
	question->file = *file;
	question->root = root;
	return 0;
}

static int look_in_process(struct ep_file_question *question)
{
	pid_t pid = (pid_t)question->program.pid;
	struct ep_proc_file file;
	int r = ep_proc_open_range(pid, question->addr, question->end, &file);

	return r < 0 ? r : take_file(question, &file, pid);
}

static int look_in_root(struct ep_file_question *question, pid_t root)
{
	struct ep_proc_file file;
	int r = ep_proc_open_in_root(root, question->path, &file);

	return r < 0 ? r : take_file(question, &file, root);
}

static void answer(struct ep_file_question *question)
{
	int r = look_in_process(question);

	for (size_t i = 0; r < 0 && i < EP_LEN(question->roots) && question->roots[i]; i++)
		r = look_in_root(question, question->roots[i]);
	if (r < 0)
		r = look_in_root(question, getpid());
	question->result = r;
}

static void run_files(void *arg)
{
	struct files_job *job = arg;
	struct ep_file_question *question;

	TAILQ_FOREACH (question, &job->questions, link)
		answer(question);
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

static struct files_job *take_waiting(struct ep_files *files)
{
	struct files_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->files = files;
	TAILQ_INIT(&job->questions);
	for (size_t i = 0; i < MAX_PER_JOB && files->n_waiting > 0; i++) {
		struct ep_file_question *question = TAILQ_FIRST(&files->waiting);

		TAILQ_REMOVE(&files->waiting, question, link);
		files->n_waiting--;
		TAILQ_INSERT_TAIL(&job->questions, question, link);
	}
	return job;
}

void ep_files_run(struct ep_files *files)
{
	while (files->n_waiting > 0 && files->running < MAX_JOBS) {
		struct files_job *job = take_waiting(files);

		if (!job)
			return;
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
