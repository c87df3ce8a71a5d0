/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The assembly that switches fibers (8.1 on; asm/jump_x86_64_sysv_elf_gas.S,
 * make_x86_64_sysv_elf_gas.S): it has no unwind tables, and from 8.6 on no symbols.
 */
#ifndef PHP_FIBER_H
#define PHP_FIBER_H

#include "ebpf-profiler/unwinder.h"

#define PHP_FIBER_ROWS 6

/* ELF virtual addresses; 0: absent. */
struct php_fiber_code {
	uint64_t finish_va; /* where make_fcontext lets a fiber's stack end */
	struct ep_code_row rows[PHP_FIBER_ROWS];
	uint32_t n_rows;
};

/* A row: what returns there is the root of its stack. */
void php_fiber_root(struct php_fiber_code *fiber, uint64_t va, uint32_t bytes);
/* Of known functions. */
void php_fiber_take(const struct ep_unwinder_host *host, const struct ep_file *file,
		    uint64_t make_va, uint64_t jump_va, struct php_fiber_code *ret);
/* By symbols. */
void php_fiber_find(const struct ep_unwinder_host *host, const struct ep_file *file,
		    struct php_fiber_code *ret);

#endif
