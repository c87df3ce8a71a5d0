/* SPDX-License-Identifier: Apache-2.0 */
/* A language that runs in a process, without a plugin: what instances are asked of it can be set. */
#ifndef EP_TESTS_RUNTIME_H
#define EP_TESTS_RUNTIME_H

#include "core/language/internal.h"
#include "core/process/process.h"

#include <string.h>

#define RUNTIME_SLOT 2

static struct {
	struct ep_languages languages;
	struct ep_unwinder_ops ops;
	struct ep_bpf_image image;
	struct ep_language language;
	struct ep_claim claim;
	struct ep_instance instance;
} runtime;

/* `loading`: its program is being loaded, so that BPF will be informed of it. */
static inline void runtime_add(struct ep_process *process, enum ep_attachment state, bool loading)
{
	memset(&runtime, 0, sizeof(runtime));
	runtime.ops.bpf = &runtime.image;
	runtime.language.ops = &runtime.ops;
	runtime.language.slot = RUNTIME_SLOT;
	runtime.language.loading = loading;
	runtime.claim.language = &runtime.language;
	runtime.instance.languages = &runtime.languages;
	runtime.instance.claim = &runtime.claim;
	runtime.instance.account = &runtime.instance.own_account;
	runtime.instance.own_account.was_sampled = true;
	runtime.instance.job.attached.state = state;
	process->languages.instances[0] = &runtime.instance;
	process->languages.n = 1;
}

/* The program is loaded, and BPF is to be informed of one range. */
static inline void runtime_attach(struct ep_range *range)
{
	runtime.language.loading = false;
	runtime.language.program = (struct ep_unwinder_program *)&runtime;
	runtime.instance.view.cell = 1;
	runtime.instance.view.ranges = (struct ep_vec){.data = range, .len = 1};
}

#endif
