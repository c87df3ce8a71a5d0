/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the native frames of a profile that have none, looked up again where the program is
 * known better than where it ran: a file counts only if its build id is that of the mapping. Tried
 * in this order, until one has symbols: the mapping's own path with its debug file, the directories
 * that were given
 * (.build-id/XX/YYYY.debug, XX/YYYY.debug, the build id or the file's name, with .debug and
 * without; then any ELF file below them with this build id), /usr/lib/debug, and last whoever
 * `fetch` asks. Lines and inlined functions are not
 * looked up.
 */
#ifndef EP_VIEW_SYMBOLS_H
#define EP_VIEW_SYMBOLS_H

#include "core/base/util.h"

#define EP_SYMBOLS_MAX_DIRECTORIES 64

struct ep_batch;

struct ep_symbols_sources {
	const char *directories[EP_SYMBOLS_MAX_DIRECTORIES]; /* borrowed */
	size_t n_directories;
	/*
	 * A file descriptor of the debug file (`executable`: of the program) with this build id, in
	 * hex, or a negative errno. NULL: nobody is asked.
	 */
	int (*fetch)(void *arg, const char *build_id, bool executable);
	/* Of each module for which no file was found; build_id: "" when it has none. NULL: nobody.
	 */
	void (*missing)(void *missing_arg, const char *path, const char *build_id);
	void *arg, *missing_arg;
};

struct ep_symbols_result {
	uint32_t unnamed; /* locations that had no name */
	uint32_t named;	  /* of them, that have one now */
	uint32_t modules,
		modules_found; /* that they are in; for which a file with symbols was found */
	uint32_t n_files; /* ELF files with a build id below the directories, if they were read */
	bool is_cut;	       /* and there were more than are looked at */
};

/* A batch of its own with one reference. 0, -ENOMEM, or what the builder says. */
int ep_symbols_apply(const struct ep_batch *batch, const struct ep_symbols_sources *sources,
		     struct ep_batch **ret_batch, struct ep_symbols_result *ret_result);

#endif
