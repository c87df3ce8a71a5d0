/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this machine, this kernel and these privileges allow: a table of checks, one line each, with
 * the exact fix. Nothing is changed on the machine, except that probing opens (and closes) a BPF
 * map, a BPF program and perf events.
 */
#ifndef EP_CLI_DOCTOR_H
#define EP_CLI_DOCTOR_H

#include "core/base/util.h"
#include "core/cli/parts/exit.h"

#include <stdio.h>

enum ep_check_status {
	EP_CHECK_OK,
	EP_CHECK_INFO, /* a fact, neither good nor bad */
	EP_CHECK_WARN, /* profiling works, something is worse or will be */
	EP_CHECK_FAIL, /* profiling cannot work */
};

struct ep_check_result {
	enum ep_check_status status;
	enum ep_exit blame; /* of a failure: EP_EXIT_PERMISSION, EP_EXIT_KERNEL, EP_EXIT_FAILED */
	char detail[256];   /* what was found and what it means */
	char fix[256];	    /* what to type; "" when there is nothing to do */
};

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

enum ep_attempt {
	EP_ATTEMPT_MAP,	    /* creating a BPF map */
	EP_ATTEMPT_PROGRAM, /* loading a BPF program */
	EP_ATTEMPT_ATTACH,  /* attaching one */
	EP_ATTEMPT_PERF,    /* perf_event_open */
	EP_ATTEMPT_BTF,	    /* reading the kernel's BTF */
};

/*
 * "WHAT: WHY (ERRNO); FIX" for a negative errno that an attempt ended with, without a newline.
 * Returns the exit status that says so: EP_EXIT_PERMISSION, EP_EXIT_KERNEL or EP_EXIT_FAILED.
 */
enum ep_exit ep_doctor_explain(enum ep_attempt attempt, int err, char *buf, size_t size);

#endif
