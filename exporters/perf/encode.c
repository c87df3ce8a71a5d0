/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/perf/encode.h"
#include "exporters/shared/moments.h"
#include "exporters/shared/text_out.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define NS_PER_SECOND UINT64_C(1000000000)
#define UNKNOWN	      "[unknown]"

struct perf {
	const struct ep_batch *batch;
	struct ep_text_out *out;
	const char *event;
};

/* --- the line of a sample --- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Readers look for the first number after the name: "worker 3" would have process 3. So a space before a digit
 * becomes '_', as a '#' that would make a comment of the line, and a space in front.
 */
static void put_comm(struct perf *perf, uint32_t string, uint32_t tid)
{
	const char *comm = perf->batch->string_text[string];
	size_t bytes = perf->batch->string_bytes[string];

	if (bytes == 0) {
		ep_text_out_printf(perf->out, ":%" PRIu32, tid);
		return;
	}
	for (size_t i = 0; i < bytes; i++) {
		bool begins = i == 0 && (comm[i] == '#' || comm[i] == ' ');
		bool ends_word = comm[i] == ' ' && (i + 1 == bytes || is_digit(comm[i + 1]));

		ep_text_out_name(perf->out, begins || ends_word ? "_" : comm + i, 1, '\0', '?');
	}
	if (bytes == 1) /* they want a second character, be it a space */
		ep_text_out_char(perf->out, ' ');
}

static void put_head(struct perf *perf, const struct ep_moment *moment)
{
	const struct ep_batch *batch = perf->batch;
	uint32_t row = moment->row, process = batch->sample_process[row];
	uint32_t name = batch->sample_thread_name[row];

	put_comm(perf, name ? name : batch->process_comm[process], batch->sample_tid[row]);
	ep_text_out_printf(perf->out,
			   " %7" PRIu32 "/%-7" PRIu32 " [%03" PRIu32 "] %5" PRIu64 ".%09" PRIu64
			   ": %10" PRIu64 " %s: \n",
			   batch->process_pid[process], batch->sample_tid[row], batch->sample_cpu[row],
			   moment->time_ns / NS_PER_SECOND, moment->time_ns % NS_PER_SECOND,
			   moment->weight, perf->event);
}

/* --- frames --- */

/* The file is a word in parentheses to readers, so it has no space. */
static void put_file(struct perf *perf, uint32_t string)
{
	const struct ep_batch *batch = perf->batch;

	if (batch->string_bytes[string])
		ep_text_out_name(perf->out, batch->string_text[string], batch->string_bytes[string], ' ',
				 '_');
	else
		ep_text_out_str(perf->out, UNKNOWN);
}

static void put_symbol(struct perf *perf, uint32_t location, uint32_t line)
{
	const struct ep_batch *batch = perf->batch;
	uint32_t name = batch->function_name[batch->line_function[line]];

	if ((batch->location_flags[location] & EP_LOCATION_UNNAMED) || batch->string_bytes[name] == 0)
		ep_text_out_str(perf->out, UNKNOWN);
	else
		ep_text_out_name(perf->out, batch->string_text[name], batch->string_bytes[name], '\0',
				 '?');
}

static void put_frame(struct perf *perf, uint32_t location, uint32_t line, bool is_inlined)
{
	const struct ep_batch *batch = perf->batch;
	uint32_t mapping = batch->location_mapping[location];

	ep_text_out_printf(perf->out, "\t%16" PRIx64 " ", batch->location_address[location]);
	put_symbol(perf, location, line);
	ep_text_out_str(perf->out, " (");
	if (is_inlined) {
		ep_text_out_str(perf->out, "inlined");
	} else if (mapping) {
		put_file(perf, batch->mapping_path[mapping]);
	} else {
		put_file(perf, batch->function_file[batch->line_function[line]]);
		if (batch->line_line[line])
			ep_text_out_printf(perf->out, ":%" PRIu32, batch->line_line[line]);
	}
	ep_text_out_str(perf->out, ")\n");
}

static void put_moment(struct perf *perf, const struct ep_moment *moment)
{
	const struct ep_batch *batch = perf->batch;
	uint32_t stack = batch->sample_stack[moment->row];

	put_head(perf, moment);
	for (uint32_t at = batch->stack_location_first[stack];
	     at < batch->stack_location_first[stack + 1]; at++) {
		uint32_t location = batch->stack_location[at];
		uint32_t end = batch->location_line_first[location + 1];

		for (uint32_t line = batch->location_line_first[location]; line < end; line++)
			put_frame(perf, location, line, line + 1 < end);
	}
	ep_text_out_char(perf->out, '\n');
}

/* perf's name for what a profile counts; its periods are nanoseconds for cpu-clock. */
static const char *event_of(const struct ep_batch *batch)
{
	const char *unit = EP_HAS(batch, weight_unit) ? batch->weight_unit : NULL;

	if (!unit || strcmp(unit, "nanoseconds") == 0)
		return "cpu-clock";
	return strcmp(unit, "bytes") == 0 ? "bytes" : "samples";
}

/* perf's own, by the first line of which readers know the format. */
static void put_header(struct perf *perf, const char *version)
{
	time_t start = (time_t)(perf->batch->start_ns / NS_PER_SECOND);
	char when[32] = "";
	struct tm tm;

	if (gmtime_r(&start, &tm))
		strftime(when, sizeof(when), "%a %b %e %H:%M:%S %Y", &tm);
	ep_text_out_printf(perf->out, "# ========\n# captured on    : %s\n# header version : 1\n# hostname : ", when);
	ep_text_out_name(perf->out, perf->batch->host_name, strlen(perf->batch->host_name), '\0', '?');
	ep_text_out_printf(perf->out, "\n# perf version : ebpf-profiler %.64s\n# ========\n#\n", version);
}

int perf_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink)
{
	ep_autofree struct ep_moment *moments = NULL;
	struct perf perf = {.batch = batch, .event = event_of(batch)};
	size_t n;
	int r = ep_moments_new(batch, NULL, &moments, &n);

	if (r < 0)
		return r;
	perf.out = ep_text_out_new(sink);
	if (!perf.out)
		return -ENOMEM;
	put_header(&perf, version ? version : "");
	for (size_t i = 0; i < n; i++)
		put_moment(&perf, &moments[i]);
	return ep_text_out_end(perf.out);
}
