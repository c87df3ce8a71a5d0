/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of what differs by release: rows with a member `release`, ascending. */
#ifndef SHARED_RELEASE_H
#define SHARED_RELEASE_H

#include "core/base/bisect.h"
#include "core/base/util.h"

/* The row of an array that holds for `release_`: the last that is not newer, or the first one. */
#define release_row(rows, release_)                                                                \
	({                                                                                         \
		size_t n_ = ep_bisect(EP_LEN(rows), row_, (rows)[row_].release <= (release_));     \
                                                                                                   \
		&(rows)[n_ ? n_ - 1 : 0];                                                          \
	})

#endif
