/* SPDX-License-Identifier: Apache-2.0 */
/* Binary search in what is in order. */
#ifndef EP_BASE_BISECT_H
#define EP_BASE_BISECT_H

#include <stddef.h>

/*
 * Of `n` elements, how many come before the first one for which `is_before` is not true. It is an expression of `i`, the
 * element's index, that is true for some elements from the first on, and for none after them:
 *
 *	size_t n_begun = ep_bisect(n, i, ranges[i].start <= addr);
 */
#define ep_bisect(n, i, is_before)                                                                 \
	({                                                                                         \
		size_t ep_low_ = 0, ep_high_ = (n);                                                \
                                                                                                   \
		while (ep_low_ < ep_high_) {                                                       \
			size_t i = ep_low_ + (ep_high_ - ep_low_) / 2;                             \
                                                                                                   \
			if (is_before)                                                             \
				ep_low_ = i + 1;                                                   \
			else                                                                       \
				ep_high_ = i;                                                      \
		}                                                                                  \
		ep_low_;                                                                           \
	})

#endif
