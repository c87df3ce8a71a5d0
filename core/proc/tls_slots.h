/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relocations of a shared library that tell where its thread storage is: once the dynamic linker
 * has applied them, the words they name hold a module id or an offset from the thread pointer.
 * Which variable a relocation is for does not matter much: all of a module are in one block.
 */
#ifndef EP_PROC_TLS_SLOTS_H
#define EP_PROC_TLS_SLOTS_H

#include "core/elf/file.h"

/* One word in the library's data. `rank` 0: there is none; else higher is surer. */
struct ep_tls_slot {
	uint64_t va;
	uint64_t tls_off; /* of the variable it is for; of a module id's slot: 0 */
	int rank;
};

struct ep_tls_slots {
	struct ep_tls_slot offset;     /* word: variable - thread pointer */
	struct ep_tls_slot module;     /* word: module id */
	struct ep_tls_slot descriptor; /* two words: function, argument */
};

/*
 * Reads the SHT_RELA sections. 0, also when nothing was found; -ENOTSUP for a machine we do not
 * know, -EBADMSG, -E2BIG, -errno.
 */
int ep_tls_slots_find(const struct ep_elf *elf, uint64_t tls_off, struct ep_tls_slots *ret);

#endif
