/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/capture.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/replay/capture_internal.h"
#include "core/replay/replay.h"
#include "ebpf-profiler/plugin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- what the replay asks -------------------------------------------------------------------- */

static int source_block(void *arg, uint64_t addr, uint8_t *block)
{
	struct ep_capture *capture = arg;

	/* Names are looked for only when the process runs again. */
	return capture->source.has_names
		       ? -EFAULT
		       : capture->snapshot->ops->read_block(capture->snapshot, addr, block);
}

/* --- steps ----------------------------------------------------------------------------------- */

int ep_capture_fail(struct ep_capture *capture, int r, const char *what)
{
	if (!*capture->reason)
		snprintf(capture->reason, EP_CAPTURE_REASON_BYTES, "%s: %s", what, ep_strerror(r));
	return r;
}

int ep_capture_open(struct ep_capture *capture)
{
	const struct ep_capture_options *options = capture->options;
	int r = options->core
			? ep_snapshot_open_core(options->core, &capture->snapshot, capture->reason)
			: ep_snapshot_open_live(options->pid, &capture->snapshot, capture->reason);

	if (r == 0)
		r = ep_fixture_new(&capture->fixture);
	if (r == 0)
		r = ep_capture_files_new(capture->snapshot, capture->fixture, &capture->source.files);
	if (r == 0) /* as much as can be done while the process runs */
		r = ep_capture_files_update(capture->source.files);
	return r < 0 ? ep_capture_fail(capture, r, "cannot read the process") : 0;
}

void ep_capture_describe(struct ep_capture *capture)
{
	const struct ep_snapshot *snapshot = capture->snapshot;
	struct ep_fixture *fixture = capture->fixture;

	fixture->arch = snapshot->arch;
	fixture->pid = snapshot->pid;
	fixture->start_ns = snapshot->start_ns;
	fixture->origin = ep_fixture_string(fixture, snapshot->origin);
}

int ep_capture_add_languages(const struct ep_capture *capture, struct ep_replay *replay)
{
	for (size_t i = 0; i < capture->options->n_plugins; i++) {
		const struct ep_plugin *plugin = capture->options->plugins[i];
		int r = ep_replay_add_language(replay, plugin);

		if (r == -ENOMEM)
			return r;
		if (r < 0)
			ep_log(EP_LOG_WARN,
			       "capture: plugin %s: its BPF program cannot be run here, its frames "
			       "are recorded as native ones: %s",
			       plugin->name, ep_strerror(r));
	}
	return 0;
}

static int print(struct ep_replay *replay, struct ep_vec *text)
{
	ep_vec_fini(text);
	ep_vec_init(text, 1, EP_CAPTURE_MAX_TEXT);
	return ep_replay_print(replay, text);
}

static int name_languages(struct ep_capture *capture, const struct ep_replay *replay)
{
	ep_cleanup(ep_vec_fini) struct ep_vec names = {0};
	int r;

	ep_vec_init(&names, 1, 4096);
	r = ep_replay_languages(replay, &names);
	if (r == 0)
		r = ep_vec_append(&names, "", 1);
	if (r == 0)
		capture->fixture->languages = ep_fixture_string(capture->fixture, names.data);
	return r;
}

/* Everything that is asked of the process is asked here, while it stands still. */
static int look(struct ep_capture *capture, struct ep_replay *replay)
{
	int r = ep_capture_add_languages(capture, replay);

	if (r == 0)
		r = ep_replay_attach(replay);
	if (r == 0)
		r = name_languages(capture, replay);
	return r < 0 ? r : print(replay, &capture->result->text);
}

int ep_capture_take_threads(struct ep_capture *capture)
{
	const struct ep_capture_options *options = capture->options;
	const struct ep_replay_thread *thread;
	int r = 0;

	ep_vec_each (&capture->snapshot->threads, thread) {
		bool is_wanted = options->n_tids == 0;

		for (size_t i = 0; i < options->n_tids; i++)
			is_wanted |= (uint32_t)options->tids[i] == thread->tid;
		if (r == 0 && is_wanted)
			r = ep_vec_append(&capture->fixture->threads, thread, 1);
	}
	if (r < 0 || capture->fixture->threads.len > 0)
		return r;
	snprintf(capture->reason, EP_CAPTURE_REASON_BYTES,
		 "process %u has no thread of those that -t names", capture->snapshot->pid);
	return -ESRCH;
}

/*
 * What plugins ask of files is asked before the process stands still, and then known. It may load
 * others until then.
 */
static int probe(struct ep_capture *capture)
{
	ep_cleanup(ep_replay_freep) struct ep_replay *replay = NULL;
	int r;

	if (capture->options->core)
		return 0;
	r = ep_replay_new(capture->fixture, &capture->source, NULL, &replay);
	return r < 0 ? r : ep_capture_add_languages(capture, replay);
}

