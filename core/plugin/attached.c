/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/attached.h"
#include "core/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LOOKS_BACK 64
#define MAX_READ ((size_t)1 << 20) /* at once, where reads are bounded in time */

/* --- states ---------------------------------------------------------------------------------- */

enum outcome {
	DONE,
	NOT_YET,
	UNKNOWN, /* a layout that is not known */
	LOST,	 /* no such process */
	FAILED,	 /* and it may pass */
};

struct rule {
	enum ep_attachment_call call;
	enum ep_attachment from;
	enum outcome outcome;
	struct ep_attachment_step to;
};

#define ATTACH	  EP_ATTACHMENT_ATTACH
#define REFRESH	  EP_ATTACHMENT_REFRESH
#define SYMBOLIZE EP_ATTACHMENT_SYMBOLIZE
#define REST	  EP_ATTACHMENT_REST
#define WAITING	  EP_ATTACHMENT_WAITING
#define ATTACHED  EP_ATTACHMENT_ATTACHED
#define DORMANT	  EP_ATTACHMENT_DORMANT
#define REFUSED	  EP_ATTACHMENT_REFUSED
#define GONE	  EP_ATTACHMENT_GONE
#define AGAIN	  EP_ATTACHMENT_AGAIN
#define DETACH	  EP_ATTACHMENT_DETACH
#define FORGET	  EP_ATTACHMENT_FORGET

/* What is not here leaves everything as it is. */
static const struct rule rules[] = {
	{ATTACH, WAITING, DONE, {ATTACHED, 0}},
	{ATTACH, WAITING, NOT_YET, {WAITING, AGAIN}},
	{ATTACH, WAITING, FAILED, {WAITING, AGAIN}},
	{ATTACH, WAITING, UNKNOWN, {REFUSED, FORGET}},
	{ATTACH, WAITING, LOST, {GONE, FORGET}},
	{ATTACH, DORMANT, DONE, {ATTACHED, 0}},
	{ATTACH, DORMANT, NOT_YET, {WAITING, AGAIN}},
	{ATTACH, DORMANT, FAILED, {WAITING, AGAIN}},
	{ATTACH, DORMANT, UNKNOWN, {REFUSED, FORGET}},
	{ATTACH, DORMANT, LOST, {GONE, FORGET}},
	{REFRESH, ATTACHED, NOT_YET, {ATTACHED, AGAIN}},
	{REFRESH, ATTACHED, FAILED, {ATTACHED, AGAIN}},
	{REFRESH, ATTACHED, UNKNOWN, {REFUSED, DETACH | FORGET}},
	{REFRESH, ATTACHED, LOST, {GONE, DETACH | FORGET}},
	{SYMBOLIZE, ATTACHED, NOT_YET, {ATTACHED, AGAIN}},
	{SYMBOLIZE, ATTACHED, LOST, {GONE, AGAIN}}, /* in its parent, say */
	{REST, ATTACHED, DONE, {DORMANT, DETACH}},
	{REST, GONE, DONE, {GONE, DETACH}},
};

/* A positive result that is none of attach's or refresh's counts as EP_NOT_YET. */
static enum outcome outcome_of(enum ep_attachment_call call, int result)
{
	if (result == 0)
		return DONE;
	if (result == -ENOTSUP || (result == -ETIMEDOUT && call != SYMBOLIZE))
		return UNKNOWN;
	if (result == -ESRCH)
		return LOST;
	return result == EP_NOT_YET || (result > 0 && call != SYMBOLIZE) ? NOT_YET : FAILED;
}

struct ep_attachment_step ep_attachment_after(enum ep_attachment state,
					      enum ep_attachment_call call, int result)
{
	enum outcome outcome = outcome_of(call, result);

	for (size_t i = 0; i < EP_LEN(rules); i++) {
		const struct rule *rule = &rules[i];

		if (rule->call == call && rule->from == state && rule->outcome == outcome)
			return rule->to;
	}
	return (struct ep_attachment_step){.state = state};
}

/* --- what it sets ---------------------------------------------------------------------------- */

static void set_init(struct ep_attached_set *set)
{
	*set = (struct ep_attached_set){0};
	ep_vec_init(&set->ranges, sizeof(struct ep_range), EP_MAX_RANGES);
}

static void set_clear(struct ep_attached_set *set)
{
	ep_vec_fini(&set->ranges);
	set_init(set);
}

