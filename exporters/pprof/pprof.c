/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pprof exporter: each batch becomes one .pb.gz file, in `directory` under a name of its time,
 * or at `path`. Encoding, compression and files are work for a worker thread; an error becomes one
 * line that says what to do, logged on the loop's thread.
 */
#include "core/base/util.h"
#include "ebpf-profiler/plugin.h"
#include "exporters/pprof/encode.h"
#include "exporters/pprof/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_NUMBER 1000 /* files of one name, told apart by -N */
#define SUFFIX	   ".pb.gz"

struct pprof {
	const struct ep_host *host;
	const char *path;      /* "" or the file; borrowed from the options, as is directory */
	const char *directory; /* "" or where files go */
	uint32_t keep;
	int level;
	bool force;
	uint32_t written; /* files; by the worker, of which there is one at a time */
};

/* One batch on its way through a worker thread. */
struct job {
	struct pprof *pprof;
	const struct ep_batch *batch; /* a reference */
	ep_export_done done;
	void *done_arg;
	int result;
	int pruned; /* files, or a negative errno */
	uint64_t bytes;
	char path[PATH_MAX];
};

static const struct ep_option_spec options[] = {
	{
		.name = "path",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "file to write; further batches get -2, -3, ... in front of .pb.gz",
	},
	{
		.name = "directory",
		.type = EP_OPTION_STRING,
		.fallback = "",
		.help = "where to put profile-HOST-TIME.pb.gz, one file per interval",
	},
	{
		.name = "keep",
		.type = EP_OPTION_INT,
		.fallback = "60",
		.min = 1,
		.max = 1000000,
		.help = "files to keep in the directory; the oldest are removed",
	},
	{
		.name = "level",
		.type = EP_OPTION_INT,
		.fallback = "1",
		.min = 1,
		.max = 9,
		.help = "gzip level, 1 (fast) to 9",
	},
	{
		.name = "force",
		.type = EP_OPTION_BOOL,
		.fallback = "false",
		.help = "replace a file that exists at path",
	},
	{0},
};

/* --- what to say --- */

static const char *advice(int r)
{
	switch (r) {
	case -ENOSPC:
	case -EDQUOT:
		return "free some space or keep fewer files (option keep)";
	case -EACCES:
	case -EPERM:
		return "choose a directory this user may write to, or run as one who may";
	case -ENOENT:
	case -ENOTDIR:
		return "create the directory first";
	case -EROFS:
		return "choose a directory on a writable file system";
	case -EEXIST:
		return "choose another name or force it";
	case -ENAMETOOLONG:
		return "choose a shorter name";
	case -ENOMEM:
		return "lower the frequency or the interval, so that a batch is smaller";
	default:
		return "this batch is lost";
	}
}

static void log_failure(const struct pprof *p, const char *path, int r)
{
	const char *what = strerrordesc_np(-r);

	p->host->log(EP_HOST_ERROR, "pprof: %s: %s: %s", path, what ? what : "unknown error",
		     advice(r));
}

/* --- open --- */

static int check_options(const struct pprof *p)
{
	if (!p->path[0] == !p->directory[0]) {
		p->host->log(EP_HOST_ERROR, "pprof: set either path or directory, not %s",
			     p->path[0] ? "both" : "neither");
		return -EINVAL;
	}
	return 0;
}

