/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/encode.h"
#include "exporters/shared/otlp/canon.h"
#include "exporters/shared/otlp/dictionary.h"
#include "exporters/shared/proto/otlp_fields.h"
#include "exporters/shared/otlp/groups.h"
#include "exporters/shared/otlp/kernel.h"
#include "exporters/shared/otlp/resource.h"

#include <errno.h>

#define SCHEMA_URL	"https://opentelemetry.io/schemas/1.44.0"
#define SCOPE_NAME_TEXT "ebpf-profiler"
#define OVERHEAD_BYTES                                                                             \
	512 /* tags and lengths, scope, schema and times around the samples in hand */
#define MIN_MAX_BYTES 4096

struct event_type {
	const char *name; /* in the batch */
	enum otlp_own_string type, unit;
	bool has_period; /* an event stands for that much CPU time */
	bool has_values; /* view->sample_value */
};

static const struct event_type event_types[] = {
	{"cpu", OTLP_SAMPLES, OTLP_COUNT, true, false},
	{"off-cpu", OTLP_OFF_CPU, OTLP_NANOSECONDS, false, true},
	{"", OTLP_EVENTS, OTLP_COUNT, false, false}, /* any other */
};

/* Some of a sample's events: all, but for a sample that is longer than a request. */
struct range {
	uint64_t skip, n;
};

struct encoder {
	const struct ep_batch *batch;
	const struct otlp_encode_options *options;
	const struct otlp_sink *sink;
	struct otlp_view view;
	struct otlp_canon canon;
	struct otlp_dictionary dictionary;
	struct otlp_groups groups;
	uint64_t *kernel_loads; /* of mappings, if the batch does not say */
	uint64_t start_ns, end_ns;
	uint64_t too_big;

	/* the request in hand: finished ResourceProfiles, then what is within the present one */
	struct otlp_wire resources, resource, profiles, samples;
	struct otlp_wire body, part;
	uint64_t n_events, n_profiles; /* in the request */
	/* Of them those of the profile in hand: how many, those whose stacks are so, what they weigh. */
	uint64_t n_profile_events, n_complete, n_unverified, n_named, weight_ns;
	uint32_t process, event, period; /* the last is one of groups.period_ns */
};

/* --- event types and time --- */

static uint32_t event_of(const struct encoder *enc, uint32_t row)
{
	return enc->view.sample_event ? enc->view.sample_event[row] : 0;
}

static const struct event_type *type_of(const struct encoder *enc, uint32_t event)
{
	const struct ep_batch *b = enc->batch;
	const char *name =
		enc->view.event_type ? b->string_text[enc->view.event_type[event]] : b->sample_type;
	size_t i = 0;

	/* without values a time is only a count */
	while (i + 1 < EP_LEN(event_types) &&
	       (strcmp(event_types[i].name, name) != 0 ||
		(event_types[i].has_values && !enc->view.sample_value)))
		i++;
	return &event_types[i];
}

static bool has_values(const struct encoder *enc, uint32_t event)
{
	return type_of(enc, event)->has_values;
}

/* --- from a sample up to the request --- */

static uint32_t next_row(const struct encoder *enc, uint32_t row)
{
	return enc->canon.next_sample ? enc->canon.next_sample[row] : 0;
}

/* Where the events of `range` within one row of its list lie; moves the range on. */
static uint32_t clip(const struct encoder *enc, uint32_t row, struct range *range,
		     uint32_t *ret_first)
{
	uint32_t first = enc->batch->sample_time_first[row];
	uint32_t n = enc->batch->sample_time_first[row + 1] - first;
	uint32_t skip = (uint32_t)EP_MIN(range->skip, (uint64_t)n);

	*ret_first = first + skip;
	n = (uint32_t)EP_MIN((uint64_t)(n - skip), range->n);
	range->skip -= skip;
	range->n -= n;
	return n;
}

static uint8_t *write_timestamps(const struct encoder *enc, uint8_t *start, uint32_t row,
				 struct range range)
{
	uint8_t *to = start + OTLP_HEADER_SHORT;

	do {
		uint32_t first, n = clip(enc, row, &range, &first);

		for (uint32_t i = first; i < first + n; i++, to += 8) {
			uint64_t time_ns = htole64(enc->batch->sample_time_ns[i]);

			memcpy(to, &time_ns, 8);
		}
		row = next_row(enc, row);
	} while (row);
	return otlp_message_write(start, SAMPLE_TIMESTAMPS_UNIX_NANO, to);
}

