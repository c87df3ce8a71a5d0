/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of an interval go to a builder: its stacks, its processes, then its samples. */
#include "core/trace/batch.h"
#include "core/base/clock.h"
#include "core/profile/builder.h"
#include "core/trace/kinds.h"
#include "core/trace/tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct build {
	const struct ep_interval *interval;
	const struct ep_batch_source *source;
	struct ep_profile_builder *profile;
	struct ep_tables tables;
	struct ep_vec locations; /* u32: of the stack in hand */
	struct ep_vec variables; /* u32[2]: of the process in hand */
	uint32_t *stack_of;	 /* trace id → stack */
	uint32_t *process_of;	 /* process id → process */
	uint64_t *times;	 /* wall clock, grouped by row of the interval */
	uint32_t *times_end;	 /* row of the interval → where its own end */
};

static void build_fini(struct build *b)
{
	ep_tables_fini(&b->tables);
	ep_profile_builder_free(b->profile);
	ep_vec_fini(&b->locations);
	ep_vec_fini(&b->variables);
	free(b->stack_of);
	free(b->process_of);
	free(b->times);
	free(b->times_end);
}

static int build_init(struct build *b)
{
	const struct ep_interval *interval = b->interval;
	int r;

	ep_vec_init(&b->locations, sizeof(uint32_t), UINT16_MAX);
	ep_vec_init(&b->variables, 2 * sizeof(uint32_t), UINT16_MAX);
	r = ep_profile_builder_new(&b->profile);
	if (r == 0)
		r = ep_tables_init(&b->tables, b->profile, ep_interval_frames(interval), b->source);
	if (r < 0)
		return r;
	b->stack_of = calloc(ep_interval_n_traces(interval) + 1, sizeof(*b->stack_of));
	b->process_of = calloc(ep_interval_n_processes(interval) + 1, sizeof(*b->process_of));
	b->times = calloc(ep_interval_n_times(interval) + 1, sizeof(*b->times));
	b->times_end = calloc(ep_interval_n_rows(interval) + 1, sizeof(*b->times_end));
	return b->stack_of && b->process_of && b->times && b->times_end ? 0 : -ENOMEM;
}

static int add_cstr(struct build *b, const char *text, uint32_t *ret_row)
{
	return ep_profile_add_string(b->profile, text, text ? strlen(text) : 0, ret_row);
}

/* --- stacks --- */

static int push_location(struct build *b, uint32_t frame_id, bool *shows_wrapper)
{
	uint32_t location;
	int r = ep_tables_location(&b->tables, frame_id, shows_wrapper, &location);

	return r < 0 || !location ? r : ep_vec_append(&b->locations, &location, 1);
}

/* A stack that is nothing but wrappers ends with the last of them, for it is not empty. */
static int find_locations(struct build *b, const uint32_t *frame_ids, size_t n_frames)
{
	bool shows_wrapper = false;
	int r = 0;

	b->locations.len = 0;
	for (size_t i = 0; i < n_frames && r == 0; i++)
		r = push_location(b, frame_ids[i], &shows_wrapper);
	if (r < 0 || !n_frames || b->locations.len > 0)
		return r;
	shows_wrapper = true;
	return push_location(b, frame_ids[n_frames - 1], &shows_wrapper);
}

static const char *const unnamed_texts[EP_UNNAMED_COUNT] = {
	[EP_UNNAMED_NONE] = "",
#define EP_UNNAMED(name, text) [EP_UNNAMED_##name] = text,
#include "ebpf-profiler/unnamed.def"
#undef EP_UNNAMED
};

