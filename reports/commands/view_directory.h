/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles in a directory: which is the newest, and which of the agent's files
 * (profile-HOST-20260131-235959 with an extension, the start in UTC) cover a range of time.
 */
#ifndef EP_REPORTS_VIEW_DIRECTORY_H
#define EP_REPORTS_VIEW_DIRECTORY_H

#include "core/base/vec.h"
#include "reports/view/filter.h"

/* Path (from malloc) of the profile written last. 0, -ENOENT when there is none, or a negative
 * errno. */
int ep_view_newest_here(const char *directory, char **ret_path);

/* A file of the agent. Its name says the second in which it begins, and no more. */
struct ep_view_dated {
	char *path; /* from malloc */
	uint64_t start_ns;
	uint64_t end_ns;       /* where it ends at the latest; UINT64_MAX: nobody knows */
	uint64_t guess_end_ns; /* where it does not say its end itself */
	bool is_edge; /* the first or the last of its series: they say what relative times mean */
};

/*
 * Appends struct ep_view_dated, the oldest first. Without times in the filter: the newest. With
 * times: all that can overlap what they ask for, and those that must be read to know what relative
 * times mean. 0, -ENOENT when there is none, -E2BIG, or a negative errno.
 */
int ep_view_directory_choose(const char *directory, const struct ep_view_filter *filter,
			     struct ep_vec *chosen);

#endif
