/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions move to new blocks, and old blocks are freed. One thread at a time moves and frees;
 * others run the code meanwhile.
 *
 * When is a block free of frames? All calls go through jit_function.entry, so once that names
 * another block nobody enters the old one who reads it anew. Each thread counts its epoch up at a
 * place where its stack has no jitted frame, by a locked instruction. For a block that was
 * replaced:
 *
 *	mover	entry = new block; fence; n = epoch			later: epoch != n ?
 *	thread	call *entry ... return;			epoch++; call *entry ...
 *
 * Where the mover then sees another epoch, the thread has passed its place since the mover read n:
 * it had no frame of the block then. What it has entered since, it entered by an entry that it
 * read after its locked instruction, and so after the mover's store: the new block. When that
 * holds for all threads the block has no frame left, and never will have one.
 */
#include "runtime.h"

#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_UNUSED 1024
#define DONE	   UINT64_MAX

struct jit_thread jit_threads[JIT_MAX_THREADS];

static struct jit_function *functions[JIT_MAX_FUNCTIONS];
static struct jit_block *blocks[JIT_MAX_FUNCTIONS]; /* that they are in now */
static size_t n_functions;

static struct unused {
	struct jit_block *block;
	uint64_t epochs[JIT_MAX_THREADS];
	uint64_t since_ns;
} unused[MAX_UNUSED];
static size_t n_unused;
static uint64_t keep_ns;

void jit_set_keep(uint64_t ns)
{
	keep_ns = ns;
}

void jit_functions_add(struct jit_function *const *added, size_t n)
{
	if (n_functions + n > JIT_MAX_FUNCTIONS)
		abort();
	for (size_t i = 0; i < n; i++)
		functions[n_functions++] = added[i];
}

size_t jit_count_functions(void)
{
	return n_functions;
}

void jit_thread_pause(struct jit_thread *self, bool done)
{
	if (done)
		__atomic_store_n(&self->epoch, DONE, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_add(&self->epoch, 1, __ATOMIC_SEQ_CST);
}

/*
 * No CPU may run instructions that it has fetched from where the new block is before it was there.
 * To jump to what another CPU has just written asks for this (Intel SDM volume 3, "Handling Self-
 * and Cross-Modifying Code"); membarrier(2) does it for all threads of the process, where it is
 * known.
 */
static void synchronize_code(void)
{
	static bool registered;

	if (!registered)
		(void)syscall(SYS_membarrier,
			      MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	registered = true;
	(void)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

enum jit_place jit_place_now(size_t index)
{
	return jit_place_of(blocks[index]);
}

void jit_move(size_t index, enum jit_place place)
{
	struct jit_function *function = functions[index];
	struct jit_block *block;
	struct unused *old = &unused[n_unused];

	if (n_unused == MAX_UNUSED)
		return;
	block = jit_compile(function, place);
	if (!block)
		return;
	if (blocks[index]) {
		old->block = blocks[index];
		old->since_ns = now_ns();
		n_unused++;
	}
	blocks[index] = block;
	synchronize_code();
	__atomic_store_n(&function->entry, (uintptr_t)block + block->code_off, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < JIT_MAX_THREADS; i++)
		old->epochs[i] = __atomic_load_n(&jit_threads[i].epoch, __ATOMIC_SEQ_CST);
}

static bool can_be_freed(const struct unused *old)
{
	for (size_t i = 0; i < JIT_MAX_THREADS; i++) {
		uint64_t epoch = __atomic_load_n(&jit_threads[i].epoch, __ATOMIC_SEQ_CST);

		if (epoch == old->epochs[i] && epoch != DONE)
			return false;
	}
	return now_ns() - old->since_ns >= keep_ns;
}

void jit_free_unused(bool keep_pages)
{
	size_t kept = 0;

	for (size_t i = 0; i < n_unused; i++) {
		if (can_be_freed(&unused[i]))
			jit_place_free(unused[i].block, keep_pages);
		else
			unused[kept++] = unused[i];
	}
	n_unused = kept;
}
