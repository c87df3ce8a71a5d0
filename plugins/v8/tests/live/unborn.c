/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unborn LIBRARY N MAPPINGS: N processes that say they are V8, with so many mappings each, whose heap never comes:
 * they sleep. Each has loaded LIBRARY, this file once more. Prints a line when all of them are there, and ends with
 * them when its standard input does.
 */
#ifdef LIBRARY
/* V8 6.8, as plugins/v8/probe.c knows it: its heap is looked for in all that can be written. */
int v8dbg_SmiShiftSize = 31;
int _ZN2v88internal7Version6major_E = 6;
int _ZN2v88internal7Version6minor_E = 8;
int _ZN2v88internal7Version6build_E = 275;
int _ZN2v88internal7Version6patch_E = 32;

int _ZN2v82V810GetVersionEv;
#else
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAGE 4096ul

/* Every other page is another mapping. */
static int map(size_t n)
{
	char *at = mmap(NULL, n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < n; i += 2) {
		if (mprotect(at + i * PAGE, PAGE, PROT_READ | PROT_WRITE) < 0)
			return -1;
	}
	return 0;
}

static void sleep_as(const char *library, size_t n_mappings, int ready)
{
	if (map(n_mappings) < 0 || !dlopen(library, RTLD_NOW) || write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	size_t n = argc == 4 ? strtoul(argv[2], NULL, 10) : 0, n_ready = 0;
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
			sleep_as(argv[1], strtoul(argv[3], NULL, 10), ready[1]);
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
