/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/file_exporter.h"
#include "core/base/replaced.h"
#include "core/base/util.h"
#include "exporters/shared/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_NUMBER 1000 /* files of one name, distinguished by -N */

struct exporter {
	const struct ep_file_format *format;
	const struct ep_host *host;
	const char *path;      /* "" or the file; borrowed from the options, as is directory */
	const char *directory; /* "" or where files go */
	uint32_t keep;
	int level; /* 0: not compressed */
	bool force;
	uint32_t written; /* files; by the worker, of which there is one at a time */
};

/* One batch on its way through a worker thread. */
struct job {
	struct exporter *exporter;
	const struct ep_batch *batch; /* a reference */
	ep_export_done done;
	void *done_arg;
	int result;
	int pruned; /* files, or a negative errno */
	uint64_t bytes;
	char path[PATH_MAX];
	char why[EP_SINK_WHY_BYTES]; /* the encoder's own sentence, "": the errno says it */
};

/* --- what to say --- */

static const char *advice(int r, bool is_path)
{
	switch (r) {
	case -ENOSPC:
	case -EDQUOT:
		return is_path ? "free some space, or name a file elsewhere"
			       : "free some space or keep fewer files (option keep)";
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

static void log_failure(const struct exporter *exporter, const char *path, int r, const char *why)
{
	const char *what = strerrordesc_np(-r), *kind = ep_replaced_why(r);

	if (why[0]) /* of the profile, whatever file it would have been */
		exporter->host->log(EP_HOST_ERROR, "%s: %s", exporter->format->name, why);
	else if (kind)
		exporter->host->log(EP_HOST_ERROR, "%s: %s %s", exporter->format->name, path, kind);
	else
		exporter->host->log(EP_HOST_ERROR, "%s: %s: %s: %s", exporter->format->name, path,
				    what ? what : "unknown error", advice(r, exporter->path[0]));
}

/* --- open --- */

static int check_options(const struct exporter *exporter)
{
	if (!exporter->path[0] == !exporter->directory[0]) {
		exporter->host->log(EP_HOST_ERROR, "%s: set either path or directory, not %s",
				    exporter->format->name, exporter->path[0] ? "both" : "neither");
		return -EINVAL;
	}
	return 0;
}

/* Found out now and not after a recording of ten minutes. */
static int check_target(const struct exporter *exporter)
{
	const char *path = exporter->path, *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	int r;

	if (exporter->directory[0])
		snprintf(dir, sizeof(dir), "%s", exporter->directory);
	else if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)EP_MAX(slash - path, (ptrdiff_t)1), path);
	r = path[0] && exporter->force ? 0 : ep_file_check(dir, path);
	if (r == 0 && path[0])
		r = ep_file_try(path);
	if (r < 0)
		log_failure(exporter, r == -EEXIST || ep_replaced_why(r) ? path : dir, r, "");
	return r;
}

int ep_file_exporter_open(const struct ep_file_format *format, const struct ep_host *host,
			  const struct ep_options *given, void **ret_exporter)
{
	ep_autofree struct exporter *exporter = calloc(1, sizeof(*exporter));
	int r;

	if (!exporter)
		return -ENOMEM;
	exporter->format = format;
	exporter->host = host;
	exporter->path = host->option_string(given, "path");
	exporter->directory = host->option_string(given, "directory");
	exporter->keep = (uint32_t)host->option_int(given, "keep");
	exporter->level = format->gzip ? (int)host->option_int(given, "level") : 0;
	exporter->force = host->option_bool(given, "force");
	r = check_options(exporter);
	if (r == 0)
		r = check_target(exporter);
	if (r < 0)
		return r;
	*ret_exporter = ep_take(exporter);
	return 0;
}

void ep_file_exporter_close(void *exporter)
{
	free(exporter);
}

/* --- export: on a worker thread --- */