static uint8_t *write_values(const struct encoder *enc, uint8_t *start, uint32_t row,
			     struct range range)
{
	uint8_t *to = start + OTLP_HEADER_SHORT;

	do {
		uint32_t first, n = clip(enc, row, &range, &first);

		for (uint32_t i = first; i < first + n; i++)
			to = otlp_varint_write(to, enc->view.sample_value[i]);
		row = next_row(enc, row);
	} while (row);
	return otlp_message_write(start, SAMPLE_VALUES, to);
}

static uint8_t *write_attributes(struct encoder *enc, uint8_t *start, uint32_t row)
{
	const struct ep_batch *b = enc->batch;
	struct otlp_dictionary *d = &enc->dictionary;
	uint32_t name = b->sample_thread_name[row], stack = b->sample_stack[row];
	uint8_t *to = start + OTLP_HEADER_SHORT;

	if (name)
		to = otlp_varint_write(to,
				       otlp_dictionary_attribute_row(d, OTLP_THREAD_NAME, name));
	to = otlp_varint_write(
		to, otlp_dictionary_attribute_int(d, OTLP_THREAD_ID, b->sample_tid[row]));
	to = otlp_varint_write(
		to, otlp_dictionary_attribute_int(d, OTLP_CPU_NUMBER, b->sample_cpu[row]));
	if (enc->view.stack_unnamed && enc->view.stack_unnamed[stack])
		to = otlp_varint_write(
			to, otlp_dictionary_attribute_row(d, OTLP_UNNAMED,
							  enc->view.stack_unnamed_text[stack]));
	return otlp_message_write(start, SAMPLE_ATTRIBUTE_INDICES, to);
}

/* Stack, attributes and four headers: less than this. */
#define SAMPLE_FIXED_BYTES 128
#define EVENT_BYTES	   (8 + OTLP_VARINT_MAX) /* of a timestamp and a value */

static void put_sample(struct encoder *enc, uint32_t row, struct range range)
{
	struct otlp_wire *wire = &enc->samples;
	uint32_t stack = otlp_dictionary_stack(&enc->dictionary, enc->batch->sample_stack[row]);
	uint8_t *start = otlp_wire_room(wire, SAMPLE_FIXED_BYTES + range.n * EVENT_BYTES), *to;

	if (!start)
		return;
	to = otlp_uint_write(start + OTLP_HEADER_SHORT, SAMPLE_STACK_INDEX, stack);
	to = write_attributes(enc, to, row);
	if (has_values(enc, enc->event))
		to = write_values(enc, to, row, range);
	to = write_timestamps(enc, to, row, range);
	to = otlp_message_write(start, PROFILE_SAMPLES, to);
	wire->len = (size_t)(to - wire->data);
}

/* Field `field` of enc->body: type and unit. */
static void put_value_type(struct encoder *enc, uint32_t field, enum otlp_own_string type,
			   enum otlp_own_string unit)
{
	enc->part.len = 0;
	otlp_put_uint(&enc->part, VALUE_TYPE_TYPE_STRINDEX, otlp_dictionary_own(&enc->dictionary, type));
	otlp_put_uint(&enc->part, VALUE_TYPE_UNIT_STRINDEX, otlp_dictionary_own(&enc->dictionary, unit));
	otlp_put_message(&enc->body, field, &enc->part);
}

/* Whether it is known which CPU time an event of the profile in hand stands for. */
static bool has_period(const struct encoder *enc)
{
	return type_of(enc, enc->event)->has_period && enc->groups.period_ns[enc->period];
}

/* That CPU time, in the mean of its events; they have one period where each CPU has its profile. */
static uint64_t mean_period_ns(const struct encoder *enc)
{
	return (enc->weight_ns + enc->n_profile_events / 2) / enc->n_profile_events;
}

