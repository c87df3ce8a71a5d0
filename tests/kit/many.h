/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PROGRAM LIBRARY N ...: N processes that have loaded LIBRARY and only sleep, for the profiler to
 * attach to. many.py builds the program, and of the same text, with -DLIBRARY, what it loads:
 * symbols that make it look like a runtime. Prints a line when all of them are there, and ends with
 * them when its standard input does.
 */
#ifndef EP_TESTS_KIT_MANY_H
#define EP_TESTS_KIT_MANY_H

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Of each process, before it loads the library: its number, and the arguments after N. 0, or -1. */
typedef int many_begin(size_t number, char **arguments);

static inline void many_sleep(const char *library, size_t number, many_begin *begin,
			      char **arguments, int ready)
{
	if (begin(number, arguments) < 0 || !dlopen(library, RTLD_NOW) || write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static inline int many_main(int argc, char **argv, many_begin *begin)
{
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, n_ready = 0;
	int ready[2];
	pid_t parent = getpid(), pid = 1;
	char byte;

	if (n == 0 || pipe(ready) < 0)
		return 2;
	for (size_t i = 0; i < n && pid > 0; i++) {
		pid = fork();
		if (pid == 0) {
			close(ready[0]);
			if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
				_exit(1);
			many_sleep(argv[1], i, begin, argv + 3, ready[1]);
		}
	}
	close(ready[1]);
	while (pid > 0 && n_ready < n && read(ready[0], &byte, 1) == 1)
		n_ready++;
	if (n_ready < n) {
		fprintf(stderr, "%zu of %zu processes\n", n_ready, n);
		return 77;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) == 1)
		;
	return 0;
}

#endif
