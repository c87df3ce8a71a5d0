/* SPDX-License-Identifier: Apache-2.0 */
#include "core/language/internal.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/plugin/job.h"
#include "core/trace/frames.h"

#include <errno.h>
#include <string.h>

/*
 * Whoever writes a program decides how long its frames take to be named, and four workers do all
 * that the loop does not. So a job makes space for others after JOB_NS, and the rest of its frames
 * waits in libuv's queue; the reads of one frame fail after EP_FRAME_READS_NS. Its process is
 * charged for the CPU time (account.h). One over its budget begins only while nobody else's names
 * are looked for: others wait for one frame of it, at most.
 */
#define JOB_NS (20 * EP_NS_PER_MS)
/*
 * A frame is not there yet for half a minute (core/agent/namer.c: after 1, 2, 4, 8, 16 s): it will
 * not come.
 */
#define MAX_TRIES 5

struct wanted {
	uint32_t id; /* in the frame table */
	struct ep_raw_frame raw;
	int result;
	bool again; /* it is too early, or its process is gone: its parent is asked */
	bool by_kept;
};

struct names_job {
	struct ep_instance *instance;
	struct ep_frames *frames; /* a reference, loop's thread only */
	size_t n, first; /* frames, and those that earlier runs are done with */
	struct wanted *wanted;
	struct ep_lines lines; /* from the first on, until it is full */
	bool full;
	bool ended; /* the process has */
};

/* --- what was kept of the process ------------------------------------------------------------ */

void ep_instance_keep(struct ep_instance *instance, const struct ep_kept *kept, size_t bytes)
{
	struct ep_languages *languages = instance->languages;

	if (languages->kept_bytes + bytes > EP_KEPT_ALL_BYTES ||
	    ep_kept_memory_add(&instance->arrived.memory, kept, bytes) < 0) {
		languages->kept_refused++;
		return;
	}
	instance->arrived.bytes += bytes;
	languages->kept_bytes += bytes;
}

static void forget(struct ep_instance *instance, struct ep_kept_memory *memory, size_t *bytes)
{
	ep_kept_memory_fini(memory);
	ep_kept_memory_init(memory);
	instance->languages->kept_bytes -= *bytes;
	*bytes = 0;
}

void ep_instance_forget_kept(struct ep_instance *instance)
{
	forget(instance, &instance->job.kept, &instance->job.kept_bytes);
	forget(instance, &instance->arrived.memory, &instance->arrived.bytes);
}

/*
 * Before a job: what has arrived is the job's. What earlier jobs had is of no use after a while,
 * and there must be space for code that comes and goes in an old process (ep_ask_keep).
 */
static void take_kept(struct ep_instance *instance)
{
	uint64_t now_ns = ep_clock_mono_ns();

	if (instance->job.kept_bytes &&
	    (now_ns - instance->job.kept_ns > EP_KEPT_NS ||
	     instance->job.kept_bytes + instance->arrived.bytes > EP_KEPT_MAX_BYTES))
		forget(instance, &instance->job.kept, &instance->job.kept_bytes);
	if (!instance->job.kept_bytes)
		instance->job.kept_ns = now_ns;
	ep_kept_memory_move(&instance->job.kept, &instance->arrived.memory);
	instance->job.kept_bytes += instance->arrived.bytes;
	instance->arrived.bytes = 0;
}

/* --- jobs ------------------------------------------------------------------------------------ */

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

/*
 * Names a frame by the memory that was kept. Its names replace those that stand in for one; when it
 * fails, its names are dropped.
 */
static bool name_by_kept(struct names_job *job, struct wanted *wanted, struct ep_names *names)
{
	size_t n_stand_in = ep_lines_in_hand(&job->lines);

	wanted->by_kept =
		ep_attached_symbolize_kept(&job->instance->job.attached, &wanted->raw, names);
	if (!wanted->by_kept) {
		ep_lines_drop_from(&job->lines, n_stand_in);
		return false;
	}
	ep_lines_drop_before(&job->lines, n_stand_in);
	wanted->again = false;
	wanted->result = 0;
	return true;
}

