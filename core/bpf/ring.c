/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout and protocol: linux/kernel/bpf/ringbuf.c (struct bpf_ringbuf, ringbuf_map_mmap_kern,
 * __bpf_ringbuf_reserve, bpf_ringbuf_commit), names of the bits: include/uapi/linux/bpf.h.
 *
 *	map offset 0      consumer position, one page, the only one that user space may write
 *	           page   producer position, one page
 *	         2 pages  data, then the same data again: no record is ever split. We map only
 *	                  TAIL_BYTES of the copy, since each mapped page counts as our memory
 *
 *	record    0       4       8
 *	         | length | -     | bytes ...      | up to a multiple of 8
 *
 * Positions only grow; 1. consumer <= producer <= consumer + size; 2. both are multiples of 8;
 * 3. a record with the busy bit has its length already; 4. none is longer than TAIL_BYTES: the
 * longest that BPF sends is a struct ep_core_record (bpf/record.bpf.h), 31 KiB.
 */
#include "core/bpf/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#define TAIL_BYTES ((size_t)64 << 10)

struct ep_ring {
	struct ep_ring_memory memory;
	uint64_t released; /* what the consumer position is: nobody else writes it */
	uint64_t at, end;
	int map_fd;
	void *consumer_page, *producer_pages; /* NULL: borrowed memory */
	size_t page_bytes;
};

static uint64_t load_producer(const struct ep_ring *ring)
{
	return atomic_load_explicit((const _Atomic uint64_t *)ring->memory.producer,
				    memory_order_acquire);
}

int ep_ring_new(const struct ep_ring_memory *memory, struct ep_ring **ret_ring)
{
	struct ep_ring *ring;

	if (memory->bytes < BPF_RINGBUF_HDR_SZ || (memory->bytes & (memory->bytes - 1)) ||
	    *memory->consumer % 8)
		return -EINVAL;
	ring = calloc(1, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	ring->memory = *memory;
	ring->released = ring->at = ring->end = *memory->consumer;
	ring->map_fd = -1;
	*ret_ring = ring;
	return 0;
}

/* The two mappings of one ring, until it owns them. */
struct pages {
	void *consumer, *producer;
	size_t page_bytes, data_bytes, tail_bytes;
};

static size_t producer_bytes(const struct pages *pages)
{
	return pages->page_bytes + pages->data_bytes + pages->tail_bytes;
}

static void unmap_pages(const struct pages *pages)
{
	if (pages->consumer != MAP_FAILED)
		munmap(pages->consumer, pages->page_bytes);
	if (pages->producer != MAP_FAILED)
		munmap(pages->producer, producer_bytes(pages));
}

static int map_pages(int map_fd, struct pages *pages)
{
	pages->producer = MAP_FAILED;
	pages->consumer = mmap(NULL, pages->page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd,
			       0);
	if (pages->consumer != MAP_FAILED)
		pages->producer = mmap(NULL, producer_bytes(pages), PROT_READ, MAP_SHARED, map_fd,
				       (off_t)pages->page_bytes);
	return pages->producer == MAP_FAILED ? -errno : 0;
}

static int new_mapped(int map_fd, const struct pages *pages, struct ep_ring **ret_ring)
{
	struct ep_ring_memory memory = {
		.consumer = pages->consumer,
		.producer = pages->producer,
		.data = (const uint8_t *)pages->producer + pages->page_bytes,
		.bytes = pages->data_bytes,
		.tail_bytes = pages->tail_bytes,
	};
	int r = ep_ring_new(&memory, ret_ring);

	if (r < 0)
		return r;
	(*ret_ring)->map_fd = map_fd;
	(*ret_ring)->consumer_page = pages->consumer;
	(*ret_ring)->producer_pages = pages->producer;
	(*ret_ring)->page_bytes = pages->page_bytes;
	return 0;
}

int ep_ring_open(int map_fd, struct ep_ring **ret_ring)
{
	struct bpf_map_info info = {0};
	uint32_t info_bytes = sizeof(info);
	struct pages pages = {.page_bytes = (size_t)getpagesize()};
	int r;

	if (bpf_obj_get_info_by_fd(map_fd, &info, &info_bytes) < 0)
		return -errno;
	if (info.type != BPF_MAP_TYPE_RINGBUF)
		return -EINVAL;
	pages.data_bytes = info.max_entries;
	pages.tail_bytes = EP_MIN(pages.data_bytes, TAIL_BYTES);
	r = map_pages(map_fd, &pages);
	if (r == 0)
		r = new_mapped(map_fd, &pages, ret_ring);
	if (r < 0)
		unmap_pages(&pages);
	return r;
}

void ep_ring_close(struct ep_ring *ring)
{
	if (!ring)
		return;
	if (ring->consumer_page) {
		munmap(ring->consumer_page, ring->page_bytes);
		munmap(ring->producer_pages, ring->page_bytes + ring->memory.bytes + ring->memory.tail_bytes);
	}
	free(ring);
}

int ep_ring_fd(const struct ep_ring *ring)
{
	return ring->map_fd;
}

size_t ep_ring_bytes(const struct ep_ring *ring)
{
	return ring->memory.bytes;
}

size_t ep_ring_used_bytes(const struct ep_ring *ring)
{
	return EP_MIN(load_producer(ring) - ring->released, ring->memory.bytes);
}

void ep_ring_begin(struct ep_ring *ring)
{
	ring->end = load_producer(ring);
}

static uint32_t load_header(const uint8_t *record)
{
	return atomic_load_explicit((const _Atomic uint32_t *)(const void *)record,
				    memory_order_acquire);
}

static int skip_all(struct ep_ring *ring)
{
	ring->at = ring->end;
	return -EBADMSG;
}

int ep_ring_next(struct ep_ring *ring, const void **ret_record, size_t *ret_bytes)
{
	if (ring->end - ring->released > ring->memory.bytes || ring->end % 8)
		return ring->at == ring->end ? EP_RING_END : skip_all(ring);
	while (ring->at != ring->end) {
		size_t off = ring->at & (ring->memory.bytes - 1);
		const uint8_t *record = ring->memory.data + off;
		uint32_t header = load_header(record);
		uint32_t bytes = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		uint64_t step = EP_ALIGN_UP((uint64_t)bytes + BPF_RINGBUF_HDR_SZ, 8);

		if (header & BPF_RINGBUF_BUSY_BIT)
			return EP_RING_BUSY;
		if (step > ring->end - ring->at || off + step > ring->memory.bytes + ring->memory.tail_bytes)
			return skip_all(ring);
		ring->at += step;
		if (header & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*ret_record = record + BPF_RINGBUF_HDR_SZ;
		*ret_bytes = bytes;
		return EP_RING_RECORD;
	}
	return EP_RING_END;
}

/*
 * The full barrier is for the wake-up: the kernel wakes a poll for a record that begins where the
 * consumer is. It must see our position, or whoever looks at the ring next must see its record.
 */
void ep_ring_release(struct ep_ring *ring)
{
	ring->released = ring->at;
	atomic_store_explicit((_Atomic uint64_t *)ring->memory.consumer, ring->at,
			      memory_order_seq_cst);
}
