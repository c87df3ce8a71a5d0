/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the replay program share. */
#ifndef TESTS_REPLAY_REPLAY_H
#define TESTS_REPLAY_REPLAY_H

#include "core/replay/plugins.h"
#include "core/replay/replay.h"

struct replay {
	struct ep_fixture *fixture;
	struct ep_replay *replay;
};

/*
 * A fixture's file, with languages attached; the BPF programs interpreted, or their sources
 * compiled for user space. 0 or a negative errno.
 */
int replay_open(const char *path, const struct ep_replay_plugins *plugins, bool bytecode,
		struct replay *ret);
void replay_close(struct replay *replay);

/* faults.c. 0, or 1 after what is wrong was said. */
int replay_faults(const char *path, const struct replay *replay);

#endif
