/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears whole or not at all, compressed or not: written without a name, or under one that
 * nobody can guess, in the same directory, then given its name. A file that exists is not replaced unless
 * asked to, and what is no file never is; of a symbolic link it is the target (core/base/replaced.h). Only its
 * owner may read it, who is the user that called sudo, if one did. It is made with the rights of who started
 * the program, also when the program may do more (core/base/elevated.h). One thread.
 */
#ifndef EP_EXPORTERS_FILE_H
#define EP_EXPORTERS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ep_file;

/*
 * Whether files can be made in dir. 0, a negative errno, or -EEXIST: there is a file or a link at `path`, which
 * may be "". Here and below -ENOTSUP, -EISDIR and -ELOOP are those of core/base/replaced.h.
 */
int ep_file_check(const char *dir, const char *path);
/*
 * `path` is the final name; `level` gzip's, 1 to 9, or 0: not compressed. 0 or a negative errno
 * (-EACCES, -ENOENT, -ENOSPC, ...).
 */
int ep_file_create(const char *path, int level, struct ep_file **ret_file);
/*
 * Could a file be written there? Makes one with a few bytes, whose temporary name nobody else has, and removes it.
 * The same errors: what access(2) does not tell is a full disk, a quota, a directory that is immutable.
 */
int ep_file_try(const char *path);
int ep_file_write(void *file, const void *data, size_t len); /* a struct ep_sink's */
/*
 * Ends the file and gives it its name. 0, -EEXIST (not replaced: call again with another path),
 * or a negative errno. `ret_bytes`: its size.
 */
int ep_file_publish(struct ep_file *file, const char *path, bool replace, uint64_t *ret_bytes);
/* Removes what was not published. Accepts NULL. */
void ep_file_close(struct ep_file *file);
static inline void ep_file_closep(struct ep_file **file)
{
	ep_file_close(*file);
}

/*
 * Names of the form profile-HOST-20260131-235959.pb.gz (UTC, of time_ns), where .pb.gz is the suffix, with
 * -N before it when n > 1. Bytes of the host's name that do not belong into a file name become '_'.
 */
void ep_file_name(const char *suffix, const char *host, uint64_t time_ns, uint32_t n, char *name, size_t len);
/*
 * Removes the oldest files of that form in dir, so that `keep` stay, and temporary ones that a
 * killed process left. How many of the former, or -errno.
 */
int ep_file_prune(const char *dir, const char *suffix, const char *host, uint32_t keep);

#endif
