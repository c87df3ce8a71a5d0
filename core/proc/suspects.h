/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that have files of suspect file systems mapped (core/proc/devices.h): their memory is
 * read by a reader (core/proc/readers.h), since any page of it may be one that never comes. Whoever
 * reads the mappings of a process tells; and where there are such file systems, what is at an
 * address is asked once more before it is read, because a process may map a file after that. Any
 * thread.
 */
#ifndef EP_PROC_SUSPECTS_H
#define EP_PROC_SUSPECTS_H

#include "core/base/util.h"

#include <sys/types.h>

void ep_suspects_add(pid_t pid);
bool ep_suspects_has(pid_t pid);
/* Whether this memory is to be read by a reader. */
bool ep_suspects_memory(pid_t pid, uint64_t addr, size_t bytes);

#endif
