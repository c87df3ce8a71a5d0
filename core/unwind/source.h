/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds call frame information in an ELF file and reads it into memory of its own.
 */
#ifndef EP_UNWIND_SOURCE_H
#define EP_UNWIND_SOURCE_H

#include "core/unwind/fde_list.h"

struct ep_elf;

struct ep_unwind_bytes { /* one section's bytes, owned */
	struct ep_region region;
	struct ep_cfi_section sec;
};

struct ep_eh_source {
	struct ep_unwind_bytes frame;
	struct ep_unwind_bytes hdr; /* sec.data NULL: there is none */
	struct ep_fde_list list;
	bool by_table;
};

struct ep_debug_source {
	struct ep_unwind_bytes frame;
	struct ep_fde_list list;
};

/*
 * .eh_frame, by section header or, when those are stripped, by PT_GNU_EH_FRAME. `scan`: do not use
 * the linker's table. 0, -ENODATA, -EBADMSG (outside the file, too long, or with a hole in it), -ENOMEM, those of
 * work (core/base/work.h), or a read's errno.
 */
int ep_eh_source_open(struct ep_eh_source *source, const struct ep_elf *elf, bool scan);
void ep_eh_source_close(struct ep_eh_source *source); /* accepts a zeroed source */

/* .debug_frame, also a compressed one. The same errors. */
int ep_debug_source_open(struct ep_debug_source *source, const struct ep_elf *elf);
void ep_debug_source_close(struct ep_debug_source *source); /* accepts a zeroed source */

#endif
