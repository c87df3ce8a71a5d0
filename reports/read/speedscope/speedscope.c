/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's own JSON (https://www.speedscope.app/file-format-schema.json), as py-spy, rbspy and
 * others write it:
 *
 *	{ "$schema": "https://www.speedscope.app/file-format-schema.json",
 *	  "shared": { "frames": [ { "name": "main", "file": "app.py", "line": 3 } ] },
 *	  "profiles": [
 *	    { "type": "sampled", "name": "thread 1", "unit": "seconds",
 *	      "samples": [[0, 1]], "weights": [0.01] },
 *	    { "type": "evented", "name": "thread 2", "unit": "seconds", "endValue": 2,
 *	      "events": [ { "type": "O", "frame": 0, "at": 0 },
 *			  { "type": "C", "frame": 0, "at": 2 } ] } ] }
 *
 * A profile is a thread. A sample is a stack, root first. A stack of events stands from one event
 * to the next, and weighs that long: each such stretch counts as one sample. Time without a frame
 * is idle, and is no sample.
 *
 * A file may have profiles of several units, of which one can be added up: read are the profiles
 * that count what the one counts that speedscope shows first (activeProfileIndex). Every unit of
 * time becomes nanoseconds. Where weights without a unit are fractions, all are millionths, which
 * the unit then says.
 */
#include "core/base/map.h"
#include "reports/read/reader.h"
#include "reports/read/shared/json.h"
#include "reports/read/shared/kind.h"

#include <errno.h>
#include <stdio.h>

#define MAX_STACK    (1u << 20)
#define MAX_FRAMES   (1u << 24)
#define MAX_PROFILES (1u << 16)
#define MAX_NODES    (1u << 24)
#define TEXT_BYTES   512 /* of what is guessed by */
#define PART_DIGITS  6
#define SCHEMA	     "speedscope.app/file-format-schema"

struct unit {
	const char *name, *is; /* in the file, in a batch */
	unsigned int digits;   /* of fractions of `is` */
};

static const struct unit units[] = {
	{"none", "count", 0},
	{"nanoseconds", "nanoseconds", 0},
	{"microseconds", "nanoseconds", 3},
	{"milliseconds", "nanoseconds", 6},
	{"seconds", "nanoseconds", 9},
	{"bytes", "bytes", 0},
};
static const struct unit parts_of_none = {"none", "1/1000000 count", PART_DIGITS};

/* Where the parts of a profile begin; NULL: it has none. */
struct profile {
	const uint8_t *name, *samples, *weights, *events, *end;
	const struct unit *unit;
};

/* The tree of all stacks that events made; row 0 is the root. */
struct node {
	uint32_t parent, location, depth;
	uint32_t stack; /* 0: not made yet */
};

struct speedscope {
	struct ep_profile_builder *builder;
	struct ep_json json;
	struct ep_vec text;
	const uint8_t *frames, *profiles_at;
	uint32_t active;
	struct ep_vec locations; /* uint32_t by frame */
	struct ep_map notes; /* of locations with a name that this program made up: where that is in
				the file */
	struct ep_vec profiles;	 /* struct profile */
	struct ep_vec stack;	 /* uint32_t */
	struct ep_vec nodes;	 /* struct node */
	struct ep_map node_of;	 /* parent << 32 | location */
	bool has_fractions;
};

static bool speedscope_bad(struct speedscope *s, const char *why)
{
	return ep_json_fail(&s->json, why);
}

/* --- what there is --- */

static void find_frames(struct ep_json *json, const uint8_t **ret_frames)
{
	struct ep_piece key;

	ep_json_enter(json, '{');
	while (ep_json_key(json, &key)) {
		if (ep_piece_is(key, "frames"))
			*ret_frames = ep_json_here(json);
		ep_json_skip(json);
	}
}

