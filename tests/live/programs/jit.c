/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code in anonymous memory that no language claims: a loop with a frame pointer, which calls back
 * into the program. Its address is all that can be reported of it.
 */
#include "zoo.h"

#include <sys/mman.h>

ZOO_DEFINE_SPIN(spin)

/* push %rbp; mov %rsp, %rbp; call *%rsi; pop %rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3 };

KEEP void run(void *memory)
{
	((void (*)(unsigned int, void (*)(unsigned int)))memory)(SPINS_PER_MS, spin);
	BARRIER();
}

int main(int argc, char **argv)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	zoo_start(argc, argv, "STACK spin * run main\n");
	while (zoo_time_left())
		run(memory);
	return 0;
}
