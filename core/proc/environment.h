/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chosen variables of a process's environment, as it was when the process began to execute its
 * program (/proc/PID/environ). Values are the process's own and may hold any byte but NUL.
 */
#ifndef EP_PROC_ENVIRONMENT_H
#define EP_PROC_ENVIRONMENT_H

#include "core/base/vec.h"

#include <sys/types.h>

#define EP_ENVIRONMENT_MAX_BYTES (256u << 10) /* looked at, of one process */
#define EP_ENVIRONMENT_MAX_VALUE 4096	      /* longer ones are left out */

/*
 * Appends "NAME=value" with its NUL to `text` (bytes) for each of the `n` names that is set, in the
 * order of the environment. 0, -ESRCH, -EACCES, -ENOMEM, -E2BIG when `text` is full.
 */
int ep_environment_read(pid_t pid, const char *const *names, size_t n, struct ep_vec *text);
/* The same from bytes in the format of /proc/PID/environ; the last entry may be cut off. */
int ep_environment_parse(const char *data, size_t bytes, const char *const *names, size_t n,
			 struct ep_vec *text);

#endif
