/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which caller a walk shows is seen in the event where its frames say their address. Frames of the
 * interpreter do not: but whoever looks for the next frame reads memory, and the walk's pc is seen
 * whenever it does.
 */
#include "core/base/util.h"
#include "core/plugin/unwinder.h"
#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/hotspot/tests/live/step/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_BYTES 512 /* of the stack: plugins/hotspot/bpf/window.bpf.h */
#define MAX_SEEN     16

struct java_walker {
	struct walker *walker;
	const struct ep_sample *sample; /* of the last walk */
	uint64_t sequence;		/* of the walk before */
	struct {
		uint64_t pc, sp;
	} seen[MAX_SEEN]; /* of the walk under way: where it was */
	size_t n_seen;
	bool denies_windows;
};

static void look_at_walk(struct java_walker *walker, const struct walker *under_way)
{
	const struct ep_record *rec = walker_record(under_way);
	uint64_t pc = rec->walk.pc, sp = rec->walk.regs[EP_REG_SP];
	size_t n = walker->n_seen;

	if (n == MAX_SEEN || rec->walk.sequence == walker->sequence || rec->walk.interrupted ||
	    (walker->seen[n - 1].pc == pc && walker->seen[n - 1].sp == sp))
		return;
	walker->seen[n].pc = pc;
	walker->seen[n].sp = sp;
	walker->n_seen++;
}

static bool look_or_deny(void *arg, const struct walker *under_way, size_t bytes)
{
	struct java_walker *walker = arg;

	look_at_walk(walker, under_way);
	return walker->denies_windows && bytes == WINDOW_BYTES;
}

int java_walker_new(pid_t pid, const char *plugins, struct java_walker **ret_walker)
{
	struct java_walker *walker = calloc(1, sizeof(*walker));
	int r;

	if (!walker)
		return -ENOMEM;
	r = walker_new(pid, plugins, look_or_deny, walker, &walker->walker);
	if (r < 0)
		java_walker_free(walker);
	else
		*ret_walker = walker;
	return r;
}

void java_walker_free(struct java_walker *walker)
{
	if (walker)
		walker_free(walker->walker);
	free(walker);
}

/* 0: it does not say. */
static uint64_t frame_pc(const struct java_walker *walker, const uint64_t *frame)
{
	uint32_t kind = EP_FRAME_KIND(frame[0]);

	if (kind == EP_FRAME_NATIVE)
		return walker_native_pc(walker->walker, EP_FRAME_AUX(frame[0]), frame[1]);
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

static void read_event(const struct java_walker *walker, struct walked *walked)
{
	const struct ep_sample *sample = walker->sample;
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

static int walk_once(struct java_walker *walker, const struct tracee *tracee, struct walked *ret)
{
	int r;

	*ret = (struct walked){0};
	walker->sequence = walker_record(walker->walker)->walk.sequence;
	walker->seen[0].pc = tracee->regs.rip;
	walker->seen[0].sp = tracee->regs.rsp;
	walker->n_seen = 1;
	r = walker_walk(walker->walker, tracee, &walker->sample);
	if (r == 0) {
		look_at_walk(walker, walker->walker);
		read_event(walker, ret);
	}
	return r;
}

/*
 * Where its pc was when memory was read tells what no frame says. Through a window several frames
 * are read at once: then it is walked again without one, and must come to the same frames.
 */
static int walk_without_window(struct java_walker *walker, const struct tracee *tracee,
			       struct walked *walked)
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

int java_walker_walk(struct java_walker *walker, const struct tracee *tracee, struct walked *ret)
{
	int r = walk_once(walker, tracee, ret);

	if (r == 0 && ret->is_seen)
		r = walk_without_window(walker, tracee, ret);
	return r < 0 ? r : walker_refresh(walker->walker, walker->sample);
}
