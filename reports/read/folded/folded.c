/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, as stackcollapse-*.pl, async-profiler (collapsed) and py-spy (raw) write them: a
 * line is a stack, root first, and a count:
 *
 *	main;serve;read_[k] 17
 *
 * A frame's end may say what it is: _[k] kernel, _[j] of a JIT, _[0] interpreted, _[1] of a first
 * JIT, _[i] inlined into the frame before it, which then is one location with it. "name
 * (file.x:12)" has a source line.
 *
 * A line that begins with '#' is a comment if a space follows or no count is at its end: a program
 * may be named "#cron". A space before '#' or of another space is none of the name:
 * exporters/folded writes it, so that such names are no comments, and keep their spaces.
 *
 * Counts may be fractions. Then all of the file are in millionths, which the unit says, and what is
 * left is rounded; of counts so large that their sum would not fit, to whole ones.
 */
#include "reports/read/reader.h"
#include "reports/read/shared/kind.h"
#include "reports/read/shared/lines.h"

#include <errno.h>
#include <stdio.h>

#define MAX_STACK	(1u << 20)
#define NAME_BYTES	512 /* of what is guessed by */
#define LOOK_AT_LINES	16  /* to find out what it is */
#define SUFFIX_BYTES	4   /* _[k] */
#define PART_DIGITS	6   /* of fractions */
#define PARTS_UNIT	"1/1000000 count"

struct folded {
	struct ep_profile_builder *builder;
	char *why;
	struct ep_text text;
	struct ep_pieces frames; /* a location each */
	struct ep_vec stack;	 /* uint32_t, root first, then leaf first */
	struct ep_vec lines;
	unsigned int digits; /* of fractions that are read: none, or PART_DIGITS */
};

static int bad(struct folded *f, const char *what)
{
	snprintf(f->why, EP_READ_WHY_BYTES, "line %zu: %.200s", f->text.line, what);
	return -EBADMSG;
}

/* --- a line: its stack and its count --- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct ep_piece trim_end(struct ep_piece piece)
{
	while (piece.bytes && is_blank(piece.text[piece.bytes - 1]))
		piece.bytes--;
	return piece;
}

/* The word after the last space; false when there is none. */
static bool split(struct ep_piece line, struct ep_piece *ret_stack, struct ep_piece *ret_count)
{
	size_t at;

	for (at = line.bytes; at > 0 && !is_blank(line.text[at - 1]); at--)
		;
	*ret_stack = trim_end((struct ep_piece){line.text, at});
	*ret_count = (struct ep_piece){line.text + at, line.bytes - at};
	return ret_stack->bytes && ret_count->bytes;
}

/* Digits, and a fraction. */
static bool is_number(struct ep_piece word)
{
	size_t n_points = 0;

	for (size_t i = 0; i < word.bytes; i++) {
		n_points += word.text[i] == '.';
		if ((word.text[i] < '0' || word.text[i] > '9') && word.text[i] != '.')
			return false;
	}
	return word.bytes > n_points && n_points <= 1;
}

static bool has_fraction(struct ep_piece word)
{
	const char *point = memchr(word.text, '.', word.bytes);

	for (const char *at = point; at && at < word.text + word.bytes; at++) {
		if (*at >= '1')
			return true;
	}
	return false;
}

/* In parts of which 10^digits are one, rounded. */
static bool read_parts(struct ep_piece word, unsigned int digits, uint64_t *ret_parts)
{
	const char *end = word.text + word.bytes, *at = word.text;
	uint64_t parts = 0;

	for (; at < end && *at != '.'; at++) {
		if (__builtin_mul_overflow(parts, 10u, &parts) ||
		    __builtin_add_overflow(parts, (uint64_t)(*at - '0'), &parts))
			return false;
	}
	at += at < end;
	for (unsigned int i = 0; i < digits; i++) {
		uint64_t digit = at < end ? (uint64_t)(*at++ - '0') : 0;

		if (__builtin_mul_overflow(parts, 10u, &parts) || __builtin_add_overflow(parts, digit, &parts))
			return false;
	}
	return !__builtin_add_overflow(parts, at < end && *at >= '5', ret_parts);
}

