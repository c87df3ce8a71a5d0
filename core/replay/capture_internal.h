/* SPDX-License-Identifier: Apache-2.0 */
/* What capture.c and dump.c share: a process that is looked at once. */
#ifndef EP_REPLAY_CAPTURE_INTERNAL_H
#define EP_REPLAY_CAPTURE_INTERNAL_H

#include "core/replay/capture.h"
#include "core/replay/capture_files.h"
#include "core/replay/replay.h"

#define EP_CAPTURE_MAX_TEXT (16u << 20)

struct ep_capture {
	const struct ep_capture_options *options;
	struct ep_capture_result *result;
	struct ep_snapshot *snapshot;
	struct ep_fixture *fixture;
	struct ep_replay_source source;
	struct ep_vec data; /* the fixture's, before it was trimmed */
	char *reason;
};

/* r, with `what` and why in the reason, unless there is one. */
int ep_capture_fail(struct ep_capture *capture, int r, const char *what);
/* Its files are analysed while it runs. 0, or a negative errno with a reason. */
int ep_capture_open(struct ep_capture *capture);
void ep_capture_describe(struct ep_capture *capture);
int ep_capture_add_languages(const struct ep_capture *capture, struct ep_replay *replay);
/* Those that are wanted of the threads that stand still. 0, -ESRCH, -ENOMEM. */
int ep_capture_take_threads(struct ep_capture *capture);
/* dump.c: its stacks as text, no file. 0, or a negative errno with a reason. */
int ep_capture_take_stacks(struct ep_capture *capture);

#endif
