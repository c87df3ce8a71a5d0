/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin's own BPF program, compiled for user space, over the memory of the stopped thread. Which
 * caller it shows is seen in the event where its frames say their address. Frames of the interpreter do
 * not: but whoever looks for the next frame reads memory, and the walk's pc is seen whenever it does.
 */
#include "core/proc/memory.h"
#include "core/replay/capture_files.h"
#include "core/replay/plugins.h"
#include "core/replay/replay_internal.h"
#include "core/replay/snapshot.h"
#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/hotspot/tests/live/step/step.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define WINDOW_BYTES 512 /* of the stack: plugins/hotspot/bpf/window.bpf.h */
#define MAX_SEEN 16

struct walker {
	pid_t pid;
	struct ep_snapshot *snapshot;
	struct ep_fixture *fixture;
	struct ep_replay_plugins plugins;
	struct ep_replay_source source;
	struct ep_replay *replay;
	struct ep_vec event;
	uint64_t sequence; /* of the walk before */
	struct {
		uint64_t pc, sp;
	} seen[MAX_SEEN]; /* of the walk under way: where it was */
	size_t n_seen;
	bool is_walking, denies_windows;
};

static const struct ep_record *get_record(const struct walker *walker)
{
	return ep_kernel_entry(walker->replay->kernel, "ep_records", 0);
}

static void look_at_walk(struct walker *walker)
{
	const struct ep_record *rec = get_record(walker);
	uint64_t pc = rec->walk.pc, sp = rec->walk.regs[EP_REG_SP];
	size_t n = walker->n_seen;

	if (n == MAX_SEEN || rec->walk.sequence == walker->sequence ||
	    rec->walk.interrupted ||
	    (walker->seen[n - 1].pc == pc && walker->seen[n - 1].sp == sp))
		return;
	walker->seen[n].pc = pc;
	walker->seen[n].sp = sp;
	walker->n_seen++;
}

/* --- what the replay asks */

static int source_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct walker *walker = arg;

	if (walker->is_walking)
		look_at_walk(walker);
	if (walker->denies_windows && bytes == WINDOW_BYTES)
		return -EFAULT;
	return ep_memory_read(walker->pid, addr, buf, bytes);
}

/* --- its life */

static int open_process(struct walker *walker)
{
	char reason[EP_SNAPSHOT_REASON_BYTES] = "";
	int r = ep_snapshot_open_live(walker->pid, &walker->snapshot, reason);

	if (r < 0)
		fprintf(stderr, "step_hotspot: %s\n", reason);
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

int walker_new(pid_t pid, const char *plugins, struct walker **ret_walker)
{
	struct walker *walker = calloc(1, sizeof(*walker));
	int r;

	if (!walker)
		return -ENOMEM;
	walker->pid = pid;
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

/* Where in memory a native frame's executable has this address; 0: nowhere. */
static uint64_t native_pc(const struct walker *walker, uint32_t id, uint64_t va)
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

/* 0: it does not say. */
static uint64_t frame_pc(const struct walker *walker, const uint64_t *frame)
{
	uint32_t kind = EP_FRAME_KIND(frame[0]);

	if (kind == EP_FRAME_NATIVE)
		return native_pc(walker, EP_FRAME_AUX(frame[0]), frame[1]);
	if (kind < EP_FRAME_FIRST_DYNAMIC)
		return 0;
	if (HOTSPOT_FRAME(EP_FRAME_FLAGS(frame[0])) == HOTSPOT_FRAME_COMPILED)
		return frame[1] + EP_FRAME_AUX(frame[0]);
	return HOTSPOT_FRAME(EP_FRAME_FLAGS(frame[0])) == HOTSPOT_FRAME_STUB ? frame[1] : 0;
}

static bool is_interrupted(const uint64_t *frame)
{
	uint32_t flags = EP_FRAME_FLAGS(frame[0]);

	if (EP_FRAME_KIND(frame[0]) >= EP_FRAME_FIRST_DYNAMIC)
		return flags & EP_FRAME_INTERRUPTED;
	return EP_FRAME_KIND(frame[0]) == EP_FRAME_NATIVE && !(flags & EP_FRAME_RETURN_ADDRESS);
}

static void read_event(const struct walker *walker, struct walked *walked)
{
	const struct ep_sample *sample = walker->event.data;
	const uint64_t *words = (const uint64_t *)(sample + 1) + sample->n_kernel;
	uint32_t n = 0;

	walked->error = sample->error;
	walked->n_frames = sample->n_frames;
	for (uint32_t at = 0; at < sample->n_words; at += 1 + EP_FRAME_WORDS(words[at]), n++) {
		if (n < EP_LEN(walked->header))
			walked->header[n] = (uint32_t)words[at];
		if (n == 0 && is_interrupted(&words[at])) {
			walked->leaf = frame_pc(walker, &words[at]);
			continue;
		}
		if (walked->caller == 0 && n < 2) {
			uint64_t pc = frame_pc(walker, &words[at]);

			walked->caller = pc ? pc : walker->n_seen > 1 ? walker->seen[1].pc : 0;
			walked->is_seen = !pc;
			if (EP_FRAME_KIND(words[at]) == EP_FRAME_ERROR)
				walked->caller = 0;
		}
	}
}

static int walk_once(struct walker *walker, const struct tracee *tracee, struct walked *ret)
{
	int r = put_thread(walker, tracee);

	*ret = (struct walked){0};
	walker->sequence = get_record(walker)->walk.sequence;
	walker->seen[0].pc = tracee->regs.rip;
	walker->seen[0].sp = tracee->regs.rsp;
	walker->n_seen = 1;
	walker->is_walking = true;
	if (r == 0)
		r = ep_replay_walk(walker->replay, 0, &walker->event);
	if (r == 0)
		look_at_walk(walker);
	if (r == 0)
		read_event(walker, ret);
	walker->is_walking = false;
	return r;
}

/*
 * Where its pc was when memory was read tells what no frame says. Through a window several frames are read at
 * once: then it is walked again without one, and must come to the same frames.
 */
static int walk_without_window(struct walker *walker, const struct tracee *tracee, struct walked *walked)
{
	struct walked again;
	int r;

	walker->denies_windows = true;
	r = walk_once(walker, tracee, &again);
	walker->denies_windows = false;
	if (r < 0)
		return r;
	walked->caller = again.caller;
	if (again.n_frames != walked->n_frames || again.error != walked->error ||
	    memcmp(again.header, walked->header, sizeof(again.header)) != 0)
		walked->caller = 1; /* nobody's */
	return 0;
}

int walker_walk(struct walker *walker, const struct tracee *tracee, struct walked *ret)
{
	const struct ep_sample *sample;
	int r = walk_once(walker, tracee, ret);

	if (r == 0 && ret->is_seen)
		r = walk_without_window(walker, tracee, ret);
	if (r < 0)
		return r;
	sample = walker->event.data;
	return sample->flags & EP_SAMPLE_REFRESH ? ep_replay_refresh(walker->replay) : 0;
}