/* What the frame without a name that is nearest to the leaf says, with its language. */
static int add_unnamed(struct build *b, struct ep_profile_stack *stack)
{
	char text[EP_KIND_MAX_NAME + 64];
	const uint32_t *location;

	ep_vec_each(&b->locations, location) {
		struct ep_table_reason reason = ep_tables_reason(&b->tables, *location);
		const char *language;

		if (!reason.unnamed || reason.unnamed == EP_UNNAMED_NO_SYMBOL)
			continue;
		language = ep_kind_name(reason.language);
		snprintf(text, sizeof(text), "%s%s%s", language ? language : "",
			 language ? ": " : "", unnamed_texts[reason.unnamed]);
		stack->unnamed = reason.unnamed;
		return add_cstr(b, text, &stack->unnamed_text);
	}
	return 0;
}

static int add_stack(struct build *b, const struct ep_trace *trace, uint32_t *ret_row)
{
	struct ep_profile_stack stack = {.error = trace->error};
	int r = find_locations(b, ep_interval_frame_ids(b->interval, trace), trace->n_frames);

	if (r == 0)
		r = add_cstr(b, ep_error_text(trace->error), &stack.error_text);
	if (r == 0)
		r = add_unnamed(b, &stack);
	if (r < 0)
		return r;
	stack.locations = b->locations.data;
	stack.n_locations = (uint32_t)b->locations.len;
	return ep_profile_add_stack(b->profile, &stack, ret_row);
}

static int add_stacks(struct build *b)
{
	int r = 0;

	for (uint32_t id = 1; id <= ep_interval_n_traces(b->interval) && r == 0; id++)
		r = add_stack(b, ep_interval_trace(b->interval, id), &b->stack_of[id]);
	return r;
}

/* --- processes --- */

static int add_variable(struct build *b, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	uint32_t variable[2];
	int r;

	if (!equals)
		return 0;
	r = ep_profile_add_string(b->profile, text, (size_t)(equals - text), &variable[0]);
	if (r == 0)
		r = ep_profile_add_string(b->profile, equals + 1,
					  len - (size_t)(equals + 1 - text), &variable[1]);
	return r < 0 ? r : ep_vec_append(&b->variables, variable, 1);
}

static int add_environment(struct build *b, const struct ep_batch_process *info)
{
	size_t at = 0;
	int r = 0;

	b->variables.len = 0;
	while (r == 0 && at < info->environment_bytes) {
		size_t len = strnlen(info->environment + at, info->environment_bytes - at);

		r = add_variable(b, info->environment + at, len);
		at += len + 1;
	}
	return r;
}

static int add_process(struct build *b, const struct ep_program *from, uint32_t *ret_row)
{
	struct ep_profile_process process = {
		.pid = from->pid,
		.image = from->image,
		.start_ns = from->start_ns + (uint64_t)b->source->boot_to_wall_ns,
	};
	struct ep_batch_process info = {0};
	int r;

	if (b->source->process && b->source->process(b->source->arg, *from, &info) < 0)
		info = (struct ep_batch_process){0};
	r = add_cstr(b, info.comm, &process.comm);
	if (r == 0)
		r = add_cstr(b, info.exe_path, &process.exe_path);
	if (r == 0)
		r = add_cstr(b, info.container_id, &process.container_id);
	if (r == 0)
		r = add_cstr(b, info.user, &process.user);
	if (r == 0)
		r = add_cstr(b, info.cgroup, &process.cgroup);
	if (r == 0)
		r = add_environment(b, &info);
	if (r < 0)
		return r;
	process.env = b->variables.data;
	process.n_env = (uint32_t)b->variables.len;
	return ep_profile_add_process(b->profile, &process, ret_row);
}

static int add_processes(struct build *b)
{
	int r = 0;

	for (uint32_t id = 1; id <= ep_interval_n_processes(b->interval) && r == 0; id++)
		r = add_process(b, ep_interval_process(b->interval, id), &b->process_of[id]);
	return r;
}

/* --- samples --- */

