/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/golang/golang.h"

#include "golang_bpf.inc.h"

static const char *const errors[] = {NULL};

/* As enum go_counter. */
static const char *const counters[] = {
	"stacks followed to another of the thread's",
	"changes of stacks that did not hold",
	NULL,
};

DESCRIPTOR_UNWINDER(golang, 16);

/* Its BPF program pushes native frames only. */
int go_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	(void)instance, (void)frame, (void)names;
	return EP_FRAME_GONE;
}

static const struct ep_unwinder_ops ops = {
	DESCRIPTOR_OPS(go),
	.frame_type = "go",
};

DESCRIPTOR_PLUGIN(golang);
