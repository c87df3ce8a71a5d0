/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf-profiler/plugin.h"
#include "plugins/python/python.h"
#include "plugins/shared/attach/attach.h"

#include "python_bpf.inc.h"
#include "python_keep_bpf.inc.h"

/* As enum py_error. */
static const char *const errors[] = {
	"frame unreadable",
	"no code object in a frame",
	"more frames than can be walked",
	NULL,
};

/* As enum py_counter. */
static const char *const counters[] = {
	"stacks of threads that have no Python state",
	"code objects BPF could not read",
	"code objects gone before they were read",
	"addresses in JIT code whose caller was not found",
	NULL,
};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = 104,
	.object = python_bpf_object,
	.object_bytes = sizeof(python_bpf_object),
	.program = "python_unwind",
};

static const struct ep_bpf_image keeper = {
	.size = sizeof(keeper),
	.object = python_keep_bpf_object,
	.object_bytes = sizeof(python_keep_bpf_object),
	.program = "python_keep",
	.flags = EP_BPF_KEEPS_WHOLE,
};

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.counters = counters,
	.bpf = &bpf,
	.probe = py_probe,
	.attach = py_attach,
	.refresh = attach_arm,
	.symbolize = py_symbolize,
	.names_stay_ms = 1000,
	.keeps_all = 1,
	.detach = py_detach,
	.unload = py_unload,
	.describe = py_describe,
	.frame_type = "cpython",
	.keeper = &keeper,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "python",
	.version = "1.0",
	.unwinder = &ops,
};
