/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a process that came with its samples (ebpf-profiler/bpf/keeper.h): what names are made of
 * when the process, or the code, is gone.
 */
#ifndef EP_PLUGIN_KEPT_MEMORY_H
#define EP_PLUGIN_KEPT_MEMORY_H

#include "core/base/vec.h"
#include "ebpf-profiler/bpf/internal/keep.h"

#define EP_KEPT_MAX_BYTES ((size_t)256 << 10) /* of one process */

struct ep_kept_memory {
	struct ep_vec bytes;  /* uint8_t: pieces without their heads */
	struct ep_vec pieces; /* oldest first */
	size_t n_seen;	      /* reads see so many of them */
	uint32_t n_events;
	/* From the first read that is answered on, until the next look, reads see that event's pieces alone. */
	bool is_apart;
	uint32_t chosen; /* that event; 0: none yet */
};

void ep_kept_memory_init(struct ep_kept_memory *memory);
void ep_kept_memory_fini(struct ep_kept_memory *memory); /* empty again; accepts a zeroed one */

/*
 * Adds the pieces that follow the head of an event of `bytes` bytes. 0; -EBADMSG: they do not fit into it, those
 * before were added; -E2BIG, -ENOMEM: no space for more.
 */
int ep_kept_memory_add(struct ep_kept_memory *memory, const struct ep_kept *kept, size_t bytes);
/* Adds all that `from` has, which is empty then; what does not fit is dropped. */
void ep_kept_memory_move(struct ep_kept_memory *memory, struct ep_kept_memory *from);

/*
 * The process as it was at its last event, and, once more, as it was at the event before, or, where events are apart,
 * before the one that was chosen: what was read of an address may have been something else then. False: there was none.
 */
void ep_kept_memory_see_all(struct ep_kept_memory *memory);
bool ep_kept_memory_look_back(struct ep_kept_memory *memory);

/* From the newest piece that is seen and holds all of it. 0, -EFAULT. */
int ep_kept_memory_read(struct ep_kept_memory *memory, uint64_t addr, void *buf, size_t bytes);

static inline bool ep_kept_memory_is_empty(const struct ep_kept_memory *memory)
{
	return memory->pieces.len == 0;
}

size_t ep_kept_memory_bytes(const struct ep_kept_memory *memory);

#endif
