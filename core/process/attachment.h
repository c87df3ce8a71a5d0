/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language attached to one process: the states this has, and what each outcome of its plugin's
 * calls does to them. Live processes and recorded ones go by the same rules; when a call is made,
 * and when once more, is theirs.
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
 * Nothing else is called, and would change nothing.
 */
#ifndef EP_PROCESS_ATTACHMENT_H
#define EP_PROCESS_ATTACHMENT_H

#include "core/base/util.h"
#include "ebpf-profiler/unwinder.h"

enum ep_attachment {
	EP_ATTACHMENT_WAITING,	/* to be attached: for the first time, or once more */
	EP_ATTACHMENT_ATTACHED, /* the plugin has an instance */
	/* Not attached until its frames want names: what BPF was told is its parent's, or is left
	 * from when it was. */
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
	EP_ATTACHMENT_FORGET = 1 << 2, /* BPF must not go on with what it was told */
};

struct ep_attachment_step {
	enum ep_attachment state;
	uint32_t actions;
};

struct ep_attachment_step ep_attachment_after(enum ep_attachment state,
					      enum ep_attachment_call call, int result);

/*
 * The plugin's attach: there is an instance if and only if it returns 0. A plugin that says 0 and
 * gives none is not understood: -ENOTSUP.
 */
int ep_attachment_attach(const struct ep_unwinder_ops *ops, void *executable,
			 struct ep_target *target, void **ret_instance);

#endif
