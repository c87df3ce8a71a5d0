/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables become a batch: each gets its end mark, times are put in the order of their samples, and the
 * batch's columns are those of the tables.
 */
#include "core/profile/tables.h"

#include <errno.h>
#include <string.h>

#define NS_PER_SEC 1000000000ull

/* --- times --- */

/* Times that came in the order of samples are in place: what one file or one batch gives. */
static bool is_grouped(const struct ep_profile_builder *b)
{
	const struct ep_profile_run *runs = b->runs.data;

	for (size_t i = 1; i < b->runs.len; i++) {
		if (runs[i].sample <= runs[i - 1].sample)
			return false;
	}
	return true;
}

/* From how many times a sample has to where they begin. */
static void number_times(struct ep_rows *samples)
{
	uint32_t *times = ep_rows_u32(samples, SAMPLE_TIMES);
	uint32_t first = 0;

	for (uint32_t i = 0; i < samples->len; i++) {
		uint32_t n = times[i];

		times[i] = first;
		first += n;
	}
}

/* Where each sample's times begin is its fill mark meanwhile, and then that of the next one. */
static int group_times(struct ep_profile_builder *b)
{
	struct ep_rows *samples = &b->tables->samples;
	uint32_t *fill = ep_rows_u32(samples, SAMPLE_TIMES);
	const uint64_t *from = b->tables->times.data;
	const struct ep_profile_run *run;
	uint64_t *to;

	number_times(samples);
	if (is_grouped(b))
		return 0;
	to = malloc(b->tables->times.len * sizeof(*to));
	if (!to)
		return -ENOMEM;
	ep_vec_each(&b->runs, run) {
		memcpy(to + fill[run->sample], from, run->n * sizeof(*to));
		fill[run->sample] += run->n;
		from += run->n;
	}
	memmove(fill + 1, fill, (samples->len - 1) * sizeof(*fill));
	fill[0] = 0;
	free(b->tables->times.data);
	b->tables->times.data = to;
	b->tables->times.cap = b->tables->times.len;
	return 0;
}

/* --- end marks --- */

static int add_end(struct ep_rows *rows, size_t column, size_t end)
{
	static const uint64_t zero[EP_ROWS_MAX_COLUMNS * 2];
	int r = ep_rows_push(rows, zero);

	if (r == 0)
		ep_rows_u32(rows, column)[rows->len - 1] = (uint32_t)end;
	return r;
}

static int add_ends(struct ep_profile_tables *t)
{
	int r = add_end(&t->locations, LOCATION_LINE_FIRST, t->lines.len);

	if (r == 0)
		r = add_end(&t->stacks, STACK_FIRST, t->stack_locations.len);
	if (r == 0)
		r = add_end(&t->processes, PROCESS_ENV_FIRST, t->env.len);
	return r < 0 ? r : add_end(&t->samples, SAMPLE_TIMES, 0);
}

static int list_strings(struct ep_profile_tables *t)
{
	uint32_t n = ep_strings_count(t->strings);

	t->text = malloc(n * sizeof(*t->text));
	t->text_bytes = malloc(n * sizeof(*t->text_bytes));
	if (!t->text || !t->text_bytes)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		t->text[i] = ep_strings_get(t->strings, i);
		t->text_bytes[i] = (uint32_t)ep_strings_len_of(t->strings, i);
	}
	return 0;
}

static size_t close_tables(struct ep_profile_tables *t)
{
	struct ep_rows *const all[] = {&t->functions, &t->mappings,  &t->lines, &t->locations,
				       &t->stacks,    &t->processes, &t->env,	&t->samples};
	size_t bytes = sizeof(*t) + ep_strings_bytes(t->strings) +
		       ep_strings_count(t->strings) * (sizeof(*t->text) + sizeof(*t->text_bytes));

	ep_vec_shrink(&t->stack_locations);
	ep_vec_shrink(&t->times);
	bytes += t->stack_locations.cap * sizeof(uint32_t) + t->times.cap * sizeof(uint64_t);
	for (size_t i = 0; i < EP_LEN(all); i++) {
		ep_rows_close(all[i]);
		bytes += ep_rows_bytes(all[i]);
	}
	return bytes;
}

