/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `perf script` prints, of perf 4 to 6, and exporters/perf writes: a line for each sample, its frames,
 * leaf first, and an empty line.
 *
 *	comm    12/13    [001]  5.250000:      10000 cpu-clock:u:
 *		          4007f0 inner (inlined)
 *		          4007f0 outer+0x10 (/usr/bin/prog)
 *		ffffffff81000000 [unknown] ([kernel.kallsyms])
 *
 * Functions that were inlined come before the one that they are in, which has the same address: one location.
 * A frame of a language, which exporters/perf writes, has address 0, and its source in place of the file.
 *
 * Without call chains (perf record without -g) perf pads the name to 16, and the one frame is on the same line:
 *
 *	              dd    12 [001]  5.250000:      10000 cpu-clock:u:  4007f0 inner+0x1 (/usr/bin/prog)
 *
 * A name may be hex digits, and an address too: which line is which is recognised by their
 * beginnings. A line with a tab in front is a frame where a sample is open, any other is one only
 * if it is no sample. Source lines, which perf prints between frames with two spaces in front when
 * it is asked to, are left out.
 */
#include "reports/read/perf/script.h"
#include "reports/read/reader.h"
#include "reports/read/shared/kind.h"

#include <errno.h>
#include <stdio.h>

#define MAX_STACK     (1u << 20)
#define TEXT_BYTES    512
#define LOOK_AT_LINES 256 /* to find out what it is: comments may come first */

struct script {
	struct ep_profile_builder *builder;
	char *why;
	struct ep_text text;
	struct ep_pieces locations; /* of frames as they are printed */
	struct ep_vec stack;	    /* uint32_t, leaf first */
	struct ep_vec lines;	    /* of a location: inlined ones that wait for their function */
	struct ep_profile_stack notes;
	/* the sample in hand */
	bool has_sample;
	bool has_frames; /* on lines of their own: then an empty line ends it */
	struct script_head head;
	/* of all */
	char event[TEXT_BYTES];
	bool is_clock;
	uint64_t first_ns, last_ns;
	uint64_t period; /* 0: they differ */
	bool has_period;
};

static int bad(struct script *s, const char *what)
{
	snprintf(s->why, EP_READ_WHY_BYTES, "line %zu: %.200s", s->text.line, what);
	return -EBADMSG;
}

/* --- frames --- */

/* "app.x:12", where there is no file of code: a source file and its line. */
static struct ep_piece split_line(struct ep_piece dso, uint32_t *ret_line)
{
	size_t at = dso.bytes;
	uint64_t line = 0;

	while (at > 0 && dso.text[at - 1] >= '0' && dso.text[at - 1] <= '9')
		at--;
	if (at == dso.bytes || at < 2 || dso.text[at - 1] != ':')
		return dso;
	for (size_t i = at; i < dso.bytes && line < UINT32_MAX; i++)
		line = line * 10 + (uint64_t)(dso.text[i] - '0');
	*ret_line = (uint32_t)EP_MIN(line, (uint64_t)UINT32_MAX);
	dso.bytes = at - 1;
	return dso;
}

static int push_line(struct script *s, struct ep_piece name, struct ep_piece file, uint32_t number)
{
	struct ep_profile_function function = {0};
	struct ep_profile_line line = {.line = number};
	int r = ep_profile_add_string(s->builder, name.text, name.bytes, &function.name);

	function.system_name = function.name;
	if (r == 0)
		r = ep_profile_add_string(s->builder, file.text, file.bytes, &function.file);
	if (r == 0)
		r = ep_profile_add_function(s->builder, &function, &line.function);
	return r < 0 ? r : ep_vec_append(&s->lines, &line, 1);
}

static int find_mapping(struct script *s, struct ep_piece dso, const char *path, uint64_t address,
			uint32_t *ret_row)
{
	/* perf has looked names up already: nobody is to do it again */
	struct ep_profile_mapping mapping = {
		.flags = dso.bytes ? ep_read_mapping_flags(path, address) | EP_MAPPING_HAS_FUNCTIONS : 0};
	int r = ep_profile_add_string(s->builder, dso.text, dso.bytes, &mapping.path);

	return r < 0 ? r : ep_profile_add_mapping(s->builder, &mapping, ret_row);
}

static const char *kind_of(const struct script_frame *frame, const char *source, const char *path)
{
	char function[TEXT_BYTES];
	struct ep_read_frame guess = {
		.function = function, .file = source, .path = path, .address = frame->address};
	const char *kind;

	ep_piece_copy(frame->symbol, function, sizeof(function));
	kind = ep_read_kind(&guess);
	/* code that a JIT reported to perf: /tmp/perf-12.map, jitted-12-3.so */
	return strcmp(kind, "native") == 0 && (strstr(path, "/perf-") || strstr(path, "jitted-"))
		       ? "jit"
		       : kind;
}

