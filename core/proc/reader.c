/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/reader.h"
#include "core/base/clock.h"
#include "core/proc/memory.h"
#include "core/proc/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define BLOCK_BYTES ((size_t)64 << 10)
/* Larger ones have holes where their data should be, or are none of those that we read. */
#define MAX_APPARENT_BYTES ((uint64_t)4 << 30)

static bool is_one; /* set once, by a process of one thread */

bool ep_reader_is_one(void)
{
	return is_one;
}

/* --- messages -------------------------------------------------------------------------------- */

#define MAX_FDS 2

int ep_reader_send(int fd, const void *message, size_t bytes, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)message, .iov_len = bytes};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (n_fds > 0) {
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(n_fds * sizeof(int)),
						.cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.head), fds, n_fds * sizeof(int));
	}
	do
		n = sendmsg(fd, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (size_t)n == bytes ? 0 : -EBADMSG;
}

static size_t take_fds(struct msghdr *msg, int fds[MAX_FDS])
{
	size_t n = 0;

	for (struct cmsghdr *head = CMSG_FIRSTHDR(msg); head; head = CMSG_NXTHDR(msg, head)) {
		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= head->cmsg_len && n < MAX_FDS;
		     at += sizeof(int))
			memcpy(&fds[n++], CMSG_DATA(head) + at, sizeof(int));
	}
	return n;
}

int ep_reader_receive(int fd, void *message, size_t bytes, int *ret_fds, size_t max_fds)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = message, .iov_len = bytes};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof(control.room)};
	int fds[MAX_FDS] = {-1, -1};
	size_t n_fds;
	ssize_t n;

	do
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	n_fds = take_fds(&msg, fds);
	if ((size_t)n != bytes || msg.msg_flags & MSG_TRUNC || n_fds > max_fds) {
		for (size_t i = 0; i < n_fds; i++)
			close(fds[i]);
		return n == 0 ? -ECONNRESET : -EBADMSG;
	}
	if (max_fds > 0)
		memcpy(ret_fds, fds, max_fds * sizeof(int));
	return 0;
}

/* --- copies of files ------------------------------------------------------------------------- */

static bool is_zero(const uint8_t *block, size_t bytes)
{
	return bytes == 0 || (block[0] == 0 && memcmp(block, block + 1, bytes - 1) == 0);
}

struct copy {
	int from, to;
	uint64_t data_bytes; /* that are not zero */
	uint64_t max_bytes;
	struct ep_reader_shared *shared;
};

