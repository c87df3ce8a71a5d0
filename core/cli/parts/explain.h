/* SPDX-License-Identifier: Apache-2.0 */
/* Why the kernel refused something, as far as this machine tells, and what to do. */
#ifndef EP_CLI_EXPLAIN_H
#define EP_CLI_EXPLAIN_H

#include "core/cli/parts/exit.h"

#include <stddef.h>

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
enum ep_exit ep_explain(enum ep_attempt attempt, int err, char *buf, size_t size);

#endif
