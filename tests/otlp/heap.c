/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what is allocated, for otlp_bench: glibc's allocator under functions of its own names
 * (glibc manual, "Replacing malloc"; __libc_malloc and its like are exported for that), and what is
 * mapped by others than glibc itself, which does not call it by this name.
 */
#include "core/base/util.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *data, size_t size);
void __libc_free(void *data);
size_t test_heap_bytes(void);
size_t test_heap_peak(bool reset);

static atomic_llong now, peak; /* the loader frees what it allocated without us */

static void count_bytes(long long bytes)
{
	long long sum = atomic_fetch_add(&now, bytes) + bytes;
	long long seen = atomic_load(&peak);

	while (sum > seen && !atomic_compare_exchange_weak(&peak, &seen, sum))
		;
}

static void *count(void *data)
{
	count_bytes(data ? (long long)malloc_usable_size(data) : 0);
	return data;
}

void *mmap(void *addr, size_t len, int protection, int flags, int fd, off_t offset)
{
	long data = syscall(SYS_mmap, addr, len, protection, flags, fd, offset);

	if (data != -1 && (flags & MAP_ANONYMOUS))
		count_bytes((long long)len);
	return (void *)data;
}

/* Of files too, of which there are none on the way of a batch. */
int munmap(void *addr, size_t len)
{
	int r = (int)syscall(SYS_munmap, addr, len);

	if (r == 0)
		atomic_fetch_sub(&now, (long long)len);
	return r;
}

void *malloc(size_t size)
{
	return count(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return count(__libc_calloc(n, size));
}

/* The old block is counted until the new one is there, as it may have to be copied. */
void *realloc(void *data, size_t size)
{
	long long old = data ? (long long)malloc_usable_size(data) : 0;
	void *moved = __libc_realloc(data, size);

	if (moved || size == 0)
		atomic_fetch_sub(&now, old);
	return count(moved);
}

void free(void *data)
{
	if (data)
		atomic_fetch_sub(&now, (long long)malloc_usable_size(data));
	__libc_free(data);
}

size_t test_heap_bytes(void)
{
	return (size_t)EP_MAX(now, 0ll);
}

size_t test_heap_peak(bool reset)
{
	if (reset)
		peak = now;
	return (size_t)EP_MAX(peak, 0ll);
}
