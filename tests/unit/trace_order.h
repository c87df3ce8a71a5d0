/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of a merged event, whatever the event was: for unit tests and the fuzz target. */
#ifndef EP_TEST_TRACE_ORDER_H
#define EP_TEST_TRACE_ORDER_H

#include "core/trace/merge.h"

#include <string.h>

static inline uint64_t order_header(const void *words, uint32_t at)
{
	uint64_t header;

	memcpy(&header, (const uint8_t *)words + at * sizeof(header), sizeof(header));
	return header;
}

/* What is in the native part keeps its order, and so do the frames of each language after it. */
static inline bool order_is_kept(const struct ep_merge *m, const void *words, uint32_t n)
{
	uint32_t last_of[256] = {0}; /* by kind, all of the native part under one: offset + 1 */

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = m->order[i], kind = EP_FRAME_KIND(order_header(words, at));

		kind = at < m->native_end ? EP_FRAME_NATIVE : kind;
		if (kind != EP_FRAME_ERROR && last_of[kind] > at)
			return false;
		last_of[kind] = at + 1;
	}
	return true;
}

/* NULL, or what is wrong with the order. */
static inline const char *order_violation(const struct ep_merge *m, const void *words,
					  uint32_t n_words, uint32_t n)
{
	static uint8_t seen[EP_MAX_WORDS];
	uint32_t dropped = 0, dynamic = 0;

	memset(seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < n; i++) {
		if (m->order[i] >= n_words || seen[m->order[i]]++)
			return "a frame came twice, or from nowhere";
	}
	for (uint32_t at = 0; at < n_words; at += 1 + EP_FRAME_WORDS(order_header(words, at))) {
		uint64_t header = order_header(words, at);

		dynamic += EP_FRAME_KIND(header) >= EP_FRAME_FIRST_DYNAMIC;
		dropped += !seen[at];
		if (seen[at]-- == 0 && !(header & EP_FRAME_DOUBTFUL) && (EP_FRAME_KIND(header) != EP_FRAME_NATIVE ||
					!(EP_FRAME_FLAGS(header) >> EP_FRAME_SLOT_SHIFT)))
			return "a frame that marks nothing was lost";
	}
	if (dropped > dynamic)
		return "markers were lost without a frame in their place";
	return order_is_kept(m, words, n) ? NULL : "frames of one part changed places";
}

#endif
