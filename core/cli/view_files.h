/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiles that a command reads: opened while it still may read what root may, then root is given up,
 * then they are read, merged and filtered. A directory is the agent's: of its files the newest are taken,
 * until the range that is asked for (--from, --to) is covered, else the newest alone.
 */
#ifndef EP_CLI_VIEW_FILES_H
#define EP_CLI_VIEW_FILES_H

#include "core/base/vec.h"
#include "core/cli/parts/exit.h"
#include "core/cli/parts/view_args.h"

struct ep_view_files {
	struct ep_vec inputs; /* struct ep_input * */
};

void ep_view_files_init(struct ep_view_files *files);
void ep_view_files_fini(struct ep_view_files *files);
/* Adds them; no path at all is the newest profile of the working directory. Not EP_EXIT_OK: after a sentence on stderr. */
enum ep_exit ep_view_files_open(struct ep_view_files *files, const char *const *paths, size_t n_paths,
				const struct ep_view_args *args);
/* All of them as one batch with one reference, filtered. The caller has given root up before (ep_read_drop_root). */
enum ep_exit ep_view_files_read(struct ep_view_files *files, const struct ep_view_args *args, struct ep_batch **ret_batch);

#endif
