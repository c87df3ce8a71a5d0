/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches (include/ebpf-profiler/batch.h) as they are kept: immutable, and counted atomically, so that
 * any thread may use and release one.
 */
#ifndef EP_PROFILE_BATCH_H
#define EP_PROFILE_BATCH_H

#include "core/base/util.h"
#include "ebpf-profiler/batch.h"

/*
 * A batch with one reference (gives) and no columns: the caller fills them in before anybody else sees it.
 * They take `bytes` of heap, and `release` is called with `arg` when nobody needs them. NULL: no memory.
 */
struct ep_batch *ep_batch_new(size_t bytes, void (*release)(void *arg), void *arg);
/* Any thread. */
void ep_batch_ref(const struct ep_batch *batch);
void ep_batch_unref(const struct ep_batch *batch); /* accepts NULL */
static inline void ep_batch_unrefp(struct ep_batch **batch)
{
	ep_batch_unref(*batch);
}
size_t ep_batch_bytes(const struct ep_batch *batch); /* heap */

#endif
