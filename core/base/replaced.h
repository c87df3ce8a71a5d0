/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file that is about to be written would take the place of. Writing by rename puts a file where a
 * device, a pipe or a symbolic link was: as root it turns /dev/null into a file. So a path is asked for here
 * before something is written there, and again before the rename.
 *
 * A symbolic link is followed by name, link by link, and what it leads to is replaced: the link stays. It
 * counts only if root or who started this program made it, since in a directory where others may write they
 * could lead root to any file.
 */
#ifndef EP_BASE_REPLACED_H
#define EP_BASE_REPLACED_H

#include <limits.h>

#define EP_REPLACED_FILE 1 /* a regular file is there */

/*
 * Where a file of that name is to be written, with the rights that this thread has. 0: nothing is there;
 * EP_REPLACED_FILE; -ENOTSUP: a device, a pipe or a socket, which is never replaced; -EISDIR; -ELOOP: a link
 * of somebody else, or one that leads in a circle; -ENAMETOOLONG; or what lstat(2) says. `ret_path` may be
 * NULL.
 */
int ep_replaced_find(const char *path, char ret_path[PATH_MAX]);
/* What to say after the path of -ENOTSUP, -EISDIR and -ELOOP: "is a directory: name a file in it"; NULL of others. */
const char *ep_replaced_why(int r);

#endif