/* Reads the process itself; where that or the code is gone, the memory that was kept. */
static void name_frame(struct names_job *job, struct wanted *wanted, struct ep_names *names)
{
	struct ep_attached *attached = &job->instance->job.attached;

	if (job->ended) {
		attached->result = -ESRCH;
		if (name_by_kept(job, wanted, names))
			return;
	}
	wanted->again = ep_attached_symbolize(attached, &wanted->raw, names);
	wanted->by_kept = false;
	wanted->result = attached->result;
	if (wanted->result != 0)
		ep_lines_drop(&job->lines);
	if (!job->full && !job->ended)
		(void)name_by_kept(job, wanted, names);
}

/*
 * A frame for which reads have failed since it took a second, on a thread that had no work, has
 * kept a worker from others for so long: that counts as well.
 */
static uint64_t take_cost(struct names_job *job, const struct wanted *wanted, uint64_t cpu_ns,
			  uint64_t wall_ns)
{
	uint64_t now_ns = ep_clock_thread_cpu_ns(), spent_ns = now_ns - cpu_ns, idle_ns = 0;

	if (wanted->result == -ETIME && spent_ns < EP_FRAME_READS_NS)
		idle_ns = ep_clock_mono_ns() - wall_ns - spent_ns;
	ep_cost_add(&job->instance->job.cost, spent_ns + idle_ns, EP_FRAME_WORTH_NS);
	job->instance->job.cost.idle_ns += idle_ns;
	job->instance->job.cost.owner_ns += spent_ns - EP_MIN(spent_ns, EP_FRAME_FREE_NS);
	return now_ns;
}

/* What a plugin makes of a list that is full does not matter: the frame is asked for again. */
static void run_names(void *arg)
{
	struct names_job *job = arg;
	struct ep_instance *instance = job->instance;
	struct ep_names names = {.add = add_name, .arg = job};
	uint64_t start_ns = ep_clock_mono_ns(), now_ns = start_ns,
		 cpu_ns = ep_clock_thread_cpu_ns();

	for (size_t i = job->first; i < job->n && now_ns - start_ns < JOB_NS; i++) {
		struct wanted *wanted = &job->wanted[i];

		if (atomic_load(&instance->languages->stopped))
			break;
		ep_process_target_next_frame(&instance->job.target);
		name_frame(job, wanted, &names);
		cpu_ns = take_cost(job, wanted, cpu_ns, now_ns);
		if (job->full && wanted->result != -ETIME)
			break;
		job->full = false;
		if (wanted->result != 0)
			ep_lines_drop(&job->lines);
		ep_lines_end(&job->lines);
		now_ns = ep_clock_mono_ns();
	}
	ep_attached_end_names(&instance->job.attached);
}

/*
 * Why an answer has no name. EP_NOT_YET at the end: the process went before it was there, or it
 * never was.
 */
static enum ep_unnamed why_unnamed(int result)
{
	if (result == EP_FRAME_GONE || result == EP_NOT_YET || result == -ESRCH)
		return EP_UNNAMED_GONE;
	return result == -ETIME ? EP_UNNAMED_SLOW : EP_UNNAMED_UNREADABLE;
}

static void take_wanted(const struct names_job *job, size_t i)
{
	const struct wanted *wanted = &job->wanted[i];
	struct ep_instance *instance = job->instance;
	struct ep_languages *languages = instance->languages;
	struct ep_frame_line lines[EP_FRAME_MAX_LINES];
	size_t n_lines = ep_lines_get(&job->lines, i - job->first, lines);
	enum ep_unnamed why = wanted->result ? why_unnamed(wanted->result)
					     : ep_lines_unnamed(&job->lines, i - job->first);

	languages->lines_left_out +=
		ep_frames_resolve_unnamed(job->frames, wanted->id, why, lines, n_lines);
	languages->symbolized += n_lines > 0;
	languages->named_by_kept += wanted->by_kept;
	languages->gone += wanted->result == EP_FRAME_GONE;
	languages->unnamed += n_lines == 0 && wanted->result != EP_FRAME_GONE;
	if (instance->used_ns - instance->born_ns > EP_NS_PER_SEC) {
		instance->claim->language->waited++;
		instance->claim->language->waited_gone += wanted->result == EP_FRAME_GONE;
	}
	languages->late += wanted->result == -ETIME;
	if (wanted->result < 0)
		ep_log(EP_LOG_DEBUG, "%s: pid %d: frame 0x%llx: %s",
		       instance->claim->language->name, (int)instance->pid,
		       (unsigned long long)wanted->raw.words[0], ep_strerror(wanted->result));
}

