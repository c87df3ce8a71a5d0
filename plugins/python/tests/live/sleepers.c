/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sleepers LIBRARY N: N processes that look like CPython and only sleep. Each has mapped LIBRARY, this
 * file once more, at an address of its own, so that BPF is to be told something else of each. Prints a
 * line when all of them are there, and ends with them when its standard input does.
 */
#ifdef LIBRARY
/* CPython 3.11, as plugins/python/probe.c knows it. */
const unsigned int Py_Version = 0x030b07f0;
char _PyRuntime[16 << 20]; /* more than fits between other libraries */
char PyType_Type[1024];
void *PyCode_Type[128] = {0, PyType_Type};

void *_PyEval_EvalFrameDefault(void *thread, void *frame, int throwing)
{
	return throwing ? thread : frame;
}

int PyIter_Send;
#else
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define HOLE_BYTES 0x400000ul /* large files are aligned to 2 MiB */

static void sleep_as(const char *library, size_t number, int ready)
{
	if (mmap(NULL, (number + 1) * HOLE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) ==
		    MAP_FAILED ||
	    !dlopen(library, RTLD_NOW) || write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	size_t n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0, n_ready = 0;
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
			sleep_as(argv[1], i, ready[1]);
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