/* One run of data. What is zero stays a hole. */
static int copy_data(struct copy *copy, uint64_t off, uint64_t end)
{
	static uint8_t block[BLOCK_BYTES];

	while (off < end) {
		ssize_t n = pread(copy->from, block, EP_MIN(end - off, (uint64_t)BLOCK_BYTES),
				  (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0; /* it has shrunk */
		if (!is_zero(block, (size_t)n)) {
			copy->data_bytes += (uint64_t)n;
			if (copy->data_bytes > copy->max_bytes)
				return -E2BIG;
			if (pwrite(copy->to, block, (size_t)n, (off_t)off) != n)
				return -ENOMEM;
		}
		atomic_fetch_add(&copy->shared->progress, 1);
		off += (uint64_t)n;
	}
	return 0;
}

/* A file system without SEEK_DATA says that all of it is data (fs/read_write.c,
 * generic_file_llseek). */
static int copy_all(struct copy *copy, uint64_t bytes)
{
	uint64_t off = 0;
	int r = 0;

	while (r == 0 && off < bytes) {
		off_t data = lseek(copy->from, (off_t)off, SEEK_DATA), hole;

		if (data < 0 && errno == ENXIO)
			return 0;
		if (data < (off_t)off)
			data = (off_t)off;
		hole = lseek(copy->from, data, SEEK_HOLE);
		if (hole <= data || (uint64_t)hole > bytes)
			hole = (off_t)bytes;
		r = copy_data(copy, (uint64_t)data, (uint64_t)hole);
		off = (uint64_t)hole;
	}
	return r;
}

static struct timespec time_of(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / (int64_t)EP_NS_PER_SEC,
				 .tv_nsec = ns % (int64_t)EP_NS_PER_SEC};
}

/* It has the size and the time of its contents: by these somebody sees whether a file was written
 * to. */
static int make_copy(const struct ep_proc_file *file, uint64_t max_bytes,
		     struct ep_reader_shared *shared, int *ret_fd)
{
	ep_autoclose int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct timespec times[] = {time_of(file->mtime_ns), time_of(file->mtime_ns)};
	struct copy copy = {.from = file->fd,
			    .to = fd,
			    .max_bytes = EP_MIN(max_bytes, EP_READER_FILE_BYTES),
			    .shared = shared};
	int r;

	if (fd < 0)
		return -errno;
	if (file->bytes > MAX_APPARENT_BYTES)
		return -E2BIG;
	if (ftruncate(fd, (off_t)file->bytes) < 0)
		return -errno;
	r = copy_all(&copy, file->bytes);
	if (r < 0)
		return r;
	if (futimens(fd, times) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return -errno;
	*ret_fd = ep_take_fd(fd);
	return 0;
}

/* --- requests -------------------------------------------------------------------------------- */

static int read_memory(const struct ep_reader_request *request, struct ep_reader_shared *shared,
		       struct ep_reader_reply *reply)
{
	size_t n;
	int r;

	if (request->bytes > sizeof(shared->data))
		return -EINVAL;
	r = ep_memory_read_some(request->pid, request->addr, shared->data, (size_t)request->bytes,
				&n);
	reply->bytes = r == 0 ? n : 0;
	return r;
}

static int open_below(pid_t pid, const char *path, struct ep_proc_file *ret_file)
{
	ep_cleanup(ep_proc_root_close) struct ep_proc_root root = {.fd = -1};
	int r = pid ? ep_proc_root_open(pid, 0, &root) : 0;

	if (r < 0)
		return r;
	return pid ? ep_proc_open_below(&root, path, ret_file) : ep_proc_open_path(path, ret_file);
}

static int open_file(struct ep_reader_request *request, struct ep_proc_file *ret_file)
{
	switch (request->op) {
	case EP_READER_OPEN_MAPPING:
		return ep_proc_open_mapping(request->pid, &request->mapping, ret_file);
	case EP_READER_STAT_MAPPING:
		return ep_proc_stat_mapping(request->pid, &request->mapping, ret_file);
	case EP_READER_OPEN_RANGE:
		return ep_proc_open_range(request->pid, request->mapping.start,
					  request->mapping.end, ret_file);
	case EP_READER_OPEN_BELOW:
		return open_below(request->pid, request->path, ret_file);
	default:
		return -EINVAL;
	}
}

static int read_file(struct ep_reader_request *request, struct ep_reader_shared *shared,
		     struct ep_reader_reply *reply, int *ret_fd)
{
	struct ep_proc_file file = {.fd = -1};
	int r;

	request->path[sizeof(request->path) - 1] = '\0';
	request->mapping.path = request->path;
	request->mapping.path_bytes = (uint32_t)strlen(request->path);
	r = open_file(request, &file);
	atomic_fetch_add(&shared->progress, 1);
	if (r == 0 && file.fd >= 0 && request->bytes > 0)
		r = make_copy(&file, request->bytes, shared, ret_fd);
	ep_proc_file_close(&file);
	reply->file = file;
	return r;
}

void ep_reader_handle(struct ep_reader_request *request, struct ep_reader_shared *shared,
		      struct ep_reader_reply *ret_reply, int *ret_fd)
{
	*ret_reply = (struct ep_reader_reply){.file.fd = -1};
	*ret_fd = -1;
	ret_reply->result = request->op == EP_READER_MEMORY
				    ? read_memory(request, shared, ret_reply)
				    : read_file(request, shared, ret_reply, ret_fd);
}

void ep_reader_run(int channel, struct ep_reader_shared *shared)
{
	static struct ep_reader_request request;

	is_one = true;
	while (ep_reader_receive(channel, &request, sizeof(request), NULL, 0) == 0) {
		struct ep_reader_reply reply;
		int fd, r;

		ep_reader_handle(&request, shared, &reply, &fd);
		r = ep_reader_send(channel, &reply, sizeof(reply), &fd, fd >= 0);
		if (fd >= 0)
			close(fd);
		if (r < 0)
			break;
	}
	_exit(0);
}
