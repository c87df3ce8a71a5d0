/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ELF files below directories, by their build ids: whatever a file is called, its build id says
 * whose symbols it has. The directories are read once, when the first build id is asked for. Their
 * content is hostile: so many files and levels are looked at and no more, links to directories are
 * not followed, and of what is no regular file nothing is read.
 */
#ifndef EP_VIEW_DEBUG_INDEX_H
#define EP_VIEW_DEBUG_INDEX_H

#include "core/base/vec.h"

#include <stdbool.h>

struct ep_debug_index {
	struct ep_vec files; /* sorted by build id, once read */
	bool is_read;
	bool is_cut; /* there were more files than are looked at */
};

void ep_debug_index_init(struct ep_debug_index *index);
void ep_debug_index_fini(struct ep_debug_index *index);
/* 0 or -ENOMEM. What cannot be read is left out. */
int ep_debug_index_read(struct ep_debug_index *index, const char *const *directories, size_t n);
/* Path of the n-th file with this build id, in hex; NULL: there are not that many. */
const char *ep_debug_index_find(const struct ep_debug_index *index, const char *build_id, size_t n);

#endif
