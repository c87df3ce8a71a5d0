/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole file in memory, unfolded if it is gzip, which may be several members one after the other. What it
 * unfolds to is bounded, however small the file is.
 */
#ifndef EP_READERS_UNPACK_H
#define EP_READERS_UNPACK_H

#include "core/base/vec.h"

/*
 * Appends what is read from `fd` until its end to a vector of bytes; its maximum is the bound. 0, -E2BIG,
 * -ENOMEM, what read(2) says, or -EBADMSG for damaged gzip; with -E2BIG and -EBADMSG `*ret_why` says what is
 * wrong, without the file's name.
 */
int ep_unpack(int fd, struct ep_vec *bytes, const char **ret_why);

#endif
