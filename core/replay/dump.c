/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a process, once, as text. It stands still only while its threads are walked and what
 * its memory alone names is named: files are analysed and languages are attached to before, and names
 * of files are looked for after that.
 */
#include "core/base/clock.h"
#include "core/replay/capture_internal.h"

#include <errno.h>

static int source_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct ep_capture *capture = arg;

	return capture->snapshot->ops->read(capture->snapshot, addr, buf, bytes);
}

/* With what is known of the process now. */
static int begin(struct ep_capture *capture, struct ep_replay **ret_replay)
{
	int r = ep_replay_new(capture->fixture, &capture->source, NULL, ret_replay);

	if (r == 0)
		r = ep_capture_add_languages(capture, *ret_replay);
	return r == 0 ? ep_replay_attach(*ret_replay) : r;
}

/*
 * From here on nothing changes. What was found while it ran holds, unless it has loaded something or
 * a language was not ready.
 */
static int catch_up(struct ep_capture *capture, struct ep_replay **replay)
{
	size_t n_executables = capture->fixture->executables.len;
	int r = ep_capture_files_update(capture->source.files);

	if (r == 0)
		r = ep_capture_take_threads(capture);
	if (r < 0)
		return r;
	if (capture->fixture->executables.len == n_executables && ep_replay_is_attached(*replay))
		return ep_replay_refresh(*replay);
	ep_replay_free(ep_take(*replay));
	return begin(capture, replay);
}

int ep_capture_take_stacks(struct ep_capture *capture)
{
	ep_cleanup(ep_replay_freep) struct ep_replay *replay = NULL;
	const struct ep_snapshot_ops *ops = capture->snapshot->ops;
	uint64_t stopped_ns;
	int r;

	ep_capture_describe(capture);
	if (ops->read)
		capture->source.read = source_read;
	r = begin(capture, &replay);
	stopped_ns = ep_clock_mono_ns();
	if (r == 0 && !capture->options->core)
		r = ep_snapshot_stop(capture->snapshot, capture->reason);
	if (r == 0)
		r = catch_up(capture, &replay);
	if (r == 0)
		r = ep_replay_hold(replay);
	if (ops->resume) {
		ops->resume(capture->snapshot);
		capture->result->stopped_ns = ep_clock_mono_ns() - stopped_ns;
	}
	capture->source.has_names = true;
	ep_vec_init(&capture->result->text, 1, EP_CAPTURE_MAX_TEXT);
	if (r == 0)
		r = ep_replay_print(replay, &capture->result->text);
	return r < 0 ? ep_capture_fail(capture, r, "cannot read the stacks of the process") : 0;
}
