/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/native_names.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/vec.h"
#include "core/plugin/job.h"
#include "core/proc/devices.h"
#include "core/process/executables.h"
#include "core/language/languages.h"
#include "core/process/processes.h"
#include "core/symbol/described.h"
#include "core/symbol/native.h"
#include "core/trace/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A table that was not asked for so long is built again when it is. */
#define UNUSED_NS (120 * EP_NS_PER_SEC)

struct ep_native_names {
	struct ep_native_names_options options;
	struct ep_native_symbols *symbols;
	size_t busy;
	size_t max_jobs; /* at once, with those of languages */
};

struct wanted {
	uint32_t frame;
	uint64_t va;
};

/* Names for frames of one executable. */
struct native_job {
	struct ep_native_names *names;
	struct ep_frames *frames;
	uint32_t executable;
	int fd;
	char *path;
	struct ep_proc_file file; /* its identity only */
	pid_t pid;		  /* in whose root it is: file.start_ns */
	struct ep_proc_root root;
	char root_name[EP_ROOT_NAME_BYTES];
	struct ep_described_symbols *described; /* a reference, or NULL */
	size_t n;
	struct wanted *wanted;
	uint64_t *vas; /* theirs */
	struct ep_lines lines;
	int result;
};

static bool is_identified(int fd, const struct ep_proc_file *file)
{
	uint64_t dev, inode;
	struct stat st;

	/* What is on another file system may be on one that does not answer. */
	return ep_device_of_fd(fd, &dev, &inode) == 0 && dev == file->dev && inode == file->inode &&
	       fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == file->inode && (uint64_t)st.st_size == file->bytes &&
	       (int64_t)st.st_ctim.tv_sec * (int64_t)EP_NS_PER_SEC + st.st_ctim.tv_nsec ==
		       file->ctime_ns;
}

/*
 * Names of new contents are not those of the code that was sampled. A vDSO's image has no identity.
 */
static bool was_written(int fd, const struct ep_proc_file *file)
{
	struct stat st;

	return file->inode &&
	       (fstat(fd, &st) < 0 || (uint64_t)st.st_size != file->bytes ||
		(int64_t)st.st_mtim.tv_sec * (int64_t)EP_NS_PER_SEC + st.st_mtim.tv_nsec !=
			file->mtime_ns);
}