/* out.pb.gz, then out-2.pb.gz and so on. */
static void number_path(const char *path, const char *suffix, uint32_t n, char *text, size_t len)
{
	size_t stem = strlen(path), suffix_len = strlen(suffix);

	if (n < 2) {
		snprintf(text, len, "%s", path);
		return;
	}
	if (stem > suffix_len && strcmp(path + stem - suffix_len, suffix) == 0)
		stem -= suffix_len;
	snprintf(text, len, "%.*s-%u%s", (int)stem, path, n, path + stem);
}

static void make_path(struct job *job, uint32_t n)
{
	const struct exporter *exporter = job->exporter;
	const char *suffix = exporter->format->suffix;
	char name[192];

	if (exporter->path[0]) {
		number_path(exporter->path, suffix, exporter->written + n, job->path,
			    sizeof(job->path));
		return;
	}
	ep_file_name(suffix, job->batch->host_name, job->batch->start_ns, n, name, sizeof(name));
	snprintf(job->path, sizeof(job->path), "%s/%s", exporter->directory, name);
}

/* In a directory a name that is taken gets a number: two files of one second are both wanted. */
static int publish(struct job *job, struct ep_file *file)
{
	const struct exporter *exporter = job->exporter;
	uint32_t tries = exporter->path[0] ? 1 : MAX_NUMBER;
	int r = -EEXIST;

	for (uint32_t n = 1; n <= tries && r == -EEXIST; n++) {
		make_path(job, n);
		r = ep_file_publish(file, job->path, exporter->force && exporter->path[0],
				    &job->bytes);
	}
	return r;
}

static int write_file(struct job *job)
{
	const struct exporter *exporter = job->exporter;
	ep_cleanup(ep_file_closep) struct ep_file *file = NULL;
	struct ep_sink sink = {.write = ep_file_write};
	int r;

	make_path(job, 1);
	r = ep_file_create(job->path, exporter->level, &file);
	if (r < 0)
		return r;
	sink.arg = file;
	sink.format_arg = exporter->format->arg;
	r = exporter->format->encode(job->batch, exporter->host->version, &sink);
	if (r == 0)
		return publish(job, file);
	memcpy(job->why, sink.why, sizeof(job->why));
	return r;
}

static void job_run(void *arg)
{
	struct job *job = arg;
	struct exporter *exporter = job->exporter;

	job->result = write_file(job);
	if (job->result == 0)
		exporter->written++;
	if (job->result == 0 && exporter->directory[0])
		job->pruned = ep_file_prune(exporter->directory, exporter->format->suffix,
					    job->batch->host_name, exporter->keep);
}

static void job_after(void *arg)
{
	struct job *job = arg;
	const struct exporter *exporter = job->exporter;

	if (job->result < 0)
		log_failure(exporter, job->path, job->result, job->why);
	else
		exporter->host->log(exporter->path[0] ? EP_HOST_INFO : EP_HOST_DEBUG,
				    "%s: wrote %s, %" PRIu64 " bytes", exporter->format->name,
				    job->path, job->bytes);
	if (job->pruned < 0)
		log_failure(exporter, exporter->directory, job->pruned, "");
	exporter->host->batch_unref(job->batch);
	job->done(job->done_arg, job->result);
	free(job);
}

void ep_file_exporter_export(void *arg, const struct ep_batch *batch, ep_export_done done,
			     void *done_arg)
{
	struct exporter *exporter = arg;
	struct job *job = calloc(1, sizeof(*job));
	int r = -ENOMEM;

	if (job) {
		*job = (struct job){
			.exporter = exporter, .batch = batch, .done = done, .done_arg = done_arg};
		exporter->host->batch_ref(batch);
		r = exporter->host->run(job_run, job_after, job);
	}
	if (r == 0)
		return;
	log_failure(exporter, "export", r, "");
	if (job)
		exporter->host->batch_unref(batch);
	free(job);
	done(done_arg, r);
}
