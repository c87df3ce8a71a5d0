/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frame kinds, as they were handed out to languages, and numbers for the reasons why their frames
 * are missing. Slot n makes frames of kind EP_FRAME_FIRST_DYNAMIC + n; errors are numbered from
 * EP_ERROR_FIRST_DYNAMIC to EP_ERROR_LAST_DYNAMIC in the order of adding, those of one language
 * one after the other.
 *
 * One registry for the process: numbers mean the same in every store, batch and program, whatever
 * sessions there were. It is written on the loop's thread while plugins are loaded, before a sample
 * or a worker can ask for what is new, and only read from then on. Texts are copied, cut at
 * EP_KIND_MAX_TEXT bytes.
 */
#ifndef EP_TRACE_KINDS_H
#define EP_TRACE_KINDS_H

#include "core/base/util.h"
#include "ebpf-profiler/frame.h"

#define EP_ERROR_LAST_DYNAMIC 255 /* struct ep_sample keeps an error in 8 bits */
#define EP_KIND_MAX_NAME  32  /* with the NUL */
#define EP_KIND_MAX_TEXT  128

/*
 * `errors` as in struct ep_unwinder_ops: ends with NULL, may be NULL. Its number i becomes
 * *ret_first_error + i. 0, also for one that is there already, -EINVAL (no slot of a language, no
 * name), -EEXIST (another language has the slot, or it had other errors), -E2BIG (not that many
 * error numbers are left); nothing is added then.
 */
int ep_kind_add(uint32_t slot, const char *name, const char *const *errors,
		uint32_t *ret_first_error);
/* The slot that a language of this name has, else the first free one; EP_SLOT_COUNT: there is none.
 */
uint32_t ep_kind_find_slot(const char *name);
/* Of a language that was added: what its frames are called in batches; NULL: its name. */
void ep_kind_set_frame_type(uint32_t slot, const char *type);
/* Forgets all of them: after the last store and batch are gone, and between tests. */
void ep_kind_clear(void);

/* Name of a dynamic frame kind ("toy"); NULL: nobody's. Borrowed until the clear. */
const char *ep_kind_name(uint32_t kind);
/* Its frame type ("toyscript"), likewise. */
const char *ep_kind_frame_type(uint32_t kind);
/* "stack memory unreadable", "toy: frame unreadable"; NULL: there is no such error. */
const char *ep_error_text(uint32_t error);
/* "[exec]" of EP_TASK_EXEC; NULL: there is no such state. */
const char *ep_task_text(uint32_t state);
/* Slot of the language whose error it is, 0: none's. */
uint32_t ep_error_slot(uint32_t error);
/* Reported of the kernel's part of a stack, before the user's frames, which may be whole. */
static inline bool ep_error_is_of_kernel(uint32_t error)
{
	return error == EP_ERROR_KERNEL_DEPTH || error == EP_ERROR_KERNEL_STACK;
}

#endif
