/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trace/lines.h"
#include "ebpf-profiler/unwinder.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Of one list: 10 MiB and 16 MiB. */
#define MAX_LINES      (1u << 18)
#define MAX_TEXT_BYTES (16u << 20)

#define STRINGS_PER_LINE 3
_Static_assert(EP_FRAME_MAX_LINES * STRINGS_PER_LINE * (EP_FRAME_MAX_NAME_BYTES + 1) <=
		       MAX_TEXT_BYTES,
	       "the first frame of a list always fits");

struct line {
	uint64_t start_va;
	uint32_t function, system_name, file; /* offset into text + 1; 0: none */
	uint32_t line, column, start_line;
	uint32_t text_first; /* where its strings begin */
	uint16_t flags;
	uint16_t unnamed; /* enum ep_unnamed: why it only stands for a name */
};

struct frame {
	uint32_t end;  /* of its lines */
	uint16_t type;	  /* enum ep_frame_type */
	uint16_t unnamed; /* enum ep_unnamed */
};

size_t ep_name_bytes(const char *str)
{
	size_t len = strnlen(str, EP_FRAME_MAX_NAME_BYTES);

	if (len < EP_FRAME_MAX_NAME_BYTES)
		return len;
	/* at most three follow the first byte of a sequence */
	for (int i = 0; i < 3 && ((unsigned char)str[len] & 0xc0) == 0x80; i++)
		len--;
	return len;
}

int ep_lines_init(struct ep_lines *l, size_t max_frames)
{
	*l = (struct ep_lines){0};
	ep_vec_init(&l->frames, sizeof(struct frame), max_frames);
	ep_vec_init(&l->lines, sizeof(struct line), MAX_LINES);
	ep_vec_init(&l->text, 1, MAX_TEXT_BYTES);
	return max_frames ? ep_vec_reserve(&l->frames, max_frames) : 0;
}

void ep_lines_fini(struct ep_lines *l)
{
	ep_vec_fini(&l->frames);
	ep_vec_fini(&l->lines);
	ep_vec_fini(&l->text);
}

/* Where the lines of frame number i begin. */
static size_t first_of(const struct ep_lines *l, size_t i)
{
	return i ? ep_vec_at(&l->frames, struct frame, i - 1)->end : 0;
}

/* Forgets lines from this one on, all of the frame in hand. */
static void cut(struct ep_lines *l, size_t first)
{
	if (first == l->lines.len)
		return;
	l->text.len = ep_vec_at(&l->lines, struct line, first)->text_first;
	l->lines.len = first;
}

static int add_text(struct ep_lines *l, const char *str, uint32_t *ret_off)
{
	size_t at = l->text.len, len;
	int r;

	*ret_off = 0;
	if (!str)
		return 0;
	len = ep_name_bytes(str);
	r = ep_vec_append(&l->text, NULL, len + 1);
	if (r < 0)
		return r;
	memcpy(ep_vec_at(&l->text, char, at), str, len);
	*ret_off = (uint32_t)at + 1;
	return 0;
}

static int add_strings(struct ep_lines *l, const struct ep_frame_line *line, struct line *kept)
{
	const char *system_name = line->system_name;
	int r;

	if (system_name && line->function && strcmp(system_name, line->function) == 0)
		system_name = NULL;
	r = add_text(l, line->function, &kept->function);
	if (r == 0)
		r = add_text(l, system_name, &kept->system_name);
	return r == 0 ? add_text(l, line->file, &kept->file) : r;
}

static int add_line(struct ep_lines *l, const struct ep_frame_line *line, enum ep_unnamed why)
{
	struct line kept = {
		.start_va = line->start_va,
		.line = line->line,
		.column = line->column,
		.start_line = line->start_line,
		.flags = (uint16_t)line->flags,
		.unnamed = (uint16_t)why,
	};
	int r;

	if (l->lines.len - first_of(l, l->frames.len) == EP_FRAME_MAX_LINES) {
		cut(l, l->lines.len - 1);
		l->skipped++;
	}
	kept.text_first = (uint32_t)l->text.len;
	r = add_strings(l, line, &kept);
	if (r == 0)
		r = ep_vec_append(&l->lines, &kept, 1);
	if (r < 0)
		l->text.len = kept.text_first;
	return r;
}

