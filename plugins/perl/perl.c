/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/perl/perl.h"

#include "ebpf-profiler/plugin.h"

#include "perl_bpf.inc.h"
#include "perl_keep_bpf.inc.h"

/* As enum pl_error. */
static const char *const errors[] = {
	"context unreadable",
	"more contexts than can be walked",
	NULL,
};

/* As enum pl_counter. */
static const char *const counters[] = {
	"stacks of threads that have no interpreter",
	"code gone before it was named",
	"statements gone before their place was read",
	NULL,
};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = 144,
	.object = perl_bpf_object,
	.object_bytes = sizeof(perl_bpf_object),
	.program = "perl_unwind",
};

static const struct ep_bpf_image keeper = {
	.size = sizeof(keeper),
	.object = perl_keep_bpf_object,
	.object_bytes = sizeof(perl_keep_bpf_object),
	.program = "perl_keep",
	.flags = EP_BPF_KEEPS_WHOLE,
};

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.counters = counters,
	.bpf = &bpf,
	.probe = pl_probe,
	.attach = pl_attach,
	.refresh = pl_refresh,
	.symbolize = pl_symbolize,
	.names_stay_ms = 1000,
	.detach = pl_detach,
	.unload = pl_unload,
	.describe = pl_describe,
	.keeper = &keeper,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "perl",
	.version = "1.0",
	.unwinder = &ops,
};
