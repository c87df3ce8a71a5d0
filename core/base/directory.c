/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/directory.h"
#include "core/base/elevated.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Root could do anything anyway; with capabilities of a file our caller is the one who is not to be harmed. */
static bool is_trusted(uid_t uid)
{
	struct ep_sudo_caller caller;

	return uid == 0 || uid == getuid() || (ep_sudo_caller(&caller) == 0 && uid == caller.uid);
}

/* Root's, or a user's own by the scheme of one group for each user, where umask is 002. */
static bool is_private_group(const struct stat *st)
{
	const struct group *group = st->st_gid ? getgrgid(st->st_gid) : NULL;
	const struct passwd *owner = group ? getpwuid(st->st_uid) : NULL;

	return st->st_gid == 0 || (owner && owner->pw_gid == st->st_gid && !group->gr_mem[0] &&
				   strcmp(owner->pw_name, group->gr_name) == 0);
}

static int check_one(const char *path, char ret_why[EP_DIRECTORY_WHY_BYTES])
{
	struct stat st;
	bool is_group;

	if (stat(path, &st) < 0)
		return 0;
	if (!is_trusted(st.st_uid)) {
		snprintf(ret_why, EP_DIRECTORY_WHY_BYTES,
			 "%.200s belongs to user %u, who could replace what is written there: choose another, or "
			 "run `chown`", path, st.st_uid);
		return -EPERM;
	}
	is_group = st.st_mode & S_IWGRP && !is_private_group(&st);
	if (st.st_mode & S_ISVTX || !(st.st_mode & S_IWOTH || is_group))
		return 0;
	snprintf(ret_why, EP_DIRECTORY_WHY_BYTES,
		 "%.200s may be written by %s, who could replace what is written there: choose another, or run "
		 "`chmod go-w`", path, st.st_mode & S_IWOTH ? "everybody" : "its group");
	return -EPERM;
}

/* From the top, without symbolic links: who owns a directory can put another in the place of those in it. */
static int check_all(char *path, char ret_why[EP_DIRECTORY_WHY_BYTES])
{
	int r = check_one("/", ret_why);

	for (char *slash = path; slash && r == 0;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		r = check_one(path, ret_why);
		if (slash)
			*slash = '/';
	}
	return r;
}

int ep_directory_check(const char *path, char ret_why[EP_DIRECTORY_WHY_BYTES])
{
	struct ep_rights rights;
	char *real;
	int r = ep_rights_of_caller(&rights);

	if (r < 0)
		return 0;
	real = realpath(path, NULL);
	r = real ? check_all(real, ret_why) : 0;
	ep_rights_restore(&rights);
	free(real);
	return r;
}
