/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/batch.h"

#include <stdatomic.h>
#include <stdlib.h>

/* The columns are somebody else's until `release` gives them back. */
struct owned_batch {
	_Atomic uint32_t refs;
	size_t bytes;
	void (*release)(void *arg);
	void *arg;
	struct ep_batch batch;
};

static struct owned_batch *owner_of(const struct ep_batch *batch)
{
	return (struct owned_batch *)EP_CONTAINER(batch, struct owned_batch, batch);
}

struct ep_batch *ep_batch_new(size_t bytes, void (*release)(void *arg), void *arg)
{
	struct owned_batch *owned = malloc(sizeof(*owned));

	if (!owned)
		return NULL;
	*owned = (struct owned_batch){
		.refs = 1,
		.bytes = sizeof(*owned) + bytes,
		.release = release,
		.arg = arg,
		.batch.size = sizeof(owned->batch),
	};
	return &owned->batch;
}

static void batch_free(struct owned_batch *owned)
{
	if (owned->release)
		owned->release(owned->arg);
	free(owned);
}

void ep_batch_ref(const struct ep_batch *batch)
{
	atomic_fetch_add_explicit(&owner_of(batch)->refs, 1, memory_order_relaxed);
}

void ep_batch_unref(const struct ep_batch *batch)
{
	if (batch &&
	    atomic_fetch_sub_explicit(&owner_of(batch)->refs, 1, memory_order_acq_rel) == 1)
		batch_free(owner_of(batch));
}

size_t ep_batch_bytes(const struct ep_batch *batch)
{
	return owner_of(batch)->bytes;
}
