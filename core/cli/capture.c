/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture: a process, or a core file, as a fixture that replays its stacks (docs/testing.md). dump:
 * its stacks alone.
 */
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/cli/commands.h"
#include "core/cli/limit_calls.h"
#include "core/cli/parts/privileges.h"
#include "core/config/config.h"
#include "core/replay/capture.h"
#include "core/replay/plugins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <uv.h>

#define HIGHEST_NICE 40 /* getrlimit(2): a nice value of -20 */

static enum ep_exit fail(const char *what, const char *why)
{
	fprintf(stderr, "ebpf-profiler: %s: %s\n", what, why);
	return EP_EXIT_FAILED;
}

static int create_file(const char *path)
{
	struct ep_rights rights;
	int r = ep_rights_of_caller(&rights), fd;

	if (r < 0)
		return r;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : fd;
	ep_rights_restore(&rights);
	return r;
}

/* Nothing that exists is written to; what could not be written whole does not stay. */
static int write_file(const char *path, const struct ep_vec *bytes)
{
	ep_autoclose int fd = create_file(path);
	const char *at = bytes->data;
	size_t left = bytes->len;

	if (fd < 0)
		return fd;
	while (left > 0) {
		ssize_t n = write(fd, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int r = -errno;

			(void)unlink(path);
			return r;
		}
		at += n;
		left -= (size_t)n;
	}
	return 0;
}

static void print_summary(const char *path, const struct ep_capture_result *result)
{
	fprintf(stderr, "ebpf-profiler: ");
	if (path)
		fprintf(stderr, "%s: ", path);
	fprintf(stderr, "%zu thread%s", result->n_threads, result->n_threads == 1 ? "" : "s");
	if (path)
		fprintf(stderr, ", %zu bytes of memory, %zu bytes", result->memory_bytes,
			result->file.len);
	if (result->stopped_ns)
		fprintf(stderr, "; the process stood still for %.1f ms",
			(double)result->stopped_ns / 1e6);
	fprintf(stderr, "\n");
}

/* `path` NULL: there is no file. */
static enum ep_exit write_result(const struct ep_args *args, const char *path,
				 const struct ep_capture_result *result)
{
	int r = path ? write_file(path, &result->file) : 0;

	if (r == -EEXIST)
		return fail(path, "it exists and is not overwritten: give -o another name");
	if (r < 0)
		return fail(path, ep_strerror(r));
	fwrite(result->text.data, 1, result->text.len, stdout);
	if (!args->quiet)
		print_summary(path, result);
	return EP_EXIT_OK;
}

static enum ep_exit capture(const struct ep_args *args, const char *path,
			    const struct ep_replay_plugins *plugins)
{
	struct ep_capture_options options = {
		.pid = args->n_pids ? args->pids[0] : 0,
		.core = args->core_path,
		.tids = args->tids,
		.n_tids = args->n_tids,
		.plugins = plugins->plugins,
		.n_plugins = plugins->n,
	};
	struct ep_capture_result result = {0};
	char reason[EP_CAPTURE_REASON_BYTES];
	enum ep_exit status;
	int r = path ? ep_capture_run(&options, &result, reason)
		     : ep_capture_dump(&options, &result, reason);

	if (r < 0)
		status = fail(path ? "capture" : "dump", reason);
	else
		status = write_result(args, path, &result);
	ep_capture_result_fini(&result);
	return r == -EPERM || r == -EACCES ? EP_EXIT_PERMISSION : status;
}

int ep_cmd_capture(const struct ep_args *args)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = NULL;
	const char *path = args->outputs.n ? args->outputs.list[0].path : NULL;
	struct ep_replay_plugins plugins = {0};
	enum ep_exit status;

	/* While a process stands still nothing comes before us, although the right to that is given up. */
	(void)setrlimit(RLIMIT_NICE, &(struct rlimit){HIGHEST_NICE, HIGHEST_NICE});
	if (ep_privileges_drop_all_but(ep_privileges_of_capture()) < 0)
		return EP_EXIT_FAILED;
	config = ep_cmd_load_config(NULL);
	if (!config)
		return EP_EXIT_USAGE;
	ep_cmd_limit_calls(config, EP_CALLERS_CAPTURE);
	if (path && access(path, F_OK) == 0)
		return fail(path,
			    "it exists and is not overwritten: give -o another name");
	ep_host_init(uv_default_loop(), EP_VERSION);
	if (ep_replay_plugins_load(&plugins, config->plugins.dir) < 0)
		ep_log(EP_LOG_WARN, "capture: no language plugins in %s: native frames only",
		       config->plugins.dir);
	status = capture(args, path, &plugins);
	ep_replay_plugins_fini(&plugins);
	ep_cmd_say_refused_calls();
	return status;
}
