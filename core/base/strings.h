/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String interner: equal strings share one id, ids are dense and never change. Id 0 is "".
 * Strings live in large blocks, so ep_strings_get's pointer stays valid as long as the interner.
 */
#ifndef EP_BASE_STRINGS_H
#define EP_BASE_STRINGS_H

#include "core/base/util.h"

struct ep_strings;

int ep_strings_new(size_t max_bytes, struct ep_strings **ret_strings);
void ep_strings_free(struct ep_strings *strings);
static inline void ep_strings_freep(struct ep_strings **strings)
{
	ep_strings_free(*strings);
}

/* 0 with the id, -E2BIG when max_bytes would be exceeded, -ENOMEM. `str` needs no NUL. */
int ep_strings_add(struct ep_strings *strings, const char *str, size_t len, uint32_t *ret_id);
/* NUL-terminated; "" for an id that was never given out. */
const char *ep_strings_get(const struct ep_strings *strings, uint32_t id);
size_t ep_strings_len_of(const struct ep_strings *strings, uint32_t id);
uint32_t ep_strings_count(const struct ep_strings *strings);
/* Heap bytes in use, for memory accounting. */
size_t ep_strings_bytes(const struct ep_strings *strings);

#endif