int ep_lines_add(struct ep_lines *l, const struct ep_frame_line *line)
{
	return add_line(l, line, EP_UNNAMED_NONE);
}

/* A reason that this host does not know is one all the same. */
static enum ep_unnamed unnamed_of(const struct ep_name *name)
{
	uint32_t why = EP_HAS(name, unnamed) ? name->unnamed : EP_UNNAMED_NONE;

	return why < EP_UNNAMED_COUNT ? (enum ep_unnamed)why : EP_UNNAMED_UNREADABLE;
}

int ep_lines_add_name(struct ep_lines *l, const struct ep_name *name)
{
	struct ep_frame_line line = {
		.function = EP_HAS(name, function) ? name->function : NULL,
		.system_name = EP_HAS(name, system_name) ? name->system_name : NULL,
		.file = EP_HAS(name, file) ? name->file : NULL,
		.line = EP_HAS(name, line) ? name->line : 0,
		.column = EP_HAS(name, column) ? name->column : 0,
		.start_line = EP_HAS(name, start_line) ? name->start_line : 0,
	};

	return add_line(l, &line, unnamed_of(name));
}

void ep_lines_drop(struct ep_lines *l)
{
	cut(l, first_of(l, l->frames.len));
	l->skipped = 0;
}

size_t ep_lines_in_hand(const struct ep_lines *l)
{
	return l->lines.len - first_of(l, l->frames.len);
}

void ep_lines_drop_from(struct ep_lines *l, size_t n)
{
	cut(l, first_of(l, l->frames.len) + n);
}

/* Their strings stay where they are, and are nobody's. */
void ep_lines_drop_before(struct ep_lines *l, size_t n)
{
	size_t first = first_of(l, l->frames.len);
	struct line *lines = l->lines.data;

	if (n == 0)
		return;
	memmove(lines + first, lines + first + n, (l->lines.len - first - n) * sizeof(*lines));
	l->lines.len -= n;
}

/* Why the name of the frame in hand is not known: as its last line that has a reason says. */
static uint16_t why_unnamed(const struct ep_lines *l)
{
	uint16_t why = EP_UNNAMED_NONE;

	for (size_t i = first_of(l, l->frames.len); i < l->lines.len; i++) {
		const struct line *line = ep_vec_at(&l->lines, struct line, i);

		why = line->unnamed ? line->unnamed : why;
	}
	return why;
}

void ep_lines_end_as(struct ep_lines *l, enum ep_frame_type type)
{
	uint16_t why = why_unnamed(l);
	struct frame *frame = ep_vec_push(&l->frames);

	assert(frame); /* there is space from the beginning */
	*frame = (struct frame){
		.end = (uint32_t)l->lines.len,
		.type = (uint16_t)type,
		.unnamed = why,
	};
	l->left_out += l->skipped;
	l->skipped = 0;
}

void ep_lines_end(struct ep_lines *l)
{
	ep_lines_end_as(l, EP_FRAME_TYPE_OF_KIND);
}

size_t ep_lines_frames(const struct ep_lines *l)
{
	return l->frames.len;
}

enum ep_frame_type ep_lines_type(const struct ep_lines *l, size_t i)
{
	return (enum ep_frame_type)ep_vec_at(&l->frames, struct frame, i)->type;
}

enum ep_unnamed ep_lines_unnamed(const struct ep_lines *l, size_t i)
{
	return (enum ep_unnamed)ep_vec_at(&l->frames, struct frame, i)->unnamed;
}

static const char *text_at(const struct ep_lines *l, uint32_t off)
{
	return off ? ep_vec_at(&l->text, char, off - 1) : NULL;
}

size_t ep_lines_get(const struct ep_lines *l, size_t i,
		    struct ep_frame_line ret_lines[EP_FRAME_MAX_LINES])
{
	size_t first = first_of(l, i), n = first_of(l, i + 1) - first;

	for (size_t nth = 0; nth < n; nth++) {
		const struct line *line = ep_vec_at(&l->lines, struct line, first + nth);

		ret_lines[nth] = (struct ep_frame_line){
			.function = text_at(l, line->function),
			.system_name = text_at(l, line->system_name),
			.file = text_at(l, line->file),
			.line = line->line,
			.column = line->column,
			.start_line = line->start_line,
			.flags = line->flags,
			.start_va = line->start_va,
		};
	}
	return n;
}
