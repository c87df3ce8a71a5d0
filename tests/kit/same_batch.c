/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/same_batch.h"
#include "tests/kit/test.h"

struct line {
	char *key; /* whose sample, and its stack */
	uint64_t count, weight;
	uint64_t *times;
	uint32_t n_times;
};

static const char *text(const struct ep_batch *b, uint32_t row)
{
	assert_in_range(row, 0, b->n_strings - 1);
	return b->string_text[row];
}

/* Of a column that a batch may not have. */
#define OPTIONAL(b, column, row) (EP_HAS(b, column) ? (b)->column[row] : 0)

static void put_process(FILE *out, const struct ep_batch *b, uint32_t row)
{
	fprintf(out, "pid %u start %" PRIu64 " image %u comm <%s> exe <%s> container <%s>", b->process_pid[row],
		b->process_start_ns[row], OPTIONAL(b, process_image, row), text(b, b->process_comm[row]),
		text(b, b->process_exe_path[row]), text(b, b->process_container_id[row]));
	fprintf(out, " of <%s> in <%s>", text(b, OPTIONAL(b, process_user, row)),
		text(b, OPTIONAL(b, process_cgroup, row)));
	if (!EP_HAS(b, process_env_first))
		return;
	for (uint32_t i = b->process_env_first[row]; i < b->process_env_first[row + 1]; i++)
		fprintf(out, " <%s>=<%s>", text(b, b->process_env_name[i]), text(b, b->process_env_value[i]));
}

static void put_line(FILE *out, const struct ep_batch *b, uint32_t line)
{
	uint32_t row = b->line_function[line];

	fprintf(out, " {<%s> <%s> <%s>:%u at %u:%u}", text(b, b->function_name[row]),
		text(b, b->function_system_name[row]), text(b, b->function_file[row]), b->function_line[row],
		b->line_line[line], b->line_column[line]);
}

static void put_location(FILE *out, const struct ep_batch *b, uint32_t row)
{
	uint32_t mapping = b->location_mapping[row];

	fprintf(out, " | 0x%" PRIx64 " %s flags %x unnamed %u", b->location_address[row],
		text(b, b->location_kind[row]), b->location_flags[row], OPTIONAL(b, location_unnamed, row));
	if (mapping)
		fprintf(out, " in <%s> 0x%" PRIx64 "-0x%" PRIx64 "+0x%" PRIx64 " gnu <%s> go <%s> file <%s> flags %x",
			text(b, b->mapping_path[mapping]), b->mapping_start_va[mapping],
			b->mapping_limit_va[mapping], b->mapping_file_off[mapping],
			text(b, b->mapping_build_id[mapping]), text(b, OPTIONAL(b, mapping_go_build_id, mapping)),
			text(b, b->mapping_file_id[mapping]), b->mapping_flags[mapping]);
	for (uint32_t i = b->location_line_first[row]; i < b->location_line_first[row + 1]; i++)
		put_line(out, b, i);
}

static void put_stack(FILE *out, const struct ep_batch *b, uint32_t row)
{
	fprintf(out, " error %u <%s> unnamed %u <%s>", b->stack_error[row],
		text(b, OPTIONAL(b, stack_error_text, row)), OPTIONAL(b, stack_unnamed, row),
		text(b, OPTIONAL(b, stack_unnamed_text, row)));
	for (uint32_t i = b->stack_location_first[row]; i < b->stack_location_first[row + 1]; i++)
		put_location(out, b, b->stack_location[i]);
}

