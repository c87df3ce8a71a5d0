/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_BPF_TLS_H
#define EP_BPF_TLS_H

#include <linux/types.h>

#define EP_TLS_MAX_STEPS 3

struct ep_tls {
	__u32 steps;
	__s32 off[EP_TLS_MAX_STEPS];
};
_Static_assert(sizeof(struct ep_tls) == 16, "ep_tls is shared with BPF");

#endif