/* After an error of these two all is as it was. */
static int attached_set_state(void *arg, const void *state, size_t bytes)
{
	struct ep_attached_set *set = &((struct ep_attached *)arg)->pending;

	if (bytes > sizeof(set->state))
		return -E2BIG;
	memcpy(set->state, state, bytes);
	set->state_bytes = bytes;
	set->has_state = true;
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct ep_range *one = a, *other = b;

	return one->start < other->start ? -1 : one->start > other->start;
}

static bool are_disjoint(const struct ep_vec *exact)
{
	const struct ep_range *ranges = exact->data;

	for (size_t i = 1; i < exact->len; i++) {
		if (ranges[i].start < ranges[i - 1].end)
			return false;
	}
	return true;
}

/* The exact ones, sorted; and whether it takes anonymous code. */
static int attached_set_ranges(void *arg, const struct ep_range *ranges, size_t n)
{
	struct ep_attached_set *set = &((struct ep_attached *)arg)->pending;
	struct ep_vec exact;
	bool anonymous = false;
	int r = 0;

	ep_vec_init(&exact, sizeof(struct ep_range), EP_MAX_RANGES);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (ranges[i].flags & EP_RANGE_ANONYMOUS)
			anonymous = true;
		else
			r = ep_vec_append(&exact, &ranges[i], 1);
	}
	if (exact.len > 1)
		qsort(exact.data, exact.len, sizeof(struct ep_range), compare_ranges);
	if (r == 0 && !are_disjoint(&exact))
		r = -EINVAL;
	if (r < 0) {
		ep_vec_fini(&exact);
		return r;
	}
	ep_vec_fini(&set->ranges);
	set->ranges = exact;
	set->anonymous = anonymous;
	set->has_ranges = true;
	return 0;
}

/* What the call set is added to what holds, or forgotten. */
static void attached_take(struct ep_attached *attached, bool is_taken)
{
	struct ep_attached_set *pending = &attached->pending, *holds = &attached->holds;
	struct ep_vec ranges = holds->ranges;

	if (is_taken && pending->has_state) {
		holds->has_state = true;
		holds->state_bytes = pending->state_bytes;
		memcpy(holds->state, pending->state, sizeof(holds->state));
	}
	if (is_taken && pending->has_ranges) {
		holds->has_ranges = true;
		holds->anonymous = pending->anonymous;
		holds->ranges = pending->ranges;
		pending->ranges = ranges;
	}
	attached->is_changed |= is_taken && (pending->has_state || pending->has_ranges);
	set_clear(pending);
}

static void attached_forget(struct ep_attached *attached)
{
	set_clear(&attached->holds);
	attached->is_changed = true;
}

/* --- what it asks of the process ------------------------------------------------------------- */

/* The thread's clock is a system call: it is read when enough time has passed since the last look at it. */
static bool took_long(struct ep_attached *attached)
{
	uint64_t now_ns = ep_clock_mono_ns(), spent_ns;

	if (now_ns < attached->look_ns)
		return false;
	if (now_ns - attached->frame_start_ns >= EP_FRAME_WALL_NS)
		return true;
	spent_ns = ep_clock_thread_cpu_ns() - attached->frame_start_cpu_ns;
	if (spent_ns >= attached->frame_ns)
		return true;
	attached->look_ns = now_ns + (attached->frame_ns - spent_ns);
	return false;
}

/* Looked at before each read: none takes long by itself, since the longest are cut. */
static bool must_end(struct ep_attached *attached)
{
	if (attached->frame_start_ns && took_long(attached))
		attached->reads_ended = true;
	return attached->reads_ended || (attached->stopped && atomic_load(attached->stopped));
}

static int attached_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct ep_attached *attached = arg;
	size_t most = attached->stopped ? MAX_READ : bytes;
	int r = 0;

	if (attached->reads_kept)
		return ep_kept_memory_read(attached->kept, addr, buf, bytes);
	for (size_t at = 0; r == 0 && at < bytes; at += most)
		r = must_end(attached)
			    ? -ETIME
			    : attached->source->read(attached->source_arg, addr + at,
						     (char *)buf + at, EP_MIN(bytes - at, most));
	attached->is_silent |= r == -ETIMEDOUT;
	return r;
}