/* Each row's times in the order they came in. Where they end is the fill mark, and begins as their begin. */
static void group_times(struct build *b)
{
	size_t n_times = ep_interval_n_times(b->interval);
	uint32_t first = 0;

	for (uint32_t i = 0; i < ep_interval_n_rows(b->interval); i++) {
		b->times_end[i] = first;
		first += ep_interval_row(b->interval, i)->count;
	}
	for (size_t n = 0; n < n_times; n++) {
		uint64_t time_ns;
		uint32_t row;

		ep_interval_time(b->interval, n, &time_ns, &row);
		b->times[b->times_end[row]++] = time_ns + (uint64_t)b->source->mono_to_wall_ns;
	}
}

static uint64_t mean_period(const struct build *b)
{
	const struct ep_batch_source *source = b->source;

	if (source->period_ns)
		return source->period_ns;
	return source->period_hz ? EP_NS_PER_SEC / source->period_hz : 0;
}

static uint64_t period_of(const struct build *b, uint32_t cpu)
{
	uint64_t period_ns =
		b->source->cpu_period ? b->source->cpu_period(b->source->arg, cpu) : 0;

	return period_ns ? period_ns : mean_period(b);
}

/*
 * Two traces may be one stack, and so one sample: where an error was, and the words of a language's
 * frames, tell traces apart, but are not shown.
 */
static int add_sample(struct build *b, uint32_t i)
{
	const struct ep_sample_row *row = ep_interval_row(b->interval, i);
	struct ep_profile_sample sample = {
		.stack = b->stack_of[row->trace],
		.process = b->process_of[ep_interval_trace(b->interval, row->trace)->process],
		.tid = row->tid,
		.cpu = row->cpu,
		.count = row->count,
		.weight = row->count * period_of(b, row->cpu),
		.n_times = row->count,
		.times_ns = b->times + (b->times_end[i] - row->count),
	};
	int r = ep_profile_add_string(b->profile, row->comm, strnlen(row->comm, sizeof(row->comm)),
				      &sample.thread_name);

	return r < 0 ? r : ep_profile_add_sample(b->profile, &sample);
}

static int add_samples(struct build *b)
{
	int r = 0;

	group_times(b);
	for (uint32_t i = 0; i < ep_interval_n_rows(b->interval) && r == 0; i++)
		r = add_sample(b, i);
	return r;
}

static int add_header(struct build *b)
{
	uint64_t start_ns = ep_interval_start_ns(b->interval);
	const struct ep_profile_header header = {
		.start_ns = start_ns + (uint64_t)b->source->mono_to_wall_ns,
		.duration_ns = ep_interval_end_ns(b->interval) - start_ns,
		.period_hz = b->source->period_hz,
		.period_ns = mean_period(b),
		.lost_samples = ep_interval_lost(b->interval),
		.due_samples = ep_interval_due(b->interval),
		.agent_cpu_ns = b->source->agent_cpu_ns,
		.bpf_ns = b->source->bpf_ns,
		.n_cpus = b->source->n_cpus,
		.host_name = b->source->host_name,
		.title = b->source->title,
	};

	return ep_profile_add_header(b->profile, &header);
}

int ep_batch_build(const struct ep_interval *interval, const struct ep_batch_source *source,
		   struct ep_batch **ret_batch)
{
	ep_cleanup(build_fini) struct build b = {.interval = interval, .source = source};
	int r = build_init(&b);

	if (r == 0)
		r = add_stacks(&b);
	if (r == 0)
		r = add_processes(&b);
	if (r == 0)
		r = add_samples(&b);
	if (r == 0)
		r = add_header(&b);
	return r < 0 ? r : ep_profile_finish(b.profile, ret_batch);
}

void ep_batch_read_clocks(int64_t *ret_mono_to_wall_ns, int64_t *ret_boot_to_wall_ns)
{
	int64_t wall_ns = (int64_t)ep_clock_wall_ns();

	*ret_mono_to_wall_ns = wall_ns - (int64_t)ep_clock_mono_ns();
	*ret_boot_to_wall_ns = wall_ns - (int64_t)ep_clock_boot_ns();
}
