/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/namer.h"
#include "core/process/executables.h"
#include "core/process/job.h"
#include "core/process/language.h"
#include "core/process/processes.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/vec.h"
#include "core/symbol/described.h"
#include "core/symbol/kernel.h"
#include "core/symbol/native.h"
#include "core/trace/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define KALLSYMS_PATH "/proc/kallsyms"
/* An address in no symbol: modules or BPF programs came. Look again, but not all the time. */
#define RELOAD_NS (60 * EP_NS_PER_SEC)
#define MAX_PENDING 65536

struct ep_namer {
	struct ep_namer_options options;
	struct ep_native_symbols *native;
	struct ep_kernel_symbols *kernel; /* NULL: not loaded yet, or not readable */
	bool kernel_loading, kernel_tried;
	uint64_t kernel_loaded_ns;
	size_t busy;
	char kernel_build_id[2 * EP_ELF_BUILD_ID_MAX + 1];
};

struct pending {
	uint32_t executable, frame;
	uint64_t va;
};

/* --- native ---------------------------------------------------------------------------------- */

/* Names for frames of one executable. */
struct native_job {
	struct ep_namer *namer;
	struct ep_frames *frames;
	uint32_t executable;
	int fd;
	char *root, *path;
	struct ep_proc_file file; /* its identity only */
	struct ep_described_symbols *described; /* a reference, or NULL */
	size_t n;
	uint32_t *ids;
	uint64_t *vas;
	struct ep_lines lines;
	int result;
};

static bool is_identified(int fd, const struct ep_proc_file *file)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == file->inode &&
	       (uint64_t)st.st_size == file->bytes &&
	       (int64_t)st.st_ctim.tv_sec * (int64_t)EP_NS_PER_SEC + st.st_ctim.tv_nsec ==
		       file->ctime_ns;
}

/* The path may be another file's by now, or a device's, which must not be opened to find out. */
static int open_identified(const char *root, const char *path, const struct ep_proc_file *file)
{
	char full[4096 + 32], again[64];
	ep_autoclose int path_fd = -1;
	int fd;

	snprintf(full, sizeof(full), "%s%s", root, path);
	path_fd = open(full, O_PATH | O_CLOEXEC);
	if (path_fd < 0)
		return -errno;
	if (!is_identified(path_fd, file))
		return -ESTALE;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", path_fd);
	fd = open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* The file is still open, or is where it was: in its process's root, or, without one, in ours. */
static int open_for_symbols(void *arg)
{
	struct native_job *job = arg;
	int fd = job->fd >= 0 ? fcntl(job->fd, F_DUPFD_CLOEXEC, 0) : -1;

	if (fd >= 0 || job->path[0] != '/')
		return fd >= 0 ? fd : -ENOENT;
	fd = open_identified(job->root, job->path, &job->file);
	return fd >= 0 ? fd : open_identified("", job->path, &job->file);
}

static void run_native(void *arg)
{
	struct native_job *job = arg;
	struct ep_native_file file = {
		.key = job->executable,
		.open = open_for_symbols,
		.arg = job,
		.root = job->root,
		.path = job->path,
		.described = job->described,
	};

	job->result = ep_native_symbols_resolve(job->namer->native, &file, job->vas, job->n,
						&job->lines);
}

static void free_native_job(struct native_job *job)
{
	ep_lines_fini(&job->lines);
	ep_frames_unref(job->frames);
	ep_described_symbols_unref(job->described);
	ep_closep(&job->fd);
	free(job->root);
	free(job->path);
	free(job->ids);
	free(job->vas);
	free(job);
}

/* A frame whose names did not fit any more waits for the next job. */
static void take_native(const struct native_job *job, size_t i)
{
	struct ep_frame_line lines[EP_FRAME_MAX_LINES];

	if (i < ep_lines_frames(&job->lines))
		(void)ep_frames_resolve_as(job->frames, job->ids[i], ep_lines_type(&job->lines, i),
					   lines, ep_lines_get(&job->lines, i, lines));
	else if (job->result < 0)
		(void)ep_frames_resolve(job->frames, job->ids[i], NULL, 0, NULL);
	else
		ep_frames_put_back(job->frames, job->ids[i]);
}

static void finish_native(void *arg)
{
	struct native_job *job = arg;
	struct ep_namer *namer = job->namer;

	if (job->result < 0)
		ep_log(EP_LOG_DEBUG, "namer: %s: %s", job->path, ep_strerror(job->result));
	for (size_t i = 0; i < job->n; i++)
		take_native(job, i);
	free_native_job(job);
	namer->busy--;
	namer->options.progress(namer->options.arg);
}

static int fill_native_job(struct native_job *job, const struct ep_executable *executable,
			   const struct pending *pending, size_t n)
{
	job->fd = executable->file.fd >= 0 ? fcntl(executable->file.fd, F_DUPFD_CLOEXEC, 0) : -1;
	job->executable = executable->id;
	job->file = executable->file;
	job->described = ep_described_symbols_ref(executable->described);
	job->root = strdup(executable->root);
	job->path = strdup(executable->path);
	job->ids = calloc(n, sizeof(*job->ids));
	job->vas = calloc(n, sizeof(*job->vas));
	if (ep_lines_init(&job->lines, n) < 0 || !job->root || !job->path || !job->ids || !job->vas)
		return -ENOMEM;
	job->n = n;
	for (size_t i = 0; i < n; i++) {
		job->ids[i] = pending[i].frame;
		job->vas[i] = pending[i].va;
	}
	return 0;
}

static int start_native(struct ep_namer *namer, struct ep_frames *frames,
			const struct pending *pending, size_t n)
{
	const struct ep_executable *executable =
		ep_processes_executable(namer->options.processes, pending->executable);
	struct native_job *job = executable ? calloc(1, sizeof(*job)) : NULL;
	int r;

	if (!job)
		return -ENODATA;
	job->namer = namer;
	job->frames = ep_frames_ref(frames);
	r = fill_native_job(job, executable, pending, n);
	if (r == 0)
		r = ep_job_run(namer->options.loop, run_native, finish_native, job);
	if (r < 0) {
		free_native_job(job);
		return r;
	}
	namer->busy++;
	return 0;
}

static int compare_pending(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->executable != y->executable)
		return x->executable < y->executable ? -1 : 1;
	return x->va < y->va ? -1 : x->va > y->va;
}

