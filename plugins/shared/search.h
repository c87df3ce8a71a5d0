/* SPDX-License-Identifier: Apache-2.0 */
/* Search in what is sorted. */
#ifndef SHARED_SEARCH_H
#define SHARED_SEARCH_H

#include "core/base/bisect.h"

/*
 * How many of n sorted elements come before what is looked for: `is_before` is an expression of i,
 * true for the first of them and false for the others. So the result is the number of the first
 * other one, or n.
 */
#define search_sorted(n, i, is_before) ep_bisect(n, i, is_before)

#endif
