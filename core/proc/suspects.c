/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pid stays in the table when its process is gone: whoever has it next is read more slowly, no
 * more. A full table loses old pids, whose processes are noticed again by what they have at the
 * address that is read.
 */
#include "core/proc/suspects.h"
#include "core/base/clock.h"
#include "core/proc/devices.h"
#include "core/proc/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>

#define SLOTS 4096u
#define TRIES 16u
#define LOOK_NS                                                                                    \
	(100 * EP_NS_PER_MS) /* all mappings are read no more often than that, before Linux 6.11   \
			      */
#define MAX_PIECES 64	     /* mappings in one read; more are suspect */

/* include/uapi/linux/fs.h, Linux 6.11. */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define QUERY		 _IOWR('f', 17, struct procmap_query)
#define COVERING_OR_NEXT 0x10

/* One for the process: pids are, and whoever reads memory has nothing but a pid. */
static struct {
	_Atomic pid_t pids[SLOTS];
	atomic_uint turn;
	_Atomic uint64_t looked[SLOTS]; /* by pid: when its mappings were read */
} suspects;

/*
 * What a thread was given a moment ago, since it reads many small things in few mappings: it counts
 * within one tick of the kernel's clock, 4 ms at most.
 */
#define CHECKED 8
static _Thread_local struct checked {
	pid_t pid;
	uint64_t start, end, tick_ns;
} checked[CHECKED];
static _Thread_local unsigned int next_checked;

static uint64_t tick(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * EP_NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static bool is_checked(pid_t pid, uint64_t addr, uint64_t end, uint64_t tick_ns)
{
	for (size_t i = 0; i < CHECKED; i++) {
		const struct checked *at = &checked[i];

		if (at->pid == pid && at->start <= addr && end <= at->end && at->tick_ns == tick_ns)
			return true;
	}
	return false;
}

static void add_checked(pid_t pid, uint64_t start, uint64_t end, uint64_t tick_ns)
{
	checked[next_checked++ % CHECKED] =
		(struct checked){.pid = pid, .start = start, .end = end, .tick_ns = tick_ns};
}

static size_t first_slot(pid_t pid)
{
	return (uint32_t)pid * 2654435761u >> 20;
}

bool ep_suspects_has(pid_t pid)
{
	size_t first = first_slot(pid);

	for (size_t i = 0; i < TRIES; i++) {
		pid_t at = atomic_load_explicit(&suspects.pids[(first + i) % SLOTS],
						memory_order_relaxed);

		if (at == pid || at == 0)
			return at == pid && pid > 0;
	}
	return false;
}

void ep_suspects_add(pid_t pid)
{
	size_t first = first_slot(pid);

	for (size_t i = 0; i < TRIES; i++) {
		pid_t none = 0;

		if (atomic_compare_exchange_strong(&suspects.pids[(first + i) % SLOTS], &none,
						   pid) ||
		    none == pid)
			return;
	}
	atomic_store(&suspects.pids[(first + atomic_fetch_add(&suspects.turn, 1) % TRIES) % SLOTS],
		     pid);
}

/* 1 suspect, 0 not, -errno: this kernel cannot tell, or the process is not there. */
static int query_memory(pid_t pid, int fd, uint64_t addr, uint64_t end)
{
	uint64_t tick_ns = tick();

	for (int i = 0; addr < end; i++) {
		struct procmap_query query = {
			.size = sizeof(query), .query_flags = COVERING_OR_NEXT, .query_addr = addr};

		if (ioctl(fd, QUERY, &query) < 0)
			return errno == ENOENT ? 0 : -errno;
		if (query.vma_start >= end)
			return 0;
		if (i == MAX_PIECES ||
		    (query.inode && ep_device_is_suspect(pid, query.dev_major, query.dev_minor)))
			return 1;
		add_checked(pid, query.vma_start, query.vma_end, tick_ns);
		addr = query.vma_end;
	}
	return 0;
}

static void read_mappings(pid_t pid)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps;
	_Atomic uint64_t *looked = &suspects.looked[first_slot(pid) % SLOTS];
	uint64_t now_ns = ep_clock_mono_ns();

	if (now_ns - atomic_load(looked) < LOOK_NS)
		return;
	atomic_store(looked, now_ns);
	ep_maps_init(&maps, 1);
	(void)ep_maps_read(&maps, pid, EP_MAPS_EXECUTABLE);
}

bool ep_suspects_memory(pid_t pid, uint64_t addr, size_t bytes)
{
	ep_autoclose int fd = -1;
	char path[64];
	uint64_t end;
	int r;

	if (ep_suspects_has(pid))
		return true;
	if (!ep_devices_any_suspect() || __builtin_add_overflow(addr, (uint64_t)bytes, &end))
		return false;
	if (is_checked(pid, addr, end, tick()))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : query_memory(pid, fd, addr, end);
	if (r > 0)
		ep_suspects_add(pid);
	else if (r == -ENOTTY)
		read_mappings(pid);
	return ep_suspects_has(pid);
}