static void start_all_native(struct ep_namer *namer, struct ep_frames *frames,
			     struct pending *pending, size_t n)
{
	if (n > 1)
		qsort(pending, n, sizeof(*pending), compare_pending);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n; end++) {
			if (pending[end].executable != pending[first].executable)
				break;
		}
		if (start_native(namer, frames, pending + first, end - first) == 0)
			continue;
		for (size_t i = first; i < end; i++)
			ep_frames_resolve(frames, pending[i].frame, NULL, 0, NULL);
	}
}

/* --- kernel ---------------------------------------------------------------------------------- */

struct kernel_job {
	struct ep_namer *namer;
	struct ep_kernel_symbols *symbols;
	int result;
};

static void run_kernel(void *arg)
{
	struct kernel_job *job = arg;

	job->result = ep_kernel_symbols_load(KALLSYMS_PATH, &job->symbols);
}

static void finish_kernel(void *arg)
{
	struct kernel_job *job = arg;
	struct ep_namer *namer = job->namer;

	namer->busy--;
	namer->kernel_loading = false;
	namer->kernel_tried = true;
	namer->kernel_loaded_ns = ep_clock_mono_ns();
	if (job->result == 0) {
		ep_kernel_symbols_free(namer->kernel);
		namer->kernel = job->symbols;
	} else {
		ep_log(EP_LOG_WARN,
		       "kernel: no names for kernel functions (%s: %s); run as root with "
		       "`sysctl kernel.kptr_restrict=1`",
		       KALLSYMS_PATH, ep_strerror(job->result));
	}
	free(job);
	namer->options.progress(namer->options.arg);
}

static void load_kernel(struct ep_namer *namer)
{
	struct kernel_job *job = namer->kernel_loading ? NULL : calloc(1, sizeof(*job));

	if (!job)
		return;
	job->namer = namer;
	if (ep_job_run(namer->options.loop, run_kernel, finish_kernel, job) < 0) {
		free(job);
		return;
	}
	namer->busy++;
	namer->kernel_loading = true;
}

/* False when the frame must wait for a picture of the symbols. */
static bool name_kernel_frame(struct ep_namer *namer, struct ep_frames *frames, uint32_t id,
			      const struct ep_frame *frame)
{
	struct ep_kernel_name name;
	struct ep_frame_line line = {.function = name.name};

	if (!namer->options.kernel) {
		ep_frames_resolve(frames, id, NULL, 0, NULL);
		return true;
	}
	if (!namer->kernel && !namer->kernel_tried)
		return false;
	if (namer->kernel &&
	    ep_kernel_symbols_find(namer->kernel, ep_frame_lookup_addr(frame), &name) == 0) {
		ep_frames_resolve(frames, id, &line, 1, *name.module ? name.module : NULL);
		return true;
	}
	if (ep_clock_mono_ns() - namer->kernel_loaded_ns > RELOAD_NS) {
		load_kernel(namer);
		return false;
	}
	ep_frames_resolve(frames, id, NULL, 0, NULL);
	return true;
}

/* --- languages ------------------------------------------------------------------------------- */

struct spoken {
	struct ep_program program;
	uint32_t kind, frame;
};

static int compare_spoken(const void *a, const void *b)
{
	const struct spoken *x = a, *y = b;

	if (x->program.pid != y->program.pid)
		return x->program.pid < y->program.pid ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->program.image != y->program.image)
		return x->program.image < y->program.image ? -1 : 1;
	return x->program.start_ns < y->program.start_ns
		       ? -1
		       : x->program.start_ns > y->program.start_ns;
}

