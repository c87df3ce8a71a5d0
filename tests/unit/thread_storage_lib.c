/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with thread-local variables for thread_storage_program.c, built once for each way of
 * reaching them: -DMODEL is a tls_model. lib_second is not the first of its block, and the block
 * has an alignment above the usual. With a -DSPACE of more than 512 bytes glibc gives a library that
 * is loaded late no static storage, even where it could (glibc.rtld.optional_static_tls).
 */
#include "thread_storage_program.h"

extern const char __ehdr_start __attribute__((visibility("hidden")));

#ifndef SPACE
#define SPACE 100
#endif
#define THREAD_LOCAL __thread __attribute__((tls_model(MODEL)))

static THREAD_LOCAL void *lib_first;
static THREAD_LOCAL char lib_space[SPACE] __attribute__((aligned(64)));
SHARED THREAD_LOCAL void *lib_second = (void *)1;

void lib_touch(report_fn report, const void *value)
{
	lib_first = (void *)((const char *)value + 1);
	lib_second = (void *)((const char *)value + 2);
	lib_space[0] = 1;
	__asm__ volatile("" : : "r"(lib_space) : "memory");
	report("lib", &__ehdr_start, "lib_first", lib_first);
	report("lib", &__ehdr_start, "lib_second", lib_second);
}