static void find_parts(struct speedscope *s)
{
	struct ep_json *json = &s->json;
	struct ep_piece key;

	ep_json_enter(json, '{');
	while (ep_json_key(json, &key)) {
		if (ep_piece_is(key, "shared")) {
			find_frames(json, &s->frames);
		} else if (ep_piece_is(key, "activeProfileIndex")) {
			ep_json_row(json, &s->active);
		} else {
			if (ep_piece_is(key, "profiles"))
				s->profiles_at = ep_json_here(json);
			ep_json_skip(json);
		}
	}
	if (!json->why && !s->frames)
		speedscope_bad(s, "it has no frames: it is no whole file of speedscope");
	if (!json->why && !s->profiles_at)
		speedscope_bad(s, "it has no profiles: it is no whole file of speedscope");
}

static const struct unit *unit_of(struct ep_json *json)
{
	struct ep_piece name;

	if (!ep_json_text(json, &name))
		return NULL;
	for (size_t i = 0; i < EP_LEN(units); i++) {
		if (ep_piece_is(name, units[i].name))
			return &units[i];
	}
	ep_json_fail(json, "its unit is none of speedscope's, which are times, bytes and none");
	return NULL;
}

static struct profile find_profile(struct ep_json *json)
{
	struct profile profile = {.unit = &units[0]};
	const struct {
		const char *key;
		const uint8_t **at;
	} parts[] = {
		{"name", &profile.name},       {"samples", &profile.samples},
		{"weights", &profile.weights}, {"events", &profile.events},
		{"endValue", &profile.end},
	};
	struct ep_piece key;

	ep_json_enter(json, '{');
	while (ep_json_key(json, &key)) {
		if (ep_piece_is(key, "unit")) {
			profile.unit = unit_of(json);
			continue;
		}
		for (size_t i = 0; i < EP_LEN(parts); i++) {
			if (ep_piece_is(key, parts[i].key))
				*parts[i].at = ep_json_here(json);
		}
		ep_json_skip(json);
	}
	return profile;
}

static int list_profiles(struct speedscope *s)
{
	struct ep_json *json = &s->json;
	int r = 0;

	*json = ep_json_at(json, s->profiles_at);
	ep_json_enter(json, '[');
	while (r == 0 && ep_json_more(json)) {
		struct profile profile = find_profile(json);

		if (!json->why && !profile.events && (!profile.samples || !profile.weights))
			speedscope_bad(s, "the profile that ends here has neither events nor samples");
		r = ep_vec_append(&s->profiles, &profile, 1);
		if (r == -E2BIG)
			speedscope_bad(s, "it has more than 65536 profiles");
	}
	if (r == 0 && !json->why && !s->profiles.len)
		speedscope_bad(s, "it has no profile in it: record for longer");
	return r;
}

/* --- frames --- */

struct frame {
	const uint8_t *at;			 /* of its name, in the file */
	char name[TEXT_BYTES], file[TEXT_BYTES]; /* what is guessed by */
	struct ep_profile_function function;
	struct ep_profile_line line;
};

/* One text of a frame: whole in the builder, and its beginning for the guess. */
static int take_text(struct speedscope *s, char beginning[TEXT_BYTES], uint32_t *ret_string)
{
	struct ep_piece piece;

	if (!ep_json_text(&s->json, &piece))
		return 0;
	ep_piece_copy(piece, beginning, TEXT_BYTES);
	return ep_profile_add_string(s->builder, piece.text, piece.bytes, ret_string);
}

/* Numbers of lines that are none are left out, as null is. */
static uint32_t number_of(struct ep_json *json)
{
	uint32_t number = EP_JSON_NONE;

	ep_json_row(json, &number);
	return number == EP_JSON_NONE ? 0 : number;
}

static int take_frame(struct speedscope *s, struct frame *frame)
{
	struct ep_json *json = &s->json;
	struct ep_piece key;
	int r = 0;

	ep_json_enter(json, '{');
	while (r == 0 && ep_json_key(json, &key)) {
		if (ep_piece_is(key, "name")) {
			frame->at = ep_json_here(json);
			r = take_text(s, frame->name, &frame->function.name);
		} else if (ep_piece_is(key, "file")) {
			r = take_text(s, frame->file, &frame->function.file);
		} else if (ep_piece_is(key, "line")) {
			frame->line.line = number_of(json);
		} else if (ep_piece_is(key, "col")) {
			frame->line.column = number_of(json);
		} else {
			ep_json_skip(json);
		}
	}
	return r;
}