/* The fields of the profile that need strings: before its first sample, so that they count. */
static void begin_profile(struct encoder *enc)
{
	const struct event_type *type = type_of(enc, enc->event);

	(void)otlp_dictionary_own(&enc->dictionary, type->type);
	(void)otlp_dictionary_own(&enc->dictionary, type->unit);
	if (enc->view.stack_unnamed) {
		(void)otlp_dictionary_own(&enc->dictionary, OTLP_COMPLETE);
		(void)otlp_dictionary_own(&enc->dictionary, OTLP_NAMED);
		(void)otlp_dictionary_own(&enc->dictionary, OTLP_SAMPLES_UNVERIFIED);
	}
	if (!has_period(enc))
		return;
	(void)otlp_dictionary_own(&enc->dictionary, OTLP_CPU);
	(void)otlp_dictionary_own(&enc->dictionary, OTLP_NANOSECONDS);
}

/* How good the profile's stacks are, as counts of its samples: they add up. */
static void put_quality(struct encoder *enc)
{
	uint32_t complete, named, unverified;

	if (!enc->view.stack_unnamed)
		return;
	complete = otlp_dictionary_attribute_int(&enc->dictionary, OTLP_COMPLETE, enc->n_complete);
	named = otlp_dictionary_attribute_int(&enc->dictionary, OTLP_NAMED, enc->n_named);
	unverified = otlp_dictionary_attribute_int(&enc->dictionary, OTLP_SAMPLES_UNVERIFIED,
						   enc->n_unverified);
	enc->part.len = 0;
	otlp_put_varint(&enc->part, complete);
	otlp_put_varint(&enc->part, named);
	otlp_put_varint(&enc->part, unverified);
	otlp_put_message(&enc->body, PROFILE_ATTRIBUTE_INDICES, &enc->part);
}

static void clear_counts(struct encoder *enc)
{
	enc->n_profile_events = enc->weight_ns = 0;
	enc->n_complete = enc->n_unverified = enc->n_named = 0;
}

static void end_profile(struct encoder *enc)
{
	const struct event_type *type = type_of(enc, enc->event);

	if (enc->samples.len == 0)
		return;
	enc->body.len = 0;
	put_value_type(enc, PROFILE_SAMPLE_TYPE, type->type, type->unit);
	otlp_put_raw(&enc->body, enc->samples.data, enc->samples.len);
	otlp_put_fixed64(&enc->body, PROFILE_TIME_UNIX_NANO, enc->start_ns);
	otlp_put_uint(&enc->body, PROFILE_DURATION_NANO, enc->end_ns - enc->start_ns);
	if (has_period(enc)) {
		put_value_type(enc, PROFILE_PERIOD_TYPE, OTLP_CPU, OTLP_NANOSECONDS);
		otlp_put_uint(&enc->body, PROFILE_PERIOD, mean_period_ns(enc));
	}
	put_quality(enc);
	otlp_put_message(&enc->profiles, SCOPE_PROFILES_PROFILES, &enc->body);
	enc->n_profiles++;
	enc->samples.len = 0;
	clear_counts(enc);
}

static void put_scope(struct encoder *enc)
{
	const char *version = enc->options->version;

	enc->part.len = 0;
	otlp_put_bytes(&enc->part, INSTRUMENTATION_SCOPE_NAME, SCOPE_NAME_TEXT, strlen(SCOPE_NAME_TEXT));
	if (version && version[0])
		otlp_put_bytes(&enc->part, INSTRUMENTATION_SCOPE_VERSION, version, strlen(version));
	otlp_put_message(&enc->body, SCOPE_PROFILES_SCOPE, &enc->part);
}

static void end_resource(struct encoder *enc)
{
	struct otlp_wire *scope_profiles = &enc->samples; /* free: the profile has ended */

	end_profile(enc);
	if (enc->profiles.len == 0)
		return;
	enc->body.len = 0;
	put_scope(enc);
	otlp_put_raw(scope_profiles, enc->body.data, enc->body.len);
	otlp_put_raw(scope_profiles, enc->profiles.data, enc->profiles.len);
	otlp_put_bytes(scope_profiles, SCOPE_PROFILES_SCHEMA_URL, SCHEMA_URL, strlen(SCHEMA_URL));
	enc->body.len = 0;
	otlp_put_message(&enc->body, RESOURCE_PROFILES_RESOURCE, &enc->resource);
	otlp_put_message(&enc->body, RESOURCE_PROFILES_SCOPE_PROFILES, scope_profiles);
	otlp_put_bytes(&enc->body, RESOURCE_PROFILES_SCHEMA_URL, SCHEMA_URL, strlen(SCHEMA_URL));
	otlp_put_message(&enc->resources, PROFILES_DATA_RESOURCE_PROFILES, &enc->body);
	enc->samples.len = 0;
	enc->profiles.len = 0;
}

