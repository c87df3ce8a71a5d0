/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/php/php.h"
#include "plugins/shared/attach/attach.h"

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

DESCRIPTOR_UNWINDER(php, 211);
DESCRIPTOR_KEEPER(php, .flags = EP_BPF_KEEPS_WHOLE);

static const struct ep_unwinder_ops ops = {
	DESCRIPTOR_OPS(php),
	.refresh = attach_refresh,
	.names_stay_ms = 0, /* without opcache code goes with its request */
	.describe = php_describe,
	.advise = php_advise,
	.keeper = &keeper,
};

DESCRIPTOR_PLUGIN(php);
