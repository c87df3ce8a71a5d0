/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules every struct between host and plugin follows. The major number must match. A struct
 * begins with its size in bytes as the side that fills it knew it, grows only at its end, and what
 * lies beyond that size reads as zero: "not provided". EP_HAS tests a member that way.
 *
 * What a BPF program shares with the core has a number of its own: ebpf-profiler/bpf/self.h.
 *
 * History
 *   1.0  exporters: options, batches, host services; unwinders: unwinder.h and bpf/
 *   1.1  why names are not known: unnamed.h, columns of batches, a member of struct ep_name
 *   1.2  flags of struct ep_name, and of a snapshot program's struct ep_bpf_image
 *   1.3  the unit of a batch's weights; batches without times; samples that were due; cost
 *   1.4  one more reason why a name is not known
 *   1.5  rows of code that hold in place of the file's own: EP_CODE_INSTEAD
 *   1.6  files beside mapped ones: target_file
 *   1.7  whose a process is: columns of batches
 *   1.8  what a recording is of: a member of batches
 */
#ifndef EP_ABI_H
#define EP_ABI_H

#include <stddef.h>
#include <stdint.h>

#define EP_ABI_MAJOR 1
#define EP_ABI_MINOR 8

/* True when `ptr` points at a struct that is long enough to hold `member`, and it is not zero. */
#define EP_HAS(ptr, member)                                                                        \
	((ptr)->size >= offsetof(__typeof__(*(ptr)), member) + sizeof((ptr)->member) &&            \
	 (ptr)->member)

#endif