/* --- columns --- */

static void set_names(const struct ep_profile_tables *t, struct ep_batch *batch)
{
	batch->n_strings = ep_strings_count(t->strings);
	batch->string_text = t->text;
	batch->string_bytes = t->text_bytes;
	batch->n_functions = t->functions.len;
	batch->function_name = ep_rows_u32(&t->functions, FUNCTION_NAME);
	batch->function_system_name = ep_rows_u32(&t->functions, FUNCTION_SYSTEM_NAME);
	batch->function_file = ep_rows_u32(&t->functions, FUNCTION_FILE);
	batch->function_line = ep_rows_u32(&t->functions, FUNCTION_LINE);
	batch->n_mappings = t->mappings.len;
	batch->mapping_start_va = ep_rows_u64(&t->mappings, MAPPING_START_VA);
	batch->mapping_limit_va = ep_rows_u64(&t->mappings, MAPPING_LIMIT_VA);
	batch->mapping_file_off = ep_rows_u64(&t->mappings, MAPPING_FILE_OFF);
	batch->mapping_path = ep_rows_u32(&t->mappings, MAPPING_PATH);
	batch->mapping_build_id = ep_rows_u32(&t->mappings, MAPPING_BUILD_ID);
	batch->mapping_go_build_id = ep_rows_u32(&t->mappings, MAPPING_GO_BUILD_ID);
	batch->mapping_file_id = ep_rows_u32(&t->mappings, MAPPING_FILE_ID);
	batch->mapping_flags = ep_rows_u32(&t->mappings, MAPPING_FLAGS);
}

static void set_stacks(const struct ep_profile_tables *t, struct ep_batch *batch)
{
	batch->n_locations = t->locations.len - 1;
	batch->location_address = ep_rows_u64(&t->locations, LOCATION_ADDRESS);
	batch->location_mapping = ep_rows_u32(&t->locations, LOCATION_MAPPING);
	batch->location_kind = ep_rows_u32(&t->locations, LOCATION_KIND);
	batch->location_flags = ep_rows_u32(&t->locations, LOCATION_FLAGS);
	batch->location_unnamed = ep_rows_u32(&t->locations, LOCATION_UNNAMED);
	batch->location_line_first = ep_rows_u32(&t->locations, LOCATION_LINE_FIRST);
	batch->n_lines = t->lines.len;
	batch->line_function = ep_rows_u32(&t->lines, LINE_FUNCTION);
	batch->line_line = ep_rows_u32(&t->lines, LINE_LINE);
	batch->line_column = ep_rows_u32(&t->lines, LINE_COLUMN);
	batch->n_stacks = t->stacks.len - 1;
	batch->stack_error = ep_rows_u32(&t->stacks, STACK_ERROR);
	batch->stack_error_text = ep_rows_u32(&t->stacks, STACK_ERROR_TEXT);
	batch->stack_unnamed = ep_rows_u32(&t->stacks, STACK_UNNAMED);
	batch->stack_unnamed_text = ep_rows_u32(&t->stacks, STACK_UNNAMED_TEXT);
	batch->stack_location_first = ep_rows_u32(&t->stacks, STACK_FIRST);
	batch->stack_hash = t->stacks.column[STACK_HASH];
	batch->n_stack_locations = (uint32_t)t->stack_locations.len;
	batch->stack_location = t->stack_locations.data;
}

