/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a library, burns in it, and unloads it, over and over: mappings come and go, mostly at the
 * same addresses. The library is the second argument. With "resolver" as the third, a function is
 * resolved lazily each time, and its resolver burns, below the dynamic linker's trampoline; that
 * frame's rule (glibc's _dl_runtime_resolve_xsavec) starts from rbx.
 */
#include "zoo.h"

#include <dlfcn.h>

typedef int (*call_fn)(int);

static const char *name = "lib_calls_itself";

KEEP int use_library(void *library)
{
	call_fn call = (call_fn)dlsym(library, name);
	int r = call ? call(1) : -1;

	BARRIER();
	return r;
}

static void load_once(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

	if (!library || use_library(library) != 2) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	dlclose(library);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (argc > 3)
		name = "lib_first_call";
	zoo_start(argc, argv,
		  argc > 3 ? "MAY lib_decide|lib_indirect LD ?lib_indirect@plt|libzoo*+0x* "
			     "lib_first_call use_library main\n"
			     "STACK lib_spin lib_first_call use_library main\n"
			   : "STACK lib_spin lib_calls_itself use_library main\n");
	while (zoo_time_left())
		load_once(argv[2]);
	return 0;
}
