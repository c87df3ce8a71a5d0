/* SPDX-License-Identifier: Apache-2.0 */
/* What every fuzz target begins with: what its driver calls, and what it needs of libc. */
#ifndef EP_TESTS_KIT_FUZZ_H
#define EP_TESTS_KIT_FUZZ_H

#include <assert.h>
#include "tests/kit/fakes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With bytes to read; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
