/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of a process's memory, many of them small and near each other, by fewer system calls: a read fetches the
 * piece of memory around it, and later ones are answered from that.
 *
 * The process goes on meanwhile, and a plugin reads something once more to see whether it has changed. So what is
 * fetched serves for a moment only, and within one *question* (the names of one frame) each byte once: who reads a
 * byte again gets what the memory has then. What a question was asked about was sampled before anything was fetched.
 *
 * One thread at a time.
 */
#ifndef EP_PLUGIN_READ_AHEAD_H
#define EP_PLUGIN_READ_AHEAD_H

#include "core/base/util.h"

#define EP_READ_AHEAD_NS 2000000 /* 2 ms: how old an answer may be */

struct ep_read_ahead;

/* `read` is all or nothing: 0 or a negative errno. NULL: no memory. */
struct ep_read_ahead *ep_read_ahead_new(int (*read)(void *arg, uint64_t addr, void *buf,
						    size_t bytes),
					void *arg);
void ep_read_ahead_free(struct ep_read_ahead *ahead); /* accepts NULL */
/* The next question begins. */
void ep_read_ahead_next(struct ep_read_ahead *ahead);
int ep_read_ahead_read(struct ep_read_ahead *ahead, uint64_t addr, void *buf, size_t bytes);

#endif