static int make_location(struct script *s, const struct script_frame *frame, uint32_t *ret_row)
{
	struct ep_profile_location location = {.address = frame->address};
	struct ep_piece file = {"", 0}, dso = frame->dso;
	char source[TEXT_BYTES], path[TEXT_BYTES];
	uint32_t number = 0;
	const char *kind;
	int r = 0;

	if (!frame->address) {
		file = split_line(dso, &number);
		dso.bytes = 0;
	}
	ep_piece_copy(file, source, sizeof(source));
	ep_piece_copy(dso, path, sizeof(path));
	kind = kind_of(frame, source, path);
	if (frame->symbol.bytes)
		r = push_line(s, frame->symbol, file, number);
	if (r == 0)
		r = find_mapping(s, dso, path, frame->address, &location.mapping);
	if (r == 0)
		r = ep_profile_add_string(s->builder, kind, strlen(kind), &location.kind);
	ep_piece_copy(frame->symbol, path, sizeof(path));
	ep_read_made_up(path, &location);
	location.n_lines = (uint32_t)s->lines.len;
	location.lines = s->lines.data;
	return r < 0 ? r : ep_profile_add_location(s->builder, &location, ret_row);
}

/* One that says why frames are missing. */
static int note(struct script *s, struct ep_piece symbol)
{
	char text[TEXT_BYTES];

	if (!symbol.bytes || symbol.text[0] != '[')
		return 0;
	ep_piece_copy(symbol, text, sizeof(text));
	return ep_read_stack_note(s->builder, text, &s->notes);
}

/* What is printed alike is one location, unless something is inlined into it. */
static int push_frame(struct script *s, const struct script_frame *frame, struct ep_piece line)
{
	uint32_t *kept = NULL, row = 0;
	int r = 0;

	if (frame->is_inlined)
		return push_line(s, frame->symbol, (struct ep_piece){"", 0}, 0);
	if (!s->lines.len) {
		r = ep_pieces_find(&s->locations, line, &kept);
		row = r == 0 ? *kept : 0;
	}
	if (r == 0 && !row)
		r = make_location(s, frame, &row);
	if (r < 0)
		return r;
	if (kept)
		*kept = row;
	s->lines.len = 0;
	r = note(s, frame->symbol);
	return r < 0 ? r : ep_vec_append(&s->stack, &row, 1);
}

/* --- samples --- */

/* "cpu_core/cycles/u" is "cycles": of one machine with two kinds of cores. "cpu-clock:u" is "cpu-clock". */
static void name_event(struct ep_piece event, char text[TEXT_BYTES])
{
	const char *slash = memchr(event.text, '/', event.bytes);
	size_t bytes;

	if (slash) {
		event.bytes -= (size_t)(slash + 1 - event.text);
		event.text = slash + 1;
	}
	for (bytes = 0; bytes < event.bytes && event.text[bytes] != '/' && event.text[bytes] != ':';
	     bytes++)
		;
	ep_piece_copy((struct ep_piece){event.text, bytes}, text, TEXT_BYTES);
}

/* Tracepoints are named "sched:sched_switch"; a sample of another event counts something else. */
static int check_event(struct script *s)
{
	char event[TEXT_BYTES], what[160];

	name_event(s->head.event, event);
	if (!s->event[0]) {
		memcpy(s->event, event, sizeof(event));
		s->is_clock = strcmp(event, "cpu-clock") == 0 || strcmp(event, "task-clock") == 0;
		return 0;
	}
	if (strcmp(event, s->event) == 0)
		return 0;
	snprintf(what, sizeof(what), "it has samples of several events, %.40s and %.40s: read one at a time",
		 s->event, event);
	return bad(s, what);
}

static void note_time(struct script *s)
{
	uint64_t time_ns = s->head.time_ns;

	s->first_ns = s->first_ns ? EP_MIN(s->first_ns, time_ns) : time_ns;
	s->last_ns = EP_MAX(s->last_ns, time_ns);
	if (!s->has_period)
		s->period = s->head.period;
	else if (s->period != s->head.period)
		s->period = 0;
	s->has_period = true;
}

static int add_process(struct script *s, uint32_t comm, uint32_t *ret_row)
{
	struct ep_profile_process process = {.pid = s->head.pid};

	*ret_row = 0;
	if (s->head.is_unknown)
		return 0;
	/* the name that is printed is its thread's: of the main one it is the process's too */
	if (s->head.pid == s->head.tid)
		process.comm = comm;
	return ep_profile_add_process(s->builder, &process, ret_row);
}

