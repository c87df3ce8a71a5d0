/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The hash of which languages make the check of a frame: bits that tell what it ran from what was
 * later put at the same address. The BPF program takes it when it meets the frame, the symbolizer
 * when it reads the names.
 */
#ifndef SHARED_CHECK_H
#define SHARED_CHECK_H

#include <linux/types.h>

/* A bijection of the hash, so no word is forgotten. */
static inline __attribute__((always_inline)) __u64 check_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ULL;
	return hash ^ hash >> 32;
}

#endif
