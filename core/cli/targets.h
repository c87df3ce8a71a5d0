/* SPDX-License-Identifier: Apache-2.0 */
/* The processes named with -p: they and all that descends from them. */
#ifndef EP_CLI_TARGETS_H
#define EP_CLI_TARGETS_H

#include "core/agent/session.h"

struct ep_filter;

/*
 * Adds the processes that a choice asks for and those that it excludes, with their present descendants, to
 * the session's filter; later children are added by the kernel side. Alone, where children do not inherit.
 * 0, or -ESRCH when one is not there.
 */
int ep_targets_choose(struct ep_session *session, const struct ep_filter *choice);
/*
 * The id of a thread that is no process's means its process: put in its place, and named unless
 * quiet. 0, or -ESRCH after one line on stderr when there is none of such an id.
 */
struct ep_args;
int ep_targets_resolve(struct ep_args *args);
bool ep_targets_all_gone(const pid_t *pids, size_t n_pids);

#endif
