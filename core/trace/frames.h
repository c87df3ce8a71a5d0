/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame table: every distinct frame seen once, with its names once they are known. Traces of
 * all intervals refer to frames by id. Identity of a frame: its kind, the flags that change what
 * is looked up (none of a dynamic kind's), aux and words; where words are addresses or handles of
 * one program (dynamic kinds, native frames in no known executable) also the program. Error frames
 * drop their address.
 *
 * Ids are dense from 1 and never change. Ids 1 .. EP_ERROR_COUNT - 1 are the error frames.
 * The table is bounded and never shrinks. When it fills up, the store starts a new one when the
 * interval ends; when most of it was not used for minutes, it starts one that has only what was.
 * The old one lives on as long as an interval or a resolver holds a reference. No program fills it:
 * frames and their names are booked on the program that had them first, and each has a share
 * (quotas.h). Kernel frames are nobody's.
 *
 * Reference counted, loop's thread only. Workers get copies of what they resolve.
 */
#ifndef EP_TRACE_FRAMES_H
#define EP_TRACE_FRAMES_H

#include "core/base/strings.h"
#include "core/base/util.h"
#include "core/trace/lines.h"
#include "core/trace/program.h"
#include "ebpf-profiler/frame.h"

struct ep_frames;

enum ep_frame_state {
	EP_FRAME_PENDING,  /* nobody looks for a name yet, or not now */
	EP_FRAME_TAKEN,	   /* somebody looks, see ep_frames_take */
	EP_FRAME_RESOLVED, /* has all the names it will get, maybe none */
};

/* A frame, decoded. */
struct ep_frame {
	uint32_t kind;	/* enum ep_frame_kind, or a dynamic one */
	uint32_t flags; /* EP_FRAME_RETURN_ADDRESS, EP_FRAME_POINTER_WALK; of a language: without ENTRY */
	uint32_t aux;	/* native: executable id; error: enum ep_error */
	uint32_t n_words;
	uint64_t words[EP_FRAME_MAX_WORDS]; /* as in the event; see ep_frame_lookup_addr */
	struct ep_program program;	    /* of kinds that belong to one, else zero */
};

/* A line as the table keeps it: strings by id of ep_frames_strings. */
struct ep_frame_name {
	uint32_t function, system_name, file;
	uint32_t line, column;
	uint32_t start_line : 30; /* no file has more */
	uint32_t flags : 2;	  /* enum ep_line_flag */
	uint64_t start_va;	  /* where the function is nameless; 0: unknown */
};
_Static_assert(sizeof(struct ep_frame_name) == 32, "there are many of them");

/* Bytes of all strings of one frame that are kept: a small part of a table's max_string_bytes. */
#define EP_FRAME_MAX_TEXT_BYTES (64u << 10)

/*
 * -ENOMEM. max_frames at least EP_ERROR_COUNT. max_string_bytes bounds the names, max_line_bytes
 * the lines that have them: sizeof(struct ep_frame_name) each.
 */
int ep_frames_new(uint32_t max_frames, size_t max_string_bytes, size_t max_line_bytes,
		  struct ep_frames **ret_frames);
struct ep_frames *ep_frames_ref(struct ep_frames *frames);
void ep_frames_unref(struct ep_frames *frames); /* accepts NULL */

/*
 * The id of a frame given as header and words, as in an event; `program` is the one it was
 * seen in. 0, -EDQUOT when that program has its share of the table, -E2BIG when the table is full,
 * -ENOMEM. Amortized O(1); ~20 ns when it is known.
 */
int ep_frames_add(struct ep_frames *frames, uint64_t header, const uint64_t *words,
		  struct ep_program program, uint32_t *ret_id);
void ep_frames_get(const struct ep_frames *frames, uint32_t id, struct ep_frame *ret_frame);
uint32_t ep_frames_count(const struct ep_frames *frames); /* ids are 1 .. count */
/*
 * True when the table should be replaced: 7/8 of the frames or lines it may have are used, or of
 * what one program may have of them, or a frame or a name was refused. What one frame may have is so
 * little of it that one alone, whatever its names are, is refused by a table only that is all but full.
 */
bool ep_frames_is_full(const struct ep_frames *frames);
/* Each frame has an age, which is how often ep_frames_age was called since it was added or used. */
void ep_frames_use(struct ep_frames *frames, const uint32_t *ids, size_t n);
/* How many frames are younger than EP_FRAMES_OLD now. */
uint32_t ep_frames_age(struct ep_frames *frames);
#define EP_FRAMES_OLD 3
/*
 * A table with the same limits that has the frames which are younger, with their names; those that have none yet are
 * PENDING. 0, -ENOMEM.
 */
int ep_frames_renew(const struct ep_frames *frames, struct ep_frames **ret_frames);
/* Names that were refused since their program had its share. */
uint64_t ep_frames_names_over_share(const struct ep_frames *frames);
size_t ep_frames_bytes(const struct ep_frames *frames);

/*
 * The address to look a frame's name up by: word 0, minus 1 for a return address, which may lie
 * beyond the end of the calling function when the call does not return.
 */
uint64_t ep_frame_lookup_addr(const struct ep_frame *frame);

/*
 * For resolvers: the next PENDING frame, which becomes TAKEN; its id, or 0 when there is none. O(1): those
 * that were put back, then new ones in turn. A resolver that has no answer for now puts a frame back: to be asked
 * for at once, or, put off, after a failure that may pass. ep_frames_tries tells how often it was put off.
 */
uint32_t ep_frames_take(struct ep_frames *frames);
void ep_frames_put_back(struct ep_frames *frames, uint32_t id);
void ep_frames_put_off(struct ep_frames *frames, uint32_t id);
uint32_t ep_frames_tries(const struct ep_frames *frames, uint32_t id);
/* Does anybody else have a reference? */
bool ep_frames_is_shared(const struct ep_frames *frames);
uint32_t ep_frames_unresolved(const struct ep_frames *frames); /* PENDING or TAKEN */
/* The lowest id that is not RESOLVED, count + 1 when all are. Amortized O(1). */
uint32_t ep_frames_first_unresolved(struct ep_frames *frames);

/*
 * Gives a frame its names, innermost inlined function first; n_lines 0: there is none. `module`
 * names what a kernel frame or a frame of no executable belongs to ("ext4", "bpf"), NULL when it
 * is the kernel proper, or nothing. Strings are copied. A second call for a frame is ignored.
 * When names do not fit any more, or its program has its share of them, the frame stays without.
 *
 * Of more than EP_FRAME_MAX_LINES, or EP_FRAME_MAX_TEXT_BYTES, the innermost lines are kept and the
 * last one, the function that really was compiled there. The number of lines that are left out.
 */
size_t ep_frames_resolve(struct ep_frames *frames, uint32_t id, const struct ep_frame_line *lines,
			 size_t n_lines, const char *module);
/* The same for a native frame that is of a type of its own. */
size_t ep_frames_resolve_as(struct ep_frames *frames, uint32_t id, enum ep_frame_type type,
			    const struct ep_frame_line *lines, size_t n_lines);

/*
 * The same for a frame whose name is not known, with the reason; lines, if any, are shown instead.
 * With EP_UNNAMED_NONE as ep_frames_resolve, which finds a reason where no line has a function.
 */
size_t ep_frames_resolve_unnamed(struct ep_frames *frames, uint32_t id, enum ep_unnamed why,
				 const struct ep_frame_line *lines, size_t n_lines);

/* Until it has its names, ep_frames_unnamed says EP_UNNAMED_SLOW of it, rather than EP_UNNAMED_PENDING. */
void ep_frames_wait_long(struct ep_frames *frames, uint32_t id);

enum ep_frame_state ep_frames_state(const struct ep_frames *frames, uint32_t id);
enum ep_frame_type ep_frames_type(const struct ep_frames *frames, uint32_t id);
/* Why its name is not known; EP_UNNAMED_NONE: it is, or it is none that has one (error, task). */
enum ep_unnamed ep_frames_unnamed(const struct ep_frames *frames, uint32_t id);
/* Borrowed until the next call that changes the table. The count, 0 when it has no names. */
size_t ep_frames_names(const struct ep_frames *frames, uint32_t id,
		       const struct ep_frame_name **ret_names, uint32_t *ret_module);
const struct ep_strings *ep_frames_strings(const struct ep_frames *frames);

#endif
