/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a language's BPF program is given about itself and the kernel. */
#ifndef EP_BPF_SELF_H
#define EP_BPF_SELF_H

#include <linux/types.h>

/*
 * The version of what these headers make a program share with the core: records, maps, and what lies
 * in internal/. Another number with each change of it. The host refuses programs of another one.
 */
#define EP_BPF_ABI 1

#define EP_MAX_LANGUAGE_COUNTERS 256 /* of all languages together */

/* The section of an object that begins with its EP_BPF_ABI: struct ep_self. In all versions. */
#define EP_SELF_SECTION ".rodata.ep_self"

/* Written by the host before the program is loaded, but for the first. */
struct ep_self {
	__u32 bpf_abi; /* by the compiler: the EP_BPF_ABI of these headers */
	__u32 slot;
	__u32 kind;	     /* of its frames: EP_FRAME_FIRST_DYNAMIC + slot */
	__u32 first_error;   /* its error number i is first_error + i */
	__u32 first_counter; /* its counter number i is first_counter + i */
	__u32 frames_per_run; /* of what bpf.max_frames_per_run says: this kernel's verifier took it */
	__u32 task_tls_off;  /* the thread pointer in task_struct */
	__u32 abi_minor;    /* the host's EP_ABI_MINOR: what it knows of what these headers say */
	__u32 reserved[8];
};
_Static_assert(sizeof(struct ep_self) == 64, "ep_self is shared with the host");

#endif
