/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells BPF what is wanted (core/config/filter.h), and answers the same question for the processes
 * that are there already. BPF judges by itself from then on; cgroups that containers begin in while we
 * run are found by looking again. One thread.
 */
#ifndef EP_AGENT_CHOOSER_H
#define EP_AGENT_CHOOSER_H

#include "core/config/filter.h"

#include <sys/types.h>

struct ep_bpf;
struct ep_chooser;

/*
 * Can it be recorded on this machine: are there such cgroups, threads, CPUs? 0, or -EINVAL and one
 * sentence that names the fix; a sentence and 0: something that is not there yet.
 */
int ep_chooser_check(const struct ep_filter *filter, char *sentence, size_t bytes);

/* Before processes' events are attached. The filter is borrowed. 0, -ENOMEM, -errno. */
int ep_chooser_new(const struct ep_filter *filter, struct ep_bpf *bpf, struct ep_chooser **ret_chooser);
void ep_chooser_free(struct ep_chooser *chooser); /* accepts NULL */

/* After that: the cgroups there are. 0, -errno. */
int ep_chooser_look(struct ep_chooser *chooser);
/* The same when BPF saw new cgroups since: twice a second. */
void ep_chooser_follow(struct ep_chooser *chooser, uint32_t cgroups);

/* Not if it has a name, which is none of those that are wanted. */
bool ep_chooser_may_be_named(const struct ep_chooser *chooser, pid_t pid);
/* Would BPF want any thread of this process? Its pid alone is not asked for. */
bool ep_chooser_wants(const struct ep_chooser *chooser, pid_t pid);

#endif