static void begin_resource(struct encoder *enc, uint32_t process)
{
	otlp_resource_write(enc->batch, &enc->view, enc->options, process, &enc->resource);
	enc->process = process;
}

/* --- requests --- */

static size_t request_bytes(const struct encoder *enc)
{
	return otlp_dictionary_bytes(&enc->dictionary) + enc->resources.len + enc->resource.len +
	       enc->profiles.len + enc->samples.len + OVERHEAD_BYTES;
}

static int encoder_error(const struct encoder *enc)
{
	const struct otlp_wire *const wires[] = {&enc->resources, &enc->resource, &enc->profiles,
						 &enc->samples,	  &enc->body,	  &enc->part};
	int error = otlp_dictionary_error(&enc->dictionary);

	for (size_t i = 0; i < EP_LEN(wires) && error == 0; i++)
		error = wires[i]->error;
	return error;
}

static void add_piece(struct otlp_request *request, const struct otlp_wire *wire)
{
	request->pieces[request->n_pieces].data = wire->data;
	request->pieces[request->n_pieces++].len = wire->len;
	request->bytes += wire->len;
}

static int send_request(struct encoder *enc)
{
	struct otlp_request request = {.samples = enc->n_events};
	int r;

	end_resource(enc);
	request.profiles = enc->n_profiles;
	enc->part.len = 0;
	otlp_put_tag(&enc->part, PROFILES_DATA_DICTIONARY, OTLP_BYTES);
	otlp_put_varint(&enc->part, otlp_dictionary_bytes(&enc->dictionary));
	r = encoder_error(enc);
	if (r < 0)
		return r;
	add_piece(&request, &enc->resources);
	add_piece(&request, &enc->part);
	for (uint32_t i = 0; i < OTLP_N_TABLES; i++)
		add_piece(&request, &enc->dictionary.tables[i].bytes);
	return enc->sink->take(enc->sink->arg, &request);
}

static void begin_request(struct encoder *enc)
{
	otlp_dictionary_reset(&enc->dictionary);
	enc->resources.len = 0;
	enc->profiles.len = 0;
	enc->samples.len = 0;
	enc->n_events = enc->n_profiles = 0;
	clear_counts(enc);
}

static uint64_t events_of(const struct encoder *enc, uint32_t row)
{
	const struct ep_batch *b = enc->batch;
	uint64_t n = 0;

	do {
		n += b->sample_time_first[row + 1] - b->sample_time_first[row];
		row = next_row(enc, row);
	} while (row);
	return n;
}

static void count_events(struct encoder *enc, uint32_t row, uint64_t n)
{
	uint32_t stack = enc->batch->sample_stack[row];

	enc->n_events += n;
	enc->n_profile_events += n;
	enc->weight_ns += n * enc->groups.period_ns[enc->groups.period_of[row]];
	if (ep_batch_is_unverified(enc->batch, stack))
		enc->n_unverified += n;
	else if (!enc->batch->stack_error[stack])
		enc->n_complete += n;
	if (enc->view.stack_unnamed)
		enc->n_named += enc->view.stack_unnamed[stack] ? 0 : n;
}

/* Adds a sample if there is space. False: there is none, and nothing has changed. */
static bool try_sample(struct encoder *enc, uint32_t row, struct range range)
{
	struct otlp_dictionary_mark mark = otlp_dictionary_mark(&enc->dictionary);
	size_t samples_len = enc->samples.len;

	if (samples_len == 0)
		begin_profile(enc);
	put_sample(enc, row, range);
	if (request_bytes(enc) <= enc->options->max_bytes) {
		count_events(enc, row, range.n);
		return true;
	}
	otlp_dictionary_cut(&enc->dictionary, &mark);
	enc->samples.len = samples_len;
	return false;
}

