/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/parse.h"
#include "reports/read/pprof/profile.h"
#include "reports/read/shared/forget.h"
#include "reports/read/shared/kind.h"

#include <errno.h>
#include <string.h>


/* Of a sample while it is read. */
struct sample {
	const uint8_t *at;
	uint64_t values[PPROF_MAX_TYPES];
	uint32_t n_values;
	struct ep_profile_stack stack;
	uint32_t n_fields; /* of locations */
	bool is_as_before;
	uint64_t pid, time_ns;
	uint32_t comm, container, user, cgroup; /* rows */
	struct ep_profile_sample row;
};

/* --- labels: ours, and those of others that mean the same --- */

static const struct {
	const char *key;
	enum pprof_label label;
} keys[] = {
	{"pid", PPROF_LABEL_PID},
	{"process_id", PPROF_LABEL_PID},
	{"tid", PPROF_LABEL_TID},
	{"thread_id", PPROF_LABEL_TID},
	{"thread id", PPROF_LABEL_TID},
	{"cpu", PPROF_LABEL_CPU},
	{"comm", PPROF_LABEL_COMM},
	{"process_name", PPROF_LABEL_COMM},
	{"thread_name", PPROF_LABEL_THREAD},
	{"thread name", PPROF_LABEL_THREAD},
	{"thread_comm", PPROF_LABEL_THREAD},
	{"thread", PPROF_LABEL_THREAD},
	{"container_id", PPROF_LABEL_CONTAINER},
	{"container", PPROF_LABEL_CONTAINER},
	{"user", PPROF_LABEL_USER},
	{"cgroup", PPROF_LABEL_CGROUP},
	{"timestamp_ns", PPROF_LABEL_TIME},
	{"end_timestamp_ns", PPROF_LABEL_TIME},
};

static enum pprof_label label_of(struct pprof *p, uint64_t key)
{
	uint8_t *label;

	if (key >= p->labels.len)
		return PPROF_LABEL_NONE;
	label = ep_vec_at(&p->labels, uint8_t, key);
	if (*label != PPROF_LABEL_UNKNOWN)
		return *label;
	*label = PPROF_LABEL_NONE;
	for (size_t i = 0; i < EP_LEN(keys); i++) {
		if (pprof_is(p, key, keys[i].key))
			*label = (uint8_t)keys[i].label;
	}
	return *label;
}

/* A number, or a string that is one; whether it is. */
static bool number_of(struct pprof *p, uint64_t str, uint64_t num, uint64_t *ret_number)
{
	const char *text;
	size_t bytes;

	*ret_number = num;
	if (!str)
		return true;
	if (str >= p->strings.len || pprof_text(p, str, &text, &bytes) < 0)
		return false;
	return ep_parse_u64(&text, text + bytes, 10, ret_number) == 0;
}

static int set_label(struct pprof *p, enum pprof_label label, uint64_t str, uint64_t num,
		     struct sample *sample)
{
	uint64_t number = 0;
	bool is_number = number_of(p, str, num, &number);

	switch (label) {
	case PPROF_LABEL_PID:
		sample->pid = is_number ? number : 0;
		return 0;
	case PPROF_LABEL_TID:
		sample->row.tid = is_number ? (uint32_t)number : 0;
		return 0;
	case PPROF_LABEL_CPU:
		sample->row.cpu = is_number ? (uint32_t)number : 0;
		return 0;
	case PPROF_LABEL_TIME:
		sample->time_ns = is_number ? number : 0;
		return 0;
	case PPROF_LABEL_COMM:
		return pprof_string(p, str, &sample->comm);
	case PPROF_LABEL_CONTAINER:
		return pprof_string(p, str, &sample->container);
	case PPROF_LABEL_USER:
		return pprof_string(p, str, &sample->user);
	case PPROF_LABEL_CGROUP:
		return pprof_string(p, str, &sample->cgroup);
	case PPROF_LABEL_THREAD:
		if (!str) /* a number: which thread, not its name */
			sample->row.tid = (uint32_t)num;
		return pprof_string(p, str, &sample->row.thread_name);
	default:
		return 0;
	}
}

