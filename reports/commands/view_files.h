/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiles that a command reads: opened while it still may read what root may; then the caller
 * gives root up (ep_read_drop_root); then they are read, merged and filtered. A directory is the
 * agent's: its newest file is taken, or those that cover the range that is asked for (--from,
 * --to). Relative times count from the directory's start and end, as if all of it were one profile,
 * and not from those of the files that were chosen.
 */
#ifndef EP_REPORTS_VIEW_FILES_H
#define EP_REPORTS_VIEW_FILES_H

#include "core/base/vec.h"
#include "core/cli/parts/exit.h"
#include "reports/commands/parts/view_args.h"

struct ep_view_files {
	struct ep_vec inputs; /* struct view_input, those of a directory side by side */
	char title[256];      /* "x.otlp.gz", "x.otlp.gz and 3 more" */
};

void ep_view_files_init(struct ep_view_files *files);
void ep_view_files_fini(struct ep_view_files *files);
/* Adds them; no path at all is the newest profile of the working directory. Not EP_EXIT_OK: after a
 * sentence on stderr. */
enum ep_exit ep_view_files_open(struct ep_view_files *files, const char *const *paths,
				size_t n_paths, const struct ep_view_args *args);
/* Then, for good (ep_read_drop_root). The same. */
enum ep_exit ep_view_files_drop_root(void);
/*
 * All of them as one batch with one reference, filtered. EP_EXIT_NO_SAMPLES when nothing passed the
 * filters, or there was none; another status after what is wrong with a file. After a sentence on
 * stderr.
 */
enum ep_exit ep_view_files_read(struct ep_view_files *files, const struct ep_view_args *args,
				struct ep_batch **ret_batch);

#endif
