/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/v8.h"

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

DESCRIPTOR_UNWINDER(v8, 96, .flags = EP_BPF_RESUMES);
DESCRIPTOR_KEEPER(v8);

static const struct ep_unwinder_ops ops = {
	DESCRIPTOR_OPS(v8),
	.refresh = v8_refresh,
	.names_stay_ms = 1000,
	.frame_type = "v8js",
	.advise = v8_advise,
	.describe = v8_describe,
	.keeper = &keeper,
};

DESCRIPTOR_PLUGIN(v8);
