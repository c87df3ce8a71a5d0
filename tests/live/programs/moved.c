/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a part of its text into memory of no file, at the same addresses, as programs do that want huge pages for it:
 * "remap" puts a filled copy over it, "fill" maps memory there and fills it then, so that it is no text for a moment.
 */
#include "zoo.h"

#include <sys/mman.h>

#define MOVED	   __attribute__((section(".moved"), aligned(4096), noipa))
#define PAGE_BYTES 4096u

MOVED void spin(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		__asm__ volatile("");
}

MOVED void inner(void)
{
	spin(SPINS_PER_MS);
	BARRIER();
}

MOVED void outer(void)
{
	inner();
	BARRIER();
}

MOVED void end_of_moved(void)
{
	BARRIER();
}

static void move_text(int fill)
{
	char *start = (char *)spin;
	size_t bytes = (size_t)((char *)end_of_moved - start);
	char *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED || (size_t)start % PAGE_BYTES != 0)
		exit(1);
	memcpy(copy, start, bytes);
	if (fill) {
		if (mmap(start, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != start)
			exit(1);
		memcpy(start, copy, bytes);
		mprotect(start, bytes, PROT_READ | PROT_EXEC);
	} else if (mprotect(copy, bytes, PROT_READ | PROT_EXEC) != 0 ||
		   mremap(copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, start) != start) {
		exit(1);
	}
}

int main(int argc, char **argv)
{
	move_text(argc > 2 && strcmp(argv[2], "fill") == 0);
	zoo_start(argc, argv, "STACK spin inner outer main\n");
	while (zoo_time_left())
		outer();
	end_of_moved();
	return 0;
}
