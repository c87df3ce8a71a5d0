/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/process_target.h"

#include "core/elf/file.h"
#include "core/plugin/read_ahead.h"
#include "core/proc/memory.h"
#include "core/proc/open.h"
#include "core/proc/thread_storage.h"

#include <errno.h>

#define MAX_MAPPINGS 262144 /* vm.max_map_count is 65530 unless somebody raised it */

void ep_process_target_init(struct ep_process_target *process, pid_t pid)
{
	*process = (struct ep_process_target){.pid = pid};
	ep_maps_init(&process->maps, MAX_MAPPINGS);
}

void ep_process_target_end_job(struct ep_process_target *process)
{
	ep_maps_fini(&process->maps);
	ep_maps_init(&process->maps, MAX_MAPPINGS);
	process->has_maps = false;
	ep_read_ahead_free(ep_take(process->ahead));
}

/* What failed is tried again by the next one that asks. */
static int maps_need(struct ep_process_target *process)
{
	int r = process->has_maps ? 0 : ep_maps_read(&process->maps, process->pid, EP_MAPS_ALL);

	process->has_maps = r == 0;
	return r;
}

static int process_mappings(void *process_arg,
			    int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			    void *arg)
{
	struct ep_process_target *process = process_arg;
	const struct ep_mapping *mapping, *file;
	int r = maps_need(process);

	if (r < 0)
		return r;
	ep_vec_each (&process->maps.mappings, mapping) {
		struct ep_target_mapping target = {
			.start = mapping->start,
			.end = mapping->end,
			.file_off = mapping->file_off,
			.prot = mapping->prot & (EP_PROT_READ | EP_PROT_WRITE | EP_PROT_EXEC),
			.is_file = mapping->kind == EP_MAPPING_FILE ||
				   mapping->kind == EP_MAPPING_MEMFD,
			.path = mapping->path,
		};

		if (ep_maps_find_moved(&process->maps, mapping, &file)) {
			target.file_off = file->file_off + (mapping->start - file->start);
			target.is_file = true;
			target.path = file->path;
		}
		if (visit(arg, &target) != 0)
			break;
	}
	return 0;
}

static int process_tls_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	struct ep_process_target *process = arg;
	int r = maps_need(process);

	return r < 0 ? r : ep_tls_find_key(process->pid, &process->maps, key, ret);
}

static int process_tls_variable(void *arg, uint64_t tls_off, struct ep_tls *ret)
{
	struct ep_process_target *process = arg;
	ep_cleanup(ep_elf_closep) struct ep_elf *opened = NULL;
	const struct ep_mapping *mapping;
	struct ep_proc_file file = {.fd = -1};
	int r = maps_need(process);

	if (r == 0 && !process->elf) {
		mapping = ep_maps_find(&process->maps, process->module_addr);
		r = mapping ? ep_proc_open_mapping(process->pid, mapping, &file) : -ENODATA;
		if (r == 0)
			r = ep_elf_open_fd(file.fd, &opened);
	}
	return r < 0 ? r
		     : ep_tls_find_variable(process->pid, &process->maps,
					    process->elf ? process->elf : opened, process->bias,
					    tls_off, ret);
}

static int process_read_memory(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	return ep_memory_read(((struct ep_process_target *)arg)->pid, addr, buf, bytes);
}

void ep_process_target_next_frame(struct ep_process_target *process)
{
	if (!process->ahead)
		process->ahead = ep_read_ahead_new(process_read_memory, process);
	if (process->ahead)
		ep_read_ahead_next(process->ahead);
}

static int process_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct ep_process_target *process = arg;

	return process->ahead ? ep_read_ahead_read(process->ahead, addr, buf, bytes)
			      : process_read_memory(process, addr, buf, bytes);
}

const struct ep_target_ops ep_process_target_ops = {
	.read = process_read,
	.mappings = process_mappings,
	.tls_variable = process_tls_variable,
	.tls_key = process_tls_key,
};
