/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trace/batch.h"
#include "core/base/clock.h"
#include "core/trace/kinds.h"
#include "core/trace/tables.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define MAX_ROWS (1u << 28)

/*
 * One allocation: this header, then the columns, then the text of the strings. Or the header alone, of a
 * batch whose columns are somebody else's until `release` gives them back.
 */
struct owned_batch {
	_Atomic uint32_t refs;
	size_t bytes;
	void (*release)(void *arg);
	void *arg;
	struct ep_batch batch;
};

struct stack {
	uint32_t location_first, error, error_text;
	uint32_t unnamed, unnamed_text;
	uint8_t hash[16];
};

struct process {
	uint64_t start_ns;
	uint32_t pid, image, comm, exe_path, container_id, env_first;
};

struct variable {
	uint32_t name, value;
};

struct sample {
	uint32_t stack, process, tid, thread_name, cpu, count, time_first;
	uint64_t weight_ns;
};

struct builder {
	const struct ep_interval *interval;
	const struct ep_batch_source *source;
	struct ep_tables tables;
	struct ep_vec stacks, stack_locations, processes, variables, samples;
	struct ep_vec digests;			   /* of the stack in hand, 16 bytes per location */
	struct ep_index stack_index, sample_index; /* sample_index: position + 1 */
	uint64_t *times;			   /* wall clock, grouped by sample */
	uint32_t *stack_of;			   /* trace id → stack */
	uint32_t *sample_of;			   /* row of the interval → sample */
};

static void builder_fini(struct builder *b)
{
	ep_tables_fini(&b->tables);
	ep_vec_fini(&b->stacks);
	ep_vec_fini(&b->stack_locations);
	ep_vec_fini(&b->processes);
	ep_vec_fini(&b->variables);
	ep_vec_fini(&b->samples);
	ep_vec_fini(&b->digests);
	ep_index_fini(&b->stack_index);
	ep_index_fini(&b->sample_index);
	free(b->times);
	free(b->stack_of);
	free(b->sample_of);
}

static int builder_init(struct builder *b)
{
	int r = ep_tables_init(&b->tables, ep_interval_frames(b->interval), b->source);

	ep_vec_init(&b->stacks, sizeof(struct stack), MAX_ROWS);
	ep_vec_init(&b->stack_locations, sizeof(uint32_t), MAX_ROWS);
	ep_vec_init(&b->processes, sizeof(struct process), MAX_ROWS);
	ep_vec_init(&b->variables, sizeof(struct variable), MAX_ROWS);
	ep_vec_init(&b->samples, sizeof(struct sample), MAX_ROWS);
	ep_vec_init(&b->digests, 16, UINT16_MAX);
	if (r < 0)
		return r;
	b->times = calloc(ep_interval_n_times(b->interval) + 1, sizeof(*b->times));
	b->stack_of = calloc(ep_interval_n_traces(b->interval) + 1, sizeof(*b->stack_of));
	b->sample_of = calloc(ep_interval_n_rows(b->interval) + 1, sizeof(*b->sample_of));
	if (!b->times || !b->stack_of || !b->sample_of || !ep_vec_push(&b->stacks) ||
	    !ep_vec_push(&b->processes))
		return -ENOMEM;
	return 0;
}

static int add_cstr(struct builder *b, const char *str, uint32_t *ret_id)
{
	return ep_tables_string(&b->tables, str, str ? strlen(str) : 0, ret_id);
}

/* --- stacks --- */

static uint32_t find_stack(const struct builder *b, uint64_t key, size_t first, uint32_t error)
{
	const uint32_t *locations = ep_vec_at(&b->stack_locations, uint32_t, first);
	size_t len = b->stack_locations.len - first, pos;

	for (uint32_t row = ep_index_first(&b->stack_index, key, &pos); row;
	     row = ep_index_next(&b->stack_index, key, &pos)) {
		const struct stack *stack = ep_vec_at(&b->stacks, struct stack, row);
		size_t end = row + 1 < b->stacks.len ? stack[1].location_first : first;

		if (stack->error == error && end - stack->location_first == len &&
		    memcmp(ep_vec_at(&b->stack_locations, uint32_t, stack->location_first),
			   locations, len * sizeof(*locations)) == 0)
			return row;
	}
	return 0;
}

