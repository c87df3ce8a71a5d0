/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

/* A record is about 120 bytes: room for 270 mappings between two looks. */
#define RING_BYTES 32768

struct ep_sideband {
	int fd;
	struct perf_event_mmap_page *page;
	const uint8_t *ring;
	size_t mapped_bytes;
	uint8_t record[8192] __attribute__((aligned(8))); /* the one being read */
};

static int try_open(uint32_t cpu, bool build_id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME, /* behind every record, by sample_id_all */
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.mmap = 1, /* executable mappings */
		.mmap2 = 1,
		.build_id = build_id,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_event(uint32_t cpu)
{
	int fd = try_open(cpu, true);

	return fd == -EINVAL ? try_open(cpu, false) : fd; /* before 5.12 */
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

/* Fixed parts of the records, include/uapi/linux/perf_event.h, enum perf_event_type. */
struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint8_t build_id_bytes, reserved[3]; /* with PERF_RECORD_MISC_MMAP_BUILD_ID */
	uint8_t build_id[20];
	uint32_t prot, flags;
}; /* then the file's name */
struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

/* What follows the fixed part: a string, padding, and at the very end the time. */
static bool read_tail(const uint8_t *record, size_t bytes, size_t fixed, struct ep_mapping_event *event)
{
	if (bytes < fixed + sizeof(event->time_ns) + 1)
		return false;
	bytes -= sizeof(event->time_ns);
	memcpy(&event->time_ns, record + bytes, sizeof(event->time_ns));
	event->name = (const char *)record + fixed;
	return memchr(event->name, 0, bytes - fixed) != NULL;
}

static void parse_mmap2(const uint8_t *record, size_t bytes, ep_mapping_visit visit, void *arg)
{
	struct ep_mapping_event event = {0};
	struct mmap2_record mmap2;

	if (!read_tail(record, bytes, sizeof(mmap2), &event))
		return;
	memcpy(&mmap2, record, sizeof(mmap2));
	event.pid = (pid_t)mmap2.pid;
	event.addr = mmap2.addr;
	event.bytes = mmap2.len;
	event.file_off = mmap2.pgoff;
	if ((mmap2.header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) && mmap2.build_id_bytes > 0) {
		event.build_id = mmap2.build_id;
		event.build_id_bytes = EP_MIN((size_t)mmap2.build_id_bytes, sizeof(mmap2.build_id));
	}
	visit(arg, &event);
}

uint64_t ep_sideband_parse(const void *record, size_t bytes, ep_mapping_visit visit, void *arg)
{
	struct perf_event_header header;
	struct lost_record lost;

	if (bytes < sizeof(header))
		return 0;
	memcpy(&header, record, sizeof(header));
	if (header.type == PERF_RECORD_MMAP2)
		parse_mmap2(record, bytes, visit, arg);
	if (header.type != PERF_RECORD_LOST || bytes < sizeof(lost))
		return 0;
	memcpy(&lost, record, sizeof(lost));
	return lost.lost;
}

/* Copies a record out of the ring, where it may wrap. */
static void copy_record(const struct ep_sideband *sideband, uint64_t tail, uint8_t *buf,
			size_t bytes)
{
	size_t at = tail % RING_BYTES, first = EP_MIN(bytes, RING_BYTES - at);

	memcpy(buf, sideband->ring + at, first);
	memcpy(buf + first, sideband->ring, bytes - first);
}

uint64_t ep_sideband_drain(struct ep_sideband *sideband, ep_mapping_visit visit, void *arg)
{
	_Atomic uint64_t *shared_head = (_Atomic uint64_t *)&sideband->page->data_head;
	_Atomic uint64_t *shared_tail = (_Atomic uint64_t *)&sideband->page->data_tail;
	uint64_t head = atomic_load_explicit(shared_head, memory_order_acquire);
	uint64_t tail = sideband->page->data_tail, lost = 0;
	struct perf_event_header header;

	while (head - tail >= sizeof(header)) {
		copy_record(sideband, tail, (uint8_t *)&header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail ||
		    header.size > sizeof(sideband->record))
			break;
		copy_record(sideband, tail, sideband->record, header.size);
		lost += ep_sideband_parse(sideband->record, header.size, visit, arg);
		tail += header.size;
	}
	atomic_store_explicit(shared_tail, head, memory_order_release);
	return lost;
}