/* What is added up is exact, the number of samples is not: one at least, where there is any. */
static int read_count(struct folded *f, struct ep_piece word, struct ep_profile_sample *sample)
{
	if (!is_number(word))
		return bad(f, "it does not end in a count");
	if (!read_parts(word, f->digits, &sample->weight) || !read_parts(word, 0, &sample->count))
		return bad(f, "its count is larger than any");
	sample->count = sample->count ? sample->count : sample->weight > 0;
	return 0;
}

/* Without what is around it. A space that makes the next byte part of a name is one of these. */
static struct ep_piece unquote(struct ep_piece line)
{
	if (line.bytes > 1 && line.text[0] == ' ' && (line.text[1] == '#' || line.text[1] == ' '))
		return trim_end((struct ep_piece){line.text + 1, line.bytes - 1});
	return ep_piece_trim(line);
}

/* False where there is nothing but a comment. */
static bool has_stack(struct ep_piece line)
{
	struct ep_piece stack, count;

	if (!ep_piece_trim(line).bytes)
		return false;
	if (line.text[0] != '#')
		return true;
	line = ep_piece_trim(line);
	return line.bytes > 1 && !is_blank(line.text[1]) && split(line, &stack, &count) && is_number(count);
}

/* --- frames --- */

static char suffix_of(struct ep_piece frame)
{
	const char *end = frame.text + frame.bytes;

	if (frame.bytes <= SUFFIX_BYTES || end[-1] != ']' || end[-3] != '[' || end[-4] != '_')
		return 0;
	return strchr("kji01", end[-2]) ? end[-2] : 0;
}

/*
 * After the " (" whose parenthesis is not closed before `end`; NULL: none, or there is no name
 * before it.
 */
static const char *find_open(const char *text, const char *end)
{
	size_t depth = 0;

	for (const char *at = end; at > text + 2; at--) {
		if (at[-1] == ')')
			depth++;
		else if (at[-1] == '(' && depth > 0)
			depth--;
		else if (at[-1] == '(')
			return at[-2] == ' ' ? at : NULL;
	}
	return NULL;
}

/* "name (file:12)": py-spy's. True, and both are cut to what they are. */
static bool split_source(struct ep_piece *name, struct ep_piece *ret_file, uint32_t *ret_line)
{
	const char *end = name->text + name->bytes - 1, *colon = end, *open;
	uint64_t line = 0;

	if (name->bytes < 6 || *end != ')')
		return false;
	while (colon > name->text && colon[-1] >= '0' && colon[-1] <= '9')
		colon--;
	for (const char *at = colon; at < end && line < UINT32_MAX; at++)
		line = line * 10 + (uint64_t)(*at - '0');
	if (colon == end || colon == name->text || *--colon != ':')
		return false;
	open = find_open(name->text, colon);
	if (!open || open == colon)
		return false;
	*ret_file = (struct ep_piece){open, (size_t)(colon - open)};
	*ret_line = (uint32_t)EP_MIN(line, (uint64_t)UINT32_MAX);
	*name = ep_piece_trim((struct ep_piece){name->text, (size_t)(open - 2 - name->text)});
	return true;
}

static const char *kind_of(char suffix, struct ep_piece name, struct ep_piece file)
{
	char function[NAME_BYTES], source[NAME_BYTES];
	struct ep_read_frame frame = {.function = function, .file = source, .path = ""};
	const char *kind;

	if (suffix == 'k')
		return "kernel";
	ep_piece_copy(name, function, sizeof(function));
	ep_piece_copy(file, source, sizeof(source));
	kind = ep_read_kind(&frame);
	return suffix && suffix != 'i' && strcmp(kind, "unknown") == 0 ? "jit" : kind;
}

