/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/namer.h"
#include "core/agent/kernel_names.h"
#include "core/agent/native_names.h"
#include "core/language/instance.h"
#include "core/language/languages.h"
#include "core/process/processes.h"
#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/trace/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

/* Names that do not go away are looked for together: those of a file, which stays open for 3 s when nobody maps
 * it more; and those of a process. */
#define FILE_WAIT_NS	(2 * EP_NS_PER_SEC)
#define PROCESS_WAIT_NS (400 * EP_NS_PER_MS)
/* What failed and may pass is tried again after that; each time after twice as long. */
#define TRY_AGAIN_NS  EP_NS_PER_SEC
#define MAX_DOUBLINGS 6
/* A language that is busy is asked again after a part of the time that its frames waited, within these. */
#define BUSY_MIN_NS (2 * EP_NS_PER_MS)
#define BUSY_MAX_NS (500 * EP_NS_PER_MS)
#define BUSY_PART   4
#define MAX_BUSY    256 /* of those that were, at once */
#define MAX_GROUPS  65536

/*
 * Frames that are named together: those of an executable, or of a language in a process. Each time that a job
 * for frames failed they are a group of their own.
 */
struct group {
	TAILQ_ENTRY(group) link;
	struct group *next; /* with the same hash */
	struct ep_program program;
	uint32_t kind, executable, tries;
	uint64_t since_ns, due_ns;
	bool busy;	   /* when it was tried, its language was, or all workers for names */
	bool over_budget;	   /* the same: its process has spent more than its share */
	struct ep_vec ids; /* uint32_t */
};

struct kernel_frame {
	uint32_t id;
	uint64_t seen_ns;
};

/* What waits in one table of frames. */
struct queue {
	LIST_ENTRY(queue) link;
	struct ep_frames *frames; /* a reference */
	struct ep_map by_hash;	  /* to struct group * */
	TAILQ_HEAD(group_list, group) groups;
	uint64_t due_ns; /* the first of them; UINT64_MAX: there is none */
	struct ep_vec kernel; /* struct kernel_frame */
	uint64_t kernel_turn; /* the snapshot they were looked for in */
};

struct ep_namer {
	struct ep_namer_options options;
	struct ep_native_names *native;
	LIST_HEAD(, queue) queues;
	struct ep_kernel_names *kernel;
	size_t own_jobs;
};

/* --- kernel ---------------------------------------------------------------------------------- */

static void name_kernel_frames(struct ep_namer *namer, struct queue *queue, enum ep_namer_when when,
			       uint64_t now_ns)
{
	struct kernel_frame *frame;
	size_t kept = 0;

	if (queue->kernel_turn != ep_kernel_names_turn(namer->kernel)) {
		queue->kernel_turn = ep_kernel_names_turn(namer->kernel);
		ep_vec_each(&queue->kernel, frame) {
			if (!ep_kernel_names_resolve(namer->kernel, queue->frames, frame->id, frame->seen_ns))
				*ep_vec_at(&queue->kernel, struct kernel_frame, kept++) = *frame;
		}
		queue->kernel.len = kept;
	}
	if (queue->kernel.len > 0)
		ep_kernel_names_want(namer->kernel, now_ns, when == EP_NAMER_ALL);
}

/* --- what waits ------------------------------------------------------------------------------ */

static uint64_t hash_group(const struct group *key)
{
	uint64_t hash = ep_mix64((uint64_t)key->kind << 32 | key->executable);

	hash = ep_mix64(hash ^ ((uint64_t)key->program.pid << 32 | key->program.image));
	return ep_mix64(hash ^ key->program.start_ns ^ (uint64_t)key->tries << 58);
}

static bool is_group(const struct group *group, const struct group *key)
{
	return group->kind == key->kind && group->executable == key->executable &&
	       group->tries == key->tries && group->program.pid == key->program.pid &&
	       group->program.image == key->program.image &&
	       group->program.start_ns == key->program.start_ns;
}