static int add_frame(struct speedscope *s)
{
	struct frame frame = {.name = ""};
	struct ep_profile_location location = {.n_lines = 1, .lines = &frame.line};
	const char *kind;
	uint32_t row = 0;
	int r = take_frame(s, &frame);

	if (r == 0 && !s->json.why && !frame.name[0])
		speedscope_bad(s, "the frame that ends here has no name");
	if (r < 0 || s->json.why)
		return r;
	kind = ep_read_kind(&(struct ep_read_frame){frame.name, frame.file, "", 0});
	ep_read_made_up(frame.name, &location);
	frame.function.system_name = frame.function.name;
	r = ep_profile_add_function(s->builder, &frame.function, &frame.line.function);
	if (r == 0)
		r = ep_profile_add_string(s->builder, kind, strlen(kind), &location.kind);
	if (r == 0)
		r = ep_profile_add_location(s->builder, &location, &row);
	if (r == 0 && location.unnamed)
		r = ep_map_set(&s->notes, row, (uint64_t)(frame.at - s->json.start));
	return r < 0 ? r : ep_vec_append(&s->locations, &row, 1);
}

static int read_frames(struct speedscope *s)
{
	int r = 0;

	s->json = ep_json_at(&s->json, s->frames);
	ep_json_enter(&s->json, '[');
	while (r == 0 && ep_json_more(&s->json))
		r = add_frame(s);
	return r;
}

/* The location of the frame whose number comes next; 0 after an error. */
static uint32_t read_location(struct speedscope *s, struct ep_json *json)
{
	uint32_t frame;

	if (!ep_json_row(json, &frame))
		return 0;
	if (frame < s->locations.len)
		return *ep_vec_at(&s->locations, uint32_t, frame);
	ep_json_fail(json, "it refers to a frame that is not there");
	return 0;
}

/* --- samples --- */

static int add_sample(struct speedscope *s, const struct profile *profile, uint32_t thread,
		      uint32_t stack, int64_t weight)
{
	struct ep_profile_sample sample = {
		.stack = stack, .thread_name = thread, .count = 1, .weight = (uint64_t)weight};

	if (strcmp(profile->unit->is, "count") == 0)
		sample.count = (uint64_t)weight;
	else if (profile->unit == &parts_of_none)
		sample.count = EP_MAX(((uint64_t)weight + 500000) / 1000000, 1ull);
	return ep_profile_add_sample(s->builder, &sample);
}

/* A frame may say that others are missing, and why. */
static int note(struct speedscope *s, uint32_t location, struct ep_profile_stack *stack)
{
	uint64_t *at = ep_map_find(&s->notes, location);
	struct ep_piece name;
	char text[TEXT_BYTES];
	struct ep_json json;

	if (!at)
		return 0;
	json = ep_json_at(&s->json, s->json.start + *at);
	if (!ep_json_text(&json, &name))
		return json.has_no_memory ? -ENOMEM : 0;
	ep_piece_copy(name, text, sizeof(text));
	return ep_read_stack_note(s->builder, text, stack);
}

/* Of s->stack, which is leaf first. */
static int add_stack(struct speedscope *s, uint32_t *ret_stack)
{
	struct ep_profile_stack stack = {.n_locations = (uint32_t)s->stack.len,
					 .locations = s->stack.data};
	const uint32_t *location;
	int r = 0;

	if (s->notes.len) {
		ep_vec_each(&s->stack, location)
			r = r < 0 ? r : note(s, *location, &stack);
	}
	return r < 0 ? r : ep_profile_add_stack(s->builder, &stack, ret_stack);
}

static void turn_round(struct ep_vec *stack)
{
	uint32_t *rows = stack->data;

	for (size_t i = 0, j = stack->len; i + 1 < j; i++) {
		uint32_t row = rows[i];

		rows[i] = rows[--j];
		rows[j] = row;
	}
}

