/* SPDX-License-Identifier: Apache-2.0 */
/* Search in what is sorted. */
#ifndef SHARED_SEARCH_H
#define SHARED_SEARCH_H

#include <stddef.h>

/*
 * How many of n sorted elements come before what is looked for: `is_before` is an expression of i,
 * true for the first of them and false for the others. So the result is the number of the first
 * other one, or n.
 */
#define search_sorted(n, i, is_before)                                                             \
	({                                                                                         \
		size_t low_ = 0, high_ = (n);                                                      \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
			if (is_before)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
