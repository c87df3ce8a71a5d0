/* SPDX-License-Identifier: Apache-2.0 */
/* From code with unwind tables through code without (bare.c) to code with. */
#include "bare.h"
#include "stand.h"

KEEP void with_tables(void)
{
	stand();
	BARRIER();
}

int main(void)
{
	alarm(60);
	bare_outer(with_tables);
	BARRIER();
	return 0;
}
