/* SPDX-License-Identifier: Apache-2.0 */
/* Work on libuv's thread pool: work(arg) on a worker, then after(arg) on the loop's thread. */
#ifndef EP_PROCESS_JOB_H
#define EP_PROCESS_JOB_H

struct uv_loop_s;

/* 0, or a negative errno: neither will run. */
int ep_job_run(struct uv_loop_s *loop, void (*work)(void *arg), void (*after)(void *arg),
	       void *arg);

#endif
