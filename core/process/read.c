/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/read.h"
#include "core/process/mappings.h"
#include "core/base/clock.h"
#include "core/proc/environment.h"

#include <errno.h>

#define MAX_ENVIRONMENT_BYTES 65536

static bool same_file(const struct ep_mapping *a, const struct ep_mapping *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/*
 * A vDSO is one for all 64-bit processes: its identity is that it has none. That of a 32-bit
 * process is another one of the same size; nothing is unwound there.
 */
static void identify(struct ep_process_read *read, const struct ep_proc_root *root,
		     const struct ep_mapping *mapping, struct ep_proc_file *file)
{
	int r;

	*file = (struct ep_proc_file){.fd = -1};
	if (mapping->kind == EP_MAPPING_VDSO) {
		if (mapping->start >= EP_MAPS_COMPAT_END)
			file->bytes = mapping->end - mapping->start;
		return;
	}
	if (mapping->kind != EP_MAPPING_FILE && mapping->kind != EP_MAPPING_MEMFD)
		return;
	r = ep_proc_stat_mapping(read->pid, mapping, file);
	read->lacks_files |= ep_proc_is_refused(r);
	if (r < 0)
		*file = (struct ep_proc_file){.fd = -1};
	else
		ep_proc_file_set_view(file, root, mapping->deleted ? "" : mapping->path);
}

static int identify_all(struct ep_process_read *read)
{
	ep_cleanup(ep_proc_root_close) struct ep_proc_root root = {.fd = -1};
	const struct ep_mapping *mapping, *last = NULL;

	if (read->maps.mappings.len > 0 &&
	    ep_proc_root_open(read->pid, read->info.start_ns, &root) < 0)
		root.view = ep_proc_view_alone(read->pid, read->info.start_ns);
	ep_vec_each(&read->maps.mappings, mapping) {
		struct ep_proc_file *file = ep_vec_push(&read->files);

		if (!file)
			return -ENOMEM;
		if (last && last->inode && same_file(last, mapping))
			*file = file[-1];
		else
			identify(read, &root, mapping, file);
		file->start_ns = read->info.start_ns;
		last = mapping;
	}
	return 0;
}

void ep_process_read_run(struct ep_process_read *read)
{
	uint64_t cost_ns = ep_clock_thread_cpu_ns();

	ep_maps_init(&read->maps, EP_MAX_MAPPINGS_READ);
	ep_vec_init(&read->environment, 1, MAX_ENVIRONMENT_BYTES);
	ep_vec_init(&read->files, sizeof(struct ep_proc_file), EP_MAX_MAPPINGS_READ);
	read->time_ns = ep_clock_mono_ns();
	read->result = ep_process_read(read->pid, &read->info);
	if (read->result == 0 && !read->info.kernel_thread && !read->identity_only)
		read->result = ep_maps_read(&read->maps, read->pid, EP_MAPS_EXECUTABLE);
	if (read->result == 0)
		read->result = identify_all(read);
	/* What cannot be read of it is not there; the rest counts. */
	if (read->result == 0 && !read->info.kernel_thread)
		(void)ep_environment_read(read->pid, read->variables, read->n_variables,
					  &read->environment);
	read->cost_ns = ep_clock_thread_cpu_ns() - cost_ns;
}

void ep_process_read_fini(struct ep_process_read *read)
{
	ep_process_info_fini(&read->info);
	ep_maps_fini(&read->maps);
	ep_vec_fini(&read->environment);
	ep_vec_fini(&read->files);
}
