/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container a process runs in, by the name its runtime gave to a cgroup. Nothing but
 * /proc/PID/cgroup is read, so it works for runtimes whose sockets we cannot reach.
 */
#ifndef EP_PROC_CONTAINER_H
#define EP_PROC_CONTAINER_H

#include <stddef.h>
#include <sys/types.h>

#define EP_CONTAINER_ID_BYTES 80 /* 64 hex digits, or a name; with the NUL */

/* 0 with "" when it is in none; -ESRCH, -errno. */
int ep_container_read_id(pid_t pid, char id[EP_CONTAINER_ID_BYTES]);
/* The text of /proc/PID/cgroup, v1 or v2. The last path component that names a container wins. */
void ep_container_parse_id(const char *text, size_t bytes, char id[EP_CONTAINER_ID_BYTES]);

#endif
