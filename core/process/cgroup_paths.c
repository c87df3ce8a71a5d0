/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/cgroup_paths.h"

#include <string.h>

#define MAX_NUMBERS 16384

void ep_cgroup_paths_init(struct ep_cgroup_paths *paths)
{
	*paths = (struct ep_cgroup_paths){0};
	ep_map_init(&paths->by_number, MAX_NUMBERS);
}

void ep_cgroup_paths_fini(struct ep_cgroup_paths *paths)
{
	ep_map_fini(&paths->by_number);
	ep_strings_free(paths->strings);
	paths->strings = NULL;
}

void ep_cgroup_paths_learn(struct ep_cgroup_paths *paths, uint64_t number, const char *path)
{
	uint32_t id;

	if (!number || !path[0] || ep_map_find(&paths->by_number, number))
		return;
	if (!paths->strings && ep_strings_new(EP_CGROUP_PATHS_BYTES, &paths->strings) < 0)
		return;
	if (ep_strings_add(paths->strings, path, strlen(path), &id) == 0 &&
	    ep_map_set(&paths->by_number, number, id) == 0)
		return;
	ep_cgroup_paths_fini(paths);
	ep_cgroup_paths_init(paths);
}

const char *ep_cgroup_paths_find(const struct ep_cgroup_paths *paths, uint64_t number)
{
	const uint64_t *id = number ? ep_map_find(&paths->by_number, number) : NULL;

	return id ? ep_strings_get(paths->strings, (uint32_t)*id) : "";
}
