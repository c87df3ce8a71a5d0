/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

/*
 * The largest record: 72 bytes, a name of PATH_MAX and the time, and before it 32 bytes that tell
 * of a loss (linux/kernel/events/core.c, perf_event_mmap_event and perf_event_mmap_output;
 * ring_buffer.c, __perf_output_begin).
 */
#define LARGEST_BYTES	 (72 + 4096 + 8 + 32)
#define MAX_RECORD_BYTES 8192

struct ep_sideband {
	struct ep_sideband_memory memory;
	uint32_t cpu;
	int fd;		     /* -1: borrowed memory */
	size_t mapped_bytes;
	uint64_t released;   /* what data_tail is: nobody else writes it */
	uint64_t at, head;
	uint64_t peeked;     /* before this a peek has seen all; older than `released`: nothing */
	uint64_t lost;	     /* not taken yet */
	uint64_t known_lost; /* of the kernel's counter */
	bool lossy;
	bool look;	     /* at the release the ring was more than half full */
	bool near;	     /* and could not have taken the largest record */
	bool looked;	     /* in this drain */
	bool counted;	     /* and the counter reported how many */
	uint8_t wrapped[MAX_RECORD_BYTES] __attribute__((aligned(8))); /* the one across the end */
};

static int try_open(uint32_t cpu, bool build_id, uint64_t read_format)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME, /* after every record, by sample_id_all */
		.read_format = read_format,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.mmap = 1, /* executable mappings */
		.mmap2 = 1,
		.ksymbol = 1, /* 5.1 */
		.build_id = build_id,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_event(uint32_t cpu, bool *ret_counts)
{
	int fd = try_open(cpu, true, PERF_FORMAT_LOST);

	*ret_counts = fd >= 0;
	if (fd == -EINVAL)
		fd = try_open(cpu, true, 0); /* before 6.0 */
	return fd == -EINVAL ? try_open(cpu, false, 0) : fd; /* before 5.12 */
}

/* linux/kernel/events/core.c, perf_read_one: the value, then what read_format asks for. */
static bool read_lost(void *arg, uint64_t *ret_lost)
{
	const struct ep_sideband *sideband = arg;
	uint64_t values[2];

	if (read(sideband->fd, values, sizeof(values)) != sizeof(values))
		return false;
	*ret_lost = values[1];
	return true;
}

int ep_sideband_new(uint32_t cpu, const struct ep_sideband_memory *memory,
		    struct ep_sideband **ret_sideband)
{
	struct ep_sideband *sideband;

	if (memory->bytes < sizeof(struct perf_event_header) ||
	    (memory->bytes & (memory->bytes - 1)) || memory->page->data_tail % 8)
		return -EINVAL;
	sideband = calloc(1, sizeof(*sideband));
	if (!sideband)
		return -ENOMEM;
	sideband->memory = *memory;
	sideband->cpu = cpu;
	sideband->fd = -1;
	sideband->released = sideband->at = sideband->head = memory->page->data_tail;
	*ret_sideband = sideband;
	return 0;
}

static int new_mapped(uint32_t cpu, void *pages, size_t bytes, struct ep_sideband **ret_sideband)
{
	size_t page_bytes = (size_t)getpagesize();
	struct ep_sideband_memory memory = {
		.page = pages,
		.data = (const uint8_t *)pages + page_bytes,
		.bytes = bytes,
	};

	return ep_sideband_new(cpu, &memory, ret_sideband);
}

int ep_sideband_open(uint32_t cpu, size_t bytes, struct ep_sideband **ret_sideband)
{
	size_t mapped_bytes = (size_t)getpagesize() + bytes;
	struct ep_sideband *sideband;
	bool counts;
	ep_autoclose int fd = open_event(cpu, &counts);
	void *pages;
	int r;

	if (fd < 0)
		return fd;
	pages = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED)
		return -errno;
	r = new_mapped(cpu, pages, bytes, &sideband);
	if (r < 0) {
		munmap(pages, mapped_bytes);
		return r;
	}
	sideband->mapped_bytes = mapped_bytes;
	sideband->fd = ep_take_fd(fd);
	sideband->memory.count_lost = counts ? read_lost : NULL;
	sideband->memory.arg = sideband;
	*ret_sideband = sideband;
	return 0;
}

