/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an offset in a method's code to one in its IL (vm/debuginfostore.cpp, v8.0.0, v10.0.0;
 * 11 as its live lines confirm it, the source not seen):
 *
 *	JIT	u8 flags: 1 PatchpointInfo, 2 rich debug info	[PatchpointInfo] [u32 bytes, rich]
 *	all	nibbles: bytes of bounds, bytes of variables; to the next byte
 *	JIT, 11	no flags; nibbles: the same, or 0, then bytes of bounds, variables, uninstrumented
 *		bounds, PatchpointInfo, rich debug info, async; to the next byte; these parts
 *	bounds	to 9	nibbles: count, then {native offset - last one, IL offset + 3, source}
 *		10	nibbles: count, bits of a difference - 1, bits of an IL offset - 1; to the
 *			next byte; {2 bits source (11: 3), native offset - last one, IL offset +
 *			3}, packed
 *
 * R2R code has no flags, and the form of the image's own version, from major 16 on that of 10. IL
 * offsets -1, -2 and -3 are code without one, of a prologue, of an epilogue: the last one before
 * holds.
 *
 * Rich debug info has what was inlined, if DOTNET_RichDebugInfo was 1:
 *
 *	nibbles: number of nodes, of mappings
 *	nodes	{MethodDesc in 16 nibbles, then differences: IL offset, child, sibling}; the first
 *		one is the method
 *	mappings	{native offset - last one, differences: node, IL offset; source}
 */
#ifndef DOTNET_DEBUG_INFO_H
#define DOTNET_DEBUG_INFO_H

#include "plugins/dotnet/symbolize/ranges.h"

#define DOTNET_MAX_INLINED 32 /* methods in one another; deeper ones are part of the last */

struct dotnet_debug_info {
	uint64_t addr;	/* 0: there is none */
	bool has_flags; /* of JIT code */
	bool is_packed; /* bounds have the form of 10 */
	bool has_sizes; /* of JIT code of 11 */
};

/* A method, and where it is in its IL. */
struct dotnet_il {
	uint64_t method; /* MethodDesc of an inlined one; 0: of the code itself */
	uint32_t offset;
};

/*
 * The method itself and what is inlined at an offset of its code, innermost first: *ret_n up to
 * 1 + DOTNET_MAX_INLINED. -ENODATA: it has no map; -EBADMSG, -ENOTSUP (a release whose form is not
 * known), -EFAULT, -ESRCH.
 */
int dotnet_debug_find(const struct dotnet_reader *reader, const struct dotnet_debug_info *info,
		      uint32_t native, struct dotnet_il *ret, uint32_t *ret_n);

/* 1: it has what was inlined; 0: not; -EFAULT, -ESRCH. */
int dotnet_debug_is_rich(const struct dotnet_reader *reader, const struct dotnet_debug_info *info);

/* Of JIT code, by its header. */
int dotnet_debug_of_header(const struct dotnet_reader *reader, uint64_t header,
			   struct dotnet_debug_info *ret);

/*
 * Of function number `index` of an image, whose ReadyToRunInfo and base are given: section 105
 * (docs/design/coreclr/botr/readytorun-format.md). -ENODATA: it has none.
 */
int dotnet_debug_of_function(const struct dotnet_reader *reader, uint64_t info, uint64_t base,
			     uint32_t index, struct dotnet_debug_info *ret);

#endif