/* Into this request, else the next; a sample that fills more than one goes in pieces. */
static int add_sample(struct encoder *enc, uint32_t row)
{
	uint64_t n = events_of(enc, row);
	struct range range = {.n = n};
	int r = 0;

	while (range.skip < n && r == 0) {
		bool is_fresh = enc->n_events == 0;

		if (try_sample(enc, row, range)) {
			range.skip += range.n;
			range.n = n - range.skip;
			continue;
		}
		if (!is_fresh)
			r = send_request(enc);
		else if (range.n > 1)
			range.n /= 2;
		else
			break;
		begin_request(enc);
	}
	if (r == 0 && range.skip < n) {
		enc->too_big += n - range.skip;
		begin_request(enc);
	}
	return r;
}

/* Whether samples of this event and period go on with the profile in hand, if the process does. */
static bool is_same_profile(const struct encoder *enc, uint32_t event, uint32_t period)
{
	const uint64_t *period_ns = enc->groups.period_ns;

	if (event != enc->event)
		return false;
	if (enc->options->per_cpu)
		return period == enc->period;
	return !period_ns[period] == !period_ns[enc->period];
}

static void enter_group(struct encoder *enc, uint32_t row)
{
	uint32_t process = enc->batch->sample_process[row], event = event_of(enc, row);
	uint32_t period = enc->groups.period_of[row];

	if (process != enc->process) {
		end_resource(enc);
		begin_resource(enc, process);
	} else if (!is_same_profile(enc, event, period)) {
		end_profile(enc);
	}
	enc->event = event;
	enc->period = period;
}

static int encode_samples(struct encoder *enc)
{
	int r = 0;

	enc->process = UINT32_MAX; /* none yet */
	for (uint32_t i = 0; i < enc->batch->n_samples && r == 0; i++) {
		uint32_t row = enc->groups.order[i];

		if (enc->canon.is_later && enc->canon.is_later[row])
			continue;
		enter_group(enc, row);
		r = add_sample(enc, row);
	}
	if (r == 0)
		r = encoder_error(enc); /* they stick */
	if (r == 0 && enc->n_events)
		r = send_request(enc);
	return r;
}

static int encoder_init(struct encoder *enc)
{
	struct otlp_wire *const wires[] = {&enc->resources, &enc->resource, &enc->profiles,
					   &enc->samples,   &enc->body,	    &enc->part};
	int r;

	/* A single sample may be longer than a request may: it is noticed when it is there. */
	for (size_t i = 0; i < EP_LEN(wires); i++)
		otlp_wire_init(wires[i], enc->options->max_bytes + OTLP_ELEMENT_MAX);
	otlp_view_of(enc->batch, &enc->view);
	otlp_view_window(enc->batch, &enc->start_ns, &enc->end_ns);
	if (!enc->view.mapping_load_address && enc->options->kernel_base) {
		enc->kernel_loads = otlp_kernel_loads(enc->batch, enc->options->kernel_base,
						      enc->options->modules_path);
		enc->view.mapping_load_address = enc->kernel_loads;
		if (!enc->kernel_loads)
			return -ENOMEM;
	}
	r = otlp_canon_init(&enc->canon, enc->batch, &enc->view, enc->options);
	if (r == 0)
		r = otlp_dictionary_init(&enc->dictionary, enc->batch, &enc->view, &enc->canon,
					 enc->options);
	return r < 0 ? r : otlp_groups_init(&enc->groups, enc->batch, &enc->view);
}

static void encoder_fini(struct encoder *enc)
{
	otlp_dictionary_fini(&enc->dictionary);
	otlp_canon_fini(&enc->canon);
	otlp_wire_fini(&enc->resources);
	otlp_wire_fini(&enc->resource);
	otlp_wire_fini(&enc->profiles);
	otlp_wire_fini(&enc->samples);
	otlp_wire_fini(&enc->body);
	otlp_wire_fini(&enc->part);
	otlp_groups_fini(&enc->groups);
	free(enc->kernel_loads);
}

int otlp_encode(const struct ep_batch *batch, const struct otlp_encode_options *options,
		const struct otlp_sink *sink, uint64_t *ret_too_big)
{
	ep_autofree struct encoder *enc = calloc(1, sizeof(*enc));
	int r;

	if (!enc)
		return -ENOMEM;
	enc->batch = batch;
	enc->options = options;
	enc->sink = sink;
	r = options->max_bytes < MIN_MAX_BYTES ? -E2BIG : encoder_init(enc);
	if (r == 0)
		r = encode_samples(enc);
	if (r == 0)
		*ret_too_big = enc->too_big;
	encoder_fini(enc);
	return r;
}
