/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many files of executables stay open, and whose: the file of one is open while processes map it, and anybody
 * may map any number. A process has half of the descriptors at most; when there are no more, whoever has most of them
 * gives one to who has fewer. An executable whose file was closed keeps its tables; names are looked for by its path.
 *
 * Loop's thread only.
 */
#ifndef EP_PROCESS_OPEN_FILES_H
#define EP_PROCESS_OPEN_FILES_H

#include "core/base/map.h"

#include <sys/types.h>

struct ep_executable;

struct ep_open_files {
	struct ep_map by_pid; /* to struct holder *, open_files.c */
	size_t max, n;
	uint64_t closed; /* that there was no space for */
};

void ep_open_files_init(struct ep_open_files *files, size_t max);
void ep_open_files_fini(struct ep_open_files *files); /* those of all executables were dropped */

/*
 * The executable's file has just been opened, for that process. It is closed if it may not stay; another one's may be
 * closed for it.
 */
void ep_open_files_take(struct ep_open_files *files, struct ep_executable *executable, pid_t pid);
/* Closes the file, if it is open. */
void ep_open_files_drop(struct ep_open_files *files, struct ep_executable *executable);

#endif