static void free_group(struct queue *queue, struct group *group)
{
	uint64_t hash = hash_group(group);
	uint64_t *slot = ep_map_find(&queue->by_hash, hash);
	struct group *first = (struct group *)(uintptr_t)*slot, **at = &first;

	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	*slot = (uint64_t)(uintptr_t)first;
	if (!first)
		ep_map_remove(&queue->by_hash, hash);
	TAILQ_REMOVE(&queue->groups, group, link);
	ep_vec_fini(&group->ids);
	free(group);
}

/* How long its frames may wait for others of their kind. */
static uint64_t wait_ns(const struct ep_namer *namer, const struct group *group)
{
	const struct ep_namer_options *options = &namer->options;

	if (group->tries > 0)
		return TRY_AGAIN_NS << EP_MIN(group->tries - 1, (uint32_t)MAX_DOUBLINGS);
	if (group->kind == EP_FRAME_NATIVE)
		return FILE_WAIT_NS;
	if (!options->is_patient ||
	    !options->is_patient(options->arg, group->kind - EP_FRAME_FIRST_DYNAMIC, group->program))
		return 0;
	return PROCESS_WAIT_NS;
}

/* NULL: no memory. */
static struct group *add_group(struct ep_namer *namer, struct queue *queue, const struct group *key,
			       uint64_t hash, struct group *next, uint64_t now_ns)
{
	struct group *group = calloc(1, sizeof(*group));

	if (!group || ep_map_set(&queue->by_hash, hash, (uint64_t)(uintptr_t)group) < 0) {
		free(group);
		return NULL;
	}
	*group = *key;
	group->next = next;
	group->since_ns = now_ns;
	group->due_ns = now_ns + wait_ns(namer, key);
	ep_vec_init(&group->ids, sizeof(uint32_t), UINT32_MAX);
	TAILQ_INSERT_TAIL(&queue->groups, group, link);
	queue->due_ns = EP_MIN(queue->due_ns, group->due_ns);
	return group;
}

static struct group *get_group(struct ep_namer *namer, struct queue *queue, const struct group *key,
			       uint64_t now_ns)
{
	uint64_t hash = hash_group(key), *slot = ep_map_find(&queue->by_hash, hash);
	struct group *first = slot ? (struct group *)(uintptr_t)*slot : NULL;

	for (struct group *group = first; group; group = group->next) {
		if (is_group(group, key))
			return group;
	}
	return add_group(namer, queue, key, hash, first, now_ns);
}

/*
 * Code of no file has no name. All of a region is one function, named by where that begins: thousands of
 * addresses of one JIT would be as many rows of each table.
 */
static void take_raw_frame(const struct ep_namer *namer, struct ep_frames *frames, uint32_t id,
			   const struct ep_frame *frame)
{
	struct ep_frame_line line = {
		.start_va = ep_processes_region(namer->options.processes, frame->program,
						ep_frame_lookup_addr(frame))};

	ep_frames_resolve(frames, id, &line, line.start_va ? 1 : 0, NULL);
}

/* False: no memory. */
static bool take_frame(struct ep_namer *namer, struct queue *queue, uint32_t id, uint64_t now_ns)
{
	struct kernel_frame kernel = {.id = id, .seen_ns = now_ns};
	struct ep_frame frame;
	struct group key = {.tries = ep_frames_tries(queue->frames, id)}, *group;

	ep_frames_get(queue->frames, id, &frame);
	key.kind = frame.kind;
	if (frame.kind == EP_FRAME_KERNEL)
		return ep_kernel_names_resolve(namer->kernel, queue->frames, id, now_ns) ||
		       ep_vec_append(&queue->kernel, &kernel, 1) == 0;
	if (frame.kind >= EP_FRAME_FIRST_DYNAMIC) {
		key.program = frame.program;
	} else if (frame.kind == EP_FRAME_NATIVE && frame.aux && namer->options.native) {
		key.executable = frame.aux;
	} else if (frame.kind == EP_FRAME_NATIVE && !frame.aux) {
		take_raw_frame(namer, queue->frames, id, &frame);
		return true;
	} else {
		ep_frames_resolve(queue->frames, id, NULL, 0, NULL);
		return true;
	}
	group = get_group(namer, queue, &key, now_ns);
	if (group && ep_vec_append(&group->ids, &id, 1) == 0)
		return true;
	if (group && group->ids.len == 0)
		free_group(queue, group);
	return false;
}

