/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_BPF_CODE_H
#define EP_BPF_CODE_H

#include <linux/types.h>

struct ep_row {
	__u64 start;
	__u64 end;
	__u64 va;
	__u32 executable;
	__u32 pages;
};

#define EP_ROW_ID_BITS	      26
#define EP_ROW_ID(executable) ((executable) & ((1u << EP_ROW_ID_BITS) - 1))

#define EP_ROW_SLOT_SHIFT	27
#define EP_ROW_SLOT(executable) ((executable) >> EP_ROW_SLOT_SHIFT)
#define EP_ROW_SLOT_ANY 31u

struct ep_code {
	__u64 start, end;
	__u32 mode, flags;
	__u64 data;
};

#define EP_MAX_RANGES 4096

#endif
