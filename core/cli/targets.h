/* SPDX-License-Identifier: Apache-2.0 */
/* The processes named with -p: they and all that descends from them. */
#ifndef EP_CLI_TARGETS_H
#define EP_CLI_TARGETS_H

#include "core/agent/session.h"

/*
 * Adds the processes and their present descendants to the session's filter; later children are
 * added by the kernel side. 0, or -ESRCH when one of `pids` is not there.
 */
int ep_targets_add(struct ep_session *session, const pid_t *pids, size_t n_pids);
bool ep_targets_all_gone(const pid_t *pids, size_t n_pids);

#endif