static void take_frames(struct ep_namer *namer, struct queue *queue, uint64_t now_ns)
{
	uint32_t id;

	while ((id = ep_frames_take(queue->frames)) != 0) {
		if (take_frame(namer, queue, id, now_ns))
			continue;
		ep_frames_put_back(queue->frames, id);
		return;
	}
}

/* --- when it is due ---------------------------------------------------------------------------- */

static struct ep_instance *find_instance(const struct ep_namer *namer, const struct group *group)
{
	return ep_processes_language(namer->options.processes, group->program,
				     group->kind - EP_FRAME_FIRST_DYNAMIC);
}

/*
 * Starts a job for one language in one process. -EBUSY: the language works on other frames, or attaches. -EDQUOT:
 * the process has no budget for it.
 */
static int start_language(struct ep_namer *namer, struct ep_frames *frames, const struct group *group)
{
	struct ep_instance *instance = find_instance(namer, group);

	if (!instance)
		return -ESRCH;
	return ep_instance_symbolize(instance, frames, group->ids.data, group->ids.len);
}

/* Why nobody can name the frames of this group. */
static enum ep_unnamed why_unnamed(const struct group *group, int result)
{
	if (group->kind == EP_FRAME_NATIVE)
		return EP_UNNAMED_NONE; /* no symbol */
	return result == -ESRCH	   ? EP_UNNAMED_GONE
	       : result == -ENODATA ? EP_UNNAMED_NOT_ATTACHED
				    : EP_UNNAMED_UNREADABLE;
}

/* It is tried again when a job has ended, or after a part of the time that it waited. */
static void let_wait(struct queue *queue, struct group *group, uint64_t now_ns)
{
	uint64_t part_ns = (now_ns - group->since_ns) / BUSY_PART;

	group->busy = true;
	TAILQ_REMOVE(&queue->groups, group, link);
	TAILQ_INSERT_TAIL(&queue->groups, group, link);
	group->due_ns = now_ns + EP_MIN(EP_MAX(part_ns, BUSY_MIN_NS), BUSY_MAX_NS);
}

static void start_group(struct ep_namer *namer, struct queue *queue, struct group *group,
			uint64_t now_ns)
{
	int r = group->kind == EP_FRAME_NATIVE
			? ep_native_names_start(namer->native, queue->frames, group->executable, &group->ids)
			: start_language(namer, queue->frames, group);
	uint32_t *id;

	if (r == -EBUSY || r == -EDQUOT) {
		let_wait(queue, group, now_ns);
		return;
	}
	ep_vec_each(&group->ids, id) {
		if (ep_is_transient(r))
			ep_frames_put_off(queue->frames, *id);
		else if (r < 0)
			ep_frames_resolve_unnamed(queue->frames, *id, why_unnamed(group, r), NULL, 0);
	}
	free_group(queue, group);
}

static bool is_due(const struct group *group, enum ep_namer_when when, uint64_t now_ns)
{
	if (group->due_ns <= now_ns)
		return true;
	if (group->busy)
		return when == EP_NAMER_FREE;
	return when == EP_NAMER_ALL && group->tries == 0;
}

/* Processes over their budget are asked one at a time: first the one that has spent least. */
struct over_budget {
	struct group *least;
	uint64_t spent_ns; /* by it */
};

/* False: it is within its budget. */
static bool is_over_budget(const struct ep_namer *namer, struct group *group, struct over_budget *over_budget)
{
	const struct ep_instance *instance =
		group->kind >= EP_FRAME_FIRST_DYNAMIC ? find_instance(namer, group) : NULL;
	uint64_t spent_ns = instance ? ep_instance_spent_ns(instance) : 0;

	group->over_budget = spent_ns > 0;
	if (group->over_budget && (!over_budget->least || spent_ns < over_budget->spent_ns))
		*over_budget = (struct over_budget){.least = group, .spent_ns = spent_ns};
	return group->over_budget;
}

/*
 * Those that are still busy go to the end: where there are very many, others are asked the next time. Those over their
 * budget come after all others.
 */
