/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/ruby/ruby.h"

#include "ebpf-profiler/plugin.h"

#include "ruby_bpf.inc.h"
#include "ruby_keep_bpf.inc.h"

/* As enum ruby_error. */
static const char *const errors[] = {
	"stack of the VM unreadable",
	"more frames than can be walked",
	NULL,
};

/* As enum ruby_counter. */
static const char *const counters[] = {
	"stacks of threads that have no context",
	"code gone before it was named",
	"stacks in code that is no JIT's, or not known how to leave",
	NULL,
};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = 240,
	.object = ruby_bpf_object,
	.object_bytes = sizeof(ruby_bpf_object),
	.program = "ruby_unwind",
};

static const struct ep_bpf_image keeper = {
	.size = sizeof(keeper),
	.object = ruby_keep_bpf_object,
	.object_bytes = sizeof(ruby_keep_bpf_object),
	.program = "ruby_keep",
	.flags = EP_BPF_KEEPS_WHOLE,
};

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.counters = counters,
	.bpf = &bpf,
	.probe = ruby_probe,
	.attach = ruby_attach,
	.refresh = ruby_refresh,
	.symbolize = ruby_symbolize,
	.names_stay_ms = 1000,
	.detach = ruby_detach,
	.unload = ruby_unload,
	.describe = ruby_describe,
	.keeper = &keeper,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "ruby",
	.version = "1.0",
	.unwinder = &ops,
};