/* The path may be another file's by now, or a device's, which must not be opened to find out. */
static int open_identified(int found_fd, const struct ep_proc_file *file)
{
	ep_autoclose int path_fd = found_fd;
	char again[64];
	int fd;

	if (path_fd < 0)
		return path_fd;
	if (!is_identified(path_fd, file))
		return -ESTALE;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", path_fd);
	fd = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/*
 * The file is still open, or is where it was: in its process's root, or, without one, in ours.
 * Debug files are looked for in that root as well.
 */
static int open_for_symbols(void *arg)
{
	struct native_job *job = arg;
	int fd, r;

	ep_proc_root_close(&job->root); /* of the call before: symbols beside a function table */
	r = ep_proc_file_open_root(&job->file, job->pid, &job->root, job->root_name);
	if (r < 0)
		return r;
	fd = job->fd >= 0 ? fcntl(job->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd >= 0 && was_written(fd, &job->file)) {
		close(fd);
		return -ESTALE;
	}
	if (job->fd >= 0 || job->path[0] != '/' || ep_proc_is_suspect(&job->file, job->pid))
		return fd >= 0 ? fd : job->fd >= 0 ? -errno : -ENOENT;
	fd = job->root.fd < 0
		     ? -ENOENT
		     : open_identified(ep_proc_root_find(&job->root, job->path), &job->file);
	return fd >= 0 ? fd : open_identified(ep_proc_find_path(job->path), &job->file);
}

static void run_native(void *arg)
{
	struct native_job *job = arg;
	struct ep_native_file file = {
		.key = job->executable,
		.open = open_for_symbols,
		.arg = job,
		.root = job->root_name,
		.path = job->path,
		.described = job->described,
	};

	job->result = ep_native_symbols_resolve(job->names->symbols, &file, job->vas, job->n,
						&job->lines);
}

static void free_native_job(struct native_job *job)
{
	ep_lines_fini(&job->lines);
	ep_frames_unref(job->frames);
	ep_described_symbols_unref(job->described);
	ep_closep(&job->fd);
	ep_proc_root_close(&job->root);
	free(job->path);
	free(job->wanted);
	free(job->vas);
	free(job);
}

/* A frame whose names did not fit any more waits for the next job. */
static void take_native(const struct native_job *job, size_t i)
{
	struct ep_frame_line lines[EP_FRAME_MAX_LINES];

	if (i < ep_lines_frames(&job->lines))
		(void)ep_frames_resolve_as(job->frames, job->wanted[i].frame, ep_lines_type(&job->lines, i),
					   lines, ep_lines_get(&job->lines, i, lines));
	else if (ep_is_transient(job->result))
		ep_frames_put_off(job->frames, job->wanted[i].frame);
	else if (job->result < 0)
		(void)ep_frames_resolve(job->frames, job->wanted[i].frame, NULL, 0, NULL);
	else
		ep_frames_put_back(job->frames, job->wanted[i].frame);
}

static void finish_native(void *arg)
{
	struct native_job *job = arg;
	struct ep_native_names *names = job->names;
	const struct ep_executable *executable =
		ep_processes_executable(names->options.processes, job->executable);

	if (job->result < 0)
		ep_log(EP_LOG_DEBUG, "namer: %s: %s", job->path, ep_strerror(job->result));
	for (size_t i = 0; i < job->n; i++)
		take_native(job, i);
	if (!executable || (executable->refs == 0 && executable->file.fd < 0))
		ep_native_names_let_go(names, job->executable);
	free_native_job(job);
	names->busy--;
	--*names->options.name_jobs;
	names->options.progress(names->options.arg);
}

static int compare_vas(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return x->va < y->va ? -1 : x->va > y->va;
}

static int fill_native_job(struct native_job *job, const struct ep_executable *executable,
			   const struct ep_vec *ids)
{
	size_t n = ids->len;

	job->fd = executable->file.fd >= 0 ? fcntl(executable->file.fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (executable->file.fd >= 0 && job->fd < 0)
		return -errno;
	job->executable = executable->id;
	job->file = executable->file;
	job->described = ep_described_symbols_ref(executable->described);
	job->pid = executable->pid;
	job->path = strdup(executable->path);
	job->wanted = calloc(n, sizeof(*job->wanted));
	job->vas = calloc(n, sizeof(*job->vas));
	if (ep_lines_init(&job->lines, n) < 0 || !job->path || !job->wanted || !job->vas)
		return -ENOMEM;
	job->n = n;
	for (size_t i = 0; i < n; i++) {
		struct ep_frame frame;

		job->wanted[i].frame = *ep_vec_at(ids, uint32_t, i);
		ep_frames_get(job->frames, job->wanted[i].frame, &frame);
		job->wanted[i].va = ep_frame_lookup_addr(&frame);
	}
	qsort(job->wanted, n, sizeof(*job->wanted), compare_vas);
	for (size_t i = 0; i < n; i++)
		job->vas[i] = job->wanted[i].va;
	return 0;
}

int ep_native_names_start(struct ep_native_names *names, struct ep_frames *frames, uint32_t executable_id,
			  const struct ep_vec *ids)
{
	const struct ep_executable *executable =
		ep_processes_executable(names->options.processes, executable_id);
	struct native_job *job;
	int r;

	if (!executable)
		return -ENODATA;
	if (*names->options.name_jobs >= names->max_jobs)
		return -EBUSY;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->names = names;
	job->root.fd = -1;
	job->frames = ep_frames_ref(frames);
	r = fill_native_job(job, executable, ids);
	if (r == 0)
		r = ep_job_run(names->options.loop, run_native, finish_native, job);
	if (r < 0) {
		free_native_job(job);
		return r;
	}
	names->busy++;
	++*names->options.name_jobs;
	return 0;
}

void ep_native_names_sweep(struct ep_native_names *names, uint64_t now_ns)
{
	ep_native_symbols_drop_unused(names->symbols, now_ns - EP_MIN(now_ns, UNUSED_NS));
}

void ep_native_names_let_go(struct ep_native_names *names, uint32_t executable)
{
	ep_native_symbols_let_go(names->symbols, executable);
}

void ep_native_names_drain(struct ep_native_names *names)
{
	names->max_jobs = EP_LAST_NAME_JOBS;
}

void ep_native_names_stop(struct ep_native_names *names)
{
	ep_native_symbols_stop(names->symbols);
}

size_t ep_native_names_busy(const struct ep_native_names *names)
{
	return names->busy;
}

size_t ep_native_names_bytes(const struct ep_native_names *names)
{
	return ep_native_symbols_bytes(names->symbols);
}

int ep_native_names_new(const struct ep_native_names_options *options, struct ep_native_names **ret_names)
{
	struct ep_native_names *names = calloc(1, sizeof(*names));
	int r;

	if (!names)
		return -ENOMEM;
	names->options = *options;
	names->max_jobs = EP_MAX_NAME_JOBS;
	r = ep_native_symbols_new(options->max_bytes, &names->symbols);
	if (r < 0) {
		free(names);
		return r;
	}
	ep_native_symbols_set_memory(names->symbols, options->memory);
	*ret_names = names;
	return 0;
}

void ep_native_names_free(struct ep_native_names *names)
{
	if (!names)
		return;
	ep_native_symbols_free(names->symbols);
	free(names);
}
