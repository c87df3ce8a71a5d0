/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a process that is made up for a test: pieces at addresses, one after the other or
 * far apart. Reads are counted, and one of them may fail or change something before it: so a test
 * lets each read fail in turn.
 *
 * Needs the C library alone. What a test does wrong (bytes put where nothing is) aborts.
 */
#ifndef EP_TESTS_KIT_MEMORY_H
#define EP_TESTS_KIT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define FAKE_MEMORY_PIECES 16

struct fake_memory {
	struct {
		uint64_t addr, bytes;
		uint8_t *at; /* borrowed */
	} pieces[FAKE_MEMORY_PIECES];
	uint32_t n_pieces;
	/* Not there: [hole, hole + hole_bytes). */
	uint64_t hole, hole_bytes;
	/* This read, from 1 on, says fail_with; 0: none. */
	uint32_t fail_at;
	int fail_with;
	/* Called before that read; 0: none. */
	uint32_t change_at;
	void (*change)(void *arg);
	void *change_arg;
	/* Of fake_memory_read. */
	uint32_t n_reads;
	uint64_t n_bytes;
};

/* An address may be in several pieces: the first one counts. */
void fake_memory_add(struct fake_memory *memory, uint64_t addr, void *at, uint64_t bytes);
/* The bytes at an address, NULL when they are not all there. Not counted. */
uint8_t *fake_memory_find(const struct fake_memory *memory, uint64_t addr, uint64_t bytes);
void fake_memory_put(struct fake_memory *memory, uint64_t addr, const void *from, uint64_t bytes);
/* 0, -EFAULT (nothing is written), or fail_with. `memory`: struct fake_memory; for tables of
 * functions. */
int fake_memory_read(void *memory, uint64_t addr, void *buf, size_t bytes);

#endif
