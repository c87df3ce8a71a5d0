/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The FDEs of one section by ascending start address: read from the table the linker left in
 * .eh_frame_hdr, or found by a walk over the section and sorted.
 *
 *	.eh_frame_hdr  | version 1 | enc. of ptr | enc. of count | enc. of table | eh_frame ptr | count |
 *	               | start, FDE | start, FDE | ...   both 4 bytes, signed, from the header's va
 */
#ifndef EP_UNWIND_FDE_LIST_H
#define EP_UNWIND_FDE_LIST_H

#include "core/unwind/cfi.h"
#include "core/unwind/region.h"

struct ep_fde_ref {
	uint64_t start; /* va */
	uint64_t off;	/* of the FDE in the section */
};

struct ep_fde_list {
	struct ep_cfi_section sec;
	struct ep_cie_cache cies;
	const uint8_t *table; /* in .eh_frame_hdr; NULL: refs */
	uint64_t table_va;
	struct ep_fde_ref *refs;
	struct ep_region refs_region;
	size_t n;
	size_t pos;	/* the next one to emit */
	uint64_t n_bad; /* entries the walk could not parse */
};

/*
 * Uses the header's table, after a look at all of it: sorted, each FDE inside the section. The
 * header's bytes must outlive the list. 0, -EBADMSG or -ENOTSUP when it cannot be used.
 */
int ep_fde_list_init_table(struct ep_fde_list *list, const struct ep_cfi_section *sec,
			   const struct ep_cfi_section *hdr);
/* Walks the section. What follows a wrong length is lost, and counted. 0, -ENOMEM, and those of its work. */
int ep_fde_list_init_scan(struct ep_fde_list *list, const struct ep_cfi_section *sec);
void ep_fde_list_fini(struct ep_fde_list *list); /* accepts a zeroed list */

static inline struct ep_fde_ref ep_fde_list_get(const struct ep_fde_list *list, size_t i)
{
	int32_t pair[2];

	if (!list->table)
		return list->refs[i];
	memcpy(pair, list->table + i * sizeof(pair), sizeof(pair));
	return (struct ep_fde_ref){
		.start = list->table_va + (uint64_t)(int64_t)pair[0],
		.off = list->table_va + (uint64_t)(int64_t)pair[1] - list->sec.va,
	};
}

#endif
