/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unborn LIBRARY N MAPPINGS: N processes that say they are V8, with so many mappings each, whose
 * heap never comes: they sleep (tests/kit/many.h).
 */
#ifdef LIBRARY
/* V8 6.8, as plugins/v8/probe.c knows it: its heap is looked for in all that can be written. */
int v8dbg_SmiShiftSize = 31;
int _ZN2v88internal7Version6major_E = 6;
int _ZN2v88internal7Version6minor_E = 8;
int _ZN2v88internal7Version6build_E = 275;
int _ZN2v88internal7Version6patch_E = 32;

int _ZN2v82V810GetVersionEv;
#else
#include "tests/kit/many.h"

#define PAGE 4096ul

/* Every other page is another mapping. */
static int map(size_t number, char **arguments)
{
	size_t n = arguments[0] ? strtoul(arguments[0], NULL, 10) : 0;
	char *at =
		mmap(NULL, n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)number;
	if (at == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < n; i += 2) {
		if (mprotect(at + i * PAGE, PAGE, PROT_READ | PROT_WRITE) < 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	return many_main(argc, argv, map);
}
#endif