/*
 * Who must wait is informed when there is something to ask for: when a job has ended, or when the
 * budget covers it.
 */
static int may_begin(const struct ep_instance *instance)
{
	struct ep_languages *languages = instance->languages;
	uint64_t wait_ns = ep_instance_budget_wait_ns(instance);

	if (wait_ns && wait_ns < UINT64_MAX)
		ep_languages_name_later(languages, wait_ns);
	if (wait_ns)
		return -EDQUOT;
	if (ep_instance_is_within_budget(instance))
		return *languages->naming < languages->max_naming ? 0 : -EBUSY;
	return *languages->naming == 0 && languages->n_over_budget == 0 ? 0 : -EBUSY;
}

static void finish_names(void *arg);

static int start_job(struct names_job *job)
{
	struct ep_instance *instance = job->instance;
	int r;

	take_kept(instance);
	job->ended = instance->flags & EP_INSTANCE_ENDED;
	r = ep_instance_start_job(instance, run_names, finish_names, job);
	*instance->languages->naming += r == 0;
	return r;
}

/*
 * The job's other frames wait at the end of the queue. Of the processes that are over their budget,
 * the one that has spent least is served next.
 */
static bool go_on(struct names_job *job)
{
	struct ep_instance *instance = job->instance;

	ep_lines_fini(&job->lines);
	job->lines = (struct ep_lines){0};
	job->full = false;
	if (job->first == job->n || instance->flags & EP_INSTANCE_BUSY ||
	    !ep_instance_is_within_budget(instance) ||
	    instance->job.attached.state != EP_ATTACHMENT_ATTACHED || may_begin(instance) < 0 ||
	    ep_lines_init(&job->lines, job->n - job->first) < 0)
		return false;
	return start_job(job) == 0;
}

/*
 * When the process has just gone, its frames are looked for once more: in its parent. Those that
 * the plugin cannot name yet wait for a later job.
 */
static void finish_names(void *arg)
{
	struct names_job *job = arg;
	struct ep_instance *instance = job->instance;
	struct ep_languages *languages = instance->languages;
	size_t end = job->first + ep_lines_frames(&job->lines);
	uint64_t now_ns = ep_clock_mono_ns();
	bool released = instance->flags & EP_INSTANCE_RELEASED;

	for (size_t i = job->first; i < end; i++) {
		int result = job->wanted[i].result;
		bool again = job->wanted[i].again;
		bool too_early = again && result == EP_NOT_YET;

		if (too_early && ep_frames_tries(job->frames, job->wanted[i].id) == MAX_TRIES)
			take_wanted(job, i);
		else if (ep_is_transient(result) || too_early)
			ep_frames_put_off(job->frames, job->wanted[i].id);
		else if (again)
			ep_frames_put_back(job->frames, job->wanted[i].id);
		else
			take_wanted(job, i);
	}
	languages->lines_left_out += job->lines.left_out;
	--*languages->naming;
	instance->used_ns = now_ns;
	job->first = end;
	if (job->ended && end == job->n && languages->kept_bytes > EP_KEPT_MUCH_BYTES &&
	    ep_kept_memory_is_empty(&instance->arrived.memory))
		ep_instance_forget_kept(instance);
	ep_instance_end_job(instance);
	if (released || !go_on(job)) {
		for (size_t i = end; i < job->n; i++)
			ep_frames_put_back(job->frames, job->wanted[i].id);
		free_job(job);
	}
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
	if (r == 0)
		r = may_begin(instance);
	if (r < 0)
		return r;
	job = new_job(instance, frames, ids, n);
	if (!job)
		return -ENOMEM;
	r = start_job(job);
	if (r < 0)
		free_job(job);
	return r;
}
