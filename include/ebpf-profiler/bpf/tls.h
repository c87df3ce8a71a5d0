/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Where a thread keeps a pointer: a path from its thread pointer (fs base on x86-64, tpidr_el0 on
 * aarch64). User space finds the path (struct ep_unwinder_host: tls_key, tls_variable) for static
 * TLS, for TLS after the dynamic thread vector, and for pthread keys, in glibc and musl.
 *
 *	steps 1   *(tp + off[0])			static TLS; a pthread key of glibc
 *	steps 2   *(*(tp + off[0]) + off[1])		a pthread key of musl
 *	steps 3   *(*(*(tp + off[0]) + off[1]) + off[2])	a variable after the DTV
 */
#ifndef EP_BPF_TLS_H
#define EP_BPF_TLS_H

#include <linux/types.h>

#define EP_TLS_MAX_STEPS 3

struct ep_tls {
	__u32 steps; /* 0: unknown */
	__s32 off[EP_TLS_MAX_STEPS];
};
_Static_assert(sizeof(struct ep_tls) == 16, "ep_tls is shared with BPF");

#endif