static int end_sample(struct script *s)
{
	struct ep_profile_sample sample = {
		.tid = s->head.tid,
		.cpu = s->head.cpu,
		.count = 1,
		.weight = s->head.period ? s->head.period : 1,
		.n_times = s->head.has_time,
		.times_ns = &s->head.time_ns,
	};
	int r = 0;

	if (!s->has_sample)
		return 0;
	s->has_sample = false;
	if (s->lines.len) /* inlined functions whose own is not there */
		r = make_location(s, &(struct script_frame){.symbol = {"", 0}, .dso = {"", 0}},
				  &sample.stack);
	if (r == 0 && s->lines.len)
		r = ep_vec_append(&s->stack, &sample.stack, 1);
	s->lines.len = 0;
	note_time(s);
	s->notes.n_locations = (uint32_t)s->stack.len;
	s->notes.locations = s->stack.data;
	if (r == 0)
		r = ep_profile_add_stack(s->builder, &s->notes, &sample.stack);
	if (r == 0 && !s->head.is_unknown) /* else perf prints ":-1" for it */
		r = ep_profile_add_string(s->builder, s->head.comm.text, s->head.comm.bytes,
					  &sample.thread_name);
	if (r == 0)
		r = add_process(s, sample.thread_name, &sample.process);
	return r < 0 ? r : ep_profile_add_sample(s->builder, &sample);
}

static int begin_sample(struct script *s, const struct script_head *head)
{
	struct script_frame frame;
	int r = end_sample(s);

	if (r < 0)
		return r;
	s->head = *head;
	s->has_sample = true;
	s->has_frames = false;
	s->stack.len = 0;
	s->notes = (struct ep_profile_stack){0};
	r = check_event(s);
	if (r == 0 && script_frame(head->rest, &frame))
		r = push_frame(s, &frame, head->rest);
	return r;
}

static int read_frame(struct script *s, const struct script_frame *frame, struct ep_piece line)
{
	int r;

	if (!s->has_sample)
		return bad(s, "it is a frame, and no sample is before it");
	s->has_frames = true;
	r = push_frame(s, frame, ep_piece_trim(line));
	return r == -E2BIG && s->stack.len == MAX_STACK
		       ? bad(s, "its stack has more than a million frames")
		       : r;
}

/* perf's own header, and what people write; a name may begin with '#' as well, and its sample has a time. */
static bool is_comment(struct ep_piece line)
{
	struct script_head head;

	return line.text[0] == '#' && !(script_head(line, &head) && head.has_time);
}

static int read_line(struct script *s, struct ep_piece line)
{
	struct script_frame frame;
	struct script_head head;
	bool is_inner;

	if (!ep_piece_trim(line).bytes)
		return end_sample(s);
	if (is_comment(line))
		return 0;
	is_inner = s->has_sample && line.text[0] == '\t';
	if (is_inner && script_frame(line, &frame))
		return read_frame(s, &frame, line);
	if (script_head(line, &head))
		return begin_sample(s, &head);
	if (script_frame(line, &frame))
		return read_frame(s, &frame, line);
	if (s->has_frames && script_source(line))
		return 0;
	return bad(s, "it is neither a sample nor a frame");
}

/* --- the reader --- */

static int add_header(struct script *s)
{
	struct ep_profile_header header = {
		.start_ns = s->first_ns,
		.duration_ns = s->last_ns - s->first_ns,
		.period_ns = s->period,
		.sample_type = s->is_clock ? "cpu" : s->event,
		.weight_unit = s->is_clock			? "nanoseconds"
			       : strcmp(s->event, "bytes") == 0 ? "bytes"
								: "count",
	};

	if (s->is_clock && s->period)
		header.period_hz =
			(uint32_t)EP_MIN(1000000000ull / s->period, (uint64_t)UINT32_MAX);
	return ep_profile_add_header(s->builder, &header);
}

/* A head, with nothing before it but comments and empty lines. */
static bool script_matches(const uint8_t *data, size_t bytes)
{
	struct ep_text text = ep_text_of(data, bytes);
	struct script_head head;
	struct ep_piece line;

	while (text.line < LOOK_AT_LINES && ep_text_next(&text, &line)) {
		if (memchr(line.text, '\0', line.bytes))
			return false;
		if (ep_piece_trim(line).bytes && !is_comment(line))
			return script_head(line, &head);
	}
	return false;
}

static void script_fini(struct script *s)
{
	ep_pieces_fini(&s->locations);
	ep_vec_fini(&s->stack);
	ep_vec_fini(&s->lines);
}

static int script_read(const uint8_t *data, size_t bytes, struct ep_profile_builder *builder,
		       char *why)
{
	ep_cleanup(script_fini) struct script s = {
		.builder = builder, .why = why, .text = ep_text_of(data, bytes)};
	struct ep_piece line;
	int r = ep_pieces_init(&s.locations);

	why[0] = '\0';
	ep_vec_init(&s.stack, sizeof(uint32_t), MAX_STACK);
	ep_vec_init(&s.lines, sizeof(struct ep_profile_line), MAX_STACK);
	while (r == 0 && ep_text_next(&s.text, &line)) {
		/* what was copied may have lost line ends at its end; a frame that was cut off has no ')' */
		if (ep_text_is_cut(&s.text) && line.bytes && !ep_piece_ends(ep_piece_trim(line), ")"))
			r = bad(&s, "it has no end: the file was cut off");
		else
			r = read_line(&s, line);
	}
	if (r == 0)
		r = end_sample(&s);
	return r < 0 ? r : add_header(&s);
}

const struct ep_reader ep_perf_script_reader = {
	.name = "perf script", .matches = script_matches, .read = script_read};
