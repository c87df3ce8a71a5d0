/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/hotspot.h"

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

DESCRIPTOR_UNWINDER(hotspot, 48, .flags = EP_BPF_RESUMES);
DESCRIPTOR_KEEPER(hotspot);

static const struct ep_unwinder_ops ops = {
	DESCRIPTOR_OPS(hotspot),
	.refresh = hotspot_refresh,
	.names_stay_ms = 1000,
	.frame_type = "jvm",
	.advise = hotspot_advise,
	.keeper = &keeper,
};

DESCRIPTOR_PLUGIN(hotspot);
