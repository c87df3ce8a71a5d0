/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The check of a code object: 32 bits that tell it from another one that was later put at the same
 * address. The BPF program takes it when it meets a frame, the symbolizer when it reads the names.
 * If the two differ, the code object of the sample is gone.
 *
 * It covers PY_CHECK_WORDS words of the object, from layout.check_off on: names, tables and counts,
 * all of them written once, when the object is made (the file name too: import may replace it after
 * loading a .pyc, before the code runs). Words whose bit in layout.check_mask is 0 are left out.
 *
 *	__u64 words[PY_CHECK_WORDS];
 *	bpf_probe_read_user(words, sizeof(words), (void *)(code_addr + check_off));
 *	check = py_code_check(words, check_mask);
 *
 * Counts alone would not do: the code of two modules often has the same ones, lives for a moment
 * only, and in 3.6 to 3.10 all code objects are of one size and so share addresses.
 */
#ifndef PY_CHECK_H
#define PY_CHECK_H

#include "plugins/shared/check.h"

#include <linux/types.h>

#define PY_CHECK_WORDS 10
#define PY_CHECK_BYTES (PY_CHECK_WORDS * 8)

static inline __attribute__((always_inline)) __u32 py_code_check(const __u64 *words, __u32 mask)
{
	__u64 hash = 0;

#pragma GCC unroll 10
	for (int i = 0; i < PY_CHECK_WORDS; i++) {
		__u64 keep = 0 - (__u64)(mask >> i & 1);

		hash = check_mix(hash, words[i] & keep);
	}
	return (__u32)hash; /* both halves: the last step folded them */
}

#endif