/* Frames of one language in one process. They wait while it is busy with others, or attaches. */
static void start_spoken(struct ep_namer *namer, struct ep_frames *frames,
			 const struct spoken *spoken, const uint32_t *ids, size_t n)
{
	struct ep_instance *instance = ep_processes_language(
		namer->options.processes, spoken->program,
		spoken->kind - EP_FRAME_FIRST_DYNAMIC);
	int r = instance ? ep_instance_symbolize(instance, frames, ids, n) : -ESRCH;

	for (size_t i = 0; r < 0 && i < n; i++) {
		if (r == -EBUSY)
			ep_frames_put_back(frames, ids[i]);
		else
			ep_frames_resolve(frames, ids[i], NULL, 0, NULL);
	}
}

static void start_all_spoken(struct ep_namer *namer, struct ep_frames *frames,
			     struct spoken *spoken, size_t n)
{
	ep_autofree uint32_t *ids = calloc(n ? n : 1, sizeof(*ids));

	if (n > 1)
		qsort(spoken, n, sizeof(*spoken), compare_spoken);
	for (size_t i = 0; ids && i < n; i++)
		ids[i] = spoken[i].frame;
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n; end++) {
			if (compare_spoken(&spoken[first], &spoken[end]) != 0)
				break;
		}
		if (ids)
			start_spoken(namer, frames, &spoken[first], ids + first, end - first);
		for (size_t i = first; !ids && i < end; i++)
			ep_frames_put_back(frames, spoken[i].frame);
	}
}

static bool take_spoken(struct ep_vec *languages, uint32_t id, const struct ep_frame *frame)
{
	struct spoken *spoken = ep_vec_push(languages);

	if (!spoken)
		return false;
	*spoken = (struct spoken){
		.program = frame->program,
		.kind = frame->kind,
		.frame = id,
	};
	return true;
}

/* --- both ------------------------------------------------------------------------------------ */

static void take_frame(struct ep_namer *namer, struct ep_frames *frames, uint32_t id,
		       struct ep_vec *native, struct ep_vec *languages, struct ep_vec *waiting)
{
	struct ep_frame frame;
	struct pending *slot;

	ep_frames_get(frames, id, &frame);
	if (frame.kind >= EP_FRAME_FIRST_DYNAMIC && take_spoken(languages, id, &frame))
		return;
	if (frame.kind == EP_FRAME_KERNEL) {
		if (!name_kernel_frame(namer, frames, id, &frame))
			(void)ep_vec_append(waiting, &id, 1);
		return;
	}
	slot = frame.kind == EP_FRAME_NATIVE && frame.aux && namer->options.native
		       ? ep_vec_push(native)
		       : NULL;
	if (!slot) {
		ep_frames_resolve(frames, id, NULL, 0, NULL);
		return;
	}
	*slot = (struct pending){
		.executable = frame.aux,
		.frame = id,
		.va = ep_frame_lookup_addr(&frame),
	};
}

void ep_namer_run(struct ep_namer *namer, struct ep_frames *frames)
{
	struct ep_vec native, languages, waiting;
	uint32_t cursor = 0, id, *wait;

	if (ep_frames_unresolved(frames) == 0)
		return;
	ep_vec_init(&native, sizeof(struct pending), MAX_PENDING);
	ep_vec_init(&languages, sizeof(struct spoken), MAX_PENDING);
	ep_vec_init(&waiting, sizeof(uint32_t), MAX_PENDING);
	while (native.len < MAX_PENDING && languages.len < MAX_PENDING &&
	       (id = ep_frames_next_pending(frames, &cursor)) != 0)
		take_frame(namer, frames, id, &native, &languages, &waiting);
	ep_vec_each(&waiting, wait)
		ep_frames_put_back(frames, *wait);
	start_all_native(namer, frames, native.data, native.len);
	start_all_spoken(namer, frames, languages.data, languages.len);
	ep_vec_fini(&native);
	ep_vec_fini(&languages);
	ep_vec_fini(&waiting);
}

static void read_build_id(struct ep_namer *namer)
{
	uint8_t id[EP_ELF_BUILD_ID_MAX];
	int n = ep_kernel_build_id(id);

	for (int i = 0; i < n; i++)
		snprintf(namer->kernel_build_id + 2 * i, 3, "%02x", id[i]);
}

int ep_namer_new(const struct ep_namer_options *options, struct ep_namer **ret_namer)
{
	struct ep_namer *namer = calloc(1, sizeof(*namer));
	int r;

	if (!namer)
		return -ENOMEM;
	namer->options = *options;
	r = ep_native_symbols_new(options->max_bytes, &namer->native);
	if (r < 0) {
		free(namer);
		return r;
	}
	read_build_id(namer);
	if (options->kernel)
		load_kernel(namer);
	*ret_namer = namer;
	return 0;
}

void ep_namer_free(struct ep_namer *namer)
{
	if (!namer)
		return;
	ep_native_symbols_free(namer->native);
	ep_kernel_symbols_free(namer->kernel);
	free(namer);
}

size_t ep_namer_busy(const struct ep_namer *namer)
{
	return namer->busy;
}

size_t ep_namer_bytes(const struct ep_namer *namer)
{
	size_t kernel = namer->kernel ? ep_kernel_symbols_bytes(namer->kernel) : 0;

	return kernel + ep_native_symbols_bytes(namer->native);
}

const char *ep_namer_kernel_build_id(const struct ep_namer *namer)
{
	return namer->kernel_build_id;
}