static int attached_mappings(void *arg,
			     int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			     void *visit_arg)
{
	struct ep_attached *attached = arg;

	if (attached->reads_kept)
		return -ESRCH;
	return must_end(attached)
		       ? -ETIME
		       : attached->source->mappings(attached->source_arg, visit, visit_arg);
}

static int attached_file(void *arg, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes)
{
	struct ep_attached *attached = arg;

	if (attached->reads_kept || !attached->source->file)
		return attached->reads_kept ? -ESRCH : -ENODATA;
	return must_end(attached) ? -ETIME : attached->source->file(attached->source_arg, file, off, buf, bytes);
}

static int attached_tls_variable(void *arg, uint64_t tls_off, struct ep_tls *ret)
{
	const struct ep_attached *attached = arg;

	if (attached->reads_kept)
		return -ESRCH;
	return attached->source->tls_variable(attached->source_arg, tls_off, ret);
}

static int attached_tls_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	const struct ep_attached *attached = arg;

	if (attached->reads_kept)
		return -ESRCH;
	return attached->source->tls_key(attached->source_arg, key, ret);
}

static void attached_count(void *arg, uint32_t counter, uint64_t n)
{
	struct ep_attached *attached = arg;

	/* What was kept is asked again and again: that was counted the first time. */
	if (attached->counters && !attached->reads_kept && counter < EP_MAX_PLUGIN_COUNTERS)
		atomic_fetch_add(&attached->counters[counter], n);
}

/* --- calls ----------------------------------------------------------------------------------- */

void ep_attached_init(struct ep_attached *attached, const struct ep_unwinder_ops *ops,
		      void *executable, const struct ep_target_ops *source, void *arg, pid_t pid,
		      uint64_t bias)
{
	static const struct ep_target_ops target_ops = {
		.read = attached_read,
		.mappings = attached_mappings,
		.file = attached_file,
		.tls_variable = attached_tls_variable,
		.tls_key = attached_tls_key,
		.set_state = attached_set_state,
		.set_ranges = attached_set_ranges,
		.count = attached_count,
	};

	*attached = (struct ep_attached){
		.ops = ops,
		.executable = executable,
		.source = source,
		.source_arg = arg,
		.target = {.ops = &target_ops, .arg = attached, .pid = pid, .bias = bias},
	};
	set_init(&attached->pending);
	set_init(&attached->holds);
}

static void attached_detach(struct ep_attached *attached)
{
	if (attached->instance)
		attached->ops->detach(attached->instance);
	attached->instance = NULL;
}

void ep_attached_fini(struct ep_attached *attached)
{
	attached_detach(attached);
	ep_vec_fini(&attached->pending.ranges);
	ep_vec_fini(&attached->holds.ranges);
}

/* Whatever a plugin made of it. */
static int unless_silent(const struct ep_attached *attached, int result)
{
	return result != 0 && attached->is_silent ? -ETIMEDOUT : result;
}

/* The call's new state, and what follows from it. True: again. */
static bool attached_step(struct ep_attached *attached, enum ep_attachment_call call, int result)
{
	struct ep_attachment_step next = ep_attachment_after(attached->state, call, result);

	attached->state = next.state;
	if (next.actions & EP_ATTACHMENT_DETACH)
		attached_detach(attached);
	if (next.actions & EP_ATTACHMENT_FORGET)
		attached_forget(attached);
	return next.actions & EP_ATTACHMENT_AGAIN;
}

bool ep_attached_attach(struct ep_attached *attached)
{
	void *instance = NULL;
	int r = attached->ops->attach(attached->executable, &attached->target, &instance);

	if (r == 0 && !instance)
		r = -ENOTSUP;
	r = unless_silent(attached, r);
	if (r == 0) {
		attached->instance = instance;
		attached_forget(attached);
	}
	attached->result = r;
	attached_take(attached, r == 0);
	return attached_step(attached, EP_ATTACHMENT_ATTACH, r);
}

void ep_attached_refuse(struct ep_attached *attached)
{
	bool is_attached = attached->state == EP_ATTACHMENT_ATTACHED;

	attached->result = -ENOTSUP;
	(void)attached_step(attached, is_attached ? EP_ATTACHMENT_REFRESH : EP_ATTACHMENT_ATTACH,
			    attached->result);
}

