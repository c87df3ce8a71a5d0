/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/ruby/ruby.h"

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

DESCRIPTOR_UNWINDER(ruby, 240);
DESCRIPTOR_KEEPER(ruby, .flags = EP_BPF_KEEPS_WHOLE);

static const struct ep_unwinder_ops ops = {
	DESCRIPTOR_OPS(ruby),
	.refresh = ruby_refresh,
	.names_stay_ms = 1000,
	.describe = ruby_describe,
	.keeper = &keeper,
};

DESCRIPTOR_PLUGIN(ruby);
