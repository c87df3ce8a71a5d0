/* SPDX-License-Identifier: Apache-2.0 */
#include "deepstack.h"

static deepstack_level *next_level, *leaf_level;

#define STEP(function) (levels > 1 ? function(levels - 1) : leaf_level(0))

LEVEL(library_8, 24, STEP(next_level))
LEVEL(library_7, 200, STEP(library_8))
LEVEL(library_6, 8, STEP(library_7))
LEVEL(library_5, 72, STEP(library_6))
LEVEL(library_4, 16, STEP(library_5))
LEVEL(library_3, 120, STEP(library_4))
LEVEL(library_2, 40, STEP(library_3))

/* This one has a frame of its own too: the first of the eight. */
__attribute__((visibility("default"))) KEEP int deepstack_library(int levels, deepstack_level *next,
								  deepstack_level *leaf)
{
	int sum;

	next_level = next;
	leaf_level = leaf;
	sum = STEP(library_2);
	BARRIER();
	return sum + levels;
}
