/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PHP inside of a C program:
 *
 *	embed LIBPHP THREADS SCRIPT ARG...	in a thread of its own, or in so many threads (ZTS)
 *
 * Built without its headers: each release that is installed can be opened.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 16

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

static void run_script(void)
{
	/* Whatever the release's struct zend_file_handle has. */
	static __thread _Alignas(16) char handle[1024];
	void (*init_filename)(void *handle, const char *name) = find("zend_stream_init_filename");
	char (*execute)(void *handle) = find("php_execute_script");

	init_filename(handle, given.argv[0]);
	execute(handle);
}

static void *serve_alone(void *unused)
{
	int (*init)(int argc, char **argv) = find("php_embed_init");
	void (*stop)(void) = find("php_embed_shutdown");

	if (init(given.argc, given.argv) != 0)
		exit(1);
	run_script();
	stop();
	return NULL;
}

static void *serve_in_thread(void *unused)
{
	void *(*resource)(int id) = find("ts_resource_ex");
	int (*startup)(void) = find("php_request_startup");
	void (*stop)(void *unused) = find("php_request_shutdown");
	void (*done)(void) = find("ts_free_thread");

	resource(0);
	if (startup() != 0)
		exit(1);
	run_script();
	stop(NULL);
	done();
	return NULL;
}

/* No request of a thread has arguments of its own. */
static void keep_arguments(void)
{
	static char text[4096];

	for (int i = 0; i < given.argc; i++) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "", given.argv[i]);
	}
	setenv("BURN", text, 1);
}

/* The main thread has a request of its own, which runs nothing. */
static void run_threads(int n_threads)
{
	pthread_t threads[MAX_THREADS];
	int (*init)(int argc, char **argv) = find("php_embed_init");
	void (*stop)(void) = find("php_embed_shutdown");

	keep_arguments();
	if (init(given.argc, given.argv) != 0)
		exit(1);
	for (int i = 0; i < n_threads; i++) {
		if (pthread_create(&threads[i], NULL, serve_in_thread, NULL) != 0)
			exit(1);
	}
	for (int i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	stop();
}

int main(int argc, char **argv)
{
	int n_threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t thread;

	given.library = argc > 3 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
	if (!given.library) {
		printf("skip: %s\n", argc > 3 ? dlerror() : "embed LIBPHP THREADS SCRIPT ARG...");
		return 77;
	}
	given.argc = argc - 3;
	given.argv = argv + 3;
	if (n_threads > 0 && n_threads <= MAX_THREADS) {
		run_threads(n_threads);
		return 0;
	}
	if (pthread_create(&thread, NULL, serve_alone, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
