/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void fake_memory_add(struct fake_memory *memory, uint64_t addr, void *at, uint64_t bytes)
{
	uint32_t i = memory->n_pieces++;

	if (i >= FAKE_MEMORY_PIECES)
		abort();
	memory->pieces[i].addr = addr;
	memory->pieces[i].bytes = bytes;
	memory->pieces[i].at = at;
}

uint8_t *fake_memory_find(const struct fake_memory *memory, uint64_t addr, uint64_t bytes)
{
	if (memory->hole_bytes && addr < memory->hole + memory->hole_bytes &&
	    addr + bytes > memory->hole)
		return NULL;
	for (uint32_t i = 0; i < memory->n_pieces; i++) {
		uint64_t off = addr - memory->pieces[i].addr;

		if (off <= memory->pieces[i].bytes && memory->pieces[i].bytes - off >= bytes)
			return memory->pieces[i].at + off;
	}
	return NULL;
}

void fake_memory_put(struct fake_memory *memory, uint64_t addr, const void *from, uint64_t bytes)
{
	uint8_t *at = fake_memory_find(memory, addr, bytes);

	if (!at)
		abort();
	memcpy(at, from, bytes);
}

int fake_memory_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct fake_memory *memory = arg;
	const uint8_t *at;

	memory->n_reads++;
	memory->n_bytes += bytes;
	if (memory->change && memory->n_reads == memory->change_at)
		memory->change(memory->change_arg);
	if (memory->n_reads == memory->fail_at)
		return memory->fail_with;
	at = fake_memory_find(memory, addr, bytes);
	if (!at)
		return -EFAULT;
	memcpy(buf, at, bytes);
	return 0;
}