static int add_line(struct folded *f, struct ep_piece name, struct ep_piece file, uint32_t number)
{
	struct ep_profile_function function = {0};
	struct ep_profile_line line = {.line = number};
	int r = ep_profile_add_string(f->builder, name.text, name.bytes, &function.name);

	function.system_name = function.name;
	if (r == 0)
		r = ep_profile_add_string(f->builder, file.text, file.bytes, &function.file);
	if (r == 0)
		r = ep_profile_add_function(f->builder, &function, &line.function);
	return r < 0 ? r : ep_vec_append(&f->lines, &line, 1);
}

/* The last frame of a group, which is the leaf-most; what is left of it before. */
static struct ep_piece take_last(struct ep_piece *group)
{
	size_t at = group->bytes;
	struct ep_piece frame;

	while (at > 0 && group->text[at - 1] != ';')
		at--;
	frame = (struct ep_piece){group->text + at, group->bytes - at};
	group->bytes = at ? at - 1 : 0;
	return frame;
}

/* A frame and what was inlined into it, as the file has them: "f;g_[i];h_[i]". */
static int make_location(struct folded *f, struct ep_piece group, uint32_t *ret_row)
{
	struct ep_profile_location location = {0};
	const char *kind = "unknown";
	char text[NAME_BYTES];
	int r = 0;

	f->lines.len = 0;
	do {
		struct ep_piece name = take_last(&group), file = {"", 0};
		char suffix = suffix_of(name);
		uint32_t number = 0;

		name.bytes -= suffix ? SUFFIX_BYTES : 0;
		(void)split_source(&name, &file, &number);
		kind = kind_of(suffix, name, file);
		ep_piece_copy(name, text, sizeof(text));
		r = add_line(f, name, file, number);
	} while (r == 0 && group.bytes);
	if (r < 0)
		return r;
	ep_read_made_up(text, &location);
	location.n_lines = (uint32_t)f->lines.len;
	location.lines = f->lines.data;
	r = ep_profile_add_string(f->builder, kind, strlen(kind), &location.kind);
	return r < 0 ? r : ep_profile_add_location(f->builder, &location, ret_row);
}

static int push_location(struct folded *f, struct ep_piece group, struct ep_profile_stack *stack)
{
	char text[NAME_BYTES];
	uint32_t *row = NULL, at;
	int r = ep_pieces_find(&f->frames, group, &row);

	if (r == 0 && !*row)
		r = make_location(f, group, row);
	if (r < 0)
		return r;
	at = *row;
	if (group.text[0] == '[' || (group.bytes > 2 && memcmp(group.text, "0x", 2) == 0)) {
		ep_piece_copy(group, text, sizeof(text));
		r = ep_read_stack_note(f->builder, text, stack);
	}
	return r < 0 ? r : ep_vec_append(&f->stack, &at, 1);
}

/* The frame at the front, with those that were inlined into it. */
static struct ep_piece take_group(struct ep_piece *rest)
{
	size_t end = 0;
	struct ep_piece group;