static void start_due(struct ep_namer *namer, struct queue *queue, enum ep_namer_when when,
		      uint64_t now_ns)
{
	struct group *last = TAILQ_LAST(&queue->groups, group_list), *group, *next;
	struct over_budget over_budget = {0};
	size_t n_busy = 0;
	bool is_last = false;

	queue->due_ns = UINT64_MAX;
	for (group = TAILQ_FIRST(&queue->groups); group && !is_last && n_busy < MAX_BUSY; group = next) {
		next = TAILQ_NEXT(group, link);
		is_last = group == last;
		if (!is_due(group, when, now_ns))
			continue;
		n_busy += group->busy;
		if (is_over_budget(namer, group, &over_budget))
			let_wait(queue, group, now_ns);
		else
			start_group(namer, queue, group, now_ns);
	}
	if (over_budget.least)
		start_group(namer, queue, over_budget.least, now_ns);
	TAILQ_FOREACH (group, &queue->groups, link)
		queue->due_ns = EP_MIN(queue->due_ns, group->due_ns);
}

static struct queue *find_queue(const struct ep_namer *namer, const struct ep_frames *frames)
{
	struct queue *queue;

	LIST_FOREACH (queue, &namer->queues, link) {
		if (queue->frames == frames)
			return queue;
	}
	return NULL;
}

static struct queue *get_queue(struct ep_namer *namer, struct ep_frames *frames)
{
	struct queue *queue = find_queue(namer, frames);

	if (queue)
		return queue;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	queue->frames = ep_frames_ref(frames);
	queue->due_ns = UINT64_MAX;
	ep_map_init(&queue->by_hash, MAX_GROUPS);
	TAILQ_INIT(&queue->groups);
	ep_vec_init(&queue->kernel, sizeof(struct kernel_frame), UINT32_MAX);
	LIST_INSERT_HEAD(&namer->queues, queue, link);
	return queue;
}

static void free_queue(struct queue *queue)
{
	struct group *group;

	while ((group = TAILQ_FIRST(&queue->groups)) != NULL)
		free_group(queue, group);
	ep_map_fini(&queue->by_hash);
	ep_vec_fini(&queue->kernel);
	ep_frames_unref(queue->frames);
	LIST_REMOVE(queue, link);
	free(queue);
}

void ep_namer_run(struct ep_namer *namer, struct ep_frames *frames, enum ep_namer_when when)
{
	uint64_t now_ns = ep_clock_mono_ns();
	struct queue *queue;

	if (ep_frames_unresolved(frames) == 0)
		return;
	queue = get_queue(namer, frames);
	if (!queue)
		return;
	take_frames(namer, queue, now_ns);
	name_kernel_frames(namer, queue, when, now_ns);
	if (when != EP_NAMER_DUE || queue->due_ns <= now_ns)
		start_due(namer, queue, when, now_ns);
}

static bool has_budget(const struct ep_namer *namer, const struct group *group)
{
	const struct ep_instance *instance = find_instance(namer, group);

	return !instance || ep_instance_has_budget(instance);
}

void ep_namer_give_up(struct ep_namer *namer, struct ep_frames *frames)
{
	struct queue *queue = find_queue(namer, frames);
	struct group *group, *next;
	size_t n = 0;
	uint32_t *id;

	if (!queue)
		return;
	TAILQ_FOREACH (group, &queue->groups, link)
		n += group->over_budget && !has_budget(namer, group) ? group->ids.len : 0;
	if (n == 0 || n != ep_frames_unresolved(frames))
		return;
	for (group = TAILQ_FIRST(&queue->groups); group; group = next) {
		next = TAILQ_NEXT(group, link);
		ep_vec_each(&group->ids, id)
			ep_frames_resolve_unnamed(frames, *id, EP_UNNAMED_SLOW, NULL, 0);
		free_group(queue, group);
	}
}

void ep_namer_say_slow(struct ep_namer *namer, struct ep_frames *frames)
{
	struct queue *queue = find_queue(namer, frames);
	struct group *group;
	uint32_t *id;

	if (!queue)
		return;
	TAILQ_FOREACH (group, &queue->groups, link) {
		if (!group->over_budget)
			continue;
		ep_vec_each(&group->ids, id)
			ep_frames_wait_long(frames, *id);
	}
}