void ep_sideband_close(struct ep_sideband *sideband)
{
	if (!sideband)
		return;
	if (sideband->mapped_bytes)
		munmap(sideband->memory.page, sideband->mapped_bytes);
	ep_closep(&sideband->fd);
	free(sideband);
}

int ep_sideband_fd(const struct ep_sideband *sideband)
{
	return sideband->fd;
}

uint32_t ep_sideband_cpu(const struct ep_sideband *sideband)
{
	return sideband->cpu;
}

size_t ep_sideband_bytes(const struct ep_sideband *sideband)
{
	return sideband->memory.bytes;
}

bool ep_sideband_is_lossy(const struct ep_sideband *sideband)
{
	return sideband->lossy;
}

static uint64_t load_head(const struct ep_sideband *sideband)
{
	return atomic_load_explicit((_Atomic uint64_t *)&sideband->memory.page->data_head,
				    memory_order_acquire);
}

size_t ep_sideband_used_bytes(const struct ep_sideband *sideband)
{
	return EP_MIN(load_head(sideband) - sideband->released, sideband->memory.bytes);
}

/* The kernel's counter gets its last look in the drain that empties the ring. */
void ep_sideband_stop(struct ep_sideband *sideband)
{
	if (sideband->fd >= 0)
		(void)ioctl(sideband->fd, PERF_EVENT_IOC_DISABLE, 0);
	sideband->look = true;
}

/* --- losses ---------------------------------------------------------------------------------- */

static void add_lost(struct ep_sideband *sideband, uint64_t lost)
{
	sideband->lost += lost;
	sideband->lossy |= lost > 0;
}

static bool is_nearly_full(const struct ep_sideband *sideband, uint64_t used)
{
	return used + LARGEST_BYTES > sideband->memory.bytes;
}

/* Once in a drain. False when the counter does not say. */
static bool count_lost(struct ep_sideband *sideband)
{
	const struct ep_sideband_memory *memory = &sideband->memory;
	uint64_t lost;

	if (!sideband->looked) {
		sideband->looked = true;
		sideband->counted = memory->count_lost && memory->count_lost(memory->arg, &lost);
		if (sideband->counted && lost > sideband->known_lost) {
			add_lost(sideband, lost - sideband->known_lost);
			sideband->known_lost = lost;
		}
	}
	return sideband->counted;
}

static void look_for_lost(struct ep_sideband *sideband, uint64_t used)
{
	bool near = sideband->near || is_nearly_full(sideband, used);

	if (!sideband->look && !near && used <= sideband->memory.bytes / 2)
		return;
	if (!count_lost(sideband) && near)
		add_lost(sideband, 1);
}

/* --- reading --------------------------------------------------------------------------------- */

void ep_sideband_begin(struct ep_sideband *sideband)
{
	uint64_t used;

	sideband->head = load_head(sideband);
	sideband->looked = sideband->counted = false;
	used = sideband->head - sideband->released;
	look_for_lost(sideband, used);
	sideband->look = sideband->near = false;
	if (used > sideband->memory.bytes || sideband->head % 8) { /* not what the kernel does */
		sideband->at = sideband->head;
		add_lost(sideband, 1);
	}
}

/* `bytes` of the ring, put together when they lie across its end: one record in a drain does. */
static const uint8_t *view_at(struct ep_sideband *sideband, uint64_t pos, size_t bytes)
{
	size_t at = pos & (sideband->memory.bytes - 1);
	size_t first = sideband->memory.bytes - at;

	if (bytes <= first)
		return sideband->memory.data + at;
	memcpy(sideband->wrapped, sideband->memory.data + at, first);
	memcpy(sideband->wrapped + first, sideband->memory.data, bytes - first);
	return sideband->wrapped;
}

static const uint8_t *view(struct ep_sideband *sideband, size_t bytes)
{
	return view_at(sideband, sideband->at, bytes);
}

/* Sizes are multiples of 8 (perf_event_header__init_id and its callers), so no header is split. */
static bool is_size_valid(const struct ep_sideband *sideband, size_t size)
{
	return size >= sizeof(struct perf_event_header) && size % 8 == 0 &&
	       size <= sideband->head - sideband->at && size <= MAX_RECORD_BYTES;
}

