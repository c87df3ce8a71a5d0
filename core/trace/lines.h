/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of frames on their way from a worker to the frame table: frame by frame, each with the
 * lines it stands for, several where functions were inlined.
 *
 *	init ─► add, add, end ─► add, end ─► end ... ─► get
 *
 * What a frame is named by comes from files and target processes: all of it is bounded here. A
 * frame takes EP_FRAME_MAX_LINES lines, and strings of EP_FRAME_MAX_NAME_BYTES; what is beyond is
 * cut. A list has limits as well. When one is hit the frame in hand does not fit, and belongs into
 * another list; the first frame of a list always fits.
 *
 * Some functions are a compiler's own: a wrapper passes a call on, and nobody wrote it. Whether
 * one is shown depends on what it called, which may be another frame: so lines only say what they
 * are, and whoever writes a stack leaves wrappers out (core/trace/tables.h).
 *
 * One thread at a time.
 */
#ifndef EP_TRACE_LINES_H
#define EP_TRACE_LINES_H

#include "core/base/vec.h"
#include "ebpf-profiler/unnamed.h"

struct ep_name;

enum ep_line_flag {
	EP_LINE_WRAPPER = 1 << 0,
	EP_LINE_SHOWS_WRAPPER = 1 << 1, /* a wrapper that called this one is shown all the same */
};

/* Frames of native code whose compiler says more of them are called by another name than others. */
enum ep_frame_type {
	EP_FRAME_TYPE_OF_KIND, /* "native", "kernel", a language's own */
	EP_FRAME_TYPE_GO,
	EP_FRAME_TYPE_COUNT,
};

/* One name of a frame. All strings may be NULL: unknown. */
struct ep_frame_line {
	const char *function;	 /* demangled */
	const char *system_name; /* mangled name or signature; NULL: equal to function */
	const char *file;
	uint32_t line, column; /* 0: unknown */
	uint32_t start_line;   /* of the function */
	uint32_t flags;	       /* enum ep_line_flag */
	uint64_t start_va;     /* of a function that has no name: all of it gets one made-up name */
};

#define EP_FRAME_MAX_LINES 64 /* inlined functions at one address */
/* Bytes of one string; the longest demangled C++ name seen was 4.2 KB. */
#define EP_FRAME_MAX_NAME_BYTES 8192

/* How much of a string is kept: not cut in the middle of a UTF-8 sequence. */
size_t ep_name_bytes(const char *str);

struct ep_lines {
	struct ep_vec frames; /* struct frame, lines.c */
	struct ep_vec lines;  /* struct line, lines.c */
	struct ep_vec text;   /* the strings */
	uint64_t left_out;    /* lines that were more than their frame may have */
	uint64_t skipped;     /* of the frame in hand */
};

/* 0, -ENOMEM: what was initialised must be finished all the same. */
int ep_lines_init(struct ep_lines *lines, size_t max_frames);
void ep_lines_fini(struct ep_lines *lines);

/*
 * The next line of the frame in hand, innermost first; strings are copied. Of more than
 * EP_FRAME_MAX_LINES the innermost stay, and the last, the function that really was compiled
 * there. 0, -E2BIG: no space for this frame; -ENOMEM.
 */
int ep_lines_add(struct ep_lines *lines, const struct ep_frame_line *line);
/* The same for what a language unwinder says. */
int ep_lines_add_name(struct ep_lines *lines, const struct ep_name *name);
/* Forgets the lines of the frame in hand; those before, or from, line `n` of it on. */
void ep_lines_drop(struct ep_lines *lines);
void ep_lines_drop_before(struct ep_lines *lines, size_t n);
void ep_lines_drop_from(struct ep_lines *lines, size_t n);
size_t ep_lines_in_hand(const struct ep_lines *lines); /* lines of the frame in hand */
/* The frame in hand has its lines, or is to have none. At most max_frames times. */
void ep_lines_end(struct ep_lines *lines);
void ep_lines_end_as(struct ep_lines *lines, enum ep_frame_type type);

size_t ep_lines_frames(const struct ep_lines *lines); /* that were ended */
enum ep_frame_type ep_lines_type(const struct ep_lines *lines, size_t i);
/* Why the name of frame number i is not known, although it has lines. */
enum ep_unnamed ep_lines_unnamed(const struct ep_lines *lines, size_t i);
/* The lines of frame number i, borrowed until the list changes, and how many. */
size_t ep_lines_get(const struct ep_lines *lines, size_t i,
		    struct ep_frame_line ret_lines[EP_FRAME_MAX_LINES]);

#endif
