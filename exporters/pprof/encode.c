/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/pprof/encode.h"
#include "ebpf-profiler/frame.h"
#include "exporters/shared/pprof.h"
#include "exporters/shared/proto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Strings of ours, after those of the batch in the string table. */
enum own_string {
	STR_SAMPLES,
	STR_COUNT,
	STR_CPU,
	STR_NANOSECONDS,
	STR_PID,
	STR_TID,
	STR_COMM,
	STR_THREAD_NAME,
	STR_CONTAINER_ID,
	STR_USER,
	STR_CGROUP,
	STR_ID,
	STR_COMMENT, /* and those after it */
};
static const char *const own_strings[] = {
	"samples", "count", "cpu",	   "nanoseconds",  "pid",
	"tid",	   "comm",  "thread_name", "container_id", "user",
	"cgroup",  "id",
};

#define N_COMMENTS    6
#define COMMENT_BYTES 512

struct encoder {
	const struct ep_batch *batch;
	struct ep_sink *sink;
	struct pb out;	      /* not handed over yet */
	struct pb message;    /* the element in hand */
	struct pb part;	      /* a message within it */
	uint8_t *mapping_has; /* per mapping: 1 << field - MAPPING_HAS_FUNCTIONS */
	uint32_t *order;      /* sample rows, those of equal identity in a row */
	char comments[N_COMMENTS][COMMENT_BYTES];
	int error; /* of the sink */
};

static uint64_t own(const struct encoder *enc, enum own_string string)
{
	return (uint64_t)enc->batch->n_strings + string;
}

static void hand_over(struct encoder *enc)
{
	if (enc->error == 0 && enc->out.error == 0)
		enc->error = ep_sink_write(enc->sink, enc->out.bytes.data, enc->out.bytes.len);
	pb_clear(&enc->out);
}

static void finish_message(struct encoder *enc, uint32_t field)
{
	pb_message(&enc->out, field, &enc->message);
	pb_clear(&enc->message);
	if (enc->out.bytes.len >= PIECE_BYTES)
		hand_over(enc);
}

static int result(const struct encoder *enc)
{
	if (enc->error)
		return enc->error;
	return enc->out.error ? enc->out.error : enc->message.error;
}

/* --- the profile's own fields --- */

static void put_value_type(struct encoder *enc, uint32_t field, enum own_string type,
			   enum own_string unit)
{
	pb_uint(&enc->message, VALUE_TYPE_TYPE, own(enc, type));
	pb_uint(&enc->message, VALUE_TYPE_UNIT, own(enc, unit));
	finish_message(enc, field);
}

static void put_profile(struct encoder *enc)
{
	const struct ep_batch *batch = enc->batch;

	put_value_type(enc, PROFILE_SAMPLE_TYPE, STR_SAMPLES, STR_COUNT);
	put_value_type(enc, PROFILE_SAMPLE_TYPE, STR_CPU, STR_NANOSECONDS);
	put_value_type(enc, PROFILE_PERIOD_TYPE, STR_CPU, STR_NANOSECONDS);
	pb_uint(&enc->out, PROFILE_PERIOD, batch->period_ns);
	pb_uint(&enc->out, PROFILE_TIME_NANOS, batch->start_ns);
	pb_uint(&enc->out, PROFILE_DURATION_NANOS, batch->duration_ns);
	pb_uint(&enc->out, PROFILE_DEFAULT_SAMPLE_TYPE, own(enc, STR_CPU));
	for (uint64_t i = 0; i < N_COMMENTS; i++)
		pb_uint(&enc->out, PROFILE_COMMENT, own(enc, STR_COMMENT) + i);
}

static void put_strings(struct encoder *enc)
{
	const struct ep_batch *batch = enc->batch;

	for (uint32_t i = 0; i < batch->n_strings; i++) {
		pb_bytes(&enc->out, PROFILE_STRING_TABLE, batch->string_text[i],
			 batch->string_bytes[i]);
		if (enc->out.bytes.len >= PIECE_BYTES)
			hand_over(enc);
	}
	for (size_t i = 0; i < EP_LEN(own_strings); i++)
		pb_bytes(&enc->out, PROFILE_STRING_TABLE, own_strings[i], strlen(own_strings[i]));
	for (size_t i = 0; i < N_COMMENTS; i++)
		pb_bytes(&enc->out, PROFILE_STRING_TABLE, enc->comments[i],
			 strlen(enc->comments[i]));
}

