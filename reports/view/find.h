/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which functions of a batch a user means by a word: those of exactly that name; if there are none,
 * those it is the last part of ("f" of "ns::f(int)", "pkg.f", "Class#f"); if there are none, those
 * it is somewhere in.
 */
#ifndef EP_VIEW_FIND_H
#define EP_VIEW_FIND_H

#include "core/base/util.h"

struct ep_batch;

/*
 * One byte per row of strings, 1 for names that are meant, in an array that the caller frees; how
 * many in *ret_n. 0 or -ENOMEM.
 */
int ep_view_find_functions(const struct ep_batch *batch, const char *word, uint8_t **ret_wanted,
			   size_t *ret_n);

#endif
