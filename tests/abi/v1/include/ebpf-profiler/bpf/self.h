/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_BPF_SELF_H
#define EP_BPF_SELF_H

#include <linux/types.h>

#define EP_BPF_ABI 1

#define EP_MAX_LANGUAGE_COUNTERS 256

#define EP_SELF_SECTION ".rodata.ep_self"

struct ep_self {
	__u32 bpf_abi;
	__u32 slot;
	__u32 kind;
	__u32 first_error;
	__u32 first_counter;
	__u32 frames_per_run;
	__u32 task_tls_off;
	__u32 abi_minor;
	__u32 reserved[8];
};
_Static_assert(sizeof(struct ep_self) == 64, "ep_self is shared with the host");

#endif
