/* SPDX-License-Identifier: Apache-2.0 */
/* A core file from a stranger: what the reader says of it holds, and all of it can be read. */
#include "core/replay/core_file.h"
#include "tests/kit/fuzz.h"

#include <sys/mman.h>

static void check_loads(const struct ep_core_file *core)
{
	const struct ep_core_load *load, *last = NULL;
	uint8_t byte;

	ep_vec_each (&core->loads, load) {
		assert(load->start < load->end && (!last || last->end <= load->start));
		assert(ep_core_file_find(core, load->start) == load);
		assert(ep_core_file_find(core, load->end - 1) == load);
		assert(load->path);
		if (load->core_bytes > 0)
			assert(ep_core_file_read(core, load->start, &byte, 1) == 0);
		assert(ep_core_file_read(core, load->end, &byte, 0) <= 0);
		last = load;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("core", MFD_CLOEXEC);
	const struct ep_replay_thread *thread;
	struct ep_core_file core;

	assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (ep_core_file_open(fd, &core) < 0)
		return 0;
	assert(core.threads.len > 0);
	ep_vec_each (&core.threads, thread) {
		assert(thread->arch == core.arch && thread->pid == core.pid);
		assert(strnlen(thread->comm, sizeof(thread->comm)) < sizeof(thread->comm));
	}
	check_loads(&core);
	ep_core_file_close(&core);
	return 0;
}