static void set_samples(const struct ep_profile_tables *t, struct ep_batch *batch)
{
	batch->n_processes = t->processes.len - 1;
	batch->process_pid = ep_rows_u32(&t->processes, PROCESS_PID);
	batch->process_image = ep_rows_u32(&t->processes, PROCESS_IMAGE);
	batch->process_start_ns = ep_rows_u64(&t->processes, PROCESS_START_NS);
	batch->process_comm = ep_rows_u32(&t->processes, PROCESS_COMM);
	batch->process_exe_path = ep_rows_u32(&t->processes, PROCESS_EXE_PATH);
	batch->process_container_id = ep_rows_u32(&t->processes, PROCESS_CONTAINER_ID);
	batch->process_user = ep_rows_u32(&t->processes, PROCESS_USER);
	batch->process_cgroup = ep_rows_u32(&t->processes, PROCESS_CGROUP);
	batch->process_unit = ep_rows_u32(&t->processes, PROCESS_UNIT);
	batch->process_env_first = ep_rows_u32(&t->processes, PROCESS_ENV_FIRST);
	batch->n_process_env = t->env.len;
	batch->process_env_name = ep_rows_u32(&t->env, ENV_NAME);
	batch->process_env_value = ep_rows_u32(&t->env, ENV_VALUE);
	batch->n_samples = t->samples.len - 1;
	batch->sample_stack = ep_rows_u32(&t->samples, SAMPLE_STACK);
	batch->sample_process = ep_rows_u32(&t->samples, SAMPLE_PROCESS);
	batch->sample_tid = ep_rows_u32(&t->samples, SAMPLE_TID);
	batch->sample_thread_name = ep_rows_u32(&t->samples, SAMPLE_THREAD_NAME);
	batch->sample_cpu = ep_rows_u32(&t->samples, SAMPLE_CPU);
	batch->sample_count = ep_rows_u32(&t->samples, SAMPLE_COUNT);
	batch->sample_time_first = ep_rows_u32(&t->samples, SAMPLE_TIMES);
	batch->sample_time_ns = t->times.data;
	batch->sample_weight_ns = ep_rows_u64(&t->samples, SAMPLE_WEIGHT);
}

/* --- header --- */

/* Of inputs with several periods it is what a sample of theirs stands for in the mean. */
static void set_mean_period(const struct ep_profile_builder *b, struct ep_batch *batch)
{
	uint64_t count = 0, weight = 0;

	for (uint32_t i = 0; i < batch->n_samples; i++) {
		count += batch->sample_count[i];
		if (__builtin_add_overflow(weight, batch->sample_weight_ns[i], &weight))
			weight = UINT64_MAX;
	}
	batch->period_ns = count ? weight / count : b->period_ns;
	if (b->has_rates && batch->period_ns && strcmp(batch->weight_unit, "nanoseconds") == 0)
		batch->period_hz = (uint32_t)EP_MIN(NS_PER_SEC / batch->period_ns,
						    (uint64_t)UINT32_MAX);
}

static void set_header(const struct ep_profile_builder *b, struct ep_batch *batch)
{
	batch->host_name = ep_profile_text(b, b->host_name);
	batch->title = ep_profile_text(b, b->title);
	batch->sample_type = b->sample_type ? ep_profile_text(b, b->sample_type) : "cpu";
	batch->weight_unit = b->weight_unit ? ep_profile_text(b, b->weight_unit) : "nanoseconds";
	batch->start_ns = b->start_ns;
	batch->duration_ns = b->start_ns ? b->end_ns - b->start_ns : b->duration_ns;
	batch->lost_samples = b->lost_samples;
	batch->due_samples = b->due_samples;
	batch->agent_cpu_ns = b->agent_cpu_ns;
	batch->bpf_ns = b->bpf_ns;
	batch->n_cpus = b->n_cpus;
	batch->period_hz = b->period_hz;
	batch->period_ns = b->period_ns;
	if (b->has_periods || b->has_rates)
		set_mean_period(b, batch);
}

int ep_profile_finish(struct ep_profile_builder *b, struct ep_batch **ret_batch)
{
	struct ep_batch *batch;
	int r = b->error;

	if (r == 0)
		r = add_ends(b->tables);
	if (r == 0)
		r = group_times(b);
	if (r == 0)
		r = list_strings(b->tables);
	if (r < 0) {
		b->error = r;
		return r;
	}
	ep_vec_fini(&b->runs);
	ep_vec_fini(&b->digests);
	batch = ep_batch_new(close_tables(b->tables), ep_profile_tables_free, b->tables);
	if (!batch) {
		b->error = -ENOMEM;
		return -ENOMEM;
	}
	set_names(b->tables, batch);
	set_stacks(b->tables, batch);
	set_samples(b->tables, batch);
	set_header(b, batch);
	b->tables = NULL;
	b->error = -EINVAL; /* nothing can be added any more */
	*ret_batch = batch;
	return 0;
}