static int read_stack(struct speedscope *s)
{
	int r = 0;

	s->stack.len = 0;
	ep_json_enter(&s->json, '[');
	while (r == 0 && ep_json_more(&s->json)) {
		uint32_t location = read_location(s, &s->json);

		r = ep_vec_append(&s->stack, &location, 1);
		if (r == -E2BIG)
			speedscope_bad(s, "its stack has more than a million frames");
	}
	turn_round(&s->stack);
	return r;
}

/* A weight, which is no sample where it is 0. */
static bool read_weight(struct ep_json *json, const struct unit *unit, int64_t *ret_weight)
{
	*ret_weight = 0;
	if (!ep_json_parts(json, unit->digits, ret_weight))
		return false;
	return *ret_weight >= 0 ||
	       ep_json_fail(json, "a weight is negative: this is the difference of two profiles");
}

static int read_sampled(struct speedscope *s, const struct profile *profile, uint32_t thread)
{
	struct ep_json weights = ep_json_at(&s->json, profile->weights);
	uint32_t stack = 0;
	int64_t weight = 0;
	int r = 0;

	s->json = ep_json_at(&s->json, profile->samples);
	ep_json_enter(&s->json, '[');
	ep_json_enter(&weights, '[');
	while (r == 0 && ep_json_more(&s->json)) {
		r = read_stack(s);
		if (!weights.why && !ep_json_more(&weights))
			speedscope_bad(s, "there are fewer weights than samples");
		if (r < 0 || s->json.why || !read_weight(&weights, profile->unit, &weight))
			break;
		if (!s->stack.len || !weight)
			continue;
		r = add_stack(s, &stack);
		if (r == 0)
			r = add_sample(s, profile, thread, stack, weight);
	}
	if (!s->json.why && weights.why)
		s->json = weights;
	else if (!s->json.why && r == 0 && ep_json_more(&weights))
		speedscope_bad(s, "there are more weights than samples");
	return r;
}

/* --- events --- */

static int open_frame(struct speedscope *s, uint32_t location, uint32_t *node)
{
	uint32_t depth = ep_vec_at(&s->nodes, struct node, *node)->depth + 1;
	struct node next = {.parent = *node, .location = location, .depth = depth};
	uint64_t key = (uint64_t)*node << 32 | location, *found = ep_map_find(&s->node_of, key);
	int r;

	if (found) {
		*node = (uint32_t)*found;
		return 0;
	}
	if (depth > MAX_STACK) {
		speedscope_bad(s, "its stack has more than a million frames");
		return -E2BIG;
	}
	r = ep_map_set(&s->node_of, key, s->nodes.len);
	*node = (uint32_t)s->nodes.len;
	return r < 0 ? r : ep_vec_append(&s->nodes, &next, 1);
}

/* Made once for each node, so that what is done for a file is bounded by what a batch may hold. */
static int stack_of_node(struct speedscope *s, uint32_t number, uint32_t *ret_stack)
{
	struct node *nodes = s->nodes.data;
	int r = 0;

	if (!nodes[number].stack) {
		s->stack.len = 0;
		for (uint32_t at = number; r == 0 && at; at = nodes[at].parent)
			r = ep_vec_append(&s->stack, &nodes[at].location, 1);
		if (r == 0)
			r = add_stack(s, &nodes[number].stack);
	}
	*ret_stack = nodes[number].stack;
	return r;
}

struct event {
	char type; /* 'O', 'C' */
	uint32_t location;
	int64_t at;
};

static bool read_event(struct speedscope *s, const struct unit *unit, struct event *ret_event)
{
	struct ep_json *json = &s->json;
	bool has_at = false;
	struct ep_piece key;

	*ret_event = (struct event){0};
	ep_json_enter(json, '{');
	while (ep_json_key(json, &key)) {
		if (ep_piece_is(key, "frame")) {
			ret_event->location = read_location(s, json);
		} else if (ep_piece_is(key, "at")) {
			has_at = ep_json_parts(json, unit->digits, &ret_event->at);
		} else if (ep_piece_is(key, "type")) {
			if (ep_json_text(json, &key) &&
			    (ep_piece_is(key, "O") || ep_piece_is(key, "C")))
				ret_event->type = key.text[0];
		} else {
			ep_json_skip(json);
		}
	}
	if (!ret_event->type || !ret_event->location || !has_at)
		return speedscope_bad(
			s,
			"the event that ends here lacks its type (O or C), its frame or its time");
	return !json->why;
}