bool ep_attached_refresh(struct ep_attached *attached)
{
	if (attached->state != EP_ATTACHMENT_ATTACHED || !EP_HAS(attached->ops, refresh))
		return false;
	attached->result = unless_silent(attached, attached->ops->refresh(attached->instance));
	attached_take(attached, attached->result == 0);
	return attached_step(attached, EP_ATTACHMENT_REFRESH, attached->result);
}

/* Names on their way to who wants them: the first one says whether all stand in. */
struct names_of_call {
	struct ep_names *to;
	bool stands_in, has_some;
	bool wants_none; /* that stand in */
};

static int pass_name(void *arg, const struct ep_name *name)
{
	struct names_of_call *call = arg;

	if (!call->has_some)
		call->stands_in = (EP_HAS(name, flags) && name->flags & EP_NAME_STANDS_IN) ||
				  (EP_HAS(name, unnamed) && name->unnamed == EP_UNNAMED_GONE);
	call->has_some = true;
	return call->stands_in && call->wants_none ? 0 : call->to->add(call->to->arg, name);
}

/* What stands in for a name, of what was kept, is no name: EP_FRAME_GONE. */
static int symbolize(struct ep_attached *attached, const struct ep_raw_frame *frame,
		     struct ep_names *names)
{
	struct names_of_call call = {.to = names, .wants_none = attached->reads_kept};
	struct ep_names passed = {.add = pass_name, .arg = &call};
	int r = attached->ops->symbolize(attached->instance, frame, &passed);

	if (attached->reads_kept)
		return r == 0 && call.stands_in ? EP_FRAME_GONE : r;
	attached->stands_in = r == 0 && call.stands_in;
	return r;
}

static void begin_frame(struct ep_attached *attached)
{
	attached->frame_start_ns = ep_clock_mono_ns();
	attached->frame_start_cpu_ns = ep_clock_thread_cpu_ns();
	attached->look_ns = attached->frame_start_ns + attached->frame_ns;
}

bool ep_attached_symbolize(struct ep_attached *attached, const struct ep_raw_frame *frame,
			   struct ep_names *names)
{
	struct ep_attachment_step next;

	attached->result = -ESRCH;
	attached->stands_in = false;
	if (!attached->instance)
		return false;
	if (attached->frame_ns)
		begin_frame(attached);
	attached->result = symbolize(attached, frame, names);
	attached_take(attached, true);
	attached->result = attached->reads_ended ? -ETIME : unless_silent(attached, attached->result);
	attached->reads_ended = false;
	attached->frame_start_ns = 0;
	next = ep_attachment_after(attached->state, EP_ATTACHMENT_SYMBOLIZE, attached->result);
	attached->is_lost |= next.state == EP_ATTACHMENT_GONE;
	return next.actions & EP_ATTACHMENT_AGAIN;
}

static bool keeps_whole(const struct ep_unwinder_ops *ops)
{
	return EP_HAS(ops, keeper) && EP_HAS(ops->keeper, flags) && ops->keeper->flags & EP_BPF_KEEPS_WHOLE;
}

bool ep_attached_symbolize_kept(struct ep_attached *attached, const struct ep_raw_frame *frame,
				struct ep_names *names)
{
	int r = attached->result;

	if (!attached->instance || !attached->kept || ep_kept_memory_is_empty(attached->kept) ||
	    (r != EP_FRAME_GONE && r != EP_NOT_YET && r != -ESRCH && r != -EFAULT && r != -ETIMEDOUT &&
	     !attached->stands_in))
		return false;
	attached->kept->is_apart = keeps_whole(attached->ops);
	attached->reads_kept = true;
	ep_kept_memory_see_all(attached->kept);
	for (int i = 0; i < MAX_LOOKS_BACK; i++) {
		r = symbolize(attached, frame, names);
		if (r == 0 || r == -E2BIG || r == -ENOMEM || !ep_kept_memory_look_back(attached->kept))
			break;
	}
	attached->reads_kept = false;
	attached_take(attached, false); /* of a process that is gone */
	if (r == 0)
		attached->result = 0;
	return r == 0;
}

void ep_attached_end_names(struct ep_attached *attached)
{
	if (attached->is_lost)
		attached->state = EP_ATTACHMENT_GONE;
	attached->is_lost = false;
}

void ep_attached_rest(struct ep_attached *attached)
{
	(void)attached_step(attached, EP_ATTACHMENT_REST, 0);
}
