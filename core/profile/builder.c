/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are added bottom up: a row is checked, looked for in the index of its table, and pushed if it is new.
 * Lists (a location's lines, a stack's locations, a process's variables) are in one array for all rows of
 * their table; the row has where its own begins, and the next row where it ends.
 */
#include "core/profile/tables.h"
#include "core/profile/unit.h"
#include "core/base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define MAX_TEXT_BYTES	    16384 /* of one string */

/* --- rows --- */

/* What an add returns: the first error stays. */
static int stick(struct ep_profile_builder *b, int r, uint32_t row, uint32_t *ret_row)
{
	if (!b->error)
		b->error = r;
	*ret_row = b->error ? 0 : row;
	return b->error;
}

static bool has_string(const struct ep_profile_builder *b, uint32_t row)
{
	return row < ep_strings_count(b->tables->strings);
}

/* A file of others says anything. */
static int add_unclean(struct ep_profile_builder *b, const char *text, size_t bytes, uint32_t *row)
{
	char clean[MAX_TEXT_BYTES];

	ep_utf8_clean(text, bytes, clean);
	return ep_strings_add(b->tables->strings, clean, bytes, row);
}

int ep_profile_add_string(struct ep_profile_builder *b, const char *text, size_t bytes,
			  uint32_t *ret_row)
{
	uint32_t row = 0;
	int r = 0;

	if (b->error)
		return stick(b, 0, 0, ret_row);
	bytes = text ? ep_utf8_cut(text, bytes, MAX_TEXT_BYTES) : 0;
	if (!bytes)
		r = 0;
	else if (ep_utf8_is_clean(text, bytes))
		r = ep_strings_add(b->tables->strings, text, bytes, &row);
	else
		r = add_unclean(b, text, bytes, &row);
	return stick(b, r, row, ret_row);
}

int ep_profile_add_function(struct ep_profile_builder *b,
			    const struct ep_profile_function *function, uint32_t *ret_row)
{
	uint32_t row = 0;
	int r = b->error;

	if (r == 0 && !(has_string(b, function->name) && has_string(b, function->system_name) &&
			has_string(b, function->file)))
		r = -EBADMSG;
	if (r == 0)
		r = ep_rows_intern(&b->tables->functions, function, &row);
	return stick(b, r, row, ret_row);
}

int ep_profile_add_mapping(struct ep_profile_builder *b, const struct ep_profile_mapping *mapping,
			   uint32_t *ret_row)
{
	uint32_t row = 0;
	int r = b->error;

	if (r == 0 && !(has_string(b, mapping->path) && has_string(b, mapping->build_id) &&
			has_string(b, mapping->go_build_id) && has_string(b, mapping->file_id)))
		r = -EBADMSG;
	if (r == 0)
		r = ep_rows_intern(&b->tables->mappings, mapping, &row);
	return stick(b, r, row, ret_row);
}

void ep_profile_mark_mapping(struct ep_profile_builder *b, uint32_t mapping, uint32_t flags)
{
	if (mapping && mapping < b->tables->mappings.len)
		ep_rows_u32(&b->tables->mappings, MAPPING_FLAGS)[mapping] |= flags;
}

/* --- locations --- */

/* Where the list of a row ends in a table whose rows say where theirs begin. */
static uint32_t list_end(const struct ep_rows *rows, size_t column, uint32_t row, uint32_t end)
{
	return row + 1 < rows->len ? ep_rows_u32(rows, column)[row + 1] : end;
}

static bool has_lines(const struct ep_profile_builder *b, uint32_t row,
		      const struct ep_profile_line *lines, uint32_t n_lines)
{
	const struct ep_rows *table = &b->tables->lines;
	uint32_t first = ep_rows_u32(&b->tables->locations, LOCATION_LINE_FIRST)[row];

	if (list_end(&b->tables->locations, LOCATION_LINE_FIRST, row, table->len) - first !=
	    n_lines)
		return false;
	for (uint32_t i = 0; i < n_lines; i++) {
		if (!ep_rows_equal(table, first + i, &lines[i]))
			return false;
	}
	return true;
}

static uint32_t find_location(const struct ep_profile_builder *b, uint64_t hash,
			      const struct ep_profile_location_row *row, const struct ep_profile_line *lines,
			      uint32_t n_lines)
{
	const struct ep_rows *rows = &b->tables->locations;
	size_t pos;

	for (uint32_t at = ep_index_first(&rows->index, hash, &pos); at;
	     at = ep_index_next(&rows->index, hash, &pos)) {
		if (ep_rows_equal(rows, at - 1, row) && has_lines(b, at - 1, lines, n_lines))
			return at - 1;
	}
	return 0;
}

/* Of native code without a symbol a stack says nothing (ep_batch_has_no_symbol). */
static bool is_told_by_stack(uint32_t unnamed)
{
	return unnamed && unnamed != EP_UNNAMED_NO_SYMBOL && unnamed < EP_UNNAMED_COUNT;
}

static int push_location(struct ep_profile_builder *b, uint64_t hash, struct ep_profile_location_row *row,
			 const struct ep_profile_line *lines, uint32_t n_lines, uint32_t *ret_row)
{
	struct ep_profile_tables *t = b->tables;
	struct ep_profile_digest digest;
	int r = 0;

	row->line_first = t->lines.len;
	for (uint32_t i = 0; i < n_lines && r == 0; i++)
		r = ep_rows_push(&t->lines, &lines[i]);
	if (r == 0)
		r = ep_rows_add_hashed(&t->locations, hash, row, ret_row);
	if (r < 0)
		return r;
	b->has_unnamed |= is_told_by_stack(row->unnamed);
	digest = ep_profile_digest_location(b, *ret_row);
	return ep_vec_append(&b->digests, &digest, 1);
}

static int intern_location(struct ep_profile_builder *b, struct ep_profile_location_row *row,
			   const struct ep_profile_line *lines, uint32_t n_lines, uint32_t *ret_row)
{
	uint64_t hash = XXH3_64bits_withSeed(lines, n_lines * sizeof(*lines),
					     ep_rows_hash(&b->tables->locations, row));

	*ret_row = find_location(b, hash, row, lines, n_lines);
	return *ret_row ? 0 : push_location(b, hash, row, lines, n_lines, ret_row);
}

/* The name of the file without directories, "" when there is none. */
static const char *mapping_name(const struct ep_profile_builder *b, uint32_t mapping)
{
	const char *path = ep_profile_text(
		b, ep_rows_u32(&b->tables->mappings, MAPPING_PATH)[mapping]);
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* As core/trace/tables.c names what nobody could name. */
static void make_up_name(const struct ep_profile_builder *b, struct ep_profile_location_row *row, char *text,
			 size_t bytes)
{
	const char *kind = ep_profile_text(b, row->kind), *name = mapping_name(b, row->mapping);
	bool is_kernel = strcmp(kind, "kernel") == 0;
	uint32_t unnamed = EP_UNNAMED_NO_SYMBOL;

	if (is_kernel) {
		snprintf(text, bytes, "[kernel]+0x%" PRIx64, row->address);
	} else if (name[0]) {
		snprintf(text, bytes, "%.255s+0x%" PRIx64, name, row->address);
	} else if (row->address) {
		snprintf(text, bytes, "0x%" PRIx64, row->address);
		unnamed = EP_UNNAMED_NO_FILE;
	} else {
		bool has_language = kind[0] && strcmp(kind, "unknown") != 0;

		snprintf(text, bytes, "[%.64s%sunknown function]", has_language ? kind : "",
			 has_language ? ": " : "");
	}
	row->flags |= EP_LOCATION_UNNAMED;
	if (!row->unnamed)
		row->unnamed = unnamed;
}

static int intern_unnamed(struct ep_profile_builder *b, struct ep_profile_location_row *row, uint32_t *ret_row)
{
	struct ep_profile_function function = {0};
	struct ep_profile_line line = {0};
	char text[400];
	int r;

	make_up_name(b, row, text, sizeof(text));
	r = ep_profile_add_string(b, text, strlen(text), &function.name);
	function.system_name = function.name;
	if (r == 0)
		r = ep_profile_add_function(b, &function, &line.function);
	return r < 0 ? r : intern_location(b, row, &line, 1, ret_row);
}

static bool is_location(const struct ep_profile_builder *b,
			const struct ep_profile_location *location)
{
	if (location->mapping >= b->tables->mappings.len || !has_string(b, location->kind))
		return false;
	for (uint32_t i = 0; i < location->n_lines; i++) {
		uint32_t function = location->lines[i].function;

		if (function == 0 || function >= b->tables->functions.len)
			return false;
	}
	return true;
}

int ep_profile_add_location(struct ep_profile_builder *b,
			    const struct ep_profile_location *location, uint32_t *ret_row)
{
	struct ep_profile_location_row row = {
		.address = location->address,
		.mapping = location->mapping,
		.kind = location->kind,
		.flags = location->flags,
		.unnamed = location->unnamed,
	};
	uint32_t at = 0;
	int r = b->error;

	if (r == 0 && location->n_lines > EP_PROFILE_MAX_LIST)
		r = -E2BIG;
	if (r == 0 && !is_location(b, location))
		r = -EBADMSG;
	if (r == 0)
		r = location->n_lines
			    ? intern_location(b, &row, location->lines, location->n_lines, &at)
			    : intern_unnamed(b, &row, &at);
	return stick(b, r, at, ret_row);
}

/* --- stacks --- */

static uint32_t find_stack(const struct ep_profile_builder *b, uint64_t hash,
			   const struct ep_profile_stack_row *row, const uint32_t *locations,
			   uint32_t n_locations)
{
	const struct ep_rows *rows = &b->tables->stacks;
	size_t pos;

	for (uint32_t at = ep_index_first(&rows->index, hash, &pos); at;
	     at = ep_index_next(&rows->index, hash, &pos)) {
		uint32_t first = ep_rows_u32(rows, STACK_FIRST)[at - 1];
		uint32_t end = list_end(rows, STACK_FIRST, at - 1,
					(uint32_t)b->tables->stack_locations.len);

		if (end - first == n_locations && ep_rows_equal(rows, at - 1, row) &&
		    (!n_locations ||
		     memcmp(ep_vec_at(&b->tables->stack_locations, uint32_t, first), locations,
			    n_locations * sizeof(*locations)) == 0))
			return at - 1;
	}
	return 0;
}

static const char *const unnamed_texts[EP_UNNAMED_COUNT] = {
	[EP_UNNAMED_NONE] = "",
#define EP_UNNAMED(name, text) [EP_UNNAMED_##name] = text,
#include "ebpf-profiler/unnamed.def"
#undef EP_UNNAMED
};

/*
 * What the frame without a name that is nearest to the leaf says, where the input has not reported.
 */
static int find_unnamed(struct ep_profile_builder *b, const struct ep_profile_stack *stack,
			struct ep_profile_stack_row *row)
{
	const uint32_t *unnamed = ep_rows_u32(&b->tables->locations, LOCATION_UNNAMED);

	if (!b->has_unnamed || row->unnamed)
		return 0;
	for (uint32_t i = 0; i < stack->n_locations; i++) {
		uint32_t why = unnamed[stack->locations[i]];

		if (!is_told_by_stack(why))
			continue;
		row->unnamed = why;
		return ep_profile_add_string(b, unnamed_texts[why], strlen(unnamed_texts[why]),
					     &row->unnamed_text);
	}
	return 0;
}

static int intern_stack(struct ep_profile_builder *b, const struct ep_profile_stack *stack,
			uint32_t *ret_row)
{
	struct ep_rows *rows = &b->tables->stacks;
	struct ep_profile_stack_row row = {
		.error = stack->error,
		.error_text = stack->error_text,
		.unnamed = stack->unnamed,
		.unnamed_text = stack->unnamed_text,
		.first = (uint32_t)b->tables->stack_locations.len,
	};
	uint64_t hash;
	int r = find_unnamed(b, stack, &row);

	if (r < 0)
		return r;
	hash = XXH3_64bits_withSeed(stack->locations, stack->n_locations * sizeof(*stack->locations),
				    ep_rows_hash(rows, &row));
	*ret_row = find_stack(b, hash, &row, stack->locations, stack->n_locations);
	if (*ret_row)
		return 0;
	if (stack->hash)
		memcpy(row.hash, stack->hash, sizeof(row.hash));
	else
		r = ep_profile_digest_stack(b, stack->locations, stack->n_locations, row.hash);
	if (r == 0)
		r = ep_vec_append(&b->tables->stack_locations, stack->locations,
				  stack->n_locations);
	return r < 0 ? r : ep_rows_add_hashed(rows, hash, &row, ret_row);
}

static bool is_stack(const struct ep_profile_builder *b, const struct ep_profile_stack *stack)
{
	if (!has_string(b, stack->error_text) || !has_string(b, stack->unnamed_text))
		return false;
	for (uint32_t i = 0; i < stack->n_locations; i++) {
		if (!stack->locations[i] || stack->locations[i] >= b->tables->locations.len)
			return false;
	}
	return true;
}

int ep_profile_add_stack(struct ep_profile_builder *b, const struct ep_profile_stack *stack,
			 uint32_t *ret_row)
{
	uint32_t row = 0;
	int r = b->error;

	if (r == 0 && stack->n_locations > EP_PROFILE_MAX_LIST)
		r = -E2BIG;
	if (r == 0 && !is_stack(b, stack))
		r = -EBADMSG;
	if (r == 0)
		r = intern_stack(b, stack, &row);
	return stick(b, r, row, ret_row);
}

/* --- processes --- */

static bool has_env(const struct ep_profile_builder *b, uint32_t row, const uint32_t (*env)[2],
		    uint32_t n_env)
{
	uint32_t first = ep_rows_u32(&b->tables->processes, PROCESS_ENV_FIRST)[row];

	if (list_end(&b->tables->processes, PROCESS_ENV_FIRST, row, b->tables->env.len) - first !=
	    n_env)
		return false;
	for (uint32_t i = 0; i < n_env; i++) {
		if (!ep_rows_equal(&b->tables->env, first + i, env[i]))
			return false;
	}
	return true;
}

static int push_process(struct ep_profile_builder *b, uint64_t hash, struct ep_profile_process_row *row,
			const struct ep_profile_process *process, uint32_t *ret_row)
{
	int r = 0;

	row->env_first = b->tables->env.len;
	for (uint32_t i = 0; i < process->n_env && r == 0; i++)
		r = ep_rows_push(&b->tables->env, process->env[i]);
	return r < 0 ? r : ep_rows_add_hashed(&b->tables->processes, hash, row, ret_row);
}

static int find_unit(struct ep_profile_builder *b, uint32_t cgroup, uint32_t *ret_unit)
{
	const char *unit;
	size_t bytes = ep_unit_of_cgroup(ep_strings_get(b->tables->strings, cgroup), &unit);

	*ret_unit = 0;
	return bytes ? ep_strings_add(b->tables->strings, unit, bytes, ret_unit) : 0;
}

static int intern_process(struct ep_profile_builder *b, const struct ep_profile_process *process,
			  uint32_t *ret_row)
{
	struct ep_rows *rows = &b->tables->processes;
	struct ep_profile_process_row row = {
		.start_ns = process->start_ns,
		.pid = process->pid,
		.image = process->image,
		.comm = process->comm,
		.exe_path = process->exe_path,
		.container_id = process->container_id,
		.user = process->user,
		.cgroup = process->cgroup,
	};
	int r = find_unit(b, process->cgroup, &row.unit);
	uint64_t hash;
	size_t pos;

	if (r < 0)
		return r;
	hash = ep_rows_hash(rows, &row);

	for (uint32_t at = ep_index_first(&rows->index, hash, &pos); at;
	     at = ep_index_next(&rows->index, hash, &pos)) {
		if (ep_rows_equal(rows, at - 1, &row) &&
		    has_env(b, at - 1, process->env, process->n_env)) {
			*ret_row = at - 1;
			return 0;
		}
	}
	return push_process(b, hash, &row, process, ret_row);
}

static bool is_process(const struct ep_profile_builder *b, const struct ep_profile_process *process)
{
	if (!has_string(b, process->comm) || !has_string(b, process->exe_path) ||
	    !has_string(b, process->container_id) || !has_string(b, process->user) ||
	    !has_string(b, process->cgroup))
		return false;
	for (uint32_t i = 0; i < process->n_env; i++) {
		if (!has_string(b, process->env[i][0]) || !has_string(b, process->env[i][1]))
			return false;
	}
	return true;
}

int ep_profile_add_process(struct ep_profile_builder *b, const struct ep_profile_process *process,
			   uint32_t *ret_row)
{
	uint32_t row = 0;
	int r = b->error;

	if (r == 0 && process->n_env > EP_PROFILE_MAX_LIST)
		r = -E2BIG;
	if (r == 0 && !is_process(b, process))
		r = -EBADMSG;
	if (r == 0)
		r = intern_process(b, process, &row);
	return stick(b, r, row, ret_row);
}

/* --- samples --- */

/* A row has the times of all its samples, or none: what comes with and without times is two rows. */
static uint32_t find_sample(const struct ep_profile_builder *b, uint64_t hash,
			    const struct ep_profile_sample_row *row)
{
	const struct ep_rows *rows = &b->tables->samples;
	size_t pos;

	for (uint32_t at = ep_index_first(&rows->index, hash, &pos); at;
	     at = ep_index_next(&rows->index, hash, &pos)) {
		bool has_times = ep_rows_u32(rows, SAMPLE_TIMES)[at - 1] > 0;

		if (has_times == (row->times > 0) && ep_rows_equal(rows, at - 1, row))
			return at;
	}
	return 0;
}

static void add_up(struct ep_rows *rows, uint32_t at, const struct ep_profile_sample_row *row)
{
	uint32_t *count = &ep_rows_u32(rows, SAMPLE_COUNT)[at];
	uint64_t *weight = &ep_rows_u64(rows, SAMPLE_WEIGHT)[at];

	if (__builtin_add_overflow(*count, row->count, count))
		*count = UINT32_MAX;
	if (__builtin_add_overflow(*weight, row->weight, weight))
		*weight = UINT64_MAX;
	ep_rows_u32(rows, SAMPLE_TIMES)[at] += row->times; /* EP_PROFILE_MAX_TIMES bounds it */
}

static int add_times(struct ep_profile_builder *b, uint32_t sample, const uint64_t *times_ns,
		     uint32_t n)
{
	struct ep_profile_run *last =
		b->runs.len ? ep_vec_at(&b->runs, struct ep_profile_run, b->runs.len - 1) : NULL;
	int r = ep_vec_append(&b->tables->times, times_ns, n);

	if (r < 0)
		return r;
	if (last && last->sample == sample) {
		last->n += n;
		return 0;
	}
	return ep_vec_append(&b->runs, &(struct ep_profile_run){.sample = sample, .n = n}, 1);
}

static bool is_sample(const struct ep_profile_builder *b, const struct ep_profile_sample *sample)
{
	return sample->stack && sample->stack < b->tables->stacks.len &&
	       sample->process < b->tables->processes.len && has_string(b, sample->thread_name) &&
	       (sample->n_times == 0 || sample->n_times == sample->count);
}

static int intern_sample(struct ep_profile_builder *b, const struct ep_profile_sample *sample)
{
	struct ep_rows *rows = &b->tables->samples;
	struct ep_profile_sample_row row = {
		.stack = sample->stack,
		.process = sample->process,
		.tid = sample->tid,
		.thread_name = sample->thread_name,
		.cpu = sample->cpu,
		/* what has a weight was seen once at least */
		.count = (uint32_t)EP_MIN(EP_MAX(sample->count, 1u), (uint64_t)UINT32_MAX),
		.times = sample->n_times,
		.weight = sample->weight,
	};
	uint64_t hash = ep_rows_hash(rows, &row);
	uint32_t at = find_sample(b, hash, &row);
	int r = 0;

	if (at)
		add_up(rows, --at, &row);
	else
		r = ep_rows_add_hashed(rows, hash, &row, &at);
	return r < 0 || !row.times ? r : add_times(b, at, sample->times_ns, row.times);
}

int ep_profile_add_sample(struct ep_profile_builder *b, const struct ep_profile_sample *sample)
{
	uint32_t none;
	int r = b->error;

	if (r == 0 && !is_sample(b, sample))
		r = -EBADMSG;
	if (r == 0 && (sample->count || sample->weight))
		r = intern_sample(b, sample);
	return stick(b, r, 0, &none);
}
