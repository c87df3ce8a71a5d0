/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where blocks of code lie: two heaps with a map of their units, and single pages. A heap is
 * searched from after the block that was placed last, so that it grows to its end before space is
 * used again. One thread at a time changes it.
 */
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HEAP_UNITS   (JIT_HEAP_BYTES / JIT_UNIT_BYTES)
#define HEAP_PAGES   (JIT_HEAP_BYTES / JIT_PAGE_BYTES)
#define MAX_PAGES    512
#define TRAP	     0xcc /* int3 */
#define RWX	     (PROT_READ | PROT_WRITE | PROT_EXEC)

static struct heap {
	uint8_t *memory;
	uint32_t next; /* unit */
	bool committed[HEAP_PAGES];
	uint8_t map[HEAP_UNITS];
} heaps[JIT_HEAPS];

static struct page {
	uint8_t *memory; /* NULL: this entry is free */
	bool used;
} pages[MAX_PAGES];

static void *map_or_skip(void *hint, size_t bytes, int protection)
{
	void *memory = mmap(hint, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		printf("skip: no memory for code\n");
		exit(77);
	}
	return memory;
}

void jit_heaps_init(void)
{
	for (size_t i = 0; i < JIT_HEAPS; i++) {
		heaps[i].memory = map_or_skip(NULL, JIT_HEAP_BYTES, PROT_NONE);
		jit_about.heaps[i].start = (uintptr_t)heaps[i].memory;
		jit_about.heaps[i].end = (uintptr_t)heaps[i].memory + JIT_HEAP_BYTES;
		jit_about.heaps[i].map = (uintptr_t)heaps[i].map;
	}
}

/* --- heaps --- */

/* The first of `n` free units in [from, HEAP_UNITS); HEAP_UNITS: there are not as many. */
static uint32_t find_units(const struct heap *heap, uint32_t from, uint32_t n)
{
	uint32_t found = 0;

	for (uint32_t unit = from; unit < HEAP_UNITS; unit++) {
		found = heap->map[unit] == JIT_MAP_FREE ? found + 1 : 0;
		if (found == n)
			return unit + 1 - n;
	}
	return HEAP_UNITS;
}

static void commit(struct heap *heap, uint32_t first, uint32_t n)
{
	uint32_t page = first * JIT_UNIT_BYTES / JIT_PAGE_BYTES;
	uint32_t last = ((first + n) * JIT_UNIT_BYTES - 1) / JIT_PAGE_BYTES;

	for (; page <= last; page++) {
		if (heap->committed[page])
			continue;
		if (mprotect(heap->memory + page * JIT_PAGE_BYTES, JIT_PAGE_BYTES, RWX)) {
			printf("skip: memory cannot be made executable\n");
			exit(77);
		}
		heap->committed[page] = true;
	}
}

static struct jit_block *heap_new(struct heap *heap, uint32_t bytes)
{
	uint32_t n = bytes / JIT_UNIT_BYTES, first = find_units(heap, heap->next, n);

	if (first == HEAP_UNITS)
		first = find_units(heap, 0, n);
	if (first == HEAP_UNITS)
		return NULL;
	commit(heap, first, n);
	for (uint32_t i = 0; i < n; i++)
		heap->map[first + i] = (uint8_t)(i + 1 < JIT_MAP_MAX ? i + 1 : JIT_MAP_MAX);
	heap->next = first + n;
	return (struct jit_block *)(void *)(heap->memory + first * JIT_UNIT_BYTES);
}

static void heap_free(struct heap *heap, struct jit_block *block)
{
	uint32_t first = (uint32_t)((uint8_t *)block - heap->memory) / JIT_UNIT_BYTES;
	uint32_t n = block->bytes / JIT_UNIT_BYTES;

	memset(block, TRAP, block->bytes);
	block->magic = 0;
	memset(heap->map + first, JIT_MAP_FREE, n);
}

void jit_heap_decommit(void)
{
	struct heap *heap = &heaps[JIT_IN_HEAP_1];

	if (find_units(heap, 0, HEAP_UNITS) == HEAP_UNITS)
		return;
	madvise(heap->memory, JIT_HEAP_BYTES, MADV_DONTNEED);
	if (mprotect(heap->memory, JIT_HEAP_BYTES, PROT_NONE))
		abort();
	memset(heap->committed, 0, sizeof(heap->committed));
}

/* --- pages --- */

static struct page *find_page(const void *memory)
{
	for (size_t i = 0; i < MAX_PAGES; i++) {
		if (__atomic_load_n(&pages[i].memory, __ATOMIC_ACQUIRE) == memory)
			return &pages[i];
	}
	return NULL;
}

/* Half of them are where the kernel likes, in a row with others; half are alone. */
static struct page *map_page(void)
{
	struct page *page = find_page(NULL);
	uint64_t hint = jit_random(2) ? 0 : 0x100000000000 + (uint64_t)jit_random(1u << 30) * 4096;

	if (page)
		__atomic_store_n(&page->memory,
				 map_or_skip((void *)(uintptr_t)hint, JIT_PAGE_BYTES, RWX),
				 __ATOMIC_RELEASE);
	return page;
}

static struct jit_block *page_new(void)
{
	struct page *page = NULL;

	for (size_t i = 0; i < MAX_PAGES && !page; i++) {
		if (pages[i].memory && !pages[i].used)
			page = &pages[i];
	}
	if (!page)
		page = map_page();
	if (!page)
		return NULL;
	page->used = true;
	return (struct jit_block *)(void *)page->memory;
}

static void page_free(struct jit_block *block, bool keep)
{
	struct page *page = find_page(block);

	memset(block, TRAP, JIT_PAGE_BYTES);
	block->magic = 0;
	page->used = false;
	if (keep)
		return;
	__atomic_store_n(&page->memory, NULL, __ATOMIC_RELEASE);
	(void)munmap(block, JIT_PAGE_BYTES);
}

/* --- both --- */

enum jit_place jit_place_of(const struct jit_block *block)
{
	for (size_t i = 0; i < JIT_HEAPS; i++) {
		if ((uintptr_t)block - (uintptr_t)heaps[i].memory < JIT_HEAP_BYTES)
			return (enum jit_place)i;
	}
	return JIT_IN_PAGE;
}

struct jit_block *jit_place_new(enum jit_place place, uint32_t bytes)
{
	if (place == JIT_IN_PAGE)
		return bytes <= JIT_PAGE_BYTES ? page_new() : NULL;
	return heap_new(&heaps[place], bytes);
}

void jit_place_free(struct jit_block *block, bool keep_page)
{
	enum jit_place place = jit_place_of(block);

	if (place == JIT_IN_PAGE)
		page_free(block, keep_page);
	else
		heap_free(&heaps[place], block);
}