static int read_label(struct pprof *p, struct ep_proto message, struct sample *sample)
{
	uint64_t key = 0, str = 0, num = 0;
	struct ep_proto_field field;

	while (ep_proto_next(&message, &field)) {
		if (field.number == LABEL_KEY)
			key = field.value;
		else if (field.number == LABEL_STR)
			str = field.value;
		else if (field.number == LABEL_NUM)
			num = field.value;
	}
	if (message.is_bad)
		return pprof_bad(p, message.at, "a label is damaged");
	return set_label(p, label_of(p, key), str, num, sample);
}

/* --- stack and values --- */

static int note(struct pprof *p, uint32_t string, struct sample *sample)
{
	char name[256];

	pprof_copy_text(p, string, name, sizeof(name));
	return ep_read_stack_note(p->builder, name, &sample->stack);
}

/*
 * The numbers of the locations, after what is in p->stack: ids are decoded first, so that rows are
 * looked up in a row.
 */
static int list_numbers(struct pprof *p, struct ep_proto_field *field)
{
	bool is_direct = !p->locations.has_numbers;
	uint32_t *numbers;
	uint64_t id;
	/* a number has one byte at least */
	int r = ep_vec_reserve(&p->stack, p->stack.len + ep_proto_left(&field->bytes) + 1);

	if (r == -E2BIG)
		return pprof_bad(p, field->bytes.at, "a stack has more than a million frames");
	numbers = p->stack.data;
	while (r == 0 && ep_proto_number(field, &id)) {
		if (is_direct && id - 1 < p->rows.len)
			numbers[p->stack.len++] = (uint32_t)(id - 1);
		else
			r = pprof_find_location(p, id, &numbers[p->stack.len++]);
	}
	return r;
}

/* From the numbers of locations, from the `first` of p->stack on, to their rows. */
static int find_rows(struct pprof *p, size_t first, struct sample *sample)
{
	const uint32_t *rows = p->rows.data;
	uint32_t *stack = p->stack.data;
	int r = 0;

	for (size_t i = first; i < p->stack.len && r == 0; i++) {
		uint32_t number = stack[i], row = rows[number];

		if (!row) {
			r = pprof_read_location(p, number);
			row = rows[number];
		}
		if (row & PPROF_HAS_NOTE && r == 0)
			r = note(p, pprof_note(p, number), sample);
		stack[i] = row & ~PPROF_HAS_NOTE;
	}
	return r;
}

static int push_locations(struct pprof *p, struct ep_proto_field field, struct sample *sample)
{
	size_t first = p->stack.len;
	int r = list_numbers(p, &field);

	if (r == 0 && field.bytes.is_bad)
		r = pprof_bad(p, field.bytes.at, "a stack is damaged");
	return r < 0 ? r : find_rows(p, first, sample);
}

static bool is_as_before(const struct pprof *p, struct ep_proto locations)
{
	size_t bytes = ep_proto_left(&locations);

	return bytes && bytes == ep_proto_left(&p->before) &&
	       memcmp(locations.at, p->before.at, bytes) == 0;
}

/*
 * Samples of one stack often come one after the other, and then its locations are only compared. A stack may
 * be in several fields, as where numbers are not packed.
 */
static int read_locations(struct pprof *p, struct ep_proto_field field, struct sample *sample)
{
	struct ep_proto_field first = {.wire = EP_PROTO_BYTES, .bytes = p->before};
	int r = 0;

	sample->n_fields++;
	if (sample->n_fields == 1 && is_as_before(p, field.bytes)) {
		sample->is_as_before = true;
		return 0;
	}
	if (sample->is_as_before) {
		sample->is_as_before = false;
		r = push_locations(p, first, sample);
	}
	p->before = sample->n_fields == 1 ? field.bytes : (struct ep_proto){0};
	return r < 0 ? r : push_locations(p, field, sample);
}

