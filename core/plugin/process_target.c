/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/process_target.h"

#include "core/elf/file.h"
#include "core/proc/memory.h"
#include "core/proc/open.h"
#include "core/proc/thread_storage.h"

#include <errno.h>

#define MAX_MAPPINGS 262144 /* vm.max_map_count is 65530 unless somebody raised it */

static int maps_read(pid_t pid, struct ep_maps *maps)
{
	ep_maps_init(maps, MAX_MAPPINGS);
	return ep_maps_read(maps, pid, EP_MAPS_ALL);
}

int ep_process_target_read(pid_t pid, uint64_t addr, void *buf, size_t bytes)
{
	return ep_memory_read(pid, addr, buf, bytes);
}

int ep_process_target_mappings(pid_t pid,
			       int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			       void *arg)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps = {0};
	const struct ep_mapping *mapping;
	int r;

	r = maps_read(pid, &maps);
	if (r < 0)
		return r;
	ep_vec_each (&maps.mappings, mapping) {
		struct ep_target_mapping target = {
			.start = mapping->start,
			.end = mapping->end,
			.file_off = mapping->file_off,
			.prot = mapping->prot & (EP_PROT_READ | EP_PROT_WRITE | EP_PROT_EXEC),
			.is_file = mapping->kind == EP_MAPPING_FILE ||
				   mapping->kind == EP_MAPPING_MEMFD,
			.path = mapping->path,
		};

		if (visit(arg, &target) != 0)
			break;
	}
	return 0;
}

int ep_process_target_tls_key(pid_t pid, uint32_t key, struct ep_tls *ret)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps = {0};
	int r;

	r = maps_read(pid, &maps);
	return r < 0 ? r : ep_tls_find_key(pid, &maps, key, ret);
}

static int module_open(pid_t pid, const struct ep_maps *maps, uint64_t addr,
		       struct ep_elf **ret_elf)
{
	const struct ep_mapping *mapping = ep_maps_find(maps, addr);
	struct ep_proc_file file = {.fd = -1};
	int r;

	if (!mapping)
		return -ENODATA;
	r = ep_proc_open_mapping(pid, mapping, &file);
	return r < 0 ? r : ep_elf_open_fd(file.fd, ret_elf);
}

int ep_process_target_tls_variable(pid_t pid, const struct ep_elf *elf, uint64_t module_addr,
				   uint64_t bias, uint64_t tls_off, struct ep_tls *ret)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps = {0};
	ep_cleanup(ep_elf_closep) struct ep_elf *opened = NULL;
	int r;

	r = maps_read(pid, &maps);
	if (r == 0 && !elf)
		r = module_open(pid, &maps, module_addr, &opened);
	if (r < 0)
		return r;
	return ep_tls_find_variable(pid, &maps, elf ? elf : opened, bias, tls_off, ret);
}
