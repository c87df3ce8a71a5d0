/* SPDX-License-Identifier: Apache-2.0 */
/* A command that is about to start: what it will map is found on a worker, then analysed. */
#include "core/agent/session.h"
#include "core/agent/session_internal.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/proc/libraries.h"
#include "core/process/executables.h"
#include "core/process/processes.h"

#include <errno.h>

/* Of what the command waits at most (core/cli/record.c, READY_NS): the rest is for analysis. */
#define FIND_NS (2 * EP_NS_PER_SEC)

struct prepare {
	struct ep_session *session;
	char *const *argv, *const *envp;
	struct ep_libraries_limits limits;
	struct ep_vec files;
	int result;
};

static void run_find(void *arg)
{
	struct prepare *prepare = arg;
	const struct ep_libraries_system system = {0};

	prepare->result = ep_libraries_find(prepare->argv, prepare->envp, &system,
					    &prepare->limits, &prepare->files);
}

static void finish_find(void *arg)
{
	struct prepare *prepare = arg;
	struct ep_session *session = prepare->session;
	struct ep_executables *executables = ep_processes_executables(session->processes);
	struct ep_library_file *file;

	session->preparing--;
	ep_log(EP_LOG_DEBUG, "session: %s will map %zu files: %s", prepare->argv[0],
	       prepare->files.len, ep_strerror(prepare->result));
	ep_vec_each(&prepare->files, file) {
		if (ep_executables_prepare(executables, file->path, &file->file) < 0)
			break;
	}
	ep_libraries_free(&prepare->files);
	free(prepare);
}

int ep_session_prepare(struct ep_session *session, char *const *argv, char *const *envp)
{
	struct prepare *prepare = malloc(sizeof(*prepare));
	int r;

	if (!prepare)
		return -ENOMEM;
	*prepare = (struct prepare){.session = session, .argv = argv, .envp = envp};
	prepare->limits.deadline_ns = ep_clock_mono_ns() + FIND_NS;
	prepare->limits.cancelled = &session->cancelled;
	ep_vec_init(&prepare->files, sizeof(struct ep_library_file), EP_LIBRARIES_MAX_FILES);
	r = ep_job_run(session->options.loop, run_find, finish_find, prepare);
	if (r < 0)
		free(prepare);
	else
		session->preparing++;
	return r;
}
