/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A large file is read once: what is after the reader is given back to the kernel as it goes, so
 * that the file and what it becomes are not in memory at the same time.
 */
#ifndef EP_READERS_FORGET_H
#define EP_READERS_FORGET_H

#include "core/base/util.h"

#include <sys/mman.h>

#define EP_READ_FORGET_BYTES ((size_t)4 << 20) /* at a time */

/* Whole pages from *from to `to`, once they are worth the call; *from moves. They read as zeros then. */
static inline void ep_read_forget(const uint8_t **from, const uint8_t *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = EP_ALIGN_UP((uintptr_t)*from, page), end = EP_ALIGN_DOWN((uintptr_t)to, page);

	if (end < first + EP_READ_FORGET_BYTES)
		return;
	(void)madvise((void *)first, end - first, MADV_DONTNEED);
	*from = to;
}

#endif