/* The stack of `node` stood from *from to `until`. */
static int add_stretch(struct speedscope *s, const struct profile *profile, uint32_t thread,
		       uint32_t node, int64_t *from, int64_t until)
{
	uint32_t stack = 0;
	int64_t weight;
	int r;

	if (__builtin_sub_overflow(until, *from, &weight) || weight < 0) {
		speedscope_bad(s, "its time is before that of the event before it");
		return -EBADMSG;
	}
	*from = until;
	if (!node || !weight)
		return 0;
	r = stack_of_node(s, node, &stack);
	return r < 0 ? r : add_sample(s, profile, thread, stack, weight);
}

/* The end of the profile ends what is still open. */
static int end_events(struct speedscope *s, const struct profile *profile, uint32_t thread,
		      uint32_t node, int64_t from)
{
	int64_t end = 0;

	if (!node || !profile->end || s->json.why)
		return 0;
	s->json = ep_json_at(&s->json, profile->end);
	if (!ep_json_parts(&s->json, profile->unit->digits, &end))
		return 0;
	return add_stretch(s, profile, thread, node, &from, EP_MAX(end, from));
}

static int read_evented(struct speedscope *s, const struct profile *profile, uint32_t thread)
{
	uint32_t node = 0;
	bool is_first = true;
	struct event event;
	int64_t from = 0;
	int r = 0;

	s->json = ep_json_at(&s->json, profile->events);
	ep_json_enter(&s->json, '[');
	while (r == 0 && ep_json_more(&s->json) && read_event(s, profile->unit, &event)) {
		if (is_first)
			from = event.at;
		is_first = false;
		r = add_stretch(s, profile, thread, node, &from, event.at);
		if (r < 0)
			break;
		if (event.type == 'O')
			r = open_frame(s, event.location, &node);
		else if (node &&
			 ep_vec_at(&s->nodes, struct node, node)->location == event.location)
			node = ep_vec_at(&s->nodes, struct node, node)->parent;
		else
			speedscope_bad(s, "it closes a frame that is not the innermost one");
	}
	return r < 0 ? r : end_events(s, profile, thread, node, from);
}

/* --- profiles --- */

static bool is_fraction(struct ep_json *json)
{
	int64_t parts = 0;

	return ep_json_parts(json, PART_DIGITS, &parts) && parts % 1000000 != 0;
}

/* Whether a profile without a unit has weights, or times, that are no whole numbers. */
static bool has_fractions(struct speedscope *s, const struct profile *profile)
{
	struct ep_json json =
		ep_json_at(&s->json, profile->events ? profile->events : profile->weights);
	bool is_found = false;
	struct ep_piece key;

	ep_json_enter(&json, '[');
	while (!is_found && ep_json_more(&json)) {
		if (!profile->events) {
			is_found = is_fraction(&json);
			continue;
		}
		ep_json_enter(&json, '{');
		while (ep_json_key(&json, &key)) {
			if (ep_piece_is(key, "at"))
				is_found |= is_fraction(&json);
			else
				ep_json_skip(&json);
		}
	}
	return is_found;
}

static bool is_same_measure(const struct profile *profile, const struct profile *other)
{
	return strcmp(profile->unit->is, other->unit->is) == 0;
}

static int read_profile(struct speedscope *s, const struct profile *profile)
{
	struct ep_piece name = {"", 0};
	uint32_t thread = 0;
	int r;

	if (profile->name) {
		s->json = ep_json_at(&s->json, profile->name);
		if (!ep_json_text(&s->json, &name))
			return 0;
	}
	r = ep_profile_add_string(s->builder, name.text, name.bytes, &thread);
	if (r < 0)
		return r;
	return profile->events ? read_evented(s, profile, thread)
			       : read_sampled(s, profile, thread);
}

