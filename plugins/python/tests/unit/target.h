/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process for the tests of the Python symbolizer: a live one, by pid, or pieces of memory. The
 * symbolizer sees struct ep_target and struct ep_names through the host's functions only, so what
 * they hold is ours.
 */
#ifndef TEST_PYTHON_TARGET_H
#define TEST_PYTHON_TARGET_H

#include "core/base/util.h"
#include "ebpf-profiler/unwinder.h"
#include "tests/kit/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

struct ep_target {
	pid_t pid; /* 0: pieces of memory */
	struct fake_memory memory;
};

struct ep_names {
	unsigned int n;
	uint32_t line, start_line;
	char function[1024], file[2048];
};

static inline int target_read_live(pid_t pid, uint64_t addr, void *buf, size_t bytes)
{
	struct iovec local = {.iov_base = buf, .iov_len = bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = bytes};
	ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == bytes ? 0 : -EFAULT;
}

static inline int target_read(const struct ep_target *const_target, uint64_t addr, void *buf,
			      size_t bytes)
{
	struct ep_target *target = (struct ep_target *)const_target;

	return target->pid ? target_read_live(target->pid, addr, buf, bytes) :
			     fake_memory_read(&target->memory, addr, buf, bytes);
}

static inline int names_add(struct ep_names *names, const struct ep_name *name)
{
	names->n++;
	names->line = name->line;
	names->start_line = name->start_line;
	snprintf(names->function, sizeof(names->function), "%s", name->function);
	snprintf(names->file, sizeof(names->file), "%s", name->file);
	return 0;
}

static const struct ep_unwinder_host test_host = {
	.size = sizeof(struct ep_unwinder_host),
	.target_read = target_read,
	.add_name = names_add,
};

#endif
