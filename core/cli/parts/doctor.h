/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine, this kernel and these privileges allow: a table of checks, one line each, with
 * the exact fix. Nothing is changed on the machine, except that probing opens (and closes) a BPF
 * map, a BPF program and perf events.
 */
#ifndef EP_CLI_DOCTOR_H
#define EP_CLI_DOCTOR_H

#include "core/cli/parts/check.h"

#include <stdio.h>

/* Where rows are reported that are no checks of the machine. */
struct ep_doctor_rows {
	void (*say)(const struct ep_doctor_rows *rows, const char *name,
		    const struct ep_check_result *result);
	void *arg;
};

struct ep_doctor_options {
	bool json;
	bool color;		/* headings and status words; the caller asks isatty, NO_COLOR */
	const char *plugin_dir; /* NULL: not checked */
	uint64_t memory_bytes;	/* the limit that will apply; 0: not checked */
	const char *root;	/* prefix of /proc and /sys; NULL: none (tests give a directory) */
	/* Says what languages advise about processes, after the checks; NULL: nobody does. */
	void (*advise)(void *arg, const struct ep_doctor_rows *rows);
	void *advise_arg;
};

/*
 * Runs every check and prints them. EP_EXIT_OK when profiling can work, else EP_EXIT_KERNEL,
 * EP_EXIT_PERMISSION or EP_EXIT_FAILED, the first of them that some check was blamed on.
 */
enum ep_exit ep_doctor_run(const struct ep_doctor_options *options, FILE *out);

#endif
