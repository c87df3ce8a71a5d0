/* SPDX-License-Identifier: Apache-2.0 */
/* Where the code of CPython's JIT is in a process. */
#ifndef PY_JIT_H
#define PY_JIT_H

#include "ebpf-profiler/unwinder.h"

#include <stdbool.h>

#define PY_MAX_JIT_RANGES 1024

/*
 * Fills at most `max` ranges; how many. any: there is no telling from what an executor's code
 * begins with; every anonymous mapping is taken that may be executed.
 */
uint32_t py_find_jit(const struct ep_unwinder_host *host, const struct ep_target *target, bool any,
		     struct ep_range *ranges, uint32_t max);

#endif
