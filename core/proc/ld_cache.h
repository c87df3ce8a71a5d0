/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /etc/ld.so.cache: where glibc's loader finds a library by its name. Read whole and searched in
 * place; each offset in it is checked when it is used.
 */
#ifndef EP_PROC_LD_CACHE_H
#define EP_PROC_LD_CACHE_H

#include "core/base/vec.h"

#define EP_LD_CACHE_MAX_BYTES (16u << 20)

struct ep_ld_cache {
	struct ep_vec bytes;
	uint64_t entries_off, n_entries, entry_bytes;
	uint64_t strings_off; /* what offsets of strings are relative to */
};

/* 0, -EBADMSG (no such cache, or one of another byte order), -E2BIG, -ENOMEM, -errno. */
int ep_ld_cache_read(const char *path, struct ep_ld_cache *ret_cache);
/* The same from bytes, which are copied. */
int ep_ld_cache_parse(const void *data, size_t bytes, struct ep_ld_cache *ret_cache);
void ep_ld_cache_fini(struct ep_ld_cache *cache); /* accepts a zeroed struct */

/*
 * The paths of libraries of this name for 64-bit programs of an architecture (e_machine), one at
 * each call: start with *pos 0; NULL when there are no more. There are several when a library has
 * variants for newer processors. Borrowed until fini.
 */
const char *ep_ld_cache_next(const struct ep_ld_cache *cache, uint16_t machine, const char *name,
			     uint64_t *pos);

#endif
