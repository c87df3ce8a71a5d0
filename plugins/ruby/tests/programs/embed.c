/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ruby inside of a C program, in a thread of its own:
 *
 *	embed LIBRUBY ARG...	the arguments are those of ruby
 *
 * Built without its headers: each release that is installed can be opened.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
	void *library;
	int argc;
	char **argv;
} given;

static void *find(const char *name)
{
	void *found = dlsym(given.library, name);

	if (!found) {
		printf("skip: no %s in this library\n", name);
		exit(77);
	}
	return found;
}

static void *serve(void *result)
{
	void (*sysinit)(int *argc, char ***argv) = find("ruby_sysinit");
	void (*init_stack)(void *addr) = find("ruby_init_stack");
	void (*init)(void) = find("ruby_init");
	void *(*options)(int argc, char **argv) = find("ruby_options");
	int (*run_node)(void *node) = find("ruby_run_node");
	void *here = &here;

	sysinit(&given.argc, &given.argv);
	init_stack(here);
	init();
	*(int *)result = run_node(options(given.argc, given.argv));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int result = 1;

	given.library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	if (!given.library) {
		printf("skip: %s\n", argc > 2 ? dlerror() : "embed LIBRUBY ARG...");
		return 77;
	}
	given.argc = argc - 1;
	given.argv = argv + 1;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 8 << 20);
	if (pthread_create(&thread, &attributes, serve, &result) != 0)
		return 1;
	pthread_join(thread, NULL);
	return result;
}
