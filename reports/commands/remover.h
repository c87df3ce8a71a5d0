/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who was root opens files for outputs, becomes nobody, and could not remove those that stay empty because
 * something failed. So a process that is still root waits, and does nothing but that: it is given
 * which to keep, and removes the others; all of them when it is given nothing since we were killed.
 */
#ifndef EP_REPORTS_REMOVER_H
#define EP_REPORTS_REMOVER_H

#include "core/base/util.h"

#include <stdint.h>
#include <sys/types.h>

#define EP_REMOVER_MAX 64

struct ep_remover {
	pid_t pid; /* 0: none was started */
	int fd;
};

/* A NULL among the paths is left out. Before there are threads. 0 or a negative errno. */
int ep_remover_start(const char *const *paths, size_t n, struct ep_remover *ret_remover);
/* keep: bit n is path n. Returns when the others are gone. Accepts a zeroed struct. */
void ep_remover_finish(struct ep_remover *remover, uint64_t keep);

#endif
