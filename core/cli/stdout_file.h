/* SPDX-License-Identifier: Apache-2.0 */
/* `-o -`: exporters write files, so one in a directory of our own is copied to standard output. */
#ifndef EP_CLI_STDOUT_FILE_H
#define EP_CLI_STDOUT_FILE_H

/* The path (from malloc) to write to; its directory exists and is ours alone. NULL: errno. */
char *ep_stdout_file_new(void);
/*
 * Copies the file to standard output if it was written, and removes it. 0 or a negative errno, after one line
 * on stderr unless it is -EPIPE.
 */
int ep_stdout_file_finish(const char *path);
/* The same to a descriptor, and nothing is said. */
int ep_stdout_file_finish_to(const char *path, int to);

/* Only removes it. */
void ep_stdout_file_discard(const char *path);

#endif
