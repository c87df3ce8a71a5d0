/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A static build without symbols of any kind: the release is a text, the loop of the hybrid VM is
 * where next to nothing else is done than loading the handler of the next opline, through r15, and
 * the globals are known in a process by what points to itself in them.
 */
#ifndef PHP_STATIC_H
#define PHP_STATIC_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/shared/read/memory.h"

#include <linux/types.h>
#include <stdbool.h>

/* X-Powered-By: PHP/8.4. 0; -ENODATA: there is no such text; what reading returned. */
int php_static_release(const struct ep_unwinder_host *host, const struct ep_file *file,
		       uint32_t *ret_major, uint32_t *ret_minor);
/* No symbol tables, and small enough to be looked at. */
bool php_static_may_be(const struct ep_unwinder_host *host, const struct ep_file *file);
/* Of its code. ELF virtual addresses; 0: not found. */
struct php_static_code {
	struct ep_symbol loop; /* execute_ex */
	uint64_t root_va; /* where musl calls main and then exit (libc_start_main_stage2), without
			     unwind tables */
	uint64_t make_va,
		jump_va; /* make_fcontext, after its first instructions, and jump_fcontext */
};

/* 0, -ENODATA: no loop; or what reading returned. */
int php_static_code(const struct ep_unwinder_host *host, const struct ep_file *file,
		    struct php_static_code *ret);
/* executor_globals, in the .bss of a process. 0; EP_NOT_YET: they are not made yet; what reading
 * returned. */
int php_static_globals(const struct memory *memory, uint64_t bss_addr, uint64_t bytes,
		       __u64 *ret_addr);

#endif
