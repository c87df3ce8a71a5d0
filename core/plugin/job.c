/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/job.h"

#include <errno.h>
#include <stdlib.h>
#include <uv.h>

struct job {
	uv_work_t request;
	void (*work)(void *arg);
	void (*after)(void *arg);
	void *arg;
};

static void on_work(uv_work_t *request)
{
	struct job *job = request->data;

	job->work(job->arg);
}

static void on_after(uv_work_t *request, int status)
{
	struct job *job = request->data;

	(void)status; /* nothing here cancels work */
	if (job->after)
		job->after(job->arg);
	free(job);
}

int ep_job_run(uv_loop_t *loop, void (*work)(void *arg), void (*after)(void *arg), void *arg)
{
	struct job *job = malloc(sizeof(*job));
	int r;

	if (!job)
		return -ENOMEM;
	*job = (struct job){.work = work, .after = after, .arg = arg};
	job->request.data = job;
	r = uv_queue_work(loop, &job->request, on_work, on_after);
	if (r < 0)
		free(job);
	return r;
}
