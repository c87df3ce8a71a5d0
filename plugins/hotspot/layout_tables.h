/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables that a VM publishes about itself (src/hotspot/share/runtime/vmStructs.cpp): where they
 * are and where in the file the names are that we look for (layout_strings.h), once per file; what
 * they say, per process.
 *
 *	gHotSpotVMStructs	members: type, field, type of the field, static?, offset or address
 *	gHotSpotVMTypes		types: name, superclass, size, signedness
 *	gHotSpotVM{Int,Long}Constants	name, value
 *
 * The rows' layout is published too (gHotSpotVMStructEntryTypeNameOffset and its like). Names are
 * pointers to string constants in the file's .rodata, so no string is read from the process:
 * pointers are compared. One that points elsewhere is read.
 */
#ifndef HOTSPOT_LAYOUT_TABLES_H
#define HOTSPOT_LAYOUT_TABLES_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/hotspot/layout.h"
#include "plugins/shared/read/memory.h"

struct hotspot_tables; /* of a file; constant */

/* EP_NOT_MINE: no such tables; -ENOMEM; -ENODATA: not all of them. */
int hotspot_tables_find(const struct ep_unwinder_host *host, const struct ep_file *file,
			struct hotspot_tables **ret);
void hotspot_tables_free(struct hotspot_tables *tables);

/* EP_NOT_YET: not relocated yet; -EBADMSG: nonsense; what a read says. */
int hotspot_tables_read(const struct hotspot_tables *tables, const struct memory *memory,
			uint64_t bias, struct hotspot_layout *ret);

/*
 * A flag of the VM (JVMFlag::flags) that is a bool, one of those whose names were looked for: 0 and
 * its value; -ENODATA: no such flag.
 */
int hotspot_tables_flag(const struct hotspot_tables *tables, const struct memory *memory,
			uint64_t bias, const struct hotspot_layout *layout, const char *name,
			bool *ret);

#endif
