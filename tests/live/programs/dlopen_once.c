/* SPDX-License-Identifier: Apache-2.0 */
/* dlopen_once LIBRARY: loads libzoo.so, burns some 20 ms in it, and ends with it loaded. */
#include "zoo.h"

#include <dlfcn.h>

typedef int (*call_fn)(int);

KEEP int use_library(void *library)
{
	call_fn call = (call_fn)dlsym(library, "lib_calls_itself");
	int r = call ? call(1) : -1;

	BARRIER();
	return r;
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library || use_library(library) != 2) {
		fprintf(stderr, "dlopen_once: no library\n");
		return 1;
	}
	return 0;
}
