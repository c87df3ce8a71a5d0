/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gzip file that appears whole or not at all: written under a temporary name in the same
 * directory, then given its name. A file that exists is not replaced unless asked to. One thread.
 */
#ifndef PPROF_FILE_H
#define PPROF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pprof_file;

/* `path` is the final name. 0 or a negative errno (-EACCES, -ENOENT, -ENOSPC, ...). */
int pprof_file_create(const char *path, int level, struct pprof_file **ret_file);
int pprof_file_write(void *file, const void *data, size_t len); /* a struct pprof_sink's */
/*
 * Ends the file and gives it its name. 0, -EEXIST (not replaced: call again with another path),
 * or a negative errno. `ret_bytes`: its size.
 */
int pprof_file_publish(struct pprof_file *file, const char *path, bool replace,
		       uint64_t *ret_bytes);
/* Removes what was not published. Accepts NULL. */
void pprof_file_close(struct pprof_file *file);
static inline void pprof_file_closep(struct pprof_file **file)
{
	pprof_file_close(*file);
}

/*
 * Names of the form profile-HOST-20260131-235959.pb.gz (UTC, of time_ns), with -N in front of the
 * suffix when n > 1. Bytes of the host's name that do not belong into a file name become '_'.
 */
void pprof_file_name(const char *host, uint64_t time_ns, uint32_t n, char *name, size_t len);
/*
 * Removes the oldest files of that form in dir, so that `keep` stay, and temporary ones that a
 * killed process left. How many of the former, or -errno.
 */
int pprof_file_prune(const char *dir, const char *host, uint32_t keep);

#endif
