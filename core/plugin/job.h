/* SPDX-License-Identifier: Apache-2.0 */
/* Work on libuv's thread pool: work(arg) on a worker, then after(arg) on the loop's thread. */
#ifndef EP_PLUGIN_JOB_H
#define EP_PLUGIN_JOB_H

#include <stdint.h>

struct uv_loop_s;

/* Jobs at once that look for names, of files or languages: the pool's other two workers have other work. */
#define EP_MAX_NAME_JOBS 2
/*
 * When names are all that is still looked for. They stand in line for the workers, who need not wait until the loop's
 * thread had a CPU and gave them another one.
 */
#define EP_LAST_NAME_JOBS 32

/* 0, or a negative errno: neither will run. `after` NULL: nothing does. */
int ep_job_run(struct uv_loop_s *loop, void (*work)(void *arg), void (*after)(void *arg),
	       void *arg);
/*
 * For how long all workers have been at the jobs that they are at; 0: one of them is free. After a minute none of them
 * will come back by itself: docs/security.md says how a process can do that.
 */
uint64_t ep_jobs_hang_ns(uint64_t now_ns);

#endif
