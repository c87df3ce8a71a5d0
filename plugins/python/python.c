/* SPDX-License-Identifier: Apache-2.0 */
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

DESCRIPTOR_UNWINDER(python, 104);
DESCRIPTOR_KEEPER(python, .flags = EP_BPF_KEEPS_WHOLE);

static const struct ep_unwinder_ops ops = {
	DESCRIPTOR_OPS(py),
	.refresh = attach_arm,
	.names_stay_ms = 1000,
	.keeps_all = 1,
	.describe = py_describe,
	.frame_type = "cpython",
	.keeper = &keeper,
};

DESCRIPTOR_PLUGIN(python);