struct ksymbol_record {
	struct perf_event_header header;
	uint64_t addr;
	uint32_t len;
	uint16_t type, flags;
}; /* then its name */
_Static_assert(sizeof(struct ksymbol_record) == 24, "PERF_RECORD_KSYMBOL");

#define TIME_BYTES sizeof(uint64_t)

/*
 * Where the time of a record is: at its end. But where several perf events of a CPU hear of kernel symbols, another
 * profiler's before ours, the kernel adds the size of what follows the name once for each of them
 * (perf_event_ksymbol_output() in kernel/events/core.c, up to Linux 6.18, does not put header.size back). Then bytes
 * that nobody wrote are at the end, and the time is where it belongs: after the name, which is
 * padded to 8 bytes.
 */
static size_t time_offset(const uint8_t *record, size_t bytes)
{
	struct perf_event_header header;
	const uint8_t *name = record + sizeof(struct ksymbol_record), *end = NULL;
	size_t off;

	memcpy(&header, record, sizeof(header));
	if (header.type == PERF_RECORD_KSYMBOL && bytes > sizeof(struct ksymbol_record))
		end = memchr(name, 0, bytes - sizeof(struct ksymbol_record));
	off = end ? ((size_t)(end - record) + TIME_BYTES) & ~(TIME_BYTES - 1) : bytes;
	return EP_MIN(off, bytes - TIME_BYTES);
}

static bool is_wanted(uint32_t type)
{
	return type == PERF_RECORD_MMAP2 || type == PERF_RECORD_KSYMBOL;
}

bool ep_sideband_next(struct ep_sideband *sideband, const void **ret_record, size_t *ret_bytes,
		      uint64_t *ret_time_ns)
{
	struct perf_event_header header;
	const uint8_t *record;

	while (sideband->at != sideband->head) {
		memcpy(&header, view(sideband, sizeof(header)), sizeof(header));
		if (!is_size_valid(sideband, header.size)) {
			sideband->at = sideband->head;
			add_lost(sideband, 1);
			return false;
		}
		record = view(sideband, header.size);
		sideband->at += header.size;
		if (header.type == PERF_RECORD_LOST && !count_lost(sideband))
			add_lost(sideband, ep_sideband_parse(record, header.size, NULL, NULL));
		if (!is_wanted(header.type) || header.size < sizeof(header) + 8)
			continue;
		memcpy(ret_time_ns, record + time_offset(record, header.size), TIME_BYTES);
		*ret_record = record;
		*ret_bytes = header.size;
		return true;
	}
	return false;
}

uint64_t ep_sideband_take_lost(struct ep_sideband *sideband)
{
	uint64_t lost = sideband->lost;

	sideband->lost = 0;
	return lost;
}

/* What was written since the begin may have filled the ring: nobody else will see that. */
void ep_sideband_release(struct ep_sideband *sideband)
{
	uint64_t used = load_head(sideband) - sideband->released;

	sideband->look = used > sideband->memory.bytes / 2;
	sideband->near = is_nearly_full(sideband, used);
	sideband->released = sideband->at;
	atomic_store_explicit((_Atomic uint64_t *)&sideband->memory.page->data_tail, sideband->at,
			      memory_order_release);
}

/* What every record of a mapping begins with. */
struct mmap_head {
	struct perf_event_header header;
	uint32_t pid, tid;
};

bool ep_sideband_mapping_pid(const void *record, uint32_t *ret_pid)
{
	struct mmap_head head;

	memcpy(&head, record, sizeof(head.header));
	if (head.header.type != PERF_RECORD_MMAP2 || head.header.size < sizeof(head))
		return false;
	memcpy(&head, record, sizeof(head));
	*ret_pid = head.pid;
	return true;
}

