/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an executable or a library says to its loader: who loads it, what it needs, where that is
 * looked for. Read from program headers and the dynamic section alone, as the loader does.
 */
#ifndef EP_ELF_NEEDED_H
#define EP_ELF_NEEDED_H

#include "core/elf/file.h"

#define EP_ELF_MAX_NEEDED     256  /* names; the largest desktop programs need about 150 */
#define EP_ELF_MAX_LOADER_TEXT 4096 /* bytes of one name or search path, with its NUL */

struct ep_elf_needed {
	char *interp;	/* PT_INTERP; NULL: a static program, or a library */
	char *rpath;	/* DT_RPATH as it stands; NULL: none, or ignored for DT_RUNPATH */
	char *runpath;	/* DT_RUNPATH as it stands; NULL: none */
	char *names[EP_ELF_MAX_NEEDED]; /* DT_NEEDED, in their order */
	size_t n_names;
};

/*
 * 0, also of a file that needs nothing; names above the maximum, and those that are no texts, are
 * left out. -EBADMSG when the dynamic section cannot be read, -ENOMEM. Nothing to free on failure.
 */
int ep_elf_needed_read(const struct ep_elf *elf, struct ep_elf_needed *ret_needed);
void ep_elf_needed_fini(struct ep_elf_needed *needed); /* accepts a zeroed struct */

#endif
