/* SPDX-License-Identifier: Apache-2.0 */
/* Builds objects of CPython in pieces of memory, by a layout. */
#ifndef TEST_PYTHON_OBJECTS_H
#define TEST_PYTHON_OBJECTS_H

#include "core/base/util.h"
#include "plugins/python/symbolize/names.h"
#include "tests/kit/host.h"

#include <string.h>

#define HEAP_ADDR  0x7f1234560000ULL
#define HEAP_BYTES 0x10000

#define NAME_ADDR (HEAP_ADDR + 0x1000)
#define FILE_ADDR (HEAP_ADDR + 0x2000)
#define LINE_ADDR (HEAP_ADDR + 0x3000)
#define CODE_ADDR (HEAP_ADDR + 0x4000)
#define TYPE_ADDR 0x955000ULL

static uint8_t heap[HEAP_BYTES];

static inline void heap_put(uint64_t addr, const void *value, size_t bytes)
{
	memcpy(heap + (addr - HEAP_ADDR), value, bytes);
}

static inline void heap_put_word(uint64_t addr, uint64_t value)
{
	heap_put(addr, &value, sizeof(value));
}

/* interned 1, kind, compact, ascii */
static inline void put_str(const struct py_code_layout *layout, uint64_t addr, unsigned int kind,
			   bool compact, bool ascii, const void *data, size_t n)
{
	uint32_t bits = kind | (uint32_t)compact << 3 | (uint32_t)ascii << 4;
	uint32_t state = bits << layout->str_kind_shift | 1;
	uint64_t at = addr + (ascii ? layout->str_ascii_data : layout->str_compact_data);

	heap_put_word(addr + layout->str_length, n);
	heap_put(addr + layout->str_state, &state, sizeof(state));
	if (!compact) {
		at = addr + 0x800;
		heap_put_word(addr + layout->str_any, at);
	}
	heap_put(at, data, n * kind);
}

static inline void put_bytes(const struct py_code_layout *layout, uint64_t addr, const void *data,
			     size_t n)
{
	heap_put_word(addr + layout->bytes_size, n);
	heap_put(addr + layout->bytes_data, data, n);
}

/* A code object "name" in "file.py", lines from first_line on. */
static inline void put_code(const struct py_code_layout *layout, uint64_t addr, int32_t first_line)
{
	heap_put_word(addr + layout->ob_refcnt, 1);
	heap_put_word(addr + layout->ob_type, TYPE_ADDR);
	heap_put(addr + layout->co_firstlineno, &first_line, sizeof(first_line));
	heap_put_word(addr + layout->co_name, NAME_ADDR);
	if (layout->co_qualname)
		heap_put_word(addr + layout->co_qualname, NAME_ADDR);
	heap_put_word(addr + layout->co_filename, FILE_ADDR);
	heap_put_word(addr + layout->co_lines, LINE_ADDR);
	put_str(layout, NAME_ADDR, 1, true, true, "name", 4);
	put_str(layout, FILE_ADDR, 1, true, true, "file.py", 7);
}

static inline uint32_t heap_check(const struct py_code_layout *layout, uint64_t addr)
{
	__u64 words[PY_CHECK_WORDS];

	memcpy(words, heap + (addr + layout->check_off - HEAP_ADDR), sizeof(words));
	return py_code_check(words, layout->check_mask);
}

/* A process that has the heap, of zeros, and nothing else. */
static inline void heap_host(struct fake_host *host)
{
	memset(heap, 0, sizeof(heap));
	fake_host_init(host, NULL, 0);
	fake_memory_add(&host->memory, HEAP_ADDR, heap, HEAP_BYTES);
}

#endif
