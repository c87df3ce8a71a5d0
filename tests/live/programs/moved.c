/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a part of its text into memory of no file, at the same addresses, as programs do that want huge pages for it:
 * "remap" puts a filled copy over it, "fill" maps memory there and fills it then, so that it is no text for a moment.
 * "slowly" does that page by page, in a function that text on its way has called.
 */
#include "zoo.h"

#include <sys/mman.h>

#define MOVED	   __attribute__((section("moved"), aligned(4096), noipa))
#define PAGE_BYTES 4096u

extern char __start_moved[], __stop_moved[]; /* by the linker */
#define SLOW_SPINS (20 * SPINS_PER_MS) /* for each page of it */
#define KNOWN_TURNS 300 /* of about a millisecond: until all that is known of a program that starts is known */

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

KEEP void fill_slowly(void);

MOVED void move_slowly(void)
{
	fill_slowly();
	BARRIER();
}

static void move_text(int fill)
{
	char *start = __start_moved;
	size_t bytes = ((size_t)(__stop_moved - start) + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
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

ZOO_DEFINE_SPIN(spin_between)

/* As Node.js does it: a large text takes a tenth of a second, most of it for pages that are huge. */
KEEP void fill_slowly(void)
{
	char *start = __start_moved;
	size_t bytes = ((size_t)(__stop_moved - start) + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
	char *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		exit(1);
	memcpy(copy, start, bytes);
	if (mmap(start, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != start)
		exit(1);
	for (size_t off = 0; off < bytes; off += PAGE_BYTES) {
		spin_between(SLOW_SPINS);
		memcpy(start + off, copy + off, PAGE_BYTES);
	}
	mprotect(start, bytes, PROT_READ | PROT_EXEC);
}

int main(int argc, char **argv)
{
	int is_slow = argc > 2 && strcmp(argv[2], "slowly") == 0;

	if (!is_slow)
		move_text(argc > 2 && strcmp(argv[2], "fill") == 0);
	zoo_start(argc, argv, is_slow ? "STACK spin inner outer main\nSTACK spin_between fill_slowly move_slowly main\n"
				      : "STACK spin inner outer main\n");
	for (int i = 0; is_slow && i < KNOWN_TURNS; i++)
		outer();
	if (is_slow)
		move_slowly();
	while (zoo_time_left())
		outer();
	return 0;
}
