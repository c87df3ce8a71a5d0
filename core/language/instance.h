/* SPDX-License-Identifier: Apache-2.0 */
/* One language in one process: a claim that is attached there. Loop's thread only. */
#ifndef EP_LANGUAGE_INSTANCE_H
#define EP_LANGUAGE_INSTANCE_H

#include "core/trace/program.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ep_account;
struct ep_claim;
struct ep_frames;
struct ep_instance;
struct ep_kept;
struct ep_language_view;
struct ep_languages;

/*
 * Begins to attach a claim to a process that has its executable mapped at module_addr, as soon as
 * the process has a budget for it. The account is borrowed until the instance is released; NULL: it
 * has one of its own. NULL: no memory, or nothing new is begun any more.
 */
struct ep_instance *ep_instance_new(struct ep_languages *languages, struct ep_claim *claim,
				    pid_t pid, struct ep_account *account, uint64_t bias,
				    uint64_t module_addr);
/*
 * The same for a child that was forked: it has all that was published to BPF of its parent at once.
 */
struct ep_instance *ep_instance_fork(const struct ep_instance *parent, pid_t pid,
				     struct ep_account *account);
/* Detaches, now or when its job is done. Accepts NULL. */
void ep_instance_release(struct ep_instance *instance);
/* The same of a runtime whose file is not mapped any more, in a program that runs on. */
void ep_instance_leave(struct ep_instance *instance, struct ep_program program);
/*
 * The process has ended, or executes something else: it is not looked at again. What is remembered
 * and what was kept of it still names its frames.
 */
void ep_instance_end(struct ep_instance *instance);
bool ep_instance_is(const struct ep_instance *instance, const struct ep_claim *claim,
		    uint64_t bias);
/* Its process's mappings have changed. */
void ep_instance_refresh(struct ep_instance *instance);
/* Its BPF program asks for it, maybe with each sample: if it is attached. */
void ep_instance_ask_refresh(struct ep_instance *instance);
/*
 * Its process was sampled, at this time (CLOCK_MONOTONIC): BPF is informed of it, if it is not any
 * more.
 */
void ep_instance_on_sample(struct ep_instance *instance, uint64_t time_ns);
/* True when its process cannot be asked for names any more. */
bool ep_instance_is_missed(const struct ep_instance *instance, bool ended);

/*
 * True when it cannot be attached to, or not for as long as anybody can tell: native code is walked
 * as if the language had not claimed a file of the process.
 */
bool ep_instance_is_given_up(const struct ep_instance *instance);
/*
 * True while BPF is not informed of it and soon may be: it is being attached to, or will be asked
 * again, or the program of its language is being loaded.
 */
bool ep_instance_is_awaited(const struct ep_instance *instance);

/*
 * Memory of its process that came with a sample, `bytes` of an event; not kept where there is no
 * space for it.
 */
void ep_instance_keep(struct ep_instance *instance, const struct ep_kept *kept, size_t bytes);

/*
 * 0 while its process is within its budget (account.h). Else the CPU time that the process has
 * spent and did not get back yet: of all that wait, those who have spent least are asked first.
 */
uint64_t ep_instance_spent_ns(const struct ep_instance *instance);
/* False: ep_instance_symbolize says -EDQUOT. */
bool ep_instance_has_budget(const struct ep_instance *instance);

uint32_t ep_instance_slot(const struct ep_instance *instance);
/* The index of its state, 0 when there is nothing that is to be published to BPF (yet). */
uint32_t ep_instance_state(const struct ep_instance *instance);
/* What is to be published to BPF; borrowed until it changes. */
void ep_instance_get_view(const struct ep_instance *instance, struct ep_language_view *ret);

/*
 * Looks for the names of `n` frames of this instance, on a worker; `frames` is referenced until
 * then. 0, -EBUSY when a job is under way (or is now), -EDQUOT when its process has no budget for
 * it now, -ENODATA when it is not to be attached, -ESRCH when its process has gone and nothing of
 * it is remembered, -ENOMEM.
 */
int ep_instance_symbolize(struct ep_instance *instance, struct ep_frames *frames,
			  const uint32_t *ids, size_t n);

#endif
