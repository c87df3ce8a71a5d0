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

/*
 * The text of /proc/PID/cgroup, v1 or v2. The last path component that names a container wins; ""
 * when it is in none.
 */
void ep_container_parse_id(const char *text, size_t bytes, char id[EP_CONTAINER_ID_BYTES]);

#endif
