/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles in a directory: which is the newest, and which of the agent's files
 * (profile-HOST-20260131-235959 with an extension, the start in UTC) cover a range of time.
 */
#ifndef EP_CLI_VIEW_DIRECTORY_H
#define EP_CLI_VIEW_DIRECTORY_H

#include "core/base/vec.h"
#include "core/view/filter.h"

/* Path (from malloc) of the profile written last. 0, -ENOENT when there is none, or a negative
 * errno. */
int ep_view_newest_here(const char *directory, char **ret_path);

/*
 * Appends paths (char *, from malloc), the oldest first: those that overlap what the filter's times
 * ask for, without times the newest. 0, -ENOENT when there is none, -E2BIG, or a negative errno.
 */
int ep_view_directory_choose(const char *directory, const struct ep_view_filter *filter,
			     struct ep_vec *paths);

#endif