/* Found out now and not after a recording of ten minutes. */
static int check_target(const struct pprof *p)
{
	const char *slash = strrchr(p->path, '/');
	char dir[PATH_MAX] = ".";
	int r = 0;

	if (p->directory[0])
		snprintf(dir, sizeof(dir), "%s", p->directory);
	else if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)EP_MAX(slash - p->path, (ptrdiff_t)1),
			 p->path);
	if (p->path[0] && !p->force && faccessat(AT_FDCWD, p->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		r = -EEXIST;
	else if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
		r = -errno;
	if (r < 0)
		log_failure(p, r == -EEXIST ? p->path : dir, r);
	return r;
}

static int pprof_open(const struct ep_host *host, const struct ep_options *given,
		      void **ret_exporter)
{
	ep_autofree struct pprof *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->host = host;
	p->path = host->option_string(given, "path");
	p->directory = host->option_string(given, "directory");
	p->keep = (uint32_t)host->option_int(given, "keep");
	p->level = (int)host->option_int(given, "level");
	p->force = host->option_bool(given, "force");
	r = check_options(p);
	if (r == 0)
		r = check_target(p);
	if (r < 0)
		return r;
	*ret_exporter = ep_take(p);
	return 0;
}

static void pprof_close(void *exporter)
{
	free(exporter);
}

/* --- export: on a worker thread --- */

/* out.pb.gz, then out-2.pb.gz and so on. */
static void number_path(const char *path, uint32_t n, char *text, size_t len)
{
	size_t stem = strlen(path), suffix = strlen(SUFFIX);

	if (n < 2) {
		snprintf(text, len, "%s", path);
		return;
	}
	if (stem > suffix && strcmp(path + stem - suffix, SUFFIX) == 0)
		stem -= suffix;
	snprintf(text, len, "%.*s-%u%s", (int)stem, path, n, path + stem);
}

static void make_path(struct job *job, uint32_t n)
{
	const struct pprof *p = job->pprof;
	char name[192];

	if (p->path[0]) {
		number_path(p->path, p->written + n, job->path, sizeof(job->path));
		return;
	}
	pprof_file_name(job->batch->host_name, job->batch->start_ns, n, name, sizeof(name));
	snprintf(job->path, sizeof(job->path), "%s/%s", p->directory, name);
}

/* In a directory a name that is taken gets a number: two files of one second are both wanted. */
static int publish(struct job *job, struct pprof_file *file)
{
	const struct pprof *p = job->pprof;
	uint32_t tries = p->path[0] ? 1 : MAX_NUMBER;
	int r = -EEXIST;

	for (uint32_t n = 1; n <= tries && r == -EEXIST; n++) {
		make_path(job, n);
		r = pprof_file_publish(file, job->path, p->force && p->path[0], &job->bytes);
	}
	return r;
}

static int write_file(struct job *job)
{
	ep_cleanup(pprof_file_closep) struct pprof_file *file = NULL;
	struct pprof_sink sink = {.write = pprof_file_write};
	int r;

	make_path(job, 1);
	r = pprof_file_create(job->path, job->pprof->level, &file);
	if (r < 0)
		return r;
	sink.arg = file;
	r = pprof_encode(job->batch, job->pprof->host->version, &sink);
	return r < 0 ? r : publish(job, file);
}

static void job_run(void *arg)
{
	struct job *job = arg;
	struct pprof *p = job->pprof;

	job->result = write_file(job);
	if (job->result == 0)
		p->written++;
	if (job->result == 0 && p->directory[0])
		job->pruned = pprof_file_prune(p->directory, job->batch->host_name, p->keep);
}

static void job_after(void *arg)
{
	struct job *job = arg;
	const struct pprof *p = job->pprof;

	if (job->result < 0)
		log_failure(p, job->path, job->result);
	else
		p->host->log(p->path[0] ? EP_HOST_INFO : EP_HOST_DEBUG,
			     "pprof: wrote %s, %" PRIu64 " bytes", job->path, job->bytes);
	if (job->pruned < 0)
		log_failure(p, p->directory, job->pruned);
	p->host->batch_unref(job->batch);
	job->done(job->done_arg, job->result);
	free(job);
}

static void pprof_export(void *exporter, const struct ep_batch *batch, ep_export_done done,
			 void *done_arg)
{
	struct pprof *p = exporter;
	struct job *job = calloc(1, sizeof(*job));
	int r = -ENOMEM;

	if (job) {
		*job = (struct job){.pprof = p, .batch = batch, .done = done, .done_arg = done_arg};
		p->host->batch_ref(batch);
		r = p->host->run(job_run, job_after, job);
	}
	if (r == 0)
		return;
	log_failure(p, "export", r);
	if (job)
		p->host->batch_unref(batch);
	free(job);
	done(done_arg, r);
}

static const struct ep_exporter_ops ops = {
	.size = sizeof(ops),
	.options = options,
	.open = pprof_open,
	.export_batch = pprof_export,
	.close = pprof_close,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_EXPORTER,
	.name = "pprof",
	.version = "1.0",
	.exporter = &ops,
};
