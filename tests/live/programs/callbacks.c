/* SPDX-License-Identifier: Apache-2.0 */
/* From our code through libc's qsort and bsearch, which have no frame pointers, into ours again. */
#include "zoo.h"

ZOO_DEFINE_SPIN(spin)

KEEP int compare(const void *a, const void *b)
{
	spin(SPINS_PER_MS / 20);
	return *(const int *)a - *(const int *)b;
}

KEEP void sort_all(void)
{
	int values[] = {5, 3, 8, 1, 9, 2, 7, 4, 6, 0};

	qsort(values, sizeof(values) / sizeof(values[0]), sizeof(values[0]), compare);
	BARRIER();
}

KEEP void search_one(void)
{
	int values[] = {1, 2, 3, 4, 5, 6, 7, 8}, key = 3;

	(void)!bsearch(&key, values, sizeof(values) / sizeof(values[0]), sizeof(values[0]),
		       compare);
	BARRIER();
}

ZOO_MAIN("STACK spin compare " ZOO_LIBC " sort_all main\n"
	 "MAY spin compare " ZOO_LIBC " search_one main\n"
	 "MAY ?__mem* ?msort*+ ?*qsort_r sort_all main\n"
	 "MAY spin compare search_one main\n", /* bsearch may be inlined */
	 sort_all(); search_one())