static void name_now(struct ep_namer *namer, struct ep_frames *frames, const struct group *key)
{
	struct queue *queue = ep_frames_unresolved(frames) ? get_queue(namer, frames) : NULL;
	uint64_t now_ns = ep_clock_mono_ns();
	struct group *group;

	if (!queue)
		return;
	take_frames(namer, queue, now_ns);
	TAILQ_FOREACH (group, &queue->groups, link) {
		if (!is_group(group, key))
			continue;
		start_group(namer, queue, group, now_ns);
		break;
	}
}

void ep_namer_name_program(struct ep_namer *namer, struct ep_frames *frames, struct ep_program program, uint32_t slot)
{
	const struct group key = {.kind = EP_FRAME_FIRST_DYNAMIC + slot, .program = program};

	name_now(namer, frames, &key);
}

void ep_namer_name_executable(struct ep_namer *namer, struct ep_frames *frames, uint32_t executable)
{
	const struct group key = {.kind = EP_FRAME_NATIVE, .executable = executable};

	name_now(namer, frames, &key);
}

void ep_namer_let_go(struct ep_namer *namer, uint32_t executable)
{
	ep_native_names_let_go(namer->native, executable);
}

void ep_namer_sweep(struct ep_namer *namer)
{
	struct queue *queue, *next;
	size_t n_kernel = 0;

	for (queue = LIST_FIRST(&namer->queues); queue; queue = next) {
		next = LIST_NEXT(queue, link);
		n_kernel += queue->kernel.len;
		if (!ep_frames_is_shared(queue->frames))
			free_queue(queue);
	}
	if (n_kernel == 0)
		ep_kernel_names_rest(namer->kernel, ep_clock_mono_ns());
	ep_native_names_sweep(namer->native, ep_clock_mono_ns());
}

int ep_namer_new(const struct ep_namer_options *options, struct ep_namer **ret_namer)
{
	const struct ep_kernel_names_options kernel = {
		.loop = options->loop,
		.wanted = options->kernel,
		.kallsyms = options->kallsyms,
		.code = options->kernel_code,
		.progress = options->progress,
		.arg = options->arg,
	};
	struct ep_native_names_options native = {
		.loop = options->loop,
		.processes = options->processes,
		.max_bytes = options->max_bytes,
		.memory = options->memory,
		.name_jobs = options->name_jobs,
		.progress = options->progress,
		.arg = options->arg,
	};
	struct ep_namer *namer = calloc(1, sizeof(*namer));
	int r;

	if (!namer)
		return -ENOMEM;
	namer->options = *options;
	if (!options->name_jobs)
		native.name_jobs = &namer->own_jobs;
	LIST_INIT(&namer->queues);
	r = ep_native_names_new(&native, &namer->native);
	if (r < 0) {
		free(namer);
		return r;
	}
	r = ep_kernel_names_new(&kernel, &namer->kernel);
	if (r < 0) {
		ep_namer_free(namer);
		return r;
	}
	*ret_namer = namer;
	return 0;
}

void ep_namer_drain(struct ep_namer *namer)
{
	ep_native_names_drain(namer->native);
}

void ep_namer_stop(struct ep_namer *namer)
{
	ep_native_names_stop(namer->native);
}

void ep_namer_free(struct ep_namer *namer)
{
	struct queue *queue;

	if (!namer)
		return;
	while ((queue = LIST_FIRST(&namer->queues)) != NULL)
		free_queue(queue);
	ep_native_names_free(namer->native);
	ep_kernel_names_free(namer->kernel);
	free(namer);
}

size_t ep_namer_busy(const struct ep_namer *namer)
{
	return ep_native_names_busy(namer->native) + ep_kernel_names_busy(namer->kernel);
}

size_t ep_namer_bytes(const struct ep_namer *namer)
{
	return ep_kernel_names_bytes(namer->kernel) + ep_native_names_bytes(namer->native);
}

const char *ep_namer_kernel_build_id(const struct ep_namer *namer)
{
	return ep_kernel_names_build_id(namer->kernel);
}