bool ep_sideband_peek(struct ep_sideband *sideband, bool (*is_one)(void *arg, pid_t pid), void *arg)
{
	uint64_t head = load_head(sideband), at = EP_MAX(sideband->peeked, sideband->released);
	struct mmap_head record;

	if (head - sideband->released > sideband->memory.bytes / 2)
		return true;
	while (at < head) {
		if (head - at < sizeof(record))
			return true;
		memcpy(&record, view_at(sideband, at, sizeof(record)), sizeof(record));
		if (record.header.size < sizeof(record) || record.header.size % 8 ||
		    record.header.size > head - at || record.header.type == PERF_RECORD_LOST ||
		    record.header.type == PERF_RECORD_KSYMBOL)
			return true;
		if (record.header.type == PERF_RECORD_MMAP2 && is_one(arg, (pid_t)record.pid))
			return true;
		at += record.header.size;
	}
	sideband->peeked = at;
	return false;
}

void ep_sideband_drop_peeked(struct ep_sideband *sideband)
{
	sideband->at = EP_MAX(sideband->peeked, sideband->released);
	ep_sideband_release(sideband);
}

/* --- records --------------------------------------------------------------------------------- */

/*
 * Fixed parts, include/uapi/linux/perf_event.h, enum perf_event_type. Which half of the union is
 * reported: PERF_RECORD_MISC_MMAP_BUILD_ID.
 */
struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		};
		struct {
			uint8_t build_id_bytes, reserved[3];
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
}; /* then the file's name */
_Static_assert(sizeof(struct mmap2_record) == 72, "PERF_RECORD_MMAP2");

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

/* What follows the fixed part: a string, padding, and the time. */
static bool read_tail(const uint8_t *record, size_t bytes, size_t fixed, const char **ret_name,
		      uint64_t *ret_time_ns)
{
	if (bytes < fixed + sizeof(*ret_time_ns) + 1)
		return false;
	bytes = time_offset(record, bytes);
	memcpy(ret_time_ns, record + bytes, sizeof(*ret_time_ns));
	*ret_name = (const char *)record + fixed;
	return memchr(*ret_name, 0, bytes - fixed) != NULL;
}

/* Memory without a file has inode 0. */
static void read_identity(const struct mmap2_record *mmap2, struct ep_mapping_event *event)
{
	if (mmap2->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		event->build_id = mmap2->build_id_bytes ? mmap2->build_id : NULL;
		event->build_id_bytes = EP_MIN((size_t)mmap2->build_id_bytes,
					       sizeof(mmap2->build_id));
		return;
	}
	event->has_inode = mmap2->ino != 0;
	event->device_major = mmap2->maj;
	event->device_minor = mmap2->min;
	event->inode = mmap2->ino;
	event->inode_generation = mmap2->ino_generation;
}

static void parse_mmap2(const uint8_t *record, size_t bytes, ep_mapping_visit visit, void *arg)
{
	struct ep_mapping_event event = {0};
	struct mmap2_record mmap2;

	if (!read_tail(record, bytes, sizeof(mmap2), &event.name, &event.time_ns))
		return;
	memcpy(&mmap2, record, sizeof(mmap2));
	event.pid = (pid_t)mmap2.pid;
	event.addr = mmap2.addr;
	event.bytes = mmap2.len;
	event.file_off = mmap2.pgoff;
	read_identity(&mmap2, &event);
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

/* Of what is neither a program's nor a module's: kernel/trace/ftrace.c, kernel/kprobes.c, Linux 6.1. */
static const char *ksymbol_module(uint16_t type, const char *name)
{
	if (type == PERF_RECORD_KSYMBOL_TYPE_BPF)
		return "bpf";
	return strncmp(name, "kprobe", strlen("kprobe")) == 0 ? "__builtin__kprobes" : "__builtin__ftrace";
}

bool ep_sideband_parse_ksymbol(const void *record, size_t bytes, struct ep_ksymbol_event *ret_event)
{
	struct ep_ksymbol_event event = {0};
	struct ksymbol_record ksymbol;

	if (bytes < sizeof(ksymbol))
		return false;
	memcpy(&ksymbol, record, sizeof(ksymbol));
	if (ksymbol.header.type != PERF_RECORD_KSYMBOL ||
	    !read_tail(record, bytes, sizeof(ksymbol), &event.name, &event.time_ns))
		return false;
	event.addr = ksymbol.addr;
	event.bytes = ksymbol.len;
	event.is_gone = ksymbol.flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	event.module = ksymbol_module(ksymbol.type, event.name);
	*ret_event = event;
	return true;
}
