/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that do not come back. */
#include "core/plugin/job.h"
#include "core/base/clock.h"
#include "tests/kit/test.h"

#include <semaphore.h>
#include <unistd.h>
#include <uv.h>

#define WORKERS 4

static sem_t begun, may_end;

static void hang(void *arg)
{
	(void)sem_post(&begun);
	while (sem_wait(&may_end) < 0)
		;
}

static void begin(uv_loop_t *loop)
{
	assert_int_equal(ep_job_run(loop, hang, NULL, NULL), 0);
	while (sem_wait(&begun) < 0)
		;
}

EP_TEST(all_workers_hang_when_none_is_free)
{
	uv_loop_t loop;
	uint64_t before_ns = ep_clock_mono_ns(), later_ns = before_ns + 3600 * EP_NS_PER_SEC;

	assert_int_equal(sem_init(&begun, 0, 0), 0);
	assert_int_equal(sem_init(&may_end, 0, 0), 0);
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(ep_jobs_hang_ns(later_ns), 0);
	for (int i = 0; i < WORKERS; i++) {
		assert_int_equal(ep_jobs_hang_ns(later_ns), 0);
		begin(&loop);
	}
	/* An hour, but for what it took to begin the last one. */
	assert_in_range(ep_jobs_hang_ns(later_ns), 3500 * EP_NS_PER_SEC, 3600 * EP_NS_PER_SEC);
	assert_int_equal(ep_jobs_hang_ns(before_ns), 0);
	for (int i = 0; i < WORKERS; i++)
		(void)sem_post(&may_end);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(ep_jobs_hang_ns(later_ns), 0);
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	(void)unsetenv("UV_THREADPOOL_SIZE");
	return ep_test_run(NULL, NULL);
}
