/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads of BPF programs that can be broken off. The verifier takes a tenth of a second of CPU time and more for a
 * program. Where many threads want the CPUs these are many seconds, in which it holds a worker. Who has ended sampling
 * needs no program any more, and waits for none.
 *
 * The verifier looks for a signal at each instruction, and ends with EAGAIN (linux:kernel/bpf/verifier.c, do_check,
 * since v4.20). libbpf tries again then, several times, so each load is sent signals until it has ended. The signal is
 * SIGURG, which does nothing where nobody handles it.
 *
 * Any thread.
 */
#ifndef EP_BPF_LOADS_H
#define EP_BPF_LOADS_H

#include "core/base/util.h"

struct ep_loads;

int ep_loads_new(struct ep_loads **ret_loads);
void ep_loads_free(struct ep_loads *loads); /* none is under way */

/* What load(arg) returns; -ECANCELED: loads were stopped before it began, or it failed after that. */
int ep_loads_run(struct ep_loads *loads, int (*load)(void *arg), void *arg);
/* Lets none begin any more, and disturbs those that are under way: so many. To be called again until there are none. */
size_t ep_loads_stop(struct ep_loads *loads);

#endif
