/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CPU's ring of perf side-band records, from every process that runs on this CPU:
 * PERF_RECORD_MMAP2 for executable mappings (exec, dlopen, mprotect), with the build id where the
 * kernel reads it (5.12), else with device and inode; and PERF_RECORD_KSYMBOL (5.1) for code of the
 * kernel that comes or goes. Records are looked at in place and given back
 * later, as in core/bpf/ring.h:
 *
 *	ep_sideband_begin	what is in the ring now is what will be read
 *	ep_sideband_next	one record after the other, valid until the release
 *	ep_sideband_take_lost	when there is no next one: what the kernel had no space for
 *	ep_sideband_release	the kernel may write there again
 *
 * Losses. What is promised: when the kernel could not write a record, that is reported by the next
 * drain (begin to release) after it. With PERF_FORMAT_LOST (6.0) the number is exact: the kernel's
 * counter is read when the ring was more than half full since the last look, since a loss needs a
 * full one, and when the ring itself tells of a loss. The counter lies with its CPU, so a read
 * interrupts that CPU: it is not done otherwise. Without the counter, a ring that could not have
 * taken one more record of the largest size counts as a loss of one, rightly or not; how many it
 * was is reported when the kernel says so, before the next record that fits.
 */
#ifndef EP_BPF_SIDEBAND_H
#define EP_BPF_SIDEBAND_H

#include "core/bpf/events.h"

#include <sys/types.h>

struct ep_sideband;
struct perf_event_mmap_page;

/* A record is about 120 bytes: space for 500 mappings between two looks, or 8 000. */
#define EP_SIDEBAND_MIN_BYTES ((size_t)64 << 10)
#define EP_SIDEBAND_MAX_BYTES ((size_t)1 << 20)
/* Where locked memory is short: the largest record needs 4208. */
#define EP_SIDEBAND_LEAST_BYTES ((size_t)8 << 10)

/* Where a ring lies, for tests. Borrowed. */
struct ep_sideband_memory {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	size_t bytes; /* a power of two */
	/* How many records were lost since the ring was opened; NULL: nobody knows. */
	bool (*count_lost)(void *arg, uint64_t *ret_lost);
	void *arg;
};

/* The ring has `bytes` bytes, a power of two of pages. 0 or what the kernel reported. */
int ep_sideband_open(uint32_t cpu, size_t bytes, struct ep_sideband **ret_sideband);
int ep_sideband_new(uint32_t cpu, const struct ep_sideband_memory *memory,
		    struct ep_sideband **ret_sideband);
void ep_sideband_close(struct ep_sideband *sideband); /* accepts NULL */

int ep_sideband_fd(const struct ep_sideband *sideband); /* -1: only memory */
uint32_t ep_sideband_cpu(const struct ep_sideband *sideband);
size_t ep_sideband_bytes(const struct ep_sideband *sideband);
/* Bytes that wait to be read or given back. */
size_t ep_sideband_used_bytes(const struct ep_sideband *sideband);
/* Whether this ring ever lost a record. */
bool ep_sideband_is_lossy(const struct ep_sideband *sideband);
/* No more records from now on. What the ring has can still be read. */
void ep_sideband_stop(struct ep_sideband *sideband);

void ep_sideband_begin(struct ep_sideband *sideband);
/* False: no more. The record is for ep_sideband_parse and ep_sideband_parse_ksymbol; it ends with its time. */
bool ep_sideband_next(struct ep_sideband *sideband, const void **ret_record, size_t *ret_bytes,
		      uint64_t *ret_time_ns);
/* Records lost since this was last asked. */
uint64_t ep_sideband_take_lost(struct ep_sideband *sideband);
void ep_sideband_release(struct ep_sideband *sideband);

/*
 * Without a drain: is there a mapping, of those that no peek has seen, whose process is one of these? So is the news
 * of a loss, and of code of the kernel, and so is what cannot wait since the ring is half full. (The kernel tells of forks and exits as well,
 * whoever asks for mappings: kernel/events/core.c, perf_event_task_match. They are nobody's.)
 */
bool ep_sideband_peek(struct ep_sideband *sideband, bool (*is_one)(void *arg, pid_t pid), void *arg);
/* Gives back what peeks have seen, if none of it was one: nobody needs it. Not within a drain. */
void ep_sideband_drop_peeked(struct ep_sideband *sideband);

/* Whose mapping a record tells of that ep_sideband_next gave. False: it tells of something else. */
bool ep_sideband_mapping_pid(const void *record, uint32_t *ret_pid);
/* One record of `bytes` bytes: visits a mapping. Returns lost records. */
uint64_t ep_sideband_parse(const void *record, size_t bytes, ep_mapping_visit visit, void *arg);
/* Whether it tells of code of the kernel; borrows from the record. */
bool ep_sideband_parse_ksymbol(const void *record, size_t bytes, struct ep_ksymbol_event *ret_event);

#endif
