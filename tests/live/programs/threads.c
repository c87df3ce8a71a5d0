/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Named threads, on stacks of their own. With "leader" as second argument the main thread leaves
 * by pthread_exit: the process then lives on without it.
 */
#include "zoo.h"

#include <pthread.h>

ZOO_DEFINE_SPIN(spin)

KEEP void work(void)
{
	spin(SPINS_PER_MS);
	BARRIER();
}

KEEP void *run_thread(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	while (zoo_time_left())
		work();
	return NULL;
}

static char names[3][8] = {"one", "two", "three"};

int main(int argc, char **argv)
{
	pthread_t threads[3];

	zoo_start(argc, argv, "STACK spin work run_thread\n");
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, run_thread, names[i]);
	if (argc > 2 && strcmp(argv[2], "leader") == 0)
		pthread_exit(NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
