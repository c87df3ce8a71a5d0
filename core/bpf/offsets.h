/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about the running kernel that the BPF programs need: offsets in task_struct and what it
 * can do, from its BTF. The programs themselves carry no relocations.
 */
#ifndef EP_BPF_OFFSETS_H
#define EP_BPF_OFFSETS_H

#include "bpf/shared.h"

/*
 * Fills the task_*, signal_* and has_* members of the config; the others stay. 0, -ENOENT when the
 * kernel has no BTF (/sys/kernel/btf/vmlinux), -ENODATA when a struct or member is not in it.
 */
int ep_bpf_read_offsets(struct ep_config *config);

#endif
