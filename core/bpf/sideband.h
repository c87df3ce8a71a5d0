/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One CPU's ring of perf side-band records, from every process that runs on this CPU:
 * PERF_RECORD_MMAP2 for executable mappings (exec, dlopen, mprotect), with the build id where the
 * kernel reads it (5.12).
 */
#ifndef EP_BPF_SIDEBAND_H
#define EP_BPF_SIDEBAND_H

#include "core/bpf/events.h"

struct ep_sideband;

int ep_sideband_open(uint32_t cpu, struct ep_sideband **ret_sideband);
void ep_sideband_close(struct ep_sideband *sideband); /* accepts NULL */
int ep_sideband_fd(const struct ep_sideband *sideband);
/* Reads all records. Returns how many the kernel had to drop since the last call. */
uint64_t ep_sideband_drain(struct ep_sideband *sideband, ep_mapping_visit visit, void *arg);

/* One record of `bytes` bytes, for the reader above and its tests. Returns lost records. */
uint64_t ep_sideband_parse(const void *record, size_t bytes, ep_mapping_visit visit, void *arg);

#endif
