/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/heap.h"
#include "tests/kit/fakes.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

struct fake_heap heap_wrapped;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *ptr, size_t bytes);
void __real_free(void *ptr);
char *__real_strdup(const char *text);

static bool fails(void)
{
	return heap_wrapped.armed && ++heap_wrapped.calls == heap_wrapped.fail_at;
}

static void *count(void *ptr)
{
	heap_wrapped.live += heap_wrapped.armed && ptr;
	return ptr;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : count(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : count(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *ptr, size_t bytes)
{
	if (fails())
		return NULL;
	return ptr ? __real_realloc(ptr, bytes) : count(__real_realloc(ptr, bytes));
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : count(__real_strdup(text));
}

void __wrap_free(void *ptr)
{
	heap_wrapped.live -= heap_wrapped.armed && ptr;
	__real_free(ptr);
}

void heap_arm(uint32_t fail_at)
{
	heap_wrapped = (struct fake_heap){.armed = true, .fail_at = fail_at};
}

bool heap_disarm(void)
{
	heap_wrapped.armed = false;
	return heap_wrapped.calls < heap_wrapped.fail_at;
}

const char *heap_fail_each(int (*work)(void *arg), void *arg, uint32_t *ret_n)
{
	static char wrong[100];
	uint32_t at = 0, n = 0;

	do {
		int r;

		heap_arm(at);
		r = work(arg);
		(void)heap_disarm();
		n = at ? n : heap_wrapped.calls;
		if ((r != 0 && (!at || r != -ENOMEM)) || heap_wrapped.live != 0) {
			(void)snprintf(wrong, sizeof(wrong), "allocation %u of %u failed: %d, %d blocks left",
				       (unsigned int)at, (unsigned int)n, r, (int)heap_wrapped.live);
			return wrong;
		}
	} while (at++ < n);
	*ret_n = n;
	return NULL;
}
