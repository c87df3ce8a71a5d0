/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that `convert` and `diff` write. All that happens after the inputs are open happens
 * without root's rights. The user who called sudo writes the files himself; who is root without sudo
 * becomes nobody, who may write nowhere: then the files are opened before, and filled with what was
 * written into a directory of nobody's. What was not filled is removed by a process that stays root.
 *
 *	ep_written_give_up_root   when the inputs are open
 *	ep_written_open           exporters, before much work is done
 *	ep_written_write          a batch, to all of them
 *	ep_written_finish         in any case; once more does nothing
 */
#ifndef EP_REPORTS_WRITTEN_H
#define EP_REPORTS_WRITTEN_H

#include "core/cli/output_files.h"
#include "reports/commands/remover.h"

struct ep_written {
	struct ep_output_files files;
	struct ep_outputs outputs;
	bool is_nobody;		    /* who was root became nobody */
	int held[EP_OUTPUTS_MAX];   /* files that root opened; -1: none */
	char *made[EP_OUTPUTS_MAX]; /* those of them that were not there before, else NULL */
	struct ep_remover remover;
	uint64_t filled; /* bit n: output n */
};

void ep_written_init(struct ep_written *written);
/* These three: EP_EXIT_OK, or another status after one line on stderr. */
enum ep_exit ep_written_give_up_root(struct ep_written *written,
				     const struct ep_output_choices *choices, bool force);
/* base: of a page, the file that it compares with, NULL without one. */
enum ep_exit ep_written_open(struct ep_written *written, const struct ep_output_choices *choices,
			     const char *plugin_dir, bool force, const char *base);
enum ep_exit ep_written_write(struct ep_written *written, const struct ep_batch *batch);
/* Says what was written, unless it is to be quiet. `status`, or why that failed. */
enum ep_exit ep_written_finish(struct ep_written *written, bool is_quiet, enum ep_exit status);

#endif
