/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/language.h"
#include "core/process/language_internal.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/trace/frames.h"

#include <errno.h>
#include <string.h>

struct wanted {
	uint32_t id; /* in the frame table */
	struct ep_raw_frame raw;
	int result;
};

struct names_job {
	struct ep_instance *instance;
	struct ep_frames *frames; /* a reference, loop's thread only */
	size_t n;
	struct wanted *wanted;
	struct ep_lines lines; /* of the first of them, until it is full */
	bool full;
};

static void free_job(struct names_job *job)
{
	ep_frames_unref(job->frames);
	ep_lines_fini(&job->lines);
	free(job->wanted);
	free(job);
}

static int add_name(void *arg, const struct ep_name *name)
{
	struct names_job *job = arg;
	int r = ep_lines_add_name(&job->lines, name);

	job->full |= r == -E2BIG;
	return r;
}

/* What a plugin makes of a list that is full does not matter: the frame is asked for again. */
static void run_names(void *arg)
{
	struct names_job *job = arg;
	struct ep_instance *instance = job->instance;
	const struct ep_unwinder_ops *ops = instance->claim->language->ops;
	struct ep_names names = {.add = add_name, .arg = job};

	for (size_t i = 0; i < job->n; i++) {
		struct wanted *wanted = &job->wanted[i];

		wanted->result = ops->symbolize(instance->handle, &wanted->raw, &names);
		ep_instance_end_call(instance, job->full ? -E2BIG : wanted->result);
		if (job->full)
			return;
		if (wanted->result != 0)
			ep_lines_drop(&job->lines);
		ep_lines_end(&job->lines);
	}
}

static void take_wanted(const struct names_job *job, size_t i)
{
	const struct wanted *wanted = &job->wanted[i];
	struct ep_instance *instance = job->instance;
	struct ep_languages *languages = instance->languages;
	struct ep_frame_line lines[EP_FRAME_MAX_LINES];
	size_t n_lines = ep_lines_get(&job->lines, i, lines);

	languages->lines_left_out +=
		ep_frames_resolve(job->frames, wanted->id, lines, n_lines, NULL);
	languages->symbolized += n_lines > 0;
	languages->gone += wanted->result == EP_FRAME_GONE;
	languages->unnamed += n_lines == 0 && wanted->result != EP_FRAME_GONE;
	if (wanted->result < 0)
		ep_log(EP_LOG_DEBUG, "%s: pid %d: frame 0x%llx: %s",
		       instance->claim->language->name, (int)instance->pid,
		       (unsigned long long)wanted->raw.words[0], ep_strerror(wanted->result));
}

/* True when the frame is to be asked for once more: its names did not fit, or it is too early. */
static bool is_put_back(const struct names_job *job, size_t i, enum ep_attachment was)
{
	return i >= ep_lines_frames(&job->lines) ||
	       ep_instance_end_frame(job->instance, was, job->wanted[i].result);
}

/*
 * When the process has just gone, its frames are looked for once more: in its parent. Those that the
 * plugin cannot name yet, or whose names did not fit any more, wait for the next job.
 */
static void finish_names(void *arg)
{
	struct names_job *job = arg;
	struct ep_instance *instance = job->instance;
	struct ep_languages *languages = instance->languages;
	enum ep_attachment was = instance->attachment;

	for (size_t i = 0; i < job->n; i++) {
		if (is_put_back(job, i, was))
			ep_frames_put_back(job->frames, job->wanted[i].id);
		else
			take_wanted(job, i);
	}
	languages->lines_left_out += job->lines.left_out;
	free_job(job);
	instance->used_ns = ep_clock_mono_ns();
	ep_instance_end_job(instance);
	if (!languages->stopped)
		languages->options.named(languages->options.arg);
}

static void take_frame(struct names_job *job, struct wanted *wanted, uint32_t id)
{
	struct ep_frame frame;

	ep_frames_get(job->frames, id, &frame);
	wanted->id = id;
	wanted->raw = (struct ep_raw_frame){
		.aux = frame.aux,
		.n_words = frame.n_words,
		.flags = frame.flags,
	};
	memcpy(wanted->raw.words, frame.words, sizeof(frame.words));
}

static struct names_job *new_job(struct ep_instance *instance, struct ep_frames *frames,
				 const uint32_t *ids, size_t n)
{
	struct names_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->instance = instance;
	job->frames = ep_frames_ref(frames);
	job->n = n;
	job->wanted = calloc(n, sizeof(*job->wanted));
	if (ep_lines_init(&job->lines, n) < 0 || !job->wanted) {
		free_job(job);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		take_frame(job, &job->wanted[i], ids[i]);
	return job;
}

int ep_instance_symbolize(struct ep_instance *instance, struct ep_frames *frames,
			  const uint32_t *ids, size_t n)
{
	struct names_job *job;
	int r;

	r = ep_instance_wake(instance);
	if (r < 0)
		return r;
	job = new_job(instance, frames, ids, n);
	if (!job)
		return -ENOMEM;
	r = ep_instance_start_job(instance, run_names, finish_names, job);
	if (r < 0)
		free_job(job);
	return r;
}
