/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads that fill thread-local variables and pthread keys and say what they hold, for
 * test_thread_storage.c:
 *
 *	key THREAD_POINTER NUMBER - VALUE
 *	exe THREAD_POINTER BASE NAME VALUE	a variable of this program
 *	lib THREAD_POINTER BASE NAME VALUE	one of the library given as argument
 *
 * then "ready", and waits for the end of its input. Built with -DNO_DLOPEN for static programs.
 */
#include "thread_storage_program.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N_KEYS	  40 /* so that one is after the first 32, where glibc has them elsewhere */
#define N_THREADS 3

extern const char __ehdr_start __attribute__((visibility("hidden")));

#ifndef ALIGN
#define ALIGN 8
#endif
__thread uint64_t exe_first = 1;
__thread char exe_odd[13] = "odd";
__thread void *exe_second __attribute__((aligned(ALIGN)));
static __thread void *exe_third;

static pthread_key_t keys[N_KEYS];
static pthread_barrier_t barrier;
static pthread_mutex_t print_mutex = PTHREAD_MUTEX_INITIALIZER;
static __typeof__(lib_touch) *touch;

static const void *thread_pointer(void)
{
	const void *value;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(value));
#else
	value = __builtin_thread_pointer();
#endif
	return value;
}

static void report(const char *what, const void *base, const char *name, const void *value)
{
	printf("%s %p %p %s %p\n", what, thread_pointer(), base, name, value);
}

static void report_keys(const char *value)
{
	for (int i = 0; i < N_KEYS; i++) {
		pthread_setspecific(keys[i], value + i);
		printf("key %p %u - %p\n", thread_pointer(), (unsigned int)keys[i],
		       pthread_getspecific(keys[i]));
	}
}

static void *run(void *arg)
{
	char *value = (char *)arg;

	pthread_mutex_lock(&print_mutex);
	report_keys(value);
	exe_first = (uintptr_t)value + 100;
	exe_second = value + 101;
	exe_third = value + 102;
	__asm__ volatile("" : : "r"(exe_odd) : "memory");
	report("exe", &__ehdr_start, "exe_first", (void *)(uintptr_t)exe_first);
	report("exe", &__ehdr_start, "exe_second", exe_second);
	report("exe", &__ehdr_start, "exe_third", exe_third);
	if (touch)
		touch(report, value + 200);
	pthread_mutex_unlock(&print_mutex);
	pthread_barrier_wait(&barrier); /* all have reported */
	pthread_barrier_wait(&barrier); /* the main thread ends; never */
	return NULL;
}

static void load(const char *path)
{
#ifndef NO_DLOPEN
	void *handle = dlopen(path, RTLD_NOW);

	touch = handle ? (__typeof__(lib_touch) *)dlsym(handle, "lib_touch") : NULL;
#endif
	if (!touch) {
		fprintf(stderr, "%s cannot be used\n", path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;

	for (int i = 0; i < N_KEYS; i++)
		pthread_key_create(&keys[i], NULL);
	if (argc > 1)
		load(argv[1]);
	pthread_barrier_init(&barrier, NULL, N_THREADS + 1);
	for (uintptr_t i = 1; i <= N_THREADS; i++)
		pthread_create(&thread, NULL, run, (void *)(0x10000000 * i));
	pthread_barrier_wait(&barrier);
	printf("ready\n");
	fflush(stdout);
	return read(0, &byte, 1) == 0 ? 0 : 1;
}
