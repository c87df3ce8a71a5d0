/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/hotspot.h"

#include "ebpf-profiler/plugin.h"

#include "hotspot_bpf.inc.h"
#include "hotspot_keep_bpf.inc.h"

/* As enum hotspot_error. */
static const char *const errors[] = {
	"no block of code there",
	"no frame of the interpreter",
	"no return address found",
	"frames are being remade (deoptimization)",
	"the end of a continuation was not found",
	NULL,
};

/* As enum hotspot_counter. */
static const char *const counters[] = {
	"return addresses that were searched for",
	"walks resumed where the VM says that Java code called",
	"frames whose code was gone when they were named",
	"names of inlined methods that are a guess: no DebugNonSafepoints",
	NULL,
};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = 48,
	.object = hotspot_bpf_object,
	.object_bytes = sizeof(hotspot_bpf_object),
	.program = "hotspot_unwind",
	.flags = EP_BPF_RESUMES,
};

static const struct ep_bpf_image keeper = {
	.size = sizeof(keeper),
	.object = hotspot_keep_bpf_object,
	.object_bytes = sizeof(hotspot_keep_bpf_object),
	.program = "hotspot_keep",
};

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.counters = counters,
	.bpf = &bpf,
	.probe = hotspot_probe,
	.attach = hotspot_attach,
	.refresh = hotspot_refresh,
	.symbolize = hotspot_symbolize,
	.names_stay_ms = 1000,
	.detach = hotspot_detach,
	.unload = hotspot_unload,
	.frame_type = "jvm",
	.advise = hotspot_advise,
	.keeper = &keeper,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "hotspot",
	.version = "1.0",
	.unwinder = &ops,
};
