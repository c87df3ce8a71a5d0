/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded process as one that was in its first second when it was sampled and is gone when its
 * frames are named: what the snapshot programs of its languages sent is all there is
 * (ebpf-profiler/bpf/keeper.h). Each line that is printed must be a line of the stack as it is with
 * the process, or say less (lines.c); and at least `wanted` must have a name.
 */
#include "tests/replay/replay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT_BYTES (16u << 20)

struct lines { /* of languages */
	size_t n, n_named, n_wrong;
};

/* What has a name of its own is native or an error, or begins a thread. */
static bool is_of_language(const char *line, size_t bytes)
{
	static const char *const others[] = {"native", "error ", "gap ", "task ", "thread "};

	for (size_t i = 0; i < EP_LEN(others); i++) {
		if (strncmp(line, others[i], strlen(others[i])) == 0)
			return false;
	}
	return bytes > 0;
}

static struct lines compare(const struct ep_vec *whole, const struct ep_vec *kept)
{
	const char *at = kept->data, *end = at + kept->len;
	struct lines lines = {0};

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at);

		if (is_of_language(at, n)) {
			lines.n++;
			lines.n_named += !memchr(at, '?', n);
		}
		if (!replay_is_line_of(whole, at, n)) {
			lines.n_wrong++;
			fprintf(stderr, "kept: a line that is not of the process:\n\t%.*s\n", (int)n, at);
		}
		at += n + 1;
	}
	return lines;
}

int replay_kept(const char *path, const struct ep_replay_plugins *plugins, struct replay_way way,
		size_t wanted)
{
	ep_cleanup(ep_vec_fini) struct ep_vec whole = {0}, kept = {0};
	struct lines lines = {0};
	struct replay replay;
	int r = replay_open(path, plugins, way, &replay);

	ep_vec_init(&whole, 1, MAX_TEXT_BYTES);
	ep_vec_init(&kept, 1, MAX_TEXT_BYTES);
	if (r < 0)
		return r;
	r = ep_replay_print(replay.replay, &whole);
	replay_close(&replay);
	/* Anew, so that no name is known already. */
	if (r == 0)
		r = replay_open(path, plugins, way, &replay);
	if (r < 0)
		return r;
	r = ep_replay_keep(replay.replay);
	if (r == 0)
		r = ep_replay_print(replay.replay, &kept);
	replay_close(&replay);
	if (r < 0)
		return r;
	lines = compare(&whole, &kept);
	printf("%s: %zu of %zu frames are named by what was kept\n", path, lines.n_named, lines.n);
	return lines.n_wrong > 0 || lines.n_named < wanted ? -EBADMSG : 0;
}
