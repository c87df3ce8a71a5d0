/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/golang/golang.h"

#include "ebpf-profiler/plugin.h"

#include "golang_bpf.inc.h"

static const char *const errors[] = {NULL};

/* As enum go_counter. */
static const char *const counters[] = {
	"stacks followed to another of the thread's",
	"changes of stacks that did not hold",
	NULL,
};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = 16,
	.object = golang_bpf_object,
	.object_bytes = sizeof(golang_bpf_object),
	.program = "golang_unwind",
};

/* Its BPF program pushes native frames only. */
static int symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	(void)instance, (void)frame, (void)names;
	return EP_FRAME_GONE;
}

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.counters = counters,
	.bpf = &bpf,
	.probe = go_probe,
	.attach = go_attach,
	.symbolize = symbolize,
	.detach = go_detach,
	.unload = go_unload,
	.frame_type = "go",
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "golang",
	.version = "1.0",
	.unwinder = &ops,
};
