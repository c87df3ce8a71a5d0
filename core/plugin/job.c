/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/job.h"
#include "core/base/clock.h"
#include "core/base/parse.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <uv.h>

struct job {
	uv_work_t request;
	void (*work)(void *arg);
	void (*after)(void *arg);
	void *arg;
};

/* One for the process, as is libuv's pool. */
static struct {
	atomic_size_t running;
	_Atomic uint64_t changed_ns; /* when a worker last began or ended a job */
} workers;

static void on_work(uv_work_t *request)
{
	struct job *job = request->data;

	atomic_store(&workers.changed_ns, ep_clock_mono_ns());
	atomic_fetch_add(&workers.running, 1);
	job->work(job->arg);
	atomic_store(&workers.changed_ns, ep_clock_mono_ns());
	atomic_fetch_sub(&workers.running, 1);
}

/* libuv, docs/src/threadpool.rst: four, unless the environment says otherwise. */
static size_t count_workers(void)
{
	const char *text = getenv("UV_THREADPOOL_SIZE");
	uint64_t n;

	return text && ep_parse_u64_str(text, &n) == 0 && n > 0 ? (size_t)n : 4;
}

uint64_t ep_jobs_hang_ns(uint64_t now_ns)
{
	uint64_t changed_ns = atomic_load(&workers.changed_ns);

	return atomic_load(&workers.running) >= count_workers() ? now_ns - EP_MIN(now_ns, changed_ns) : 0;
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
