/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable arrays created with a maximum. A vector of equal elements; a byte buffer is a vector of
 * one-byte elements with the append helpers below. Pointers into it are valid until it grows.
 */
#ifndef EP_BASE_VEC_H
#define EP_BASE_VEC_H

#include "core/base/util.h"

struct ep_vec {
	void *data;
	size_t len; /* elements in use */
	size_t cap; /* elements allocated */
	size_t max; /* elements allowed */
	size_t elem_bytes;
};

void ep_vec_init(struct ep_vec *vec, size_t elem_bytes, size_t max);
void ep_vec_fini(struct ep_vec *vec); /* accepts a zeroed vector */

/* Adds one zeroed element. NULL when the maximum is reached or memory is out (vec unchanged). */
void *ep_vec_push(struct ep_vec *vec);
/* Adds `len` elements copied from `src` (src NULL: zeroed). 0, -E2BIG at the maximum, -ENOMEM. */
int ep_vec_append(struct ep_vec *vec, const void *src, size_t len);
/* Makes space for `cap` elements in all. 0, -E2BIG, -ENOMEM. */
int ep_vec_reserve(struct ep_vec *vec, size_t cap);
/* Gives memory that is not in use back. */
void ep_vec_shrink(struct ep_vec *vec);

#define ep_vec_at(vec, type, i) (&((type *)(vec)->data)[i])

/* For each element: `item` is a pointer declared by the caller. */
#define ep_vec_each(vec, item)                                                                     \
	for ((item) = (vec)->data;                                                                 \
	     (item) && (size_t)((item) - (__typeof__(item))(vec)->data) < (vec)->len; (item)++)

/* printf into a vector of bytes, without the terminating NUL. 0, -E2BIG, -ENOMEM. */
int ep_vec_printf(struct ep_vec *bytes, const char *fmt, ...) EP_PRINTF(2, 3);

#endif
