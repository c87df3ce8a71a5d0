/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions begin and end in a file that has no names for them: the ranges of .eh_frame's
 * FDEs, by the sorted table in .eh_frame_hdr. With it all addresses of a nameless function can be
 * shown under one made-up name. 8 bytes per function; does not change once it is built.
 */
#ifndef EP_SYMBOL_STARTS_H
#define EP_SYMBOL_STARTS_H

#include "core/elf/file.h"

struct ep_starts;

/* 0; -ENODATA without such a table in the form all linkers write; -EBADMSG, -ENOMEM, -errno. */
int ep_starts_build(const struct ep_elf *elf, struct ep_starts **ret_starts);
void ep_starts_free(struct ep_starts *starts); /* accepts NULL */

/* Start of the function that holds `va`. 0, -ENODATA. */
int ep_starts_find(const struct ep_starts *starts, uint64_t va, uint64_t *ret_start_va);
size_t ep_starts_bytes(const struct ep_starts *starts); /* heap; 0 for NULL */

#endif