static int add_stack(struct pprof *p, struct sample *sample)
{
	int r;

	if (!sample->is_as_before) {
		sample->stack.n_locations = (uint32_t)p->stack.len;
		sample->stack.locations = p->stack.data;
		r = ep_profile_add_stack(p->builder, &sample->stack, &p->before_row);
		if (r < 0)
			return r;
	}
	sample->row.stack = p->before_row;
	return 0;
}

static int read_values(struct pprof *p, struct ep_proto_field field, struct sample *sample)
{
	uint64_t value;

	while (ep_proto_number(&field, &value)) {
		if (sample->n_values == p->n_types)
			return pprof_bad(p, field.bytes.at,
					 "a sample has more values than there are types");
		if ((int64_t)value < 0)
			return pprof_bad(p, field.bytes.at,
					 "a value is negative: this is the difference of two profiles");
		sample->values[sample->n_values++] = value;
	}
	return field.bytes.is_bad ? pprof_bad(p, field.bytes.at, "a value is damaged") : 0;
}

static int read_sample(struct pprof *p, struct ep_proto message, struct sample *sample)
{
	struct ep_proto_field field;
	int r = 0;

	p->stack.len = 0;
	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == SAMPLE_LOCATION_ID)
			r = read_locations(p, field, sample);
		else if (field.number == SAMPLE_VALUE)
			r = read_values(p, field, sample);
		else if (field.number == SAMPLE_LABEL && field.wire == EP_PROTO_BYTES)
			r = read_label(p, field.bytes, sample);
	}
	if (r < 0)
		return r;
	if (message.is_bad)
		return pprof_bad(p, message.at, "a sample is damaged");
	if (sample->n_values != p->n_types)
		return pprof_bad(p, sample->at, "a sample has fewer values than there are types");
	return 0;
}

static void weigh(const struct pprof *p, struct sample *sample)
{
	uint64_t value = sample->values[p->weight_at];
	uint64_t weight;

	if (__builtin_mul_overflow(value, p->scale, &weight))
		weight = UINT64_MAX;
	sample->row.weight = weight;
	if (p->count_at < p->n_types)
		sample->row.count = sample->values[p->count_at];
	else if (p->count_period)
		sample->row.count = weight / p->count_period;
	else
		sample->row.count = value > 0;
}

/* --- rows --- */

/* Most samples are of the process of the one before. */
static int add_process(struct pprof *p, struct sample *sample)
{
	struct ep_profile_process process = {
		.pid = (uint32_t)sample->pid,
		.comm = sample->comm,
		.container_id = sample->container,
		.user = sample->user,
		.cgroup = sample->cgroup,
	};
	int r = 0;

	if (memcmp(&process, &p->process, sizeof(process)) != 0) {
		r = ep_profile_add_process(p->builder, &process, &p->process_row);
		p->process = process;
	}
	sample->row.process = p->process_row;
	return r;
}

static int add_sample(struct pprof *p, struct ep_proto message)
{
	struct sample sample = {.at = message.at};
	int r;

	r = read_sample(p, message, &sample);
	if (r < 0)
		return r;
	weigh(p, &sample);
	if (!sample.row.weight && !sample.row.count) {
		p->before = sample.is_as_before ? p->before : (struct ep_proto){0};
		return 0;
	}
	if (sample.time_ns && sample.row.count == 1) {
		sample.row.n_times = 1;
		sample.row.times_ns = &sample.time_ns;
	}
	r = add_stack(p, &sample);
	if (r == 0)
		r = add_process(p, &sample);
	return r < 0 ? r : ep_profile_add_sample(p->builder, &sample.row);
}

int pprof_samples(struct pprof *p)
{
	struct ep_proto message = ep_proto_of(p->start, p->bytes);
	const uint8_t *forgotten = p->samples;
	struct ep_proto_field field;
	int r = 0;

	while (r == 0 && ep_proto_next(&message, &field)) {
		if (field.number == PROFILE_SAMPLE && field.wire == EP_PROTO_BYTES)
			r = add_sample(p, field.bytes);
		/* the stack before is still compared */
		if (p->before.at && p->before.at < p->tables)
			ep_read_forget(&forgotten, p->before.at);
	}
	return r;
}
