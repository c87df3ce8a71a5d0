/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded number parsing and whole-file reads, for /proc and configuration. */
#ifndef EP_BASE_PARSE_H
#define EP_BASE_PARSE_H

#include "core/base/util.h"
#include "core/base/vec.h"

/*
 * Reads digits of `base` (10 or 16) at *pos, not beyond end, and moves *pos after them.
 * 0, -EBADMSG when there is no digit, -ERANGE when the number needs more than 64 bits.
 */
int ep_parse_u64(const char **pos, const char *end, unsigned int base, uint64_t *ret_value);

/* A whole NUL-terminated string as a decimal number. 0, -EBADMSG, -ERANGE. */
int ep_parse_u64_str(const char *str, uint64_t *ret_value);

/* Writes 2 * n digits and a NUL. */
void ep_to_hex(const uint8_t *bytes, size_t n, char *hex);

/*
 * Reads a file (or what remains of fd) into a byte vector up to its maximum, then adds a NUL that
 * is not counted. 0, -E2BIG when the file is longer, or the errno of open or read.
 */
int ep_read_file(const char *path, struct ep_vec *bytes);
int ep_read_fd(int fd, struct ep_vec *bytes);

#endif
