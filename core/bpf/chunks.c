/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/chunks.h"
#include "bpf/shared.h"
#include "core/bpf/programs.h"

#include <errno.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

int ep_bpf_add_chunk(void *bpf, uint32_t index, void **ret_memory)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	ep_autoclose int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ep_chunk", sizeof(uint32_t),
					     EP_CHUNK_BYTES, 1, &opts);
	void *memory;
	int r;

	if (fd < 0)
		return fd;
	memory = mmap(NULL, EP_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	r = bpf_map_update_elem(ep_bpf_map_fd(bpf, "ep_chunks"), &index, &fd, BPF_ANY);
	if (r < 0) {
		munmap(memory, EP_CHUNK_BYTES);
		return r;
	}
	*ret_memory = memory; /* the mapping and the outer map hold the map now */
	return 0;
}

void ep_bpf_remove_chunk(void *bpf, uint32_t index, void *memory)
{
	(void)bpf_map_delete_elem(ep_bpf_map_fd(bpf, "ep_chunks"), &index);
	munmap(memory, EP_CHUNK_BYTES);
}
