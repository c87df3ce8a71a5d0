/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/memory.h"
#include "core/proc/readers.h"
#include "core/proc/suspects.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

/* A string's next piece ends where a page of the smallest size ends: beyond it may be nothing. */
#define PAGE_BYTES   4096u
#define STRING_BYTES 256u

/* process_vm_readv(2): a range that is readable up to some page gives a short count, no error. */
int ep_memory_read_some(pid_t pid, uint64_t addr, void *buf, size_t bytes, size_t *ret_bytes)
{
	struct iovec local = {.iov_base = buf, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = bytes};
	uint64_t end;
	ssize_t n;

	if (bytes == 0 || __builtin_add_overflow(addr, (uint64_t)bytes, &end))
		return -EFAULT;
	if (ep_readers_are_there() && ep_suspects_memory(pid, addr, bytes))
		return ep_readers_memory(pid, addr, buf, bytes, ret_bytes);
	n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -EFAULT;
	*ret_bytes = (size_t)n;
	return 0;
}

int ep_memory_read(pid_t pid, uint64_t addr, void *buf, size_t bytes)
{
	size_t done = 0;
	int r;

	while (bytes > 0) {
		r = ep_memory_read_some(pid, addr, buf, bytes, &done);
		if (r < 0)
			return r;
		buf = (char *)buf + done;
		addr += done;
		bytes -= done;
	}
	return 0;
}

int ep_memory_read_u64(pid_t pid, uint64_t addr, uint64_t *ret_value)
{
	uint64_t value;
	int r = ep_memory_read(pid, addr, &value, sizeof(value));

	if (r < 0)
		return r;
	*ret_value = value;
	return 0;
}

static size_t piece_bytes(uint64_t addr, size_t room)
{
	size_t to_page_end = PAGE_BYTES - (size_t)(addr % PAGE_BYTES);

	return EP_MIN(EP_MIN(to_page_end, room), (size_t)STRING_BYTES);
}

int ep_memory_read_string(pid_t pid, uint64_t addr, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		size_t piece = piece_bytes(addr + len, size - len);
		int r = ep_memory_read(pid, addr + len, buf + len, piece);

		if (r < 0)
			return r;
		if (memchr(buf + len, '\0', piece))
			return 0;
		len += piece;
	}
	return -E2BIG;
}
