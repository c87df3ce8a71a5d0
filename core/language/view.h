/* SPDX-License-Identifier: Apache-2.0 */
/* What BPF knows of one language in a process. Borrowed from its instance until that changes. */
#ifndef EP_LANGUAGE_VIEW_H
#define EP_LANGUAGE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ep_range;

struct ep_language_view {
	const struct ep_range *ranges; /* the exact ones, sorted, disjoint */
	size_t n_ranges;
	uint32_t slot, state; /* of its cell; there is none with 0 */
	bool anonymous, resumes;
};

#endif
