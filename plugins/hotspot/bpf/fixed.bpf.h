/* SPDX-License-Identifier: GPL-2.0-only */
/* Code at fixed places: by the rule of its range (hotspot_shared.h). */
#ifndef HOTSPOT_FIXED_BPF_H
#define HOTSPOT_FIXED_BPF_H

#include "plugins/hotspot/bpf/interpreter.bpf.h"

/*
 * The interpreter is entered: its frame is not there yet. What compiled code that called it had as sp is
 * in r13: arguments lie between.
 */
static __always_inline void step_entry(const struct hotspot_walk *w)
{
	struct hotspot_frame_at *at = &w->s->at;
	__u64 sender = w->rec->walk.regs[HOTSPOT_REG_BCP];

	if (!is_known(w, HOTSPOT_REG_METHOD) || !is_known(w, HOTSPOT_REG_BCP) ||
	    !has_rule(w, w->s->code.data) ||
	    !be_interpreted(w, w->rec->walk.regs[HOTSPOT_REG_METHOD])) {
		fail_own(w, HOTSPOT_ERROR_INTERPRETER);
		return;
	}
	at->aux = w->b->quad & 0xffff ? 0 : HOTSPOT_BCI_NATIVE;
	at->how = HOTSPOT_HOW_KNOWN;
	return_by_rule(w);
	if (sender - at->sp < HOTSPOT_FIXED_MAX)
		at->sp = sender;
}

static __always_inline void step_stub(const struct hotspot_walk *w)
{
	be_stub(w);
	w->s->exact = 0;
	w->s->sure = 1;
	w->s->searches = 0;
	w->s->at.how = has_rule(w, w->s->code.data) ? HOTSPOT_HOW_RULE : HOTSPOT_HOW_GUESS;
	if (is_remaking(w))
		fail_own(w, HOTSPOT_ERROR_DEOPT);
	pass_call_stub(w);
}

#endif
