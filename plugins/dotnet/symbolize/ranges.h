/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime's map of its code: five levels of 256 pointers, then a list of fragments, each of a
 * range: an image, a heap of JIT code, stubs. vm/codeman.h: RangeSectionMap, v8.0.0. Pointers have
 * bit 0 set where what they lead to is collectible.
 */
#ifndef DOTNET_RANGES_H
#define DOTNET_RANGES_H

#include "plugins/dotnet/dotnet_shared.h"
#include "plugins/dotnet/layout.h"
#include "plugins/shared/read/memory.h"

/* A process's memory and how its structures are laid out. */
struct dotnet_reader {
	struct memory memory;
	const struct dotnet_layout *layout;
	uint64_t range_map; /* its top level */
};

struct dotnet_range {
	uint64_t begin, end;
	uint64_t module; /* of an image */
	uint64_t heap;	 /* HeapList, of JIT code */
	uint32_t flags;	 /* enum dotnet_range_flag */
};

int dotnet_read_word(const struct dotnet_reader *reader, uint64_t addr, uint64_t *ret);

/* The range that holds an address. 0; -ENODATA: none does; -EBADMSG, -EFAULT, -ESRCH. */
int dotnet_range_find(const struct dotnet_reader *reader, uint64_t addr, struct dotnet_range *ret);

/*
 * All of them, ascending, each once as long as its fragments are neighbours; up to
 * DOTNET_MAX_RANGES. visit returns non-zero to stop, and may read. 0; what visit returned; -E2BIG:
 * the map has more tables or fragments than any process, or a circle; -EFAULT, -ESRCH.
 */
#define DOTNET_MAX_RANGES 4096
typedef int dotnet_range_visit(void *arg, const struct dotnet_range *range);
int dotnet_ranges_visit(const struct dotnet_reader *reader, dotnet_range_visit *visit, void *arg);

/* Of JIT code, by where it begins: its header, and the MethodDesc in that. 0; -EFAULT, -ESRCH;
 * -EBADMSG: it is a stub. */
int dotnet_header_of_start(const struct dotnet_reader *reader, uint64_t start, uint64_t *ret);
int dotnet_method_of_start(const struct dotnet_reader *reader, uint64_t start, uint64_t *ret);

/*
 * The methods of a heap in the order of their code, as far as its first `bytes` go: visit gets
 * where it begins. Stubs are left out. Returns as dotnet_ranges_visit.
 */
typedef int dotnet_method_visit(void *arg, uint64_t start);
int dotnet_heap_visit(const struct dotnet_reader *reader, const struct dotnet_range *range,
		      uint32_t bytes, dotnet_method_visit *visit, void *arg);

#endif
