/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that fail one by one, and blocks that are left, for programs that are linked with
 * -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=strdup (heap_wrap_args of the
 * build). Only what happens while it is armed counts. Needs the C library alone.
 */
#ifndef EP_TESTS_KIT_HEAP_H
#define EP_TESTS_KIT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct fake_heap {
	bool armed;
	uint32_t calls, fail_at; /* the one that fails, from 1 on; 0: none */
	int64_t live;		 /* blocks allocated and not freed */
};

/* The one of the program: the wrapped functions have no argument to pass it by. */
extern struct fake_heap heap_wrapped;

void heap_arm(uint32_t fail_at);
/* True when there were fewer allocations than the one that was to fail. */
bool heap_disarm(void);

/*
 * Runs `work` whole, then once for each of its allocations, which fails: 0 or -ENOMEM, and nothing
 * is left. NULL, or what is wrong. *ret_n: how many allocations it makes.
 */
const char *heap_fail_each(int (*work)(void *arg), void *arg, uint32_t *ret_n);

#endif
