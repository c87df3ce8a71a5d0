/* SPDX-License-Identifier: Apache-2.0 */
/* Which Go program a batch is of. */
#ifndef PGO_PROGRAMS_H
#define PGO_PROGRAMS_H

#include "ebpf-profiler/batch.h"

#include <stdbool.h>
#include <stddef.h>

#define PGO_KIND "go" /* of frames, location_kind */

/* The string PGO_KIND; 0: the batch has no such frame. */
uint32_t pgo_find_kind(const struct ep_batch *batch);
bool pgo_is_of(const struct ep_batch *batch, uint32_t stack, uint32_t kind);
/*
 * Rows of processes with frames of this kind must be of one executable: 0 and a row of it, or -ENODATA or
 * -EINVAL with a sentence in why. -ENOMEM.
 */
int pgo_find_program(const struct ep_batch *batch, uint32_t kind, uint32_t *ret_process, char *why, size_t len);
/* True when both run the same executable. */
bool pgo_is_same(const struct ep_batch *batch, uint32_t process, uint32_t other);

#endif