/* --- functions, locations, mappings: ids are the batch's rows --- */

static void put_functions(struct encoder *enc)
{
	const struct ep_batch *batch = enc->batch;

	for (uint32_t i = 1; i < batch->n_functions; i++) {
		pb_uint(&enc->message, FUNCTION_ID, i);
		pb_uint(&enc->message, FUNCTION_NAME, batch->function_name[i]);
		pb_uint(&enc->message, FUNCTION_SYSTEM_NAME, batch->function_system_name[i]);
		pb_uint(&enc->message, FUNCTION_FILENAME, batch->function_file[i]);
		pb_uint(&enc->message, FUNCTION_START_LINE, batch->function_line[i]);
		finish_message(enc, PROFILE_FUNCTION);
	}
}

static void put_line(struct encoder *enc, uint32_t line, uint8_t *has)
{
	const struct ep_batch *batch = enc->batch;
	uint32_t function = batch->line_function[line];

	pb_clear(&enc->part);
	pb_uint(&enc->part, LINE_FUNCTION_ID, function);
	pb_uint(&enc->part, LINE_LINE, batch->line_line[line]);
	pb_uint(&enc->part, LINE_COLUMN, batch->line_column[line]);
	pb_message(&enc->message, LOCATION_LINE, &enc->part);
	if (batch->function_file[function])
		*has |= 1 << (MAPPING_HAS_FILENAMES - MAPPING_HAS_FUNCTIONS);
	if (batch->line_line[line])
		*has |= 1 << (MAPPING_HAS_LINE_NUMBERS - MAPPING_HAS_FUNCTIONS);
}

/* What the lines have is noted for the mapping, which is written after its locations. */
static void put_locations(struct encoder *enc)
{
	const struct ep_batch *batch = enc->batch;

	for (uint32_t i = 1; i < batch->n_locations; i++) {
		uint32_t first = batch->location_line_first[i];
		uint32_t end = batch->location_line_first[i + 1];
		uint8_t *has = &enc->mapping_has[batch->location_mapping[i]];

		pb_uint(&enc->message, LOCATION_ID, i);
		pb_uint(&enc->message, LOCATION_MAPPING_ID, batch->location_mapping[i]);
		pb_uint(&enc->message, LOCATION_ADDRESS, batch->location_address[i]);
		for (uint32_t line = first; line < end; line++)
			put_line(enc, line, has);
		if (end - first > 1)
			*has |= 1 << (MAPPING_HAS_INLINE_FRAMES - MAPPING_HAS_FUNCTIONS);
		finish_message(enc, PROFILE_LOCATION);
	}
}

/*
 * A mapping that has no functions invites pprof to look its addresses up in the file itself. For
 * the kernel there is no such file.
 */
static void put_mapping(struct encoder *enc, uint32_t row)
{
	const struct ep_batch *batch = enc->batch;
	uint32_t named = EP_MAPPING_HAS_FUNCTIONS | EP_MAPPING_KERNEL;
	uint8_t has = enc->mapping_has[row];

	pb_uint(&enc->message, MAPPING_ID, row);
	pb_uint(&enc->message, MAPPING_MEMORY_START, batch->mapping_start_va[row]);
	pb_uint(&enc->message, MAPPING_MEMORY_LIMIT, batch->mapping_limit_va[row]);
	pb_uint(&enc->message, MAPPING_FILE_OFFSET, batch->mapping_file_off[row]);
	pb_uint(&enc->message, MAPPING_FILENAME, batch->mapping_path[row]);
	pb_uint(&enc->message, MAPPING_BUILD_ID, batch->mapping_build_id[row]);
	pb_uint(&enc->message, MAPPING_HAS_FUNCTIONS, (batch->mapping_flags[row] & named) != 0);
	for (uint32_t field = MAPPING_HAS_FILENAMES; field <= MAPPING_HAS_INLINE_FRAMES; field++)
		pb_uint(&enc->message, field, has >> (field - MAPPING_HAS_FUNCTIONS) & 1);
	finish_message(enc, PROFILE_MAPPING);
}

