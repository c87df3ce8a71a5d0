/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/loads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/queue.h>

/* On the stack of the thread that loads. */
struct load {
	LIST_ENTRY(load) link;
	pthread_t thread;
};

struct ep_loads {
	pthread_mutex_t lock;
	LIST_HEAD(, load) all;
	bool stopped;
};

static void on_disturbed(int number)
{
	(void)number; /* that the system call ends is all it is for */
}

int ep_loads_new(struct ep_loads **ret_loads)
{
	struct sigaction action = {.sa_handler = on_disturbed, .sa_flags = SA_RESTART};
	struct ep_loads *loads = calloc(1, sizeof(*loads));

	if (!loads)
		return -ENOMEM;
	if (sigaction(SIGURG, &action, NULL) < 0) {
		int r = -errno;

		free(loads);
		return r;
	}
	pthread_mutex_init(&loads->lock, NULL);
	LIST_INIT(&loads->all);
	*ret_loads = loads;
	return 0;
}

void ep_loads_free(struct ep_loads *loads)
{
	if (!loads)
		return;
	pthread_mutex_destroy(&loads->lock);
	free(loads);
}

static bool begin(struct ep_loads *loads, struct load *load)
{
	bool begins;

	pthread_mutex_lock(&loads->lock);
	begins = !loads->stopped;
	if (begins)
		LIST_INSERT_HEAD(&loads->all, load, link);
	pthread_mutex_unlock(&loads->lock);
	return begins;
}

/* Returns true if loads were stopped. */
static bool end(struct ep_loads *loads, struct load *load)
{
	bool stopped;

	pthread_mutex_lock(&loads->lock);
	LIST_REMOVE(load, link);
	stopped = loads->stopped;
	pthread_mutex_unlock(&loads->lock);
	return stopped;
}

int ep_loads_run(struct ep_loads *loads, int (*run)(void *arg), void *arg)
{
	struct load load = {.thread = pthread_self()};
	sigset_t set, before;
	bool stopped;
	int r;

	if (!begin(loads, &load))
		return -ECANCELED;
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	pthread_sigmask(SIG_UNBLOCK, &set, &before);
	r = run(arg);
	stopped = end(loads, &load);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r < 0 && stopped ? -ECANCELED : r;
}

size_t ep_loads_stop(struct ep_loads *loads)
{
	struct load *load;
	size_t n = 0;

	pthread_mutex_lock(&loads->lock);
	loads->stopped = true;
	LIST_FOREACH (load, &loads->all, link) {
		(void)pthread_kill(load->thread, SIGURG);
		n++;
	}
	pthread_mutex_unlock(&loads->lock);
	return n;
}
