/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of processes that are just being analysed. Their user frames are raw target addresses;
 * they wait here until the process is settled, then each address becomes executable and ELF
 * virtual address, and the sample goes on its way. Bounded in bytes and in time.
 *
 * Loop's thread only.
 */
#ifndef EP_PROCESS_HELD_H
#define EP_PROCESS_HELD_H

#include "core/process/processes.h"

struct ep_held;

/* `pass` takes a sample on, placed as far as it could be. max_bytes bounds what waits. */
int ep_held_new(struct ep_processes *processes, size_t max_bytes,
		void (*pass)(void *arg, const void *event, size_t bytes), void *arg,
		struct ep_held **ret_held);
void ep_held_free(struct ep_held *held);

/* Takes an EP_EVENT_TRACE with EP_SAMPLE_RAW: passes it on at once, or keeps a copy. */
void ep_held_add(struct ep_held *held, const struct ep_sample *sample, size_t bytes);
/* Passes on what waits for a process; all of it for pid 0. */
void ep_held_release(struct ep_held *held, pid_t pid);
/* Passes on what has waited longer than max_age_ns. */
void ep_held_expire(struct ep_held *held, uint64_t max_age_ns);
size_t ep_held_bytes(const struct ep_held *held);

#endif
