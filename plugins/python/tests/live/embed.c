/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed LIBPYTHON PROGRAM [ARG...]: what PROGRAM, a Python, does with its arguments, in a process
 * that is not Python and loads it when it has run for a while.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int (*run)(int, char **);
	void *library;

	if (argc < 3)
		return 2;
	usleep(300000);
	library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	*(void **)&run = library ? dlsym(library, "Py_BytesMain") : NULL;
	if (!run) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return run(argc - 2, argv + 2);
}