/* Row of the program that most CPU time is of; 0 when its file is not among the mappings. */
static uint32_t find_program(const struct ep_batch *batch, const uint64_t *weight_of)
{
	uint32_t busiest = 0;

	for (uint32_t i = 1; i < batch->n_processes; i++) {
		if (weight_of[i] > weight_of[busiest])
			busiest = i;
	}
	for (uint32_t i = 1; i < batch->n_mappings; i++) {
		if (batch->mapping_path[i] && batch->n_processes &&
		    batch->mapping_path[i] == batch->process_exe_path[busiest])
			return i;
	}
	return 0;
}

/* pprof takes the first mapping for the program that was profiled, and prints its name. */
static int put_mappings(struct encoder *enc)
{
	const struct ep_batch *batch = enc->batch;
	uint64_t *weight_of = calloc((size_t)batch->n_processes + 1, sizeof(*weight_of));
	uint32_t program;

	if (!weight_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < batch->n_samples; i++)
		weight_of[batch->sample_process[i]] += ep_batch_weight_ns(batch, i);
	program = find_program(batch, weight_of);
	free(weight_of);
	if (program)
		put_mapping(enc, program);
	for (uint32_t i = 1; i < batch->n_mappings; i++) {
		if (i != program)
			put_mapping(enc, i);
	}
	return 0;
}

/* --- samples --- */

static int compare(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

/* Orders rows by what makes a pprof sample: stack and labels. */
static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct ep_batch *batch = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	int r = compare(batch->sample_stack[i], batch->sample_stack[j]);

	if (r == 0)
		r = compare(batch->sample_process[i], batch->sample_process[j]);
	if (r == 0)
		r = compare(batch->sample_tid[i], batch->sample_tid[j]);
	if (r == 0)
		r = compare(batch->sample_thread_name[i], batch->sample_thread_name[j]);
	return r ? r : compare(batch->sample_cpu[i], batch->sample_cpu[j]);
}

/* Readers drop a number that is 0 and has no unit, and CPU 0 is a CPU: so all have a unit. */
static void put_number(struct encoder *enc, uint64_t key, uint64_t number)
{
	pb_clear(&enc->part);
	pb_uint(&enc->part, LABEL_KEY, key);
	pb_uint(&enc->part, LABEL_NUM, number);
	pb_uint(&enc->part, LABEL_NUM_UNIT, own(enc, STR_ID));
	pb_message(&enc->message, SAMPLE_LABEL, &enc->part);
}

static void put_string(struct encoder *enc, uint64_t key, uint32_t string)
{
	if (!string)
		return;
	pb_clear(&enc->part);
	pb_uint(&enc->part, LABEL_KEY, key);
	pb_uint(&enc->part, LABEL_STR, string);
	pb_message(&enc->message, SAMPLE_LABEL, &enc->part);
}

static void put_labels(struct encoder *enc, uint32_t row)
{
	const struct ep_batch *batch = enc->batch;
	uint32_t process = batch->sample_process[row], comm = batch->process_comm[process];
	uint32_t thread_name = batch->sample_thread_name[row];

	put_number(enc, own(enc, STR_PID), batch->process_pid[process]);
	put_number(enc, own(enc, STR_TID), batch->sample_tid[row]);
	put_number(enc, own(enc, STR_CPU), batch->sample_cpu[row]);
	/* a process that was gone before its name was read: better its thread's than none */
	put_string(enc, own(enc, STR_COMM), comm ? comm : thread_name);
	put_string(enc, own(enc, STR_THREAD_NAME), thread_name);
	put_string(enc, own(enc, STR_CONTAINER_ID), batch->process_container_id[process]);
	if (EP_HAS(batch, process_user))
		put_string(enc, own(enc, STR_USER), batch->process_user[process]);
	if (EP_HAS(batch, process_cgroup))
		put_string(enc, own(enc, STR_CGROUP), batch->process_cgroup[process]);
}

