/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side-band rings of all CPUs, and those that were replaced and are only to be emptied.
 *
 * A ring that lost records is replaced by one of twice the size, up to EP_SIDEBAND_MAX_BYTES: the
 * new one is opened first, then the old one stops, stays until the next drain has emptied it, and
 * is closed. Nothing is lost in between; a record of the microseconds in which both ran is in both,
 * with two times that differ a little. The same is done with the ring of a CPU that went away.
 * (One ring that takes another's place under PERF_EVENT_IOC_SET_OUTPUT would avoid that, but makes
 * the caller wait for a grace period, 11 ms, and drains are waited for.)
 */
#ifndef EP_BPF_SIDEBAND_SET_H
#define EP_BPF_SIDEBAND_SET_H

#include "core/base/util.h"

struct ep_sideband;
struct ep_sideband_set;

/* How a ring is opened: ep_sideband_open, or a test's own. */
typedef int (*ep_sideband_opener)(uint32_t cpu, size_t bytes, struct ep_sideband **ret_sideband);

int ep_sideband_set_new(ep_sideband_opener opener, struct ep_sideband_set **ret_set);
void ep_sideband_set_free(struct ep_sideband_set *set); /* accepts NULL */

/* Readable when a ring has records: an epoll descriptor. */
int ep_sideband_set_fd(const struct ep_sideband_set *set);

/* EP_SIDEBAND_MIN_BYTES, or less where the kernel refuses that. */
int ep_sideband_set_add(struct ep_sideband_set *set, uint32_t cpu);
void ep_sideband_set_remove(struct ep_sideband_set *set, uint32_t cpu);

/* All rings; a number is valid until the set is changed or settled. */
size_t ep_sideband_set_len(const struct ep_sideband_set *set);
struct ep_sideband *ep_sideband_set_at(const struct ep_sideband_set *set, size_t i);

/* When all rings are drained and released: replaces those that lost, closes those that are done. */
void ep_sideband_set_settle(struct ep_sideband_set *set);

#endif
