/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads another process's memory by process_vm_readv: no stop, no ptrace attach. Addresses are
 * target addresses. All: -ESRCH when the process is gone, -EFAULT where nothing is mapped, -EPERM. A process whose
 * pages may never come is read by a reader, if there are any (core/proc/readers.h): then also -ETIMEDOUT, -ECANCELED.
 */
#ifndef EP_PROC_MEMORY_H
#define EP_PROC_MEMORY_H

#include "core/base/util.h"

#include <sys/types.h>

/* Exactly `bytes`, or an error: a partial read is -EFAULT and leaves `buf` undefined. */
int ep_memory_read(pid_t pid, uint64_t addr, void *buf, size_t bytes);
/* As many as are readable from `addr` on, *ret_bytes > 0. */
int ep_memory_read_some(pid_t pid, uint64_t addr, void *buf, size_t bytes, size_t *ret_bytes);
int ep_memory_read_u64(pid_t pid, uint64_t addr, uint64_t *ret_value);
/*
 * A NUL-terminated string into `buf` of `size` > 0 bytes. 0; -E2BIG when no NUL came within size
 * bytes; -EFAULT when unmapped memory came before the NUL.
 */
int ep_memory_read_string(pid_t pid, uint64_t addr, char *buf, size_t size);

#endif
