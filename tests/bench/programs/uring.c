/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uring SECONDS: reads a file of its own by io_uring, without a library, in two rings that take turns
 * of 50 ms: one whose reads are done by the kernel's worker threads (IOSQE_ASYNC), and one that a
 * kernel thread polls (IORING_SETUP_SQPOLL). Both kinds are threads of this process that have no user
 * part. Exit status 77 when the kernel has no io_uring, or not for us.
 *
 * The rings' layout: include/uapi/linux/io_uring.h; the order of stores: man 7 io_uring.
 */
#include "clocks.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define ENTRIES	   16u
#define READ_BYTES (256u << 10)
#define TURN_NS	   50000000u

struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *sq_flags, *cq_head, *cq_tail;
	struct io_uring_sqe *sqes;
};

static char buffers[ENTRIES][READ_BYTES];

static void die(const char *what)
{
	perror(what);
	exit(errno == ENOSYS || errno == EPERM ? 77 : 1);
}

static void *map_ring(int fd, size_t bytes, off_t what)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, what);

	if (memory == MAP_FAILED)
		die("mmap of a ring");
	return memory;
}

static void open_ring(struct ring *ring, unsigned int setup)
{
	struct io_uring_params p = {.flags = setup, .sq_thread_idle = 20};
	char *sq, *cq;

	ring->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
	if (ring->fd < 0)
		die("io_uring_setup");
	sq = map_ring(ring->fd, p.sq_off.array + p.sq_entries * sizeof(unsigned int),
		      IORING_OFF_SQ_RING);
	cq = map_ring(ring->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	ring->sqes = map_ring(ring->fd, p.sq_entries * sizeof(*ring->sqes), IORING_OFF_SQES);
	ring->sq_tail = (unsigned int *)(void *)(sq + p.sq_off.tail);
	ring->sq_mask = (unsigned int *)(void *)(sq + p.sq_off.ring_mask);
	ring->sq_flags = (unsigned int *)(void *)(sq + p.sq_off.flags);
	ring->sq_array = (unsigned int *)(void *)(sq + p.sq_off.array);
	ring->cq_head = (unsigned int *)(void *)(cq + p.cq_off.head);
	ring->cq_tail = (unsigned int *)(void *)(cq + p.cq_off.tail);
}

static void put_read(struct ring *ring, int file, unsigned int i, unsigned int flags)
{
	unsigned int tail = *ring->sq_tail, slot = tail & *ring->sq_mask;

	ring->sqes[slot] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ,
		.flags = (unsigned char)flags,
		.fd = file,
		.addr = (uint64_t)(uintptr_t)buffers[i],
		.len = READ_BYTES,
		.off = (uint64_t)i * READ_BYTES,
	};
	ring->sq_array[slot] = slot;
	__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
}

static void enter(const struct ring *ring, unsigned int submit, unsigned int wait,
		  unsigned int flags)
{
	if (syscall(SYS_io_uring_enter, ring->fd, submit, wait, flags, NULL, 0) < 0 &&
	    errno != EINTR)
		die("io_uring_enter");
}

/* A polled ring needs a call only when its thread went to sleep. */
static void submit_and_wait(struct ring *ring, unsigned int n, int polled)
{
	unsigned int wake = 0;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (polled && (__atomic_load_n(ring->sq_flags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP))
		wake = IORING_ENTER_SQ_WAKEUP;
	enter(ring, polled ? 0 : n, n, IORING_ENTER_GETEVENTS | wake);
	while (__atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE) - *ring->cq_head < n)
		enter(ring, 0, 1, IORING_ENTER_GETEVENTS);
	__atomic_store_n(ring->cq_head, *ring->cq_head + n, __ATOMIC_RELEASE);
}

static void take_turn(struct ring *ring, int file, int polled)
{
	uint64_t end = now_ns() + TURN_NS;

	while (now_ns() < end) {
		for (unsigned int i = 0; i < ENTRIES; i++)
			put_read(ring, file, i, polled ? 0 : IOSQE_ASYNC);
		submit_and_wait(ring, ENTRIES, polled);
	}
}

static int make_file(void)
{
	int file = memfd_create("uring", MFD_CLOEXEC);

	memset(buffers, 'x', sizeof(buffers));
	if (file < 0 || write(file, buffers, sizeof(buffers)) != (ssize_t)sizeof(buffers))
		die("memfd");
	return file;
}

int main(int argc, char **argv)
{
	uint64_t end = now_ns() + (uint64_t)((argc > 1 ? strtod(argv[1], NULL) : 1) * 1e9);
	struct ring workers = {0}, polled = {0};
	int file = make_file();

	open_ring(&workers, 0);
	open_ring(&polled, IORING_SETUP_SQPOLL);
	while (now_ns() < end) {
		take_turn(&workers, file, 0);
		take_turn(&polled, file, 1);
	}
	return 0;
}
