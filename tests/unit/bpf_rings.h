/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings in memory, written as the kernel writes them: for tests, fuzz targets and the bench of
 * core/bpf/order.h. A fake side-band ring loses what has no space and tells so before the next
 * record that fits, as linux/kernel/events/ring_buffer.c does.
 */
#ifndef EP_TEST_BPF_RINGS_H
#define EP_TEST_BPF_RINGS_H

#include "bpf/shared.h"
#include "core/bpf/ring.h"
#include "core/bpf/sideband.h"
#include "core/bpf/sideband_set.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

/* --- the BPF ring ---------------------------------------------------------------------------- */

struct fake_ring {
	uint8_t *data; /* mapped twice, as the kernel does */
	size_t bytes;
	uint64_t consumer, producer;
	struct ep_ring *reader;
};

static inline void *map_twice(size_t bytes)
{
	ep_autoclose int fd = memfd_create("ring", MFD_CLOEXEC);
	uint8_t *data = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 || data == MAP_FAILED ||
	    mmap(data, bytes, prot, flags, fd, 0) == MAP_FAILED ||
	    mmap(data + bytes, bytes, prot, flags, fd, 0) == MAP_FAILED)
		abort();
	return data;
}

static inline void fake_ring_init(struct fake_ring *ring, size_t bytes, uint64_t position)
{
	struct ep_ring_memory memory = {.consumer = &ring->consumer,
					.producer = &ring->producer,
					.bytes = bytes,
					.tail_bytes = bytes};

	*ring = (struct fake_ring){.data = map_twice(bytes), .bytes = bytes};
	ring->consumer = ring->producer = position;
	memory.data = ring->data;
	if (ep_ring_new(&memory, &ring->reader) < 0)
		abort();
}

static inline void fake_ring_fini(struct fake_ring *ring)
{
	ep_ring_close(ring->reader);
	munmap(ring->data, 2 * ring->bytes);
}

/* Its header, so that a test can spoil it; NULL: no space. The length may have the two bits. */
static inline uint32_t *fake_ring_put(struct fake_ring *ring, const void *record, uint32_t length)
{
	uint32_t bytes = length & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
	uint64_t step = EP_ALIGN_UP((uint64_t)bytes + BPF_RINGBUF_HDR_SZ, 8);
	uint8_t *to = ring->data + ring->producer % ring->bytes;

	if (ring->producer + step - ring->consumer > ring->bytes)
		return NULL;
	memcpy(to, &length, sizeof(length));
	memcpy(to + BPF_RINGBUF_HDR_SZ, record, bytes);
	ring->producer += step;
	return (uint32_t *)(void *)to;
}

/* An event of `bytes` bytes whose `cpu` is an id, filled with a pattern made of it. */
static inline uint32_t *fake_ring_put_event(struct fake_ring *ring, uint32_t type, uint64_t time_ns,
					    uint32_t id, uint32_t bytes)
{
	static union {
		struct ep_event event;
		uint8_t bytes[65536];
	} record;

	memset(record.bytes, (int)(id & 0xff), bytes);
	record.event = (struct ep_event){.type = type, .cpu = id, .time_ns = time_ns};
	return fake_ring_put(ring, &record, bytes);
}

/* --- side-band rings ------------------------------------------------------------------------- */

struct fake_sideband {
	struct perf_event_mmap_page page;
	uint8_t *data;
	size_t bytes;
	uint32_t cpu;
	uint64_t lost;	  /* in all */
	uint64_t untold;  /* of them */
	unsigned int n_counted; /* how often somebody asked */
	struct ep_sideband *reader;
};

static inline bool fake_count_lost(void *arg, uint64_t *ret_lost)
{
	struct fake_sideband *sideband = arg;

	sideband->n_counted++;
	*ret_lost = sideband->lost;
	return true;
}

static inline void fake_sideband_init(struct fake_sideband *sideband, uint32_t cpu, size_t bytes,
				      uint64_t position, bool counts)
{
	struct ep_sideband_memory memory = {.page = &sideband->page,
					    .bytes = bytes,
					    .count_lost = counts ? fake_count_lost : NULL,
					    .arg = sideband};

	*sideband = (struct fake_sideband){.data = malloc(bytes), .bytes = bytes, .cpu = cpu};
	memory.data = sideband->data;
	sideband->page.data_head = sideband->page.data_tail = position;
	if (!sideband->data || ep_sideband_new(cpu, &memory, &sideband->reader) < 0)
		abort();
}

static inline void fake_sideband_write(struct fake_sideband *sideband, const void *record,
				       size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		sideband->data[(sideband->page.data_head + i) % sideband->bytes] =
			((const uint8_t *)record)[i];
	sideband->page.data_head += bytes;
}

struct fake_lost {
	struct perf_event_header header;
	uint64_t id, lost, time_ns;
};

static inline bool fake_sideband_put(struct fake_sideband *sideband, const void *record,
				     size_t bytes)
{
	struct fake_lost lost = {.header = {.type = PERF_RECORD_LOST, .size = sizeof(lost)},
				 .lost = sideband->untold};
	size_t all = bytes + (sideband->untold ? sizeof(lost) : 0);
	size_t used = sideband->page.data_head - sideband->page.data_tail;

	if (used + all >= sideband->bytes) { /* the kernel's CIRC_SPACE leaves a byte */
		sideband->lost++;
		sideband->untold++;
		return false;
	}
	if (sideband->untold)
		fake_sideband_write(sideband, &lost, sizeof(lost));
	sideband->untold = 0;
	fake_sideband_write(sideband, record, bytes);
	return true;
}

/* A PERF_RECORD_MMAP2 as the kernel lays it out, with its time at the end. */
struct fake_mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct {
			uint8_t build_id_bytes, reserved[3], build_id[20];
		};
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		};
	};
	uint32_t prot, flags;
	char name[16];
	uint64_t time_ns;
};

/* A PERF_RECORD_KSYMBOL, likewise. */
struct fake_ksymbol {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
	char name[16];
	uint64_t time_ns;
};

/* Its `addr` is an id. */
static inline bool fake_sideband_put_ksymbol(struct fake_sideband *sideband, uint64_t time_ns, uint32_t id,
					     bool is_gone)
{
	struct fake_ksymbol record = {
		.header = {.type = PERF_RECORD_KSYMBOL, .size = sizeof(record)},
		.addr = id,
		.len = 0x40,
		.type = PERF_RECORD_KSYMBOL_TYPE_BPF,
		.flags = is_gone ? PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER : 0,
		.name = "bpf_prog_x",
		.time_ns = time_ns,
	};

	return fake_sideband_put(sideband, &record, sizeof(record));
}

/* Its `addr` is an id. */
static inline bool fake_sideband_put_mapping_of(struct fake_sideband *sideband, uint64_t time_ns, uint32_t id,
						uint32_t pid)
{
	struct fake_mmap2 record = {
		.header = {.type = PERF_RECORD_MMAP2, .size = sizeof(record)},
		.pid = pid,
		.addr = id,
		.name = "/usr/bin/x",
		.time_ns = time_ns,
	};

	return fake_sideband_put(sideband, &record, sizeof(record));
}

static inline bool fake_sideband_put_mapping(struct fake_sideband *sideband, uint64_t time_ns, uint32_t id)
{
	return fake_sideband_put_mapping_of(sideband, time_ns, id, 0);
}

#endif
