/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion as deep as the first argument says. */
#include "stand.h"

KEEP int down(int levels)
{
	int sum = 1;

	if (levels > 1)
		sum += down(levels - 1);
	else
		stand();
	BARRIER();
	return sum;
}

int main(int argc, char **argv)
{
	alarm(60);
	return down(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1);
}
