/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads memory and files that may never come (core/proc/suspects.h, devices.h) by processes made
 * for it: a thread that hangs in the kernel cannot be abandoned, a process that shares nothing with
 * us can.
 *
 *	profiler ──► zygote	forked at the very start: one thread, no descriptors but its
 *	   │	       │	channel, the capabilities of reading others alone
 *	   │	       ▼ fork
 *	   └──────► reader	the first one for the first suspect, at most EP_READERS of them
 *
 * A reader answers one request at a time: memory by shared memory, a file as a sealed copy in
 * memory. One that is late (EP_READER_LATE_NS without progress) is killed and abandoned, and
 * replaced by the next request; what it was asked of says -ETIMEDOUT from then on, without a wait: a
 * process for good, a device until it is tried again (core/proc/silent.h).
 *
 * All of it is one for the process, as is who forks. Any thread may ask.
 */
#ifndef EP_PROC_READERS_H
#define EP_PROC_READERS_H

#include "core/base/clock.h"
#include "core/proc/open.h"

#include <stdio.h>

/* So many threads wait at once: half of the workers are left to those who look up and send. */
#define EP_READERS	  2
#define EP_READER_LATE_NS EP_NS_PER_SEC
/* So many may be late in a row, and after that one in each time of EP_READERS_REFILL_NS. */
#define EP_READERS_MAX_LATE  16
#define EP_READERS_REFILL_NS (2 * EP_NS_PER_SEC)

/*
 * Forks the zygote; before there are threads, and anything that it should not have. 0, -errno: then
 * memory and files are read as if nothing were suspect. `limit`, which may be NULL, is called in each
 * reader before it reads: it gives up what a reader does not need.
 */
int ep_readers_prepare(void (*limit)(void));
/* When nobody asks any more. Waits for the zygote, not for readers that hang. */
void ep_readers_end(void);
bool ep_readers_are_there(void);

/*
 * How long a reader may be without progress. 0: nobody waits any more, those who do get -ECANCELED
 * at once, and nothing is asked.
 */
void ep_readers_wait_at_most(uint64_t ns);
/* For tests: how long a device is not asked that was late once (EP_SILENT_FIRST_NS). */
void ep_readers_try_after(uint64_t ns);

/*
 * As ep_memory_read_some and the functions of core/proc/open.h. Besides: -ETIMEDOUT it did not
 * answer, now or before; -ECANCELED; -EAGAIN all readers are busy, or too many were late, or there is
 * no memory for a copy, or for all of them together; -E2BIG the file is larger than
 * EP_READER_FILE_BYTES.
 */
int ep_readers_memory(pid_t pid, uint64_t addr, void *buf, size_t bytes, size_t *ret_bytes);
/* `dev`: the device as it was found; it is what does not answer. */
int ep_readers_open_mapping(pid_t pid, const struct ep_mapping *mapping, uint64_t dev,
			    bool is_identity_only, struct ep_proc_file *ret_file);
int ep_readers_open_range(pid_t pid, uint64_t start, uint64_t end, uint64_t dev,
			  struct ep_proc_file *ret_file);
/* Below the root of a process, or, with pid 0, where we see the path. */
int ep_readers_open_below(pid_t pid, const char *path, uint64_t dev, struct ep_proc_file *ret_file);

/* All copies together: core/proc/copies.h. */
#define EP_READER_FILE_BYTES ((uint64_t)64 << 20)

struct ep_readers_stats {
	uint64_t requests, started, late;
};
struct ep_readers_stats ep_readers_stats(void);

#endif
