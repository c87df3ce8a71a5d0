/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/folded/encode.h"
#include "exporters/shared/text_out.h"

#include <errno.h>
#include <string.h>

struct folded {
	const struct ep_batch *batch;
	struct ep_text_out *out;
	uint32_t kernel, native, unknown; /* strings of location_kind */
	bool is_first;			  /* of the line's names */
};

/* --- names --- */

/* Where a number at the end of a name begins, with the space before it: "f 12" is 1. `bytes`: nowhere. */
static size_t find_number(const char *name, size_t bytes)
{
	size_t at = bytes;

	while (at > 0 && ((name[at - 1] >= '0' && name[at - 1] <= '9') || name[at - 1] == '.'))
		at--;
	return at < bytes && at > 0 && name[at - 1] == ' ' ? at - 1 : bytes;
}

static void put_name(struct folded *folded, uint32_t string)
{
	const char *name = folded->batch->string_text[string];
	size_t bytes = folded->batch->string_bytes[string], number = find_number(name, bytes);

	if (folded->is_first && (name[0] == '#' || name[0] == ' ')) /* else a comment, or trimmed */
		ep_text_out_char(folded->out, ' ');
	if (!folded->is_first)
		ep_text_out_char(folded->out, ';');
	folded->is_first = false;
	if (bytes == 0)
		ep_text_out_str(folded->out, "[unknown]");
	ep_text_out_name(folded->out, name, number, ';', ':');
	if (number == bytes)
		return;
	ep_text_out_char(folded->out, '_');
	ep_text_out_put(folded->out, name + number + 1, bytes - number - 1);
}

/* A process that was gone before its name was read has its thread's. */
static uint32_t comm_of(const struct ep_batch *batch, uint32_t row)
{
	uint32_t comm = batch->process_comm[batch->sample_process[row]];

	return comm ? comm : batch->sample_thread_name[row];
}

/* --- frames --- */

static const char *suffix_of(const struct folded *folded, uint32_t location, bool is_inlined)
{
	const struct ep_batch *batch = folded->batch;
	uint32_t kind = batch->location_kind[location];

	if (batch->location_flags[location] & (EP_LOCATION_ERROR | EP_LOCATION_GAP))
		return "";
	if (kind == folded->kernel)
		return "_[k]";
	if (is_inlined)
		return "_[i]";
	if (kind == folded->native || kind == folded->unknown) /* a file of others may have no addresses */
		return "";
	return batch->location_address[location] == 0 ? "_[j]" : "";
}

static void put_location(struct folded *folded, uint32_t location)
{
	const struct ep_batch *batch = folded->batch;
	uint32_t first = batch->location_line_first[location];

	for (uint32_t line = batch->location_line_first[location + 1]; line-- > first;) {
		bool is_inlined = line + 1 < batch->location_line_first[location + 1];

		put_name(folded, batch->function_name[batch->line_function[line]]);
		ep_text_out_str(folded->out, suffix_of(folded, location, is_inlined));
	}
}

static void put_line(struct folded *folded, uint32_t row, uint64_t weight)
{
	const struct ep_batch *batch = folded->batch;
	uint32_t stack = batch->sample_stack[row], first = batch->stack_location_first[stack];

	folded->is_first = true;
	/* A file of others may know no program: then the line begins with the outermost function, as there. */
	if (comm_of(batch, row))
		put_name(folded, comm_of(batch, row));
	for (uint32_t at = batch->stack_location_first[stack + 1]; at-- > first;)
		put_location(folded, batch->stack_location[at]);
	ep_text_out_char(folded->out, ' ');
	ep_text_out_u64(folded->out, weight);
	ep_text_out_char(folded->out, '\n');
}

/* --- samples: those of one program and stack are one line --- */

static int compare_rows(const void *left, const void *right, void *arg)
{
	const struct ep_batch *batch = arg;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (comm_of(batch, a) != comm_of(batch, b))
		return comm_of(batch, a) < comm_of(batch, b) ? -1 : 1;
	if (batch->sample_stack[a] != batch->sample_stack[b])
		return batch->sample_stack[a] < batch->sample_stack[b] ? -1 : 1;
	return 0;
}

static void put_samples(struct folded *folded, uint32_t *order)
{
	const struct ep_batch *batch = folded->batch;
	uint64_t weight = 0;

	for (uint32_t i = 0; i < batch->n_samples; i++)
		order[i] = i;
	qsort_r(order, batch->n_samples, sizeof(*order), compare_rows, (void *)batch);
	for (uint32_t i = 0; i < batch->n_samples; i++) {
		weight += ep_batch_weight_ns(batch, order[i]);
		if (i + 1 < batch->n_samples &&
		    compare_rows(&order[i], &order[i + 1], (void *)batch) == 0)
			continue;
		if (weight)
			put_line(folded, order[i], weight);
		weight = 0;
	}
}

static uint32_t find_string(const struct ep_batch *batch, const char *text)
{
	for (uint32_t i = 1; i < batch->n_strings; i++) {
		if (strcmp(batch->string_text[i], text) == 0)
			return i;
	}
	return UINT32_MAX;
}

int folded_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink)
{
	struct folded folded = {.batch = batch, .out = ep_text_out_new(sink)};
	ep_autofree uint32_t *order = calloc((size_t)batch->n_samples + 1, sizeof(*order));

	(void)version;
	if (!folded.out || !order) {
		free(folded.out);
		return -ENOMEM;
	}
	folded.kernel = find_string(batch, "kernel");
	folded.native = find_string(batch, "native");
	folded.unknown = find_string(batch, "unknown");
	put_samples(&folded, order);
	return ep_text_out_end(folded.out);
}
