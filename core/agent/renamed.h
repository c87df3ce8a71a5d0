/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose main thread has another name than their file: of Node.js 24 it is "MainThread", with PyTorch
 * "pt_main_thread". Who chooses them by name, as the program is known, finds nothing.
 */
#ifndef EP_AGENT_RENAMED_H
#define EP_AGENT_RENAMED_H

#include "core/config/filter.h"
#include "core/proc/process.h"

#include <limits.h>

/* By a filter's names (EP_FILTER_COMM), of the processes that there are now. */
struct ep_renamed {
	size_t n_named; /* have such a name */
	size_t n;	/* have another one, and run a file with such a name */
	/* the first of these */
	pid_t pid;
	char comm[EP_PROCESS_COMM_BYTES], file[NAME_MAX + 1];
};

/* All counts are 0 where the filter asks for no name. 0 or a negative errno. */
int ep_renamed_find(const struct ep_filter *filter, struct ep_renamed *ret_renamed);
/* Needs one process at least. Says what they are, and that --exe chooses them; the sentence is not ended. */
void ep_renamed_print(const struct ep_renamed *renamed, char *text, size_t bytes);

#endif