static void put_sample(struct encoder *enc, uint32_t row, uint64_t count, uint64_t weight_ns)
{
	const struct ep_batch *batch = enc->batch;
	uint32_t stack = batch->sample_stack[row];

	pb_clear(&enc->part);
	for (uint32_t i = batch->stack_location_first[stack];
	     i < batch->stack_location_first[stack + 1]; i++)
		pb_varint(&enc->part, batch->stack_location[i]);
	pb_message(&enc->message, SAMPLE_LOCATION_ID, &enc->part);
	pb_clear(&enc->part);
	pb_varint(&enc->part, count);
	pb_varint(&enc->part, weight_ns);
	pb_message(&enc->message, SAMPLE_VALUE, &enc->part);
	put_labels(enc, row);
	finish_message(enc, PROFILE_SAMPLE);
}

static void put_samples(struct encoder *enc)
{
	const struct ep_batch *batch = enc->batch;
	uint64_t count = 0, weight_ns = 0;

	for (uint32_t i = 0; i < batch->n_samples; i++)
		enc->order[i] = i;
	qsort_r(enc->order, batch->n_samples, sizeof(*enc->order), compare_rows, (void *)batch);
	for (uint32_t i = 0; i < batch->n_samples; i++) {
		count += batch->sample_count[enc->order[i]];
		weight_ns += ep_batch_weight_ns(batch, enc->order[i]);
		if (i + 1 < batch->n_samples &&
		    compare_rows(&enc->order[i], &enc->order[i + 1], (void *)batch) == 0)
			continue;
		put_sample(enc, enc->order[i], count, weight_ns);
		count = 0;
		weight_ns = 0;
	}
}

/* --- comments --- */

static const char *error_text(uint32_t error)
{
	static const char *const texts[] = {
		[EP_ERROR_NONE] = "complete",
#define EP_ERROR(name, text) [EP_ERROR_##name] = text,
#include "ebpf-profiler/errors.def"
#undef EP_ERROR
	};

	return error < EP_LEN(texts) ? texts[error] : "reasons of languages";
}

void pprof_quality(const struct ep_batch *batch, char *text, size_t len)
{
	uint64_t by_error[EP_ERROR_COUNT + 1] = {0}, total = 0, unverified_ns = 0;
	size_t used = 0;

	for (uint32_t i = 0; i < batch->n_samples; i++) {
		uint32_t error = batch->stack_error[batch->sample_stack[i]];
		uint64_t weight_ns = ep_batch_weight_ns(batch, i);

		total += weight_ns;
		if (ep_batch_is_unverified(batch, batch->sample_stack[i]))
			unverified_ns += weight_ns;
		else
			by_error[EP_MIN(error, (uint32_t)EP_ERROR_COUNT)] += weight_ns;
	}
	snprintf(text, len, "no samples");
	for (uint32_t error = 0; error <= EP_ERROR_COUNT && total && used < len; error++) {
		if (error > 0 && by_error[error] == 0)
			continue;
		used += (size_t)snprintf(text + used, len - used, "%s%.1f %% %s", used ? ", " : "",
					 100.0 * (double)by_error[error] / (double)total,
					 error_text(error));
		if (error == EP_ERROR_NONE && unverified_ns && used < len)
			used += (size_t)snprintf(text + used, len - used, ", %.1f %% unverified",
						 100.0 * (double)unverified_ns / (double)total);
	}
}

/* CPU time by why it is not fully named: row 0, the empty text, is what is. */
struct reason {
	uint64_t ns;
	uint32_t text;
};

#define MAX_REASONS 64 /* those beyond are left out */

static struct reason *find_reason(struct reason *reasons, size_t *n, uint32_t text)
{
	for (size_t i = 0; i < *n; i++) {
		if (reasons[i].text == text)
			return &reasons[i];
	}
	if (*n == MAX_REASONS)
		return NULL;
	reasons[*n] = (struct reason){.text = text};
	return &reasons[(*n)++];
}

static int by_time(const void *left, const void *right)
{
	const struct reason *a = left, *b = right;

	return a->ns > b->ns ? -1 : a->ns < b->ns;
}

