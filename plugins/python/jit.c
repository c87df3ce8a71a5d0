/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that CPython's JIT has made (3.13 and newer, where it is built in and turned on): anonymous
 * mappings, one for each executor (_PyJIT_Compile, Python/jit.c). What they hold is decided by BPF
 * for each address: it gives back what another JIT has made.
 */
#include "plugins/python/jit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct search {
	const struct ep_unwinder_host *host;
	const struct ep_target *target;
	struct ep_range *ranges;
	uint32_t n, max;
	bool any;
};

/* 3.15 names them, where the kernel can (Include/internal/pycore_mmap.h). */
static bool has_name(const char *path)
{
	return strcmp(path, "[anon:cpython:jit]") == 0;
}

/*
 * Up to 3.14 an executor begins with what saves the registers of the C code that calls it
 * (Tools/jit/shim.c), as clang compiles it: push %r15, %r14, %r13, %r12, %rbx; maybe %rbp before.
 */
static bool has_shim(const struct search *search, uint64_t addr)
{
	static const uint8_t pushes[] = {0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54, 0x53};
	uint8_t code[16];

	if (search->host->target_read(search->target, addr, code, sizeof(code)) < 0)
		return false;
	return memcmp(code, pushes, sizeof(pushes)) == 0 ||
	       (code[0] == 0x55 && memmem(code, sizeof(code), pushes, sizeof(pushes)));
}

static int visit(void *arg, const struct ep_target_mapping *mapping)
{
	struct search *search = arg;
	bool anonymous = !mapping->is_file && mapping->path[0] == '\0';

	if (!(mapping->prot & PROT_EXEC) || !(anonymous || has_name(mapping->path)))
		return 0;
	if (search->n && search->ranges[search->n - 1].end == mapping->start) {
		search->ranges[search->n - 1].end = mapping->end;
		return 0;
	}
	if (anonymous && !search->any && !has_shim(search, mapping->start))
		return 0;
	if (search->n == search->max)
		return 1;
	search->ranges[search->n++] = (struct ep_range){
		.start = mapping->start,
		.end = mapping->end,
		.mode = EP_RANGE_ENTER,
	};
	return 0;
}

uint32_t py_find_jit(const struct ep_unwinder_host *host, const struct ep_target *target, bool any,
		     struct ep_range *ranges, uint32_t max)
{
	struct search search = {
		.host = host,
		.target = target,
		.ranges = ranges,
		.max = max,
		.any = any,
	};

	(void)host->target_mappings(target, visit, &search);
	return search.n;
}
