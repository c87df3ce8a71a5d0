/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/v8.h"

#include "ebpf-profiler/plugin.h"

#include "v8_bpf.inc.h"
#include "v8_keep_bpf.inc.h"

/* As enum v8_error. */
static const char *const errors[] = {
	"no frame at the frame pointer",
	"no function in a frame",
	"the rest is on another stack",
	"frames are being remade (deoptimization)",
	NULL,
};

/* As enum v8_counter. */
static const char *const counters[] = {
	"walks resumed where V8 says that JavaScript called",
	"frames whose function was gone when they were named",
	"callers of leaves that are a guess",
	NULL,
};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = 96,
	.object = v8_bpf_object,
	.object_bytes = sizeof(v8_bpf_object),
	.program = "v8_unwind",
	.flags = EP_BPF_RESUMES,
};

static const struct ep_bpf_image keeper = {
	.size = sizeof(keeper),
	.object = v8_keep_bpf_object,
	.object_bytes = sizeof(v8_keep_bpf_object),
	.program = "v8_keep",
};

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.counters = counters,
	.bpf = &bpf,
	.probe = v8_probe,
	.attach = v8_attach,
	.refresh = v8_refresh,
	.symbolize = v8_symbolize,
	.names_stay_ms = 1000,
	.detach = v8_detach,
	.unload = v8_unload,
	.frame_type = "v8js",
	.advise = v8_advise,
	.describe = v8_describe,
	.keeper = &keeper,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "v8",
	.version = "1.0",
	.unwinder = &ops,
};