void pprof_names(const struct ep_batch *batch, char *text, size_t len)
{
	struct reason reasons[MAX_REASONS] = {{.text = 0}};
	uint64_t total = 0, tenths;
	size_t n = 1, used;

	snprintf(text, len, "no samples");
	for (uint32_t i = 0; i < batch->n_samples && EP_HAS(batch, stack_unnamed_text); i++) {
		uint32_t stack = batch->sample_stack[i];
		struct reason *reason = find_reason(reasons, &n, batch->stack_unnamed_text[stack]);

		total += ep_batch_weight_ns(batch, i);
		if (reason)
			reason->ns += ep_batch_weight_ns(batch, i);
	}
	if (!total)
		return;
	qsort(reasons + 1, n - 1, sizeof(*reasons), by_time);
	tenths = (uint64_t)((unsigned __int128)reasons[0].ns * 1000 / total); /* rounded down */
	used = (size_t)snprintf(text, len, "%" PRIu64 ".%" PRIu64 " %% fully named", tenths / 10,
				tenths % 10);
	for (size_t i = 1; i < n && used < len; i++)
		used += (size_t)snprintf(text + used, len - used, ", %.1f %% %s",
					 100.0 * (double)reasons[i].ns / (double)total,
					 batch->string_text[reasons[i].text]);
}

/* Of CPU time. */
static double percent_without_symbol(const struct ep_batch *batch)
{
	uint64_t total = 0, no_symbol_ns = 0;

	for (uint32_t i = 0; i < batch->n_samples; i++) {
		uint64_t weight_ns = ep_batch_weight_ns(batch, i);

		total += weight_ns;
		if (ep_batch_has_no_symbol(batch, batch->sample_stack[i]))
			no_symbol_ns += weight_ns;
	}
	return total ? 100.0 * (double)no_symbol_ns / (double)total : 0;
}

static void write_comments(struct encoder *enc, const char *version)
{
	const struct ep_batch *batch = enc->batch;
	char quality[COMMENT_BYTES - 16], names[COMMENT_BYTES - 16];
	uint64_t samples = 0, due;

	for (uint32_t i = 0; i < batch->n_samples; i++)
		samples += batch->sample_count[i];
	pprof_quality(batch, quality, sizeof(quality));
	pprof_names(batch, names, sizeof(names));
	snprintf(enc->comments[0], COMMENT_BYTES, "ebpf-profiler %s", version ? version : "");
	snprintf(enc->comments[1], COMMENT_BYTES, "host: %.256s", batch->host_name);
	snprintf(enc->comments[2], COMMENT_BYTES, "stacks: %s", quality);
	snprintf(enc->comments[3], COMMENT_BYTES, "names: %s", names);
	due = ep_batch_due_samples(batch, samples);
	snprintf(enc->comments[4], COMMENT_BYTES, "symbols: %.1f %% with native code that has none",
		 percent_without_symbol(batch));
	snprintf(enc->comments[5], COMMENT_BYTES,
		 "samples: %" PRIu64 " at %" PRIu32 " Hz, %" PRIu64 " lost (%.2f %% of the ticks due)", samples,
		 batch->period_hz, batch->lost_samples,
		 due ? 100.0 * (double)batch->lost_samples / (double)due : 0);
}

static int encoder_init(struct encoder *enc, const char *version)
{
	pb_init(&enc->out, ELEMENT_BYTES + 2 * PIECE_BYTES);
	pb_init(&enc->message, ELEMENT_BYTES);
	pb_init(&enc->part, ELEMENT_BYTES);
	enc->mapping_has = calloc((size_t)enc->batch->n_mappings + 1, 1);
	enc->order = calloc((size_t)enc->batch->n_samples + 1, sizeof(*enc->order));
	write_comments(enc, version);
	return enc->mapping_has && enc->order ? 0 : -ENOMEM;
}

static void encoder_fini(struct encoder *enc)
{
	pb_fini(&enc->out);
	pb_fini(&enc->message);
	pb_fini(&enc->part);
	free(enc->mapping_has);
	free(enc->order);
}

int pprof_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink)
{
	ep_cleanup(encoder_fini) struct encoder enc = {.batch = batch, .sink = sink};
	int r = encoder_init(&enc, version);

	if (r < 0)
		return r;
	put_profile(&enc);
	put_samples(&enc);
	put_locations(&enc);
	r = put_mappings(&enc);
	if (r < 0)
		return r;
	put_functions(&enc);
	put_strings(&enc);
	hand_over(&enc);
	return result(&enc);
}