static int record(struct ep_capture *capture)
{
	ep_cleanup(ep_replay_freep) struct ep_replay *replay = NULL;
	const struct ep_snapshot_ops *ops = capture->snapshot->ops;
	uint64_t stopped_ns;
	int r;

	ep_capture_describe(capture);
	r = probe(capture);
	stopped_ns = ep_clock_mono_ns();
	if (r == 0 && !capture->options->core)
		r = ep_snapshot_stop(capture->snapshot, capture->reason);
	if (r == 0)
		r = ep_capture_files_update(capture->source.files);
	if (r == 0)
		r = ep_capture_take_threads(capture);
	if (r == 0)
		r = ep_replay_new(capture->fixture, &capture->source, NULL, &replay);
	if (r == 0)
		r = look(capture, replay);
	if (ops->resume) {
		ops->resume(capture->snapshot);
		capture->result->stopped_ns = ep_clock_mono_ns() - stopped_ns;
	}
	capture->source.has_names = true;
	if (r == 0)
		r = print(replay, &capture->result->text);
	if (r == 0)
		r = ep_vec_append(&capture->data, capture->fixture->data.data,
				  capture->fixture->data.len);
	if (r == 0)
		r = ep_replay_trim(replay);
	return r < 0 ? ep_capture_fail(capture, r, "cannot record the process") : 0;
}

/* What comes of what is to be written, where that is no failure. */
enum capture_outcome {
	CAPTURE_DIFFERS = 1, /* other stacks than those that were seen */
	CAPTURE_ASKS,	     /* the same, but a plugin asks what it has no answer to */
};

/* What is to be written must give the stacks that were seen. 0, an outcome, or a negative errno. */
static int compare(struct ep_capture *capture, struct ep_vec *text)
{
	ep_cleanup(ep_fixture_freep) struct ep_fixture *fixture = NULL;
	ep_cleanup(ep_replay_freep) struct ep_replay *replay = NULL;
	const struct ep_vec *file = &capture->result->file, *seen = &capture->result->text;
	int r = ep_fixture_decode(file->data, file->len, &fixture);

	if (r == 0)
		r = ep_replay_new(fixture, NULL, NULL, &replay);
	if (r == 0)
		r = ep_capture_add_languages(capture, replay);
	if (r == 0)
		r = ep_replay_attach(replay);
	if (r == 0)
		r = print(replay, text);
	if (r < 0)
		return ep_capture_fail(capture, r, "what was recorded cannot be read again; report this");
	if (text->len != seen->len || memcmp(text->data, seen->data, text->len) != 0)
		return CAPTURE_DIFFERS;
	return ep_replay_faults(replay)->unanswered > 0 ? CAPTURE_ASKS : 0;
}

static int encode(struct ep_capture *capture, struct ep_vec *text)
{
	int r;

	capture->result->file.len = 0;
	r = ep_fixture_encode(capture->fixture, &capture->result->file);
	return r < 0 ? r : compare(capture, text);
}

/* Trimmed if that is enough; a plugin may have looked for more in a file than what memory points to. */
static int make_file(struct ep_capture *capture)
{
	struct ep_vec *seen = &capture->result->text, *data = &capture->fixture->data;
	ep_cleanup(ep_vec_fini) struct ep_vec text = {0};
	int r = encode(capture, &text);

	if (r > 0) {
		if (data->len > 0)
			memcpy(data->data, capture->data.data, data->len);
		r = encode(capture, &text);
	}
	if (r != CAPTURE_DIFFERS)
		return r < 0 ? r : 0;
	if (ep_log_get_level() >= EP_LOG_DEBUG)
		fprintf(stderr, "--- seen\n%.*s--- replayed\n%.*s", (int)seen->len,
			(char *)seen->data, (int)text.len, (char *)text.data);
	snprintf(capture->reason, EP_CAPTURE_REASON_BYTES,
		 "the stacks replayed from what was recorded differ from those seen: nothing was "
		 "written; -vv shows both");
	return -EILSEQ;
}

static int record_file(struct ep_capture *capture)
{
	int r = record(capture);

	if (r == 0)
		r = make_file(capture);
	if (r == 0)
		capture->result->memory_bytes =
			capture->fixture->block_addrs.len * EP_FIXTURE_BLOCK_BYTES;
	return r;
}

static int run(const struct ep_capture_options *options, struct ep_capture_result *result,
	       char reason[EP_CAPTURE_REASON_BYTES], int (*work)(struct ep_capture *capture))
{
	struct ep_capture capture = {.options = options, .result = result, .reason = reason};
	int r;

	*reason = '\0';
	ep_vec_init(&result->file, 1, EP_FIXTURE_MAX_BYTES);
	ep_vec_init(&capture.data, 1, EP_FIXTURE_MAX_BYTES);
	capture.source = (struct ep_replay_source){
		.arg = &capture,
		.read_block = source_block,
	};
	r = ep_capture_open(&capture);
	if (r == 0)
		r = work(&capture);
	if (r == 0)
		result->n_threads = capture.fixture->threads.len;
	ep_vec_fini(&capture.data);
	ep_capture_files_free(capture.source.files);
	ep_snapshot_close(capture.snapshot);
	ep_fixture_free(capture.fixture);
	return r < 0 ? ep_capture_fail(&capture, r, "cannot record the process") : 0;
}

int ep_capture_run(const struct ep_capture_options *options, struct ep_capture_result *result,
		   char reason[EP_CAPTURE_REASON_BYTES])
{
	return run(options, result, reason, record_file);
}

int ep_capture_dump(const struct ep_capture_options *options, struct ep_capture_result *result,
		    char reason[EP_CAPTURE_REASON_BYTES])
{
	return run(options, result, reason, ep_capture_take_stacks);
}

void ep_capture_result_fini(struct ep_capture_result *result)
{
	ep_vec_fini(&result->file);
	ep_vec_fini(&result->text);
}
