/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin's own BPF program, compiled for user space, over the memory of a stopped thread. */
#include "tests/kit/step/step.h"

#include "core/proc/memory.h"
#include "core/replay/capture_files.h"
#include "core/replay/plugins.h"
#include "core/replay/replay_internal.h"
#include "core/replay/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

struct walker {
	pid_t pid;
	walker_deny deny;
	void *arg;
	struct ep_snapshot *snapshot;
	struct ep_fixture *fixture;
	struct ep_replay_plugins plugins;
	struct ep_replay_source source;
	struct ep_replay *replay;
	struct ep_vec event;
	bool is_walking;
};

const struct ep_record *walker_record(const struct walker *walker)
{
	return ep_kernel_entry(walker->replay->kernel, "ep_records", 0);
}

static int source_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct walker *walker = arg;

	if (walker->is_walking && walker->deny && walker->deny(walker->arg, walker, bytes))
		return -EFAULT;
	return ep_memory_read(walker->pid, addr, buf, bytes);
}

/* --- its life */

static int open_process(struct walker *walker)
{
	char reason[EP_SNAPSHOT_REASON_BYTES] = "";
	int r = ep_snapshot_open_live(walker->pid, &walker->snapshot, reason);

	if (r < 0)
		fprintf(stderr, "step: %s\n", reason);
	if (r == 0)
		r = ep_fixture_new(&walker->fixture);
	if (r == 0)
		r = ep_capture_files_new(walker->snapshot, walker->fixture, &walker->source.files);
	if (r == 0)
		r = ep_capture_files_update(walker->source.files);
	if (r == 0) {
		walker->fixture->arch = walker->snapshot->arch;
		walker->fixture->pid = walker->snapshot->pid;
		walker->fixture->start_ns = walker->snapshot->start_ns;
	}
	return r;
}

static int attach(struct walker *walker)
{
	int r = ep_replay_new(walker->fixture, &walker->source, ep_shim_objects, &walker->replay);

	for (size_t i = 0; r == 0 && i < walker->plugins.n; i++)
		r = ep_replay_add_language(walker->replay, walker->plugins.plugins[i]);
	if (r == 0)
		r = ep_replay_attach(walker->replay);
	for (size_t i = 0; r == 0 && i < walker->plugins.n; i++) {
		if (walker->replay->languages[i].attached.instance)
			return 0;
	}
	return r < 0 ? r : -ENOTSUP;
}

int walker_new(pid_t pid, const char *plugins, walker_deny deny, void *arg,
	       struct walker **ret_walker)
{
	struct walker *walker = calloc(1, sizeof(*walker));
	int r;

	if (!walker)
		return -ENOMEM;
	walker->pid = pid;
	walker->deny = deny;
	walker->arg = arg;
	walker->source = (struct ep_replay_source){
		.arg = walker,
		.read = source_read,
	};
	ep_vec_init(&walker->event, 1, sizeof(struct ep_sample) + EP_RECORD_WORDS * 8);
	r = ep_replay_plugins_load(&walker->plugins, plugins);
	if (r == 0)
		r = open_process(walker);
	if (r == 0)
		r = attach(walker);
	if (r < 0)
		walker_free(walker);
	else
		*ret_walker = walker;
	return r;
}

void walker_free(struct walker *walker)
{
	if (!walker)
		return;
	ep_replay_free(walker->replay);
	ep_capture_files_free(walker->source.files);
	ep_snapshot_close(walker->snapshot);
	ep_fixture_free(walker->fixture);
	ep_replay_plugins_fini(&walker->plugins);
	ep_vec_fini(&walker->event);
	free(walker);
}

/* --- a walk */

static int put_thread(struct walker *walker, const struct tracee *tracee)
{
	struct ep_replay_thread thread = {
		.arch = walker->snapshot->arch,
		.pid = walker->snapshot->pid,
		.tid = (uint32_t)tracee->tid,
		.start_ns = walker->snapshot->start_ns,
	};

	if (!ep_snapshot_take_regs(&thread, (const uint64_t *)&tracee->regs,
				   sizeof(tracee->regs) / 8))
		return -ENOTSUP;
	thread.in_syscall = false;
	walker->fixture->threads.len = 0;
	return ep_vec_append(&walker->fixture->threads, &thread, 1);
}

uint64_t walker_native_pc(const struct walker *walker, uint32_t id, uint64_t va)
{
	const struct ep_fixture_mapping *mapping;
	uint64_t start_va;

	if (id == 0)
		return va;
	ep_vec_each (&walker->fixture->mappings, mapping) {
		if (mapping->executable != id || !(mapping->prot & PROT_EXEC) ||
		    ep_executable_find_va(&walker->replay->executables[id - 1], mapping->file_off,
					  &start_va) < 0)
			continue;
		if (va - start_va <= mapping->end - mapping->start)
			return mapping->start + (va - start_va);
	}
	return 0;
}

int walker_walk(struct walker *walker, const struct tracee *tracee,
		const struct ep_sample **ret_sample)
{
	int r = put_thread(walker, tracee);

	walker->is_walking = true;
	if (r == 0)
		r = ep_replay_walk(walker->replay, 0, &walker->event);
	walker->is_walking = false;
	if (r == 0)
		*ret_sample = walker->event.data;
	return r;
}

int walker_refresh(struct walker *walker, const struct ep_sample *sample)
{
	return sample->flags & EP_SAMPLE_REFRESH ? ep_replay_refresh(walker->replay) : 0;
}
