/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/php/php.h"

#include "ebpf-profiler/plugin.h"

#include "php_bpf.inc.h"
#include "php_keep_bpf.inc.h"

/* As enum php_error. */
static const char *const errors[] = {
	"frame unreadable",
	"more frames than can be walked",
	"fiber's context not as expected",
	NULL,
};

/* As enum php_counter. */
static const char *const counters[] = {
	"stacks of threads that have no globals",
	"functions gone before they were named",
	"stacks in code that is no JIT's, or not known how to leave",
	NULL,
};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = 211,
	.object = php_bpf_object,
	.object_bytes = sizeof(php_bpf_object),
	.program = "php_unwind",
};

static const struct ep_bpf_image keeper = {
	.size = sizeof(keeper),
	.object = php_keep_bpf_object,
	.object_bytes = sizeof(php_keep_bpf_object),
	.program = "php_keep",
	.flags = EP_BPF_KEEPS_WHOLE,
};

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.counters = counters,
	.bpf = &bpf,
	.probe = php_probe,
	.attach = php_attach,
	.refresh = php_refresh,
	.symbolize = php_symbolize,
	.names_stay_ms = 0, /* without opcache code goes with its request */
	.detach = php_detach,
	.unload = php_unload,
	.describe = php_describe,
	.advise = php_advise,
	.keeper = &keeper,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "php",
	.version = "1.0",
	.unwinder = &ops,
};
