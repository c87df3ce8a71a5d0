/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/replaced.h"
#include "core/base/elevated.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40 /* path_resolution(7) */

/* Who may lead us somewhere else. Who is root after sudo, or by a file's capabilities, is asked for the caller. */
static bool is_trusted(uid_t uid)
{
	struct ep_sudo_caller caller;

	return uid == 0 || uid == getuid() || (ep_sudo_caller(&caller) == 0 && uid == caller.uid);
}

/* Puts what the link at `path` says in its place: a relative one begins in its directory. */
static int follow_link(char path[PATH_MAX])
{
	char link[PATH_MAX], whole[PATH_MAX];
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	const char *slash = strrchr(path, '/');
	int bytes;

	if (n < 0)
		return -errno;
	link[n] = '\0';
	bytes = snprintf(whole, sizeof(whole), "%.*s%s", slash && link[0] != '/' ? (int)(slash + 1 - path) : 0,
			 path, link);
	if (bytes < 0 || (size_t)bytes >= sizeof(whole))
		return -ENAMETOOLONG;
	memcpy(path, whole, (size_t)bytes + 1);
	return 0;
}

static int judge_kind(const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	return S_ISREG(st->st_mode) ? EP_REPLACED_FILE : -ENOTSUP;
}

/* To what is no link: EP_REPLACED_FILE and what it is, 0 where nothing is, or a negative errno. */
static int follow_links(char path[PATH_MAX], struct stat *ret_st)
{
	for (int links = 0; links <= MAX_LINKS; links++) {
		int r;

		if (lstat(path, ret_st) < 0)
			return errno == ENOENT ? 0 : -errno;
		if (!S_ISLNK(ret_st->st_mode))
			return judge_kind(ret_st);
		if (!is_trusted(ret_st->st_uid))
			return -ELOOP;
		r = follow_link(path);
		if (r < 0)
			return r;
	}
	return -ELOOP;
}

/*
 * The kernel's own links (/proc/self/fd/1, where /dev/stdout leads) do not say where they lead: so what is
 * there in the end has to be what the kernel finds by the first name.
 */
int ep_replaced_find(const char *path, char ret_path[PATH_MAX])
{
	struct stat there, st;
	bool is_there = stat(path, &there) == 0;
	char at[PATH_MAX];
	int r = is_there ? judge_kind(&there) : 0;

	if (r < 0)
		return r;
	if (strlen(path) >= sizeof(at))
		return -ENAMETOOLONG;
	memcpy(at, path, strlen(path) + 1);
	r = follow_links(at, &st);
	if (r == 0 && is_there) /* the end of one of the kernel's links */
		return -ELOOP;
	if (r > 0 && is_there && (st.st_dev != there.st_dev || st.st_ino != there.st_ino))
		return -ELOOP;
	if (r >= 0 && ret_path)
		memcpy(ret_path, at, strlen(at) + 1);
	return r;
}

const char *ep_replaced_why(int r)
{
	switch (r) {
	case -ENOTSUP:
		return "is not a regular file, and none takes the place of a device, a pipe or a socket: name another";
	case -EISDIR:
		return "is a directory: name a file in it";
	case -ELOOP:
		return "is a symbolic link that is not followed, of another user or in a circle: name the file itself";
	default:
		return NULL;
	}
}
