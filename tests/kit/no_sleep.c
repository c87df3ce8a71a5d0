/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that are linked with -Wl,--wrap=nanosleep: pauses of what they test take no time. */
#include "tests/kit/fakes.h"

#include <time.h>

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	return 0;
}