static int read_profiles(struct speedscope *s, const char **ret_unit)
{
	struct profile *profiles = s->profiles.data, *shown;
	int r = 0;

	shown = &profiles[s->active < s->profiles.len ? s->active : 0];
	for (size_t i = 0; i < s->profiles.len && shown->unit == &units[0] && !s->has_fractions;
	     i++)
		s->has_fractions = profiles[i].unit == &units[0] && has_fractions(s, &profiles[i]);
	for (size_t i = 0; i < s->profiles.len && s->has_fractions; i++) {
		if (profiles[i].unit == &units[0])
			profiles[i].unit = &parts_of_none;
	}
	for (size_t i = 0; r == 0 && !s->json.why && i < s->profiles.len; i++) {
		if (is_same_measure(&profiles[i], shown))
			r = read_profile(s, &profiles[i]);
	}
	*ret_unit = shown->unit->is;
	return r;
}

/* --- the reader --- */

/* By the first key that only speedscope has; of other JSON the whole file is looked through. */
static bool speedscope_matches(const uint8_t *data, size_t bytes)
{
	ep_cleanup(ep_vec_fini) struct ep_vec text;
	struct ep_json json = ep_json_of(data, bytes, data, &text);
	struct ep_piece key, schema;

	if (!ep_json_is(&json, '{') || !ep_json_enter(&json, '{'))
		return false;
	while (ep_json_key(&json, &key)) {
		if (ep_piece_is(key, "profiles"))
			return true;
		if (ep_piece_is(key, "$schema") && ep_json_is(&json, '"')) {
			if (!ep_json_text(&json, &schema))
				return false;
			return memmem(schema.text, schema.bytes, SCHEMA, strlen(SCHEMA)) != NULL;
		}
		ep_json_skip(&json);
	}
	return false;
}

static void speedscope_fini(struct speedscope *s)
{
	ep_vec_fini(&s->text);
	ep_vec_fini(&s->locations);
	ep_vec_fini(&s->profiles);
	ep_vec_fini(&s->stack);
	ep_vec_fini(&s->nodes);
	ep_map_fini(&s->node_of);
	ep_map_fini(&s->notes);
}

static int speedscope_init(struct speedscope *s, const uint8_t *data, size_t bytes,
			   const uint8_t *at)
{
	s->json = ep_json_of(data, bytes, at, &s->text);
	ep_vec_init(&s->locations, sizeof(uint32_t), MAX_FRAMES);
	ep_vec_init(&s->profiles, sizeof(struct profile), MAX_PROFILES);
	ep_vec_init(&s->stack, sizeof(uint32_t), MAX_STACK);
	ep_vec_init(&s->nodes, sizeof(struct node), MAX_NODES);
	ep_map_init(&s->node_of, MAX_NODES);
	ep_map_init(&s->notes, MAX_FRAMES);
	return ep_vec_append(&s->nodes, NULL, 1);
}

/* The document at *at, which moves to the one after it, or NULL. */
static int read_document(const uint8_t *data, size_t bytes, const uint8_t **at,
			 struct ep_profile_builder *builder, char *why)
{
	ep_cleanup(speedscope_fini) struct speedscope s = {.builder = builder};
	struct ep_profile_header header = {.sample_type = "samples"};
	int r = speedscope_init(&s, data, bytes, *at);

	if (r == 0)
		find_parts(&s);
	*at = ep_json_next_document(&s.json);
	if (r == 0 && !s.json.why)
		r = list_profiles(&s);
	if (r == 0 && !s.json.why)
		r = read_frames(&s);
	if (r == 0 && !s.json.why)
		r = read_profiles(&s, &header.weight_unit);
	r = ep_json_end(&s.json, r, why);
	return r < 0 ? r : ep_profile_add_header(builder, &header);
}

static int speedscope_read(const uint8_t *data, size_t bytes, struct ep_profile_builder *builder,
			   char *why)
{
	const uint8_t *at = data;
	int r = 0;

	why[0] = '\0';
	while (r == 0 && at)
		r = read_document(data, bytes, &at, builder, why);
	return r;
}

const struct ep_reader ep_speedscope_reader = {
	.name = "speedscope", .matches = speedscope_matches, .read = speedscope_read};