static int push_location(struct builder *b, uint32_t frame_id, bool *shows_wrapper)
{
	uint32_t location;
	int r = ep_tables_location(&b->tables, frame_id, shows_wrapper, &location);

	if (r == 0 && !location)
		return 0;
	if (r == 0)
		r = ep_vec_append(&b->stack_locations, &location, 1);
	if (r == 0)
		r = ep_vec_append(
			&b->digests,
			ep_vec_at(&b->tables.locations, struct ep_table_location, location)->digest,
			1);
	return r;
}

/* A stack that is nothing but wrappers ends with the last of them, for it is not empty. */
static int push_locations(struct builder *b, const uint32_t *frame_ids, size_t n_frames)
{
	size_t first = b->stack_locations.len;
	bool shows_wrapper = false;
	int r = 0;

	b->digests.len = 0;
	for (size_t i = 0; i < n_frames && r == 0; i++)
		r = push_location(b, frame_ids[i], &shows_wrapper);
	if (r < 0 || !n_frames || b->stack_locations.len > first)
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

/* What the frame without a name that is nearest to the leaf says. Missing symbols are counted apart. */
static int add_unnamed(struct builder *b, struct stack *stack)
{
	char text[EP_KIND_MAX_NAME + 64];

	for (size_t i = stack->location_first; i < b->stack_locations.len; i++) {
		uint32_t row = *ep_vec_at(&b->stack_locations, uint32_t, i);
		const struct ep_table_location *location =
			ep_vec_at(&b->tables.locations, struct ep_table_location, row);
		const char *language = ep_kind_name(location->language);

		if (!location->unnamed || location->unnamed == EP_UNNAMED_NO_SYMBOL)
			continue;
		snprintf(text, sizeof(text), "%s%s%s", language ? language : "", language ? ": " : "",
			 unnamed_texts[location->unnamed]);
		stack->unnamed = location->unnamed;
		return add_cstr(b, text, &stack->unnamed_text);
	}
	return 0;
}

/* Adds the stack whose locations were pushed from `first` on, or takes them away if it exists. */
static int finish_stack(struct builder *b, size_t first, uint32_t error, uint32_t *ret_row)
{
	uint64_t key = XXH3_64bits(ep_vec_at(&b->stack_locations, uint32_t, first),
				   (b->stack_locations.len - first) * sizeof(uint32_t));
	struct stack stack = {.location_first = (uint32_t)first, .error = error};
	XXH128_canonical_t canonical;
	int r;

	*ret_row = find_stack(b, key, first, error);
	if (*ret_row) {
		b->stack_locations.len = first;
		return 0;
	}
	XXH128_canonicalFromHash(&canonical, XXH3_128bits(b->digests.data, b->digests.len * 16));
	memcpy(stack.hash, canonical.digest, sizeof(stack.hash));
	*ret_row = (uint32_t)b->stacks.len;
	r = add_cstr(b, ep_error_text(error), &stack.error_text);
	if (r == 0)
		r = add_unnamed(b, &stack);
	if (r == 0)
		r = ep_vec_append(&b->stacks, &stack, 1);
	return r < 0 ? r : ep_index_add(&b->stack_index, key, *ret_row);
}

static int add_stacks(struct builder *b)
{
	for (uint32_t id = 1; id <= ep_interval_n_traces(b->interval); id++) {
		const struct ep_trace *trace = ep_interval_trace(b->interval, id);
		const uint32_t *frame_ids = ep_interval_frame_ids(b->interval, trace);
		size_t first = b->stack_locations.len;
		int r = push_locations(b, frame_ids, trace->n_frames);

		if (r == 0)
			r = finish_stack(b, first, trace->error, &b->stack_of[id]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- processes and samples --- */

static int add_variable(struct builder *b, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	struct variable variable;
	int r;

	if (!equals)
		return 0;
	r = ep_tables_string(&b->tables, text, (size_t)(equals - text), &variable.name);
	if (r == 0)
		r = ep_tables_string(&b->tables, equals + 1, len - (size_t)(equals + 1 - text),
				     &variable.value);
	return r < 0 ? r : ep_vec_append(&b->variables, &variable, 1);
}

static int add_environment(struct builder *b, const struct ep_batch_process *info)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < info->environment_bytes) {
		size_t len = strnlen(info->environment + at, info->environment_bytes - at);

		r = add_variable(b, info->environment + at, len);
		at += len + 1;
	}
	return r;
}

static int add_process(struct builder *b, const struct ep_program *from)
{
	struct process process = {
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
	process.env_first = (uint32_t)b->variables.len;
	if (r == 0)
		r = add_environment(b, &info);
	return r < 0 ? r : ep_vec_append(&b->processes, &process, 1);
}

static int add_processes(struct builder *b)
{
	int r = 0;

	for (uint32_t id = 1; id <= ep_interval_n_processes(b->interval) && r == 0; id++)
		r = add_process(b, ep_interval_process(b->interval, id));
	return r;
}

/* What makes two samples one row: the members before the count. */
#define SAMPLE_KEY_BYTES offsetof(struct sample, count)

/*
 * Two traces may be one stack: where an error was, and the words of a language's frames, tell
 * traces apart, but are not shown.
 */
static int find_or_add_sample(struct builder *b, const struct sample *sample, uint32_t *ret_at)
{
	uint64_t hash = XXH3_64bits(sample, SAMPLE_KEY_BYTES);
	size_t pos;
	int r;

	for (uint32_t row = ep_index_first(&b->sample_index, hash, &pos); row;
	     row = ep_index_next(&b->sample_index, hash, &pos)) {
		if (memcmp(ep_vec_at(&b->samples, struct sample, row - 1), sample,
			   SAMPLE_KEY_BYTES) == 0) {
			*ret_at = row - 1;
			return 0;
		}
	}
	*ret_at = (uint32_t)b->samples.len;
	r = ep_vec_append(&b->samples, sample, 1);
	return r < 0 ? r : ep_index_add(&b->sample_index, hash, *ret_at + 1);
}

static int add_samples(struct builder *b)
{
	for (uint32_t i = 0; i < ep_interval_n_rows(b->interval); i++) {
		const struct ep_sample_row *row = ep_interval_row(b->interval, i);
		struct sample sample = {
			.stack = b->stack_of[row->trace],
			.process = ep_interval_trace(b->interval, row->trace)->process,
			.tid = row->tid,
			.cpu = row->cpu,
		};
		int r = ep_tables_string(&b->tables, row->comm,
					 strnlen(row->comm, sizeof(row->comm)),
					 &sample.thread_name);

		if (r == 0)
			r = find_or_add_sample(b, &sample, &b->sample_of[i]);
		if (r < 0)
			return r;
		ep_vec_at(&b->samples, struct sample, b->sample_of[i])->count += row->count;
	}
	return 0;
}

static uint64_t mean_period(const struct builder *b)
{
	const struct ep_batch_source *source = b->source;

	if (source->period_ns)
		return source->period_ns;
	return source->period_hz ? EP_NS_PER_SEC / source->period_hz : 0;
}

static void weigh_samples(struct builder *b)
{
	const struct ep_batch_source *source = b->source;
	struct sample *sample;

	ep_vec_each(&b->samples, sample) {
		uint64_t period_ns = source->cpu_period
					     ? source->cpu_period(source->arg, sample->cpu)
					     : 0;

		sample->weight_ns = sample->count * (period_ns ? period_ns : mean_period(b));
	}
}

static void number_times(struct builder *b)
{
	uint32_t first = 0;

	for (size_t i = 0; i < b->samples.len; i++) {
		struct sample *sample = ep_vec_at(&b->samples, struct sample, i);

		sample->time_first = first;
		first += sample->count;
	}
	assert(first == ep_interval_n_times(b->interval));
}

/* Each sample's times in the order they came in; time_first is the fill mark meanwhile. */
static void group_times(struct builder *b)
{
	number_times(b);
	for (size_t n = 0; n < ep_interval_n_times(b->interval); n++) {
		struct sample *sample;
		uint64_t time_ns;
		uint32_t row;

		ep_interval_time(b->interval, n, &time_ns, &row);
		sample = ep_vec_at(&b->samples, struct sample, b->sample_of[row]);
		b->times[sample->time_first++] = time_ns + (uint64_t)b->source->mono_to_wall_ns;
	}
	number_times(b);
}

/* The entry behind the last row that columns named *_first have. */
static int add_end_marks(struct builder *b)
{
	struct ep_table_location location = {.line_first = (uint32_t)b->tables.lines.len};
	struct stack stack = {.location_first = (uint32_t)b->stack_locations.len};
	struct sample sample = {.time_first = (uint32_t)ep_interval_n_times(b->interval)};
	struct process process = {.env_first = (uint32_t)b->variables.len};
	int r;

	r = ep_vec_append(&b->tables.locations, &location, 1);
	if (r == 0)
		r = ep_vec_append(&b->stacks, &stack, 1);
	if (r == 0)
		r = ep_vec_append(&b->processes, &process, 1);
	return r < 0 ? r : ep_vec_append(&b->samples, &sample, 1);
}

/* --- layout: the same code runs twice, first without memory, to learn how much is needed --- */

struct arena {
	char *base; /* NULL while measuring */
	size_t used;
};

static void *carve(struct arena *arena, size_t bytes)
{
	size_t at = arena->used;

	arena->used = EP_ALIGN_UP(at + bytes, 8);
	return arena->base ? arena->base + at : NULL;
}

static void *carve_copy(struct arena *arena, const void *data, size_t bytes)
{
	void *to = carve(arena, bytes);

	if (to && bytes)
		memcpy(to, data, bytes);
	return to;
}

/* One member of every row of a table as an array of its own. */
static void *carve_column(struct arena *arena, const struct ep_vec *table, size_t off, size_t bytes)
{
	char *to = carve(arena, table->len * bytes);

	for (size_t i = 0; to && i < table->len; i++)
		memcpy(to + i * bytes, (char *)table->data + i * table->elem_bytes + off, bytes);
	return to;
}

#define COLUMN(table, type, member)                                                                \
	carve_column(arena, (table), offsetof(type, member), sizeof(((type *)0)->member))

static void lay_out_strings(const struct builder *b, struct arena *arena, struct ep_batch *batch)
{
	const struct ep_strings *strings = b->tables.strings;
	uint32_t n = ep_strings_count(strings);
	const char **text = carve(arena, n * sizeof(*text));
	uint32_t *bytes = carve(arena, n * sizeof(*bytes));

	for (uint32_t id = 0; id < n; id++) {
		size_t len = ep_strings_len_of(strings, id);
		char *copy = carve(arena, len + 1);

		if (!arena->base)
			continue;
		memcpy(copy, ep_strings_get(strings, id), len + 1);
		text[id] = copy;
		bytes[id] = (uint32_t)len;
	}
	batch->n_strings = n;
	batch->string_text = text;
	batch->string_bytes = bytes;
}

static void lay_out_functions(const struct builder *b, struct arena *arena, struct ep_batch *batch)
{
	const struct ep_vec *functions = &b->tables.functions;

	batch->n_functions = (uint32_t)functions->len;
	batch->function_name = COLUMN(functions, struct ep_table_function, name);
	batch->function_system_name = COLUMN(functions, struct ep_table_function, system_name);
	batch->function_file = COLUMN(functions, struct ep_table_function, file);
	batch->function_line = COLUMN(functions, struct ep_table_function, line);
}

static void lay_out_mappings(const struct builder *b, struct arena *arena, struct ep_batch *batch)
{
	const struct ep_vec *mappings = &b->tables.mappings;

	batch->n_mappings = (uint32_t)mappings->len;
	batch->mapping_start_va = COLUMN(mappings, struct ep_table_mapping, start_va);
	batch->mapping_limit_va = COLUMN(mappings, struct ep_table_mapping, limit_va);
	batch->mapping_file_off = COLUMN(mappings, struct ep_table_mapping, file_off);
	batch->mapping_path = COLUMN(mappings, struct ep_table_mapping, path);
	batch->mapping_build_id = COLUMN(mappings, struct ep_table_mapping, build_id);
	batch->mapping_file_id = COLUMN(mappings, struct ep_table_mapping, file_id);
	batch->mapping_go_build_id = COLUMN(mappings, struct ep_table_mapping, go_build_id);
	batch->mapping_flags = COLUMN(mappings, struct ep_table_mapping, flags);
}

static void lay_out_locations(const struct builder *b, struct arena *arena, struct ep_batch *batch)
{
	const struct ep_vec *locations = &b->tables.locations, *lines = &b->tables.lines;

	batch->n_locations = (uint32_t)locations->len - 1;
	batch->location_address = COLUMN(locations, struct ep_table_location, address);
	batch->location_mapping = COLUMN(locations, struct ep_table_location, mapping);
	batch->location_kind = COLUMN(locations, struct ep_table_location, kind);
	batch->location_flags = COLUMN(locations, struct ep_table_location, flags);
	batch->location_unnamed = COLUMN(locations, struct ep_table_location, unnamed);
	batch->location_line_first = COLUMN(locations, struct ep_table_location, line_first);
	batch->n_lines = (uint32_t)lines->len;
	batch->line_function = COLUMN(lines, struct ep_table_line, function);
	batch->line_line = COLUMN(lines, struct ep_table_line, line);
	batch->line_column = COLUMN(lines, struct ep_table_line, column);
}

static void lay_out_stacks(const struct builder *b, struct arena *arena, struct ep_batch *batch)
{
	const struct ep_vec *processes = &b->processes;

	batch->n_stacks = (uint32_t)b->stacks.len - 1;
	batch->stack_location_first = COLUMN(&b->stacks, struct stack, location_first);
	batch->stack_hash = COLUMN(&b->stacks, struct stack, hash);
	batch->stack_error = COLUMN(&b->stacks, struct stack, error);
	batch->stack_error_text = COLUMN(&b->stacks, struct stack, error_text);
	batch->stack_unnamed = COLUMN(&b->stacks, struct stack, unnamed);
	batch->stack_unnamed_text = COLUMN(&b->stacks, struct stack, unnamed_text);
	batch->n_stack_locations = (uint32_t)b->stack_locations.len;
	batch->stack_location = carve_copy(arena, b->stack_locations.data,
					   b->stack_locations.len * sizeof(uint32_t));
	batch->n_processes = (uint32_t)processes->len - 1;
	batch->process_pid = COLUMN(processes, struct process, pid);
	batch->process_image = COLUMN(processes, struct process, image);
	batch->process_start_ns = COLUMN(processes, struct process, start_ns);
	batch->process_comm = COLUMN(processes, struct process, comm);
	batch->process_exe_path = COLUMN(processes, struct process, exe_path);
	batch->process_container_id = COLUMN(processes, struct process, container_id);
	batch->process_env_first = COLUMN(processes, struct process, env_first);
	batch->n_process_env = (uint32_t)b->variables.len;
	batch->process_env_name = COLUMN(&b->variables, struct variable, name);
	batch->process_env_value = COLUMN(&b->variables, struct variable, value);
}

static void lay_out_samples(const struct builder *b, struct arena *arena, struct ep_batch *batch)
{
	const struct ep_vec *samples = &b->samples;

	batch->n_samples = (uint32_t)samples->len - 1;
	batch->sample_stack = COLUMN(samples, struct sample, stack);
	batch->sample_process = COLUMN(samples, struct sample, process);
	batch->sample_tid = COLUMN(samples, struct sample, tid);
	batch->sample_thread_name = COLUMN(samples, struct sample, thread_name);
	batch->sample_cpu = COLUMN(samples, struct sample, cpu);
	batch->sample_count = COLUMN(samples, struct sample, count);
	batch->sample_weight_ns = COLUMN(samples, struct sample, weight_ns);
	batch->sample_time_first = COLUMN(samples, struct sample, time_first);
	batch->sample_time_ns =
		carve_copy(arena, b->times, ep_interval_n_times(b->interval) * sizeof(*b->times));
}

static void lay_out(const struct builder *b, struct arena *arena, struct ep_batch *batch)
{
	const char *host = b->source->host_name ? b->source->host_name : "";

	lay_out_strings(b, arena, batch);
	lay_out_functions(b, arena, batch);
	lay_out_mappings(b, arena, batch);
	lay_out_locations(b, arena, batch);
	lay_out_stacks(b, arena, batch);
	lay_out_samples(b, arena, batch);
	batch->host_name = carve_copy(arena, host, strlen(host) + 1);
}

static void fill_header(const struct builder *b, struct ep_batch *batch)
{
	uint64_t start_ns = ep_interval_start_ns(b->interval);

	batch->size = sizeof(*batch);
	batch->period_hz = b->source->period_hz;
	batch->period_ns = mean_period(b);
	batch->start_ns = start_ns + (uint64_t)b->source->mono_to_wall_ns;
	batch->duration_ns = ep_interval_end_ns(b->interval) - start_ns;
	batch->sample_type = "cpu";
	batch->weight_unit = "nanoseconds";
	batch->lost_samples = ep_interval_lost(b->interval);
	batch->due_samples = ep_interval_due(b->interval);
	batch->agent_cpu_ns = b->source->agent_cpu_ns;
	batch->bpf_ns = b->source->bpf_ns;
	batch->n_cpus = b->source->n_cpus;
}

static int make_batch(const struct builder *b, struct ep_batch **ret_batch)
{
	struct arena arena = {.used = sizeof(struct owned_batch)};
	struct owned_batch *owned;
	struct ep_batch scratch;

	lay_out(b, &arena, &scratch);
	owned = malloc(arena.used);
	if (!owned)
		return -ENOMEM;
	*owned = (struct owned_batch){.refs = 1, .bytes = arena.used};
	arena = (struct arena){.base = (char *)owned, .used = sizeof(*owned)};
	lay_out(b, &arena, &owned->batch);
	assert(arena.used == owned->bytes);
	fill_header(b, &owned->batch);
	*ret_batch = &owned->batch;
	return 0;
}

int ep_batch_build(const struct ep_interval *interval, const struct ep_batch_source *source,
		   struct ep_batch **ret_batch)
{
	ep_cleanup(builder_fini) struct builder b = {.interval = interval, .source = source};
	int r;

	r = builder_init(&b);
	if (r == 0)
		r = add_stacks(&b);
	if (r == 0)
		r = add_processes(&b);
	if (r == 0)
		r = add_samples(&b);
	if (r < 0)
		return r;
	weigh_samples(&b);
	group_times(&b);
	r = add_end_marks(&b);
	return r < 0 ? r : make_batch(&b, ret_batch);
}

static struct owned_batch *owner_of(const struct ep_batch *batch)
{
	return (struct owned_batch *)EP_CONTAINER(batch, struct owned_batch, batch);
}

struct ep_batch *ep_batch_new(size_t bytes, void (*release)(void *arg), void *arg)
{
	struct owned_batch *owned = malloc(sizeof(*owned));

	if (!owned)
		return NULL;
	*owned = (struct owned_batch){
		.refs = 1,
		.bytes = sizeof(*owned) + bytes,
		.release = release,
		.arg = arg,
		.batch.size = sizeof(owned->batch),
	};
	return &owned->batch;
}

static void batch_free(struct owned_batch *owned)
{
	if (owned->release)
		owned->release(owned->arg);
	free(owned);
}

void ep_batch_ref(const struct ep_batch *batch)
{
	atomic_fetch_add_explicit(&owner_of(batch)->refs, 1, memory_order_relaxed);
}

void ep_batch_unref(const struct ep_batch *batch)
{
	if (batch &&
	    atomic_fetch_sub_explicit(&owner_of(batch)->refs, 1, memory_order_acq_rel) == 1)
		batch_free(owner_of(batch));
}

size_t ep_batch_bytes(const struct ep_batch *batch)
{
	return owner_of(batch)->bytes;
}

void ep_batch_read_clocks(int64_t *ret_mono_to_wall_ns, int64_t *ret_boot_to_wall_ns)
{
	int64_t wall_ns = (int64_t)ep_clock_wall_ns();

	*ret_mono_to_wall_ns = wall_ns - (int64_t)ep_clock_mono_ns();
	*ret_boot_to_wall_ns = wall_ns - (int64_t)ep_clock_boot_ns();
}
