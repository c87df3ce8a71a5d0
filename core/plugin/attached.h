/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One language in one process, live or recorded: the target that its plugin sees, the calls of the
 * plugin and the states that these lead to, and what the plugin set for BPF. The caller brings the
 * process's memory, mappings and thread storage, and decides when a call is made, and when once
 * more.
 *
 *	call       in        0         EP_NOT_YET,       -ENOTSUP         -ESRCH
 *	                               another error
 *	attach     WAITING   ATTACHED  WAITING, again    REFUSED, forget  GONE, forget
 *	           DORMANT   ATTACHED  WAITING, again    REFUSED, forget  GONE, forget
 *	refresh    ATTACHED  ATTACHED  ATTACHED, again   REFUSED, forget, GONE, forget,
 *	                                                 detach           detach
 *	symbolize  ATTACHED  -         EP_NOT_YET: again -                GONE, again
 *	           GONE      -         -                 -                -
 *	rest       ATTACHED  DORMANT, detach
 *	           GONE      GONE, detach
 *
 * Nothing else is called, and would change nothing. What attach and refresh set holds if they
 * return 0; what symbolize sets holds whatever becomes of the frame. What an attach that returns 0
 * does not set does not hold, whatever an earlier one set.
 *
 * Embedded by the caller and not moved; one thread at a time.
 */
#ifndef EP_PLUGIN_ATTACHED_H
#define EP_PLUGIN_ATTACHED_H

#include "core/base/vec.h"
#include "core/plugin/kept_memory.h"
#include "core/plugin/unwinder.h"

#include <stdatomic.h>

#define EP_MAX_PLUGIN_COUNTERS 16
#define EP_FRAME_WALL_NS (1000 * 1000 * 1000ull)

enum ep_attachment {
	EP_ATTACHMENT_WAITING,	/* to be attached: for the first time, or once more */
	EP_ATTACHMENT_ATTACHED, /* the plugin has an instance */
	/*
	 * Not attached until its frames want names: what was published to BPF is its parent's, or
	 * is left from when it was.
	 */
	EP_ATTACHMENT_DORMANT,
	EP_ATTACHMENT_REFUSED, /* a layout that is not known, and will not be before an exec */
	/* Its process cannot be read any more. Where names found that out the plugin still has its
	 * instance: what it remembers names frames. */
	EP_ATTACHMENT_GONE,
	EP_ATTACHMENT_COUNT,
};

enum ep_attachment_call {
	EP_ATTACHMENT_ATTACH,
	EP_ATTACHMENT_REFRESH,
	EP_ATTACHMENT_SYMBOLIZE,
	EP_ATTACHMENT_REST, /* the host's own, result 0: its instance was not wanted for long */
	EP_ATTACHMENT_CALLS,
};

/* What follows from a call, beside the new state. */
enum ep_attachment_action {
	EP_ATTACHMENT_AGAIN = 1 << 0,  /* later; of symbolize: this frame, with the next ones */
	EP_ATTACHMENT_DETACH = 1 << 1, /* the instance, if the plugin has one */
	EP_ATTACHMENT_FORGET = 1 << 2, /* BPF must not go on with what it was given */
};

struct ep_attachment_step {
	enum ep_attachment state;
	uint32_t actions;
};

/* The table above. */
struct ep_attachment_step ep_attachment_after(enum ep_attachment state,
					      enum ep_attachment_call call, int result);

/* What a plugin set for BPF. */
struct ep_attached_set {
	bool has_state, has_ranges; /* set at all */
	bool anonymous;		    /* it takes anonymous code */
	size_t state_bytes;
	uint8_t state[EP_STATE_BYTES];
	struct ep_vec ranges; /* struct ep_range: the exact ones, sorted, disjoint */
};

struct ep_attached {
	const struct ep_unwinder_ops *ops;
	void *executable;		    /* the plugin's, of the probed file */
	const struct ep_target_ops *source; /* what only reads: see unwinder.h */
	void *source_arg;
	struct ep_target target; /* what the plugin gets */
	enum ep_attachment state;
	void *instance;			       /* the plugin's; NULL: it has none of this process */
	int result;			       /* of its last call */
	struct ep_attached_set pending, holds; /* by the call under way; what BPF is to have */
	bool is_changed;		       /* `holds`, since the caller unset it */
	bool is_lost; /* symbolize returned -ESRCH: GONE after ep_attached_end_names */
	/* All optional. */
	_Atomic uint64_t *counters; /* EP_MAX_PLUGIN_COUNTERS of them */
	const atomic_bool *stopped; /* reads fail from then on */
	/*
	 * Reads fail when one symbolize takes more CPU time than that, or EP_FRAME_WALL_NS. 0: they do not. The time
	 * that passes says nothing where the agent gets little of a CPU.
	 */
	uint64_t frame_ns;
	uint64_t frame_start_ns, frame_start_cpu_ns; /* CLOCK_MONOTONIC, 0: none is under way; the thread's CPU time */
	uint64_t look_ns; /* CLOCK_MONOTONIC: it cannot have had so much before that */
	struct ep_kept_memory *kept; /* see ep_attached_symbolize_kept */
	bool reads_kept;	    /* it is read, and not the process */
	bool stands_in;	    /* the names that the last call gave: EP_NAME_STANDS_IN */
	bool reads_ended;	    /* one failed since it took longer: the result is -ETIME */
	bool is_silent;		    /* its memory does not come, ever: what fails has the result -ETIMEDOUT */
};

/* `source` has no set_state, set_ranges and count; `arg` is its argument. */
void ep_attached_init(struct ep_attached *attached, const struct ep_unwinder_ops *ops,
		      void *executable, const struct ep_target_ops *source, void *arg, pid_t pid,
		      uint64_t bias);
void ep_attached_fini(struct ep_attached *attached); /* detaches; accepts a zeroed one */

/*
 * The plugin's calls, in the states that have them; `result` is what it returned. There is an
 * instance if and only if attach returned 0: a plugin that says so and gives none is not
 * understood, -ENOTSUP, and a process whose memory does not come (core/proc/readers.h) is given up in
 * the same way, -ETIMEDOUT. True: to be called again, later; of symbolize: with this frame.
 */
bool ep_attached_attach(struct ep_attached *attached);
/* As an attach or refresh that returned -ENOTSUP, without the plugin. */
void ep_attached_refuse(struct ep_attached *attached);
bool ep_attached_refresh(struct ep_attached *attached);
bool ep_attached_symbolize(struct ep_attached *attached, const struct ep_raw_frame *frame,
			   struct ep_names *names);
/*
 * For a frame that the last call found gone, or whose process, or whose names stand in: once more, of what
 * was kept of the process alone, as it was at each of its samples, the last one first. True: it is named,
 * and `result` is 0; else `result` is as it was, and what was added to `names` is to be forgotten.
 */
bool ep_attached_symbolize_kept(struct ep_attached *attached, const struct ep_raw_frame *frame,
				struct ep_names *names);
/* After the last of some frames: that one of them found its process gone counts from here on. */
void ep_attached_end_names(struct ep_attached *attached);
/* Detaches; what was published to BPF stays. */
void ep_attached_rest(struct ep_attached *attached);

#endif
