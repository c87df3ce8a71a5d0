/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader of a BPF_MAP_TYPE_RINGBUF map whose records are looked at in place and given back later,
 * all at once: libbpf's consumer gives each one back before it looks at the next, so nothing can be
 * put in order. There must be one reader of a map.
 *
 *	ep_ring_begin	what is in the ring now is what will be read: the end is taken once
 *	ep_ring_next	one record after the other; pointers stay valid until the release
 *	ep_ring_release	all records that were returned go back to the kernel
 *
 * A record that is still being written stops the reader: those after it come after it in the ring
 * and wait. The kernel then wakes a poll when that record is done.
 */
#ifndef EP_BPF_RING_H
#define EP_BPF_RING_H

#include "core/base/util.h"

struct ep_ring;

/*
 * Where a ring lies, for tests: after `bytes` of data, a power of two, their first `tail_bytes` are there once more.
 */
struct ep_ring_memory {
	uint64_t *consumer;	  /* written by the reader */
	const uint64_t *producer; /* written by the kernel */
	const uint8_t *data;
	size_t bytes, tail_bytes;
};

int ep_ring_open(int map_fd, struct ep_ring **ret_ring); /* the descriptor is borrowed */
int ep_ring_new(const struct ep_ring_memory *memory, struct ep_ring **ret_ring); /* borrowed */
void ep_ring_close(struct ep_ring *ring); /* accepts NULL */

/* The map's descriptor, readable (poll, epoll) when the ring has records; -1: only memory. */
int ep_ring_fd(const struct ep_ring *ring);
size_t ep_ring_bytes(const struct ep_ring *ring);
/* Bytes that are not given back yet, records being written among them. */
size_t ep_ring_used_bytes(const struct ep_ring *ring);

enum ep_ring_result {
	EP_RING_END = 0,
	EP_RING_RECORD = 1,
	EP_RING_BUSY = 2, /* the next record is being written */
};

void ep_ring_begin(struct ep_ring *ring);
/*
 * enum ep_ring_result, or -EBADMSG when a length cannot be true: what was in the ring at the
 * begin is skipped then, and the next begin finds the kernel's next record.
 */
int ep_ring_next(struct ep_ring *ring, const void **ret_record, size_t *ret_bytes);
void ep_ring_release(struct ep_ring *ring);

#endif
