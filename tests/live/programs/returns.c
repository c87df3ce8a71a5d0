/* SPDX-License-Identifier: Apache-2.0 */
/*
 * returns: as many frames as there can be that nobody else has. Code in anonymous memory runs with a
 * chain of frame pointers whose return addresses are new ones each time. Until it is killed.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define CODE_BYTES (64ul << 20)
#define DEPTH	   900
#define SPINS	   300000ul

struct node {
	const struct node *next;
	uintptr_t return_address;
};

/* push %rbp; mov %rsi, %rbp; 1: dec %rdi; jnz 1b; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xf5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

int main(void)
{
	struct node chain[DEPTH] = {0}; /* above the stack pointer, as frames are */
	uint64_t seed = 88172645463325252ull;
	unsigned char *memory = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	for (size_t i = 0; i + 1 < DEPTH; i++)
		chain[i].next = &chain[i + 1];
	for (;;) {
		for (size_t i = 0; i + 1 < DEPTH; i++)
			chain[i].return_address = (uintptr_t)memory + 64 + next_random(&seed) % (CODE_BYTES - 64);
		((void (*)(uint64_t, const struct node *))memory)(SPINS, chain);
	}
}
