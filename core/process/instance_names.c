/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/language.h"
#include "core/process/language_internal.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/trace/frames.h"

#include <errno.h>
#include <string.h>

#define MAX_LINES	 (1u << 20) /* of one job */
#define MAX_STRING_BYTES (16u << 20)

/* A name while it is on its way from the worker: strings by offset into `text`. */
struct line {
	uint32_t function, file; /* offset + 1; 0: none */
	uint32_t line, column, start_line;
};

struct wanted {
	uint32_t id; /* in the frame table */
	struct ep_raw_frame raw;
	uint32_t first, n_lines;
	int result;
};

struct names_job {
	struct ep_instance *instance;
	struct ep_frames *frames; /* a reference, loop's thread only */
	size_t n;
	struct wanted *wanted;
	struct ep_vec lines; /* struct line */
	struct ep_vec text;  /* char */
};

static void free_job(struct names_job *job)
{
	ep_frames_unref(job->frames);
	ep_vec_fini(&job->lines);
	ep_vec_fini(&job->text);
	free(job->wanted);
	free(job);
}

static int add_text(struct names_job *job, const char *str, uint32_t *ret_off)
{
	size_t at = job->text.len;
	int r;

	*ret_off = 0;
	if (!str)
		return 0;
	r = ep_vec_append(&job->text, str, strlen(str) + 1);
	if (r == 0)
		*ret_off = (uint32_t)at + 1;
	return r;
}

static int add_name(void *arg, const struct ep_name *name)
{
	struct names_job *job = arg;
	struct line line = {
		.line = EP_HAS(name, line) ? name->line : 0,
		.column = EP_HAS(name, column) ? name->column : 0,
		.start_line = EP_HAS(name, start_line) ? name->start_line : 0,
	};
	int r = add_text(job, EP_HAS(name, function) ? name->function : NULL, &line.function);

	if (r == 0)
		r = add_text(job, EP_HAS(name, file) ? name->file : NULL, &line.file);
	return r < 0 ? r : ep_vec_append(&job->lines, &line, 1);
}

static void run_names(void *arg)
{
	struct names_job *job = arg;
	struct ep_instance *instance = job->instance;
	const struct ep_unwinder_ops *ops = instance->claim->language->ops;
	struct ep_names names = {.add = add_name, .arg = job};

	for (size_t i = 0; i < job->n; i++) {
		struct wanted *wanted = &job->wanted[i];

		wanted->first = (uint32_t)job->lines.len;
		wanted->result = ops->symbolize(instance->handle, &wanted->raw, &names);
		ep_instance_end_call(instance, wanted->result);
		if (wanted->result != 0)
			job->lines.len = wanted->first;
		wanted->n_lines = (uint32_t)job->lines.len - wanted->first;
	}
}

static const char *text_at(const struct names_job *job, uint32_t off)
{
	return off ? (const char *)job->text.data + off - 1 : NULL;
}

static void resolve(const struct names_job *job, const struct wanted *wanted)
{
	struct ep_frame_line lines[EP_FRAME_MAX_LINES];
	size_t n = EP_MIN(wanted->n_lines, (uint32_t)EP_FRAME_MAX_LINES);

	for (size_t i = 0; i < n; i++) {
		const struct line *line = ep_vec_at(&job->lines, struct line, wanted->first + i);

		lines[i] = (struct ep_frame_line){
			.function = text_at(job, line->function),
			.file = text_at(job, line->file),
			.line = line->line,
			.column = line->column,
			.start_line = line->start_line,
		};
	}
	ep_frames_resolve(job->frames, wanted->id, lines, n, NULL);
}

static void take_wanted(const struct names_job *job, const struct wanted *wanted)
{
	struct ep_instance *instance = job->instance;
	struct ep_languages *languages = instance->languages;

	resolve(job, wanted);
	languages->symbolized += wanted->n_lines > 0;
	languages->gone += wanted->result == EP_FRAME_GONE;
	languages->unnamed += wanted->n_lines == 0 && wanted->result != EP_FRAME_GONE;
	if (wanted->result < 0)
		ep_log(EP_LOG_DEBUG, "%s: pid %d: frame 0x%llx: %s",
		       instance->claim->language->name, (int)instance->pid,
		       (unsigned long long)wanted->raw.words[0], ep_strerror(wanted->result));
}

/*
 * When the process has just gone, its frames are looked for once more: in its parent. Those that the
 * plugin cannot name yet wait for the next job.
 */
static void finish_names(void *arg)
{
	struct names_job *job = arg;
	struct ep_instance *instance = job->instance;
	struct ep_languages *languages = instance->languages;
	enum ep_attachment was = instance->attachment;

	for (size_t i = 0; i < job->n; i++) {
		const struct wanted *wanted = &job->wanted[i];

		if (ep_instance_end_frame(instance, was, wanted->result))
			ep_frames_put_back(job->frames, wanted->id);
		else
			take_wanted(job, wanted);
	}
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
	ep_vec_init(&job->lines, sizeof(struct line), MAX_LINES);
	ep_vec_init(&job->text, 1, MAX_STRING_BYTES);
	job->wanted = calloc(n, sizeof(*job->wanted));
	if (!job->wanted) {
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
