/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/heap.h"
#include "tests/kit/fakes.h"

#include <stddef.h>

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
