/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* A record is about 120 bytes: room for 270 mappings between two looks. */
#define RING_BYTES 32768

struct ep_sideband {
	int fd;
	struct perf_event_mmap_page *page;
	const uint8_t *ring;
	size_t mapped_bytes;
};

static int open_event(uint32_t cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1, /* executable mappings */
		.mmap2 = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int ep_sideband_open(uint32_t cpu, struct ep_sideband **ret_sideband)
{
	struct ep_sideband *sideband = calloc(1, sizeof(*sideband));
	size_t page_bytes = (size_t)getpagesize();
	void *memory;

	if (!sideband)
		return -ENOMEM;
	sideband->fd = open_event(cpu);
	if (sideband->fd < 0) {
		int r = sideband->fd;

		free(sideband);
		return r;
	}
	sideband->mapped_bytes = page_bytes + RING_BYTES;
	memory = mmap(NULL, sideband->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		      sideband->fd, 0);
	if (memory == MAP_FAILED) {
		int r = -errno;

		close(sideband->fd);
		free(sideband);
		return r;
	}
	sideband->page = memory;
	sideband->ring = (const uint8_t *)memory + page_bytes;
	*ret_sideband = sideband;
	return 0;
}

void ep_sideband_close(struct ep_sideband *sideband)
{
	if (!sideband)
		return;
	munmap(sideband->page, sideband->mapped_bytes);
	close(sideband->fd);
	free(sideband);
}

int ep_sideband_fd(const struct ep_sideband *sideband)
{
	return sideband->fd;
}

/* Fixed part of the records, include/uapi/linux/perf_event.h, enum perf_event_type. */
struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
};
struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

uint64_t ep_sideband_parse(const void *record, size_t bytes, ep_mapping_visit visit, void *arg)
{
	struct perf_event_header header;
	struct mmap2_record mmap2;
	struct lost_record lost;

	if (bytes < sizeof(header))
		return 0;
	memcpy(&header, record, sizeof(header));
	if (header.type == PERF_RECORD_LOST && bytes >= sizeof(lost)) {
		memcpy(&lost, record, sizeof(lost));
		return lost.lost;
	}
	if (header.type == PERF_RECORD_MMAP2 && bytes >= sizeof(mmap2)) {
		memcpy(&mmap2, record, sizeof(mmap2));
		visit(arg, &(struct ep_mapping_event){
				   .pid = (pid_t)mmap2.pid,
				   .addr = mmap2.addr,
				   .bytes = mmap2.len,
			   });
	}
	return 0;
}

/* Copies a record out of the ring, where it may wrap; longer ones are cut, we need their head. */
static size_t copy_record(const struct ep_sideband *sideband, uint64_t tail, uint8_t *buf,
			  size_t size, size_t bytes)
{
	size_t at = tail % RING_BYTES, n = EP_MIN(size, bytes), first = EP_MIN(n, RING_BYTES - at);

	memcpy(buf, sideband->ring + at, first);
	memcpy(buf + first, sideband->ring, n - first);
	return n;
}

uint64_t ep_sideband_drain(struct ep_sideband *sideband, ep_mapping_visit visit, void *arg)
{
	_Atomic uint64_t *shared_head = (_Atomic uint64_t *)&sideband->page->data_head;
	_Atomic uint64_t *shared_tail = (_Atomic uint64_t *)&sideband->page->data_tail;
	uint64_t head = atomic_load_explicit(shared_head, memory_order_acquire);
	uint64_t tail = sideband->page->data_tail, lost = 0;
	uint8_t buf[sizeof(struct mmap2_record)] __attribute__((aligned(8)));

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		copy_record(sideband, tail, (uint8_t *)&header, sizeof(header), sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		lost += ep_sideband_parse(buf, copy_record(sideband, tail, buf, sizeof(buf), header.size),
					  visit, arg);
		tail += header.size;
	}
	atomic_store_explicit(shared_tail, head, memory_order_release);
	return lost;
}
