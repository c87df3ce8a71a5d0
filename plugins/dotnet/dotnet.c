/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/dotnet.h"

#include "ebpf-profiler/plugin.h"

#include "dotnet_bpf.inc.h"

/* As enum dotnet_error. */
static const char *const errors[] = {
	"managed code that is in no method",
	"unwind information not understood",
	"a stub whose caller is not known",
	"a return address that suspension has replaced",
	NULL,
};

/* As enum dotnet_counter. */
static const char *const counters[] = {
	"callers found by the frame pointer alone",
	"frames whose method was gone when they were named",
	"walks that went on behind native code without rules",
	"return addresses that suspension had replaced",
	NULL,
};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = DOTNET_MAX_FRAMES_PER_RUN,
	.object = dotnet_bpf_object,
	.object_bytes = sizeof(dotnet_bpf_object),
	.program = "dotnet_unwind",
	.flags = EP_BPF_RESUMES,
};

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.counters = counters,
	.bpf = &bpf,
	.probe = dotnet_probe,
	.attach = dotnet_attach,
	.refresh = dotnet_refresh,
	.symbolize = dotnet_symbolize,
	.names_stay_ms = 1000,
	.advise = dotnet_advise,
	.describe = dotnet_describe,
	.detach = dotnet_detach,
	.unload = dotnet_unload,
	.frame_type = "dotnet",
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "dotnet",
	.version = "1.0",
	.unwinder = &ops,
};
