/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/perl/perl.h"
#include "plugins/shared/attach/attach.h"

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

DESCRIPTOR_UNWINDER(perl, 144);
DESCRIPTOR_KEEPER(perl, .flags = EP_BPF_KEEPS_WHOLE);

static const struct ep_unwinder_ops ops = {
	DESCRIPTOR_OPS(pl),
	.refresh = attach_refresh,
	.names_stay_ms = 1000,
	.describe = pl_describe,
	.keeper = &keeper,
};

DESCRIPTOR_PLUGIN(perl);
