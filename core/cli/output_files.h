/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of one `record`, `convert` or `top`: named, checked, opened as exporters, finished.
 * Without -o there is one, profile-NAME-TIME with the extension of -f, else of the page, in the
 * current directory.
 *
 *	ep_output_files_name    before work starts: are they free to be written?
 *	ep_output_files_open    their exporters, numbers 0.. of `outputs`
 *	ep_outputs_submit       each batch, to each
 *	ep_output_files_finish  when all are flushed: what was for standard output goes there
 */
#ifndef EP_CLI_OUTPUT_FILES_H
#define EP_CLI_OUTPUT_FILES_H

#include "core/cli/outputs.h"
#include "core/cli/parts/exit.h"
#include "core/cli/parts/output_format.h"

struct ep_output_files {
	size_t n;
	const char *shown[EP_OUTPUTS_MAX]; /* for the summary: "-" for standard output */
	const struct ep_output_format *formats[EP_OUTPUTS_MAX];
	char *paths[EP_OUTPUTS_MAX]; /* that are written */
};

/*
 * `what`: the command or host. EP_EXIT_OK, or another after one line on stderr. In either case
 * ep_output_files_finish is to be called.
 */
enum ep_exit ep_output_files_name(struct ep_output_files *files,
				  const struct ep_output_choices *choices, const char *what,
				  const char *plugin_dir, bool force);
/* EP_EXIT_OK, or one line on stderr: what is there is not to be replaced, or is nothing that a file
 * replaces. */
enum ep_exit ep_output_files_check(const char *path, bool force);
/*
 * For who is root and becomes nobody, who may write nowhere: the file that is filled later, open.
 * What is in one that exists stays there until then. A descriptor, or a negative errno after one
 * line on stderr; ret_made: the path of one that was not there before, from malloc, else NULL.
 */
int ep_output_files_hold(const char *path, bool force, char **ret_made);
/* 0 or a negative errno, after one line on stderr. `outputs` must be new. base: of a page, what it
 * compares with; NULL: nothing. */
int ep_output_files_open(const struct ep_output_files *files, struct ep_outputs *outputs,
			 bool force, const char *base);
/* Once all are flushed: those that were written, as they are shown, and their formats. How many. */
size_t ep_output_files_written(const struct ep_output_files *files,
			       const struct ep_outputs *outputs,
			       const char *ret_shown[EP_OUTPUTS_MAX],
			       const struct ep_output_format *ret_formats[EP_OUTPUTS_MAX]);
/* Once the summary has been printed: what was not written stands last, with what to do. */
void ep_output_files_say_unwritten(const struct ep_output_files *files,
				   const struct ep_outputs *outputs);
/*
 * A file that is written in a directory of our own, and copied to where it belongs: exporters write
 * files, not to standard output. Its path, from malloc; NULL: errno.
 */
char *ep_output_files_temporary(void);
/* Copies it if it was written, and removes it. 0 or a negative errno. */
int ep_output_files_copy(const char *path, int to);
void ep_output_files_discard(const char *path);
/* 0 or the first negative errno. */
int ep_output_files_finish(struct ep_output_files *files);

#endif
