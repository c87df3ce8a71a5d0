/* SPDX-License-Identifier: Apache-2.0 */
/* Units of systemd, by the cgroups that it gives them (systemd.resource-control(5)). */
#ifndef EP_PROFILE_UNIT_H
#define EP_PROFILE_UNIT_H

#include <stddef.h>

/*
 * The innermost unit of a cgroup's path, which is a part of it: "nginx.service" of
 * "/system.slice/nginx.service/workers". A slice counts where nothing else is in it; where there is
 * no unit it is the whole path. Its length.
 */
size_t ep_unit_of_cgroup(const char *path, const char **ret_unit);

#endif
