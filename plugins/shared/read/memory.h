/* SPDX-License-Identifier: Apache-2.0 */
/* Memory to read from: a process's, or a test's. Everything in it is hostile. */
#ifndef READ_MEMORY_H
#define READ_MEMORY_H

#include "ebpf-profiler/unwinder.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

struct memory {
	/* All or nothing: 0, -EFAULT, -ESRCH. */
	int (*read)(void *arg, uint64_t addr, void *buf, size_t bytes);
	void *arg;
};

static inline int memory_read(const struct memory *memory, uint64_t addr, void *buf, size_t bytes)
{
	return memory->read(memory->arg, addr, buf, bytes);
}

/*
 * An object of unknown size, which may be shorter and end where mapped memory does: then up to the
 * end of its page, and zeros. *ret_bytes were read.
 */
int memory_read_head(const struct memory *memory, uint64_t addr, void *buf, size_t bytes,
		     size_t *ret_bytes);
/*
 * A C string, cut at size - 1 bytes. It is read in pieces that end where a multiple of `piece` is,
 * a power of two up to MEMORY_PAGE: there may be nothing after its end.
 */
#define MEMORY_PAGE 4096u /* the smallest there is */
int memory_read_string(const struct memory *memory, uint64_t addr, char *buf, size_t size,
		       size_t piece);

/* The outcome for a frame: what was not there, or was something else, is a frame that is gone. */
static inline int memory_frame_gone(int r)
{
	return r == -EFAULT || r == -EBADMSG ? EP_FRAME_GONE : r;
}

#endif
