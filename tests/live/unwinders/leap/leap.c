/* SPDX-License-Identifier: Apache-2.0 */
/* User space of leap_unwind.bpf.c: code in anonymous memory that the program tells us of. */
#include "leap_shared.h"

#include <ebpf-profiler/plugin.h>

#include <errno.h>
#include <stdlib.h>

#include "leap_bpf.inc.h"

struct leap_executable {
	const struct ep_unwinder_host *host;
	uint64_t about_va;
};

static int probe(const struct ep_unwinder_host *host, const struct ep_file *file,
		 void **ret_executable)
{
	struct leap_executable *executable;
	struct ep_symbol about;

	if (host->file_symbol(file, "leap_about", &about) < 0 ||
	    about.bytes < sizeof(struct leap_state))
		return EP_NOT_MINE;
	executable = malloc(sizeof(*executable));
	if (!executable)
		return -ENOMEM;
	*executable = (struct leap_executable){host, about.va};
	*ret_executable = executable;
	return 0;
}

/* Its data is where its first page begins, which BPF is to find by ep_find_code. */
static struct ep_range range_of(const struct leap_state *state)
{
	if (state->mode == LEAP_ANONYMOUS)
		return (struct ep_range){
			.end = UINT64_MAX, .mode = EP_RANGE_ENTER, .flags = EP_RANGE_ANONYMOUS};
	if (state->mode == LEAP_HEAP)
		return (struct ep_range){state->heap_start, state->heap_end, EP_RANGE_ENTER, 0,
					 state->heap_start};
	return (struct ep_range){state->code_start, state->code_end, EP_RANGE_ENTER, 0,
				 state->code_start};
}

struct leap_instance {
	const struct leap_executable *executable;
	struct ep_target *target;
};

/* Where its code is may change without any mapping: its BPF program asks then. */
static int refresh(void *arg)
{
	const struct leap_instance *instance = arg;
	const struct ep_unwinder_host *host = instance->executable->host;
	struct ep_target *target = instance->target;
	struct leap_state state;
	struct ep_range range;
	int r;

	r = host->target_read(target, host->target_bias(target) + instance->executable->about_va,
			      &state, sizeof(state));
	if (r < 0)
		return r;
	if (!state.code_start)
		return EP_NOT_YET;
	range = range_of(&state);
	r = host->set_state(target, &state, sizeof(state));
	return r < 0 ? r : host->set_ranges(target, &range, 1);
}

static int attach(void *arg, struct ep_target *target, void **ret_instance)
{
	struct leap_instance *instance = malloc(sizeof(*instance));
	int r;

	if (!instance)
		return -ENOMEM;
	*instance = (struct leap_instance){arg, target};
	r = refresh(instance);
	if (r != 0)
		free(instance);
	else
		*ret_instance = instance;
	return r;
}

static int symbolize(void *arg, const struct ep_raw_frame *frame, struct ep_names *names)
{
	const struct leap_instance *instance = arg;
	struct ep_name name = {.size = sizeof(name), .function = "leap"};

	(void)frame;
	return instance->executable->host->add_name(names, &name);
}

static void detach(void *arg)
{
	free(arg);
}

static void unload(void *arg)
{
	free(arg);
}

static const char *const errors[] = {"leap is between two frames", "side stack unreadable",
				     "no code is known there", NULL};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = 1,
	.object = leap_bpf_object,
	.object_bytes = sizeof(leap_bpf_object),
	.program = "leap_unwind",
};

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.bpf = &bpf,
	.probe = probe,
	.attach = attach,
	.refresh = refresh,
	.symbolize = symbolize,
	.detach = detach,
	.unload = unload,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "leap",
	.version = "1.0",
	.unwinder = &ops,
};
