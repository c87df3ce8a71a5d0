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

struct replay_way {
	bool bytecode; /* the BPF programs interpreted, not their sources compiled for user space */
	uint32_t frames; /* per run at most; 0: as many as they can */
};

/* A fixture's file, with languages attached. 0 or a negative errno. */
int replay_open(const char *path, const struct ep_replay_plugins *plugins, struct replay_way way,
		struct replay *ret);
void replay_close(struct replay *replay);

/* faults.c. 0, or 1 after what is wrong was reported. every: 1 for all faults, n for each n-th. */
int replay_faults(const char *path, const struct replay *replay, unsigned int every);
/* late.c. The same; also when there was nothing to compare. */
int replay_late(const char *path, const struct replay *replay);
/* kept.c. 0 or a negative errno; -ENOENT: none of its languages has a snapshot program. wanted:
 * frames with a name. */
int replay_kept(const char *path, const struct ep_replay_plugins *plugins, struct replay_way way, size_t wanted);
/* names.c. 0 or a negative errno; -ENODATA: it has no frame of a language. */
int replay_names(const struct replay *replay);
/* lines.c: it is a line of the text, or one that says less, and nothing else. */
bool replay_is_line_of(const struct ep_vec *text, const char *line, size_t bytes);
/* shrink.c. 0 or a negative errno. */
int replay_shrink(const char *path, const struct ep_replay_plugins *plugins);

#endif