static void line_init(const struct ep_batch *b, uint32_t row, struct line *line)
{
	size_t bytes;
	FILE *out = open_memstream(&line->key, &bytes);

	assert_non_null(out);
	put_process(out, b, b->sample_process[row]);
	fprintf(out, " tid %u <%s> cpu %u", b->sample_tid[row], text(b, b->sample_thread_name[row]),
		b->sample_cpu[row]);
	put_stack(out, b, b->sample_stack[row]);
	assert_int_equal(fclose(out), 0);
	line->count = b->sample_count[row];
	line->weight = ep_batch_weight_ns(b, row);
	line->n_times = b->sample_time_first[row + 1] - b->sample_time_first[row];
	line->times = malloc((line->n_times + 1) * sizeof(*line->times));
	assert_non_null(line->times);
	if (line->n_times)
		memcpy(line->times, b->sample_time_ns + b->sample_time_first[row],
		       line->n_times * sizeof(*line->times));
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int r = strcmp(x->key, y->key);

	return r ? r : (x->n_times > 0) - (y->n_times > 0);
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The times of `from` are added to those of `to`. */
static void join(struct line *to, struct line *from)
{
	to->count += from->count;
	to->weight += from->weight;
	to->times = realloc(to->times, (to->n_times + from->n_times + 1) * sizeof(*to->times));
	assert_non_null(to->times);
	memcpy(to->times + to->n_times, from->times, from->n_times * sizeof(*to->times));
	to->n_times += from->n_times;
	from->n_times = 0;
	from->count = 0;
}

static void put_header(FILE *out, const struct ep_batch *b)
{
	fprintf(out, "start %" PRIu64 " duration %" PRIu64 " period %" PRIu64 " hz %u host <%s> type <%s> unit <%s>",
		b->start_ns, b->duration_ns, b->period_ns, b->period_hz, b->host_name, b->sample_type,
		EP_HAS(b, weight_unit) ? b->weight_unit : "nanoseconds");
	fprintf(out, " lost %" PRIu64 " due %" PRIu64 " agent %" PRIu64 " bpf %" PRIu64 " cpus %u title <%s>\n",
		b->lost_samples,
		EP_HAS(b, due_samples) ? b->due_samples : 0, EP_HAS(b, agent_cpu_ns) ? b->agent_cpu_ns : 0,
		EP_HAS(b, bpf_ns) ? b->bpf_ns : 0, EP_HAS(b, n_cpus) ? b->n_cpus : 0,
		EP_HAS(b, title) ? b->title : "");
}

static void put_lines(FILE *out, struct line *lines, uint32_t n)
{
	for (uint32_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && compare_lines(&lines[i], &lines[j]) == 0; j++)
			join(&lines[i], &lines[j]);
		qsort(lines[i].times, lines[i].n_times, sizeof(*lines[i].times), compare_times);
		fprintf(out, "%" PRIu64 " x %" PRIu64 " at", lines[i].count, lines[i].weight);
		for (uint32_t time = 0; time < lines[i].n_times; time++)
			fprintf(out, " %" PRIu64, lines[i].times[time]);
		fprintf(out, " %s\n", lines[i].key);
	}
}

char *ep_test_batch_text(const struct ep_batch *b)
{
	struct line *lines = calloc((size_t)b->n_samples + 1, sizeof(*lines));
	char *all = NULL;
	size_t bytes;
	FILE *out = open_memstream(&all, &bytes);

	assert_non_null(lines);
	assert_non_null(out);
	put_header(out, b);
	for (uint32_t i = 0; i < b->n_samples; i++)
		line_init(b, i, &lines[i]);
	qsort(lines, b->n_samples, sizeof(*lines), compare_lines);
	put_lines(out, lines, b->n_samples);
	assert_int_equal(fclose(out), 0);
	for (uint32_t i = 0; i < b->n_samples; i++) {
		free(lines[i].key);
		free(lines[i].times);
	}
	free(lines);
	return all;
}

/* The next line, which ends with a NUL then; NULL at the end. */
static char *next_line(char **text_at)
{
	char *line = strsep(text_at, "\n");

	return line && line[0] ? line : NULL;
}

void ep_test_same_batch(const struct ep_batch *is, const struct ep_batch *should_be)
{
	char *a = ep_test_batch_text(is), *b = ep_test_batch_text(should_be);
	char *at_a = a, *at_b = b;

	if (strcmp(a, b) != 0) {
		for (;;) {
			const char *x = next_line(&at_a), *y = next_line(&at_b);

			if (!x || !y || strcmp(x, y) != 0)
				fail_msg("is\n%s\nshould be\n%s", x ? x : "(end)", y ? y : "(end)");
		}
	}
	free(a);
	free(b);
}
