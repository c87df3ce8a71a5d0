/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable files a command will map as it starts: its programs, their loaders, and the
 * libraries that these name, found where glibc's loader will find them. A runtime is one of them, so
 * that its language is loaded before it runs. Nothing is run, and what is found is open for reading.
 * What libraries need, and what a program opens later, is not known.
 */
#ifndef EP_PROC_LIBRARIES_H
#define EP_PROC_LIBRARIES_H

#include "core/base/vec.h"
#include "core/proc/open.h"

#define EP_LIBRARIES_MAX_FILES 256
#define EP_LIBRARIES_MAX_BYTES (2ull << 30) /* of all files; what would exceed it is left out */

struct ep_library_file {
	char *path;		  /* owned; as /proc/PID/maps would print it */
	struct ep_proc_file file; /* open */
};

/* Where the system keeps what loaders read; a zeroed struct is the real one. */
struct ep_libraries_system {
	const char *ld_cache;	/* NULL: /etc/ld.so.cache */
	const char *dirs;	/* with ':' between them; NULL: the usual ones */
};

/* Whoever waits for it waits no longer: what was found by then is all. */
struct ep_libraries_limits {
	uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
	const bool *cancelled; /* set by another thread, atomically; NULL: by nobody */
};

/*
 * Appends to `files` (struct ep_library_file), each file once. `limits` NULL: none but the number
 * of looks. 0, -ENOMEM. Blocking.
 */
int ep_libraries_find(char *const *argv, char *const *envp,
		      const struct ep_libraries_system *system,
		      const struct ep_libraries_limits *limits, struct ep_vec *files);
void ep_libraries_free(struct ep_vec *files); /* closes all that are still open */

#endif
