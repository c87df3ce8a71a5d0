/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of cgroups by their numbers, as reads of processes have reported them: an exec tells
 * the number alone. The kernel uses no number twice. Loop's thread only.
 */
#ifndef EP_PROCESS_CGROUP_PATHS_H
#define EP_PROCESS_CGROUP_PATHS_H

#include "core/base/map.h"
#include "core/base/strings.h"

#define EP_CGROUP_PATHS_BYTES (1u << 20) /* of all; when they are as many, all are forgotten */

struct ep_cgroup_paths {
	struct ep_map by_number;    /* to a string's id */
	struct ep_strings *strings; /* NULL: none is known */
};

void ep_cgroup_paths_init(struct ep_cgroup_paths *paths);
void ep_cgroup_paths_fini(struct ep_cgroup_paths *paths);
/* What cannot be kept stays unknown. */
void ep_cgroup_paths_learn(struct ep_cgroup_paths *paths, uint64_t number, const char *path);
/* "": unknown. Borrowed until the next call. */
const char *ep_cgroup_paths_find(const struct ep_cgroup_paths *paths, uint64_t number);

#endif
