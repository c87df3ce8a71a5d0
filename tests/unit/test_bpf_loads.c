/* SPDX-License-Identifier: Apache-2.0 */
/* A load that runs for as long as nobody disturbs it, as the verifier's and libbpf's do together. */
#include "core/bpf/loads.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#define TRIES 10 /* of libbpf, five with a log and five without one */

struct slow {
	struct ep_loads *loads;
	atomic_bool runs;
	int tries, result; /* of the last try, and of ep_loads_run */
};

static int load_slowly(void *arg)
{
	struct slow *slow = arg;
	int r;

	atomic_store(&slow->runs, true);
	do {
		r = poll(NULL, 0, -1) < 0 ? -errno : 0;
	} while (r == -EINTR && ++slow->tries < TRIES);
	return r;
}

static int load_quickly(void *arg)
{
	++*(int *)arg;
	return 0;
}

static int be_refused(void *arg)
{
	++*(int *)arg;
	return -E2BIG;
}

static void *run_slowly(void *arg)
{
	struct slow *slow = arg;

	slow->result = ep_loads_run(slow->loads, load_slowly, slow);
	return NULL;
}

EP_TEST(what_a_load_says_is_passed_on)
{
	struct ep_loads *loads = NULL;
	int n = 0;

	assert_int_equal(ep_loads_new(&loads), 0);
	assert_int_equal(ep_loads_run(loads, load_quickly, &n), 0);
	assert_int_equal(ep_loads_run(loads, be_refused, &n), -E2BIG);
	assert_int_equal(n, 2);
	ep_loads_free(loads);
}

EP_TEST(none_begins_after_the_end)
{
	struct ep_loads *loads = NULL;
	int n = 0;

	assert_int_equal(ep_loads_new(&loads), 0);
	assert_int_equal(ep_loads_stop(loads), 0);
	assert_int_equal(ep_loads_run(loads, load_quickly, &n), -ECANCELED);
	assert_int_equal(n, 0);
	ep_loads_free(loads);
}

/* Also where the thread that loads has blocked the signal, as it has afterwards. */
EP_TEST(those_under_way_are_broken_off)
{
	struct slow slow = {0};
	sigset_t set, before;
	pthread_t thread;

	assert_int_equal(ep_loads_new(&slow.loads), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &before), 0);
	assert_int_equal(pthread_create(&thread, NULL, run_slowly, &slow), 0);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	while (!atomic_load(&slow.runs))
		sched_yield();
	while (ep_loads_stop(slow.loads) > 0)
		(void)poll(NULL, 0, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(slow.tries, TRIES);
	assert_int_equal(slow.result, -ECANCELED);
	ep_loads_free(slow.loads);
}

