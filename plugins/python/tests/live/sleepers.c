/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sleepers LIBRARY N: N processes that look like CPython and only sleep (tests/kit/many.h). Each
 * has mapped LIBRARY at an address of its own, so that something else of each is to be published to
 * BPF.
 */
#ifdef LIBRARY
/* CPython 3.11, as plugins/python/probe.c knows it. */
const unsigned int Py_Version = 0x030b07f0;
char _PyRuntime[16 << 20]; /* more than fits between other libraries */
char PyType_Type[1024];
void *PyCode_Type[128] = {0, PyType_Type};

void *_PyEval_EvalFrameDefault(void *thread, void *frame, int throwing)
{
	return throwing ? thread : frame;
}

int PyIter_Send;
#else
#include "tests/kit/many.h"

#define HOLE_BYTES 0x400000ul /* large files are aligned to 2 MiB */

/* The library comes to an address of its own. */
static int make_hole(size_t number, char **arguments)
{
	void *hole = mmap(NULL, (number + 1) * HOLE_BYTES, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)arguments;
	return hole == MAP_FAILED ? -1 : 0;
}

int main(int argc, char **argv)
{
	return many_main(argc, argv, make_hole);
}
#endif