	for (;;) {
		const char *next = memchr(rest->text + end, ';', rest->bytes - end);
		size_t at = next ? (size_t)(next - rest->text) : rest->bytes;

		if (end && suffix_of((struct ep_piece){rest->text + end, at - end}) != 'i')
			break;
		end = at + 1;
		if (!next)
			break;
	}
	group = (struct ep_piece){rest->text, EP_MIN(end - 1, rest->bytes)};
	rest->text += EP_MIN(end, rest->bytes);
	rest->bytes -= EP_MIN(end, rest->bytes);
	return group;
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

static int add_line_of_file(struct folded *f, struct ep_piece line)
{
	struct ep_profile_stack stack = {0};
	struct ep_profile_sample sample = {0};
	struct ep_piece frames, word;
	int r;

	if (!split(unquote(line), &frames, &word))
		return bad(f, "it is not a stack and a count");
	r = read_count(f, word, &sample);
	f->stack.len = 0;
	while (r == 0 && frames.bytes) {
		struct ep_piece group = take_group(&frames);

		if (group.bytes)
			r = push_location(f, group, &stack);
	}
	if (r == -E2BIG && f->stack.len == MAX_STACK)
		return bad(f, "its stack has more than a million frames");
	if (r < 0)
		return r;
	turn_round(&f->stack);
	stack.n_locations = (uint32_t)f->stack.len;
	stack.locations = f->stack.data;
	r = ep_profile_add_stack(f->builder, &stack, &sample.stack);
	return r < 0 ? r : ep_profile_add_sample(f->builder, &sample);
}

/* --- the reader --- */

/* Two counts at the end of each line: difffolded.pl's. */
static bool is_difference(const uint8_t *data, size_t bytes)
{
	struct ep_text text = ep_text_of(data, bytes);
	struct ep_piece line, stack, count;
	size_t n = 0;

	while (n < LOOK_AT_LINES && ep_text_next(&text, &line)) {
		if (!has_stack(line))
			continue;
		if (!split(ep_piece_trim(line), &stack, &count) || !is_number(count) ||
		    !split(stack, &stack, &count) || !is_number(count))
			return false;
		n++;
	}
	return n > 0;
}

/* The first lines are stacks and counts; NUL is in no text. The last line may have been cut off. */
static bool folded_matches(const uint8_t *data, size_t bytes)
{
	struct ep_text text = ep_text_of(data, bytes);
	struct ep_piece line, stack, count;
	size_t n = 0;

	while (text.line < LOOK_AT_LINES && ep_text_next(&text, &line)) {
		if (memchr(line.text, '\0', line.bytes))
			return false;
		if (!has_stack(line))
			continue;
		if (!split(ep_piece_trim(line), &stack, &count) || !is_number(count))
			return n > 0 && text.at == text.end;
		n++;
	}
	return n > 0;
}

static void folded_fini(struct folded *f)
{
	ep_pieces_fini(&f->frames);
	ep_vec_fini(&f->stack);
	ep_vec_fini(&f->lines);
}

/* Of the whole file, before the first line becomes a row. */
static unsigned int digits_of(const uint8_t *data, size_t bytes)
{
	struct ep_text text = ep_text_of(data, bytes);
	struct ep_piece line, stack, count;
	bool has_fractions = false;
	uint64_t sum = 0, parts;

	while (ep_text_next(&text, &line)) {
		if (!has_stack(line) || !split(ep_piece_trim(line), &stack, &count) || !is_number(count))
			continue;
		has_fractions |= has_fraction(count);
		if (!read_parts(count, PART_DIGITS, &parts) || __builtin_add_overflow(sum, parts, &sum))
			return 0;
	}
	return has_fractions ? PART_DIGITS : 0;
}

static int folded_read(const uint8_t *data, size_t bytes, struct ep_profile_builder *builder,
		       char *why)
{
	struct ep_profile_header header = {.sample_type = "samples"};
	ep_cleanup(folded_fini) struct folded f = {
		.builder = builder, .why = why, .text = ep_text_of(data, bytes), .digits = digits_of(data, bytes)};
	struct ep_piece line;
	int r = ep_pieces_init(&f.frames);

	why[0] = '\0';
	ep_vec_init(&f.stack, sizeof(uint32_t), MAX_STACK);
	ep_vec_init(&f.lines, sizeof(struct ep_profile_line), MAX_STACK);
	if (r == 0 && is_difference(data, bytes)) {
		snprintf(why, EP_READ_WHY_BYTES,
			 "it has two counts on each line: read the two profiles that it is the difference of");
		return -EBADMSG;
	}
	while (r == 0 && ep_text_next(&f.text, &line))
		r = has_stack(line) ? add_line_of_file(&f, line) : 0;
	header.weight_unit = f.digits ? PARTS_UNIT : "count";
	return r < 0 ? r : ep_profile_add_header(builder, &header);
}

const struct ep_reader ep_folded_reader = {
	.name = "folded stacks", .matches = folded_matches, .read = folded_read};
