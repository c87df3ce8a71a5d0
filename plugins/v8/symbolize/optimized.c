/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/optimized.h"

#include "core/base/util.h"
#include "plugins/shared/search.h"
#include "plugins/v8/symbolize/deopts.h"

#include <errno.h>
#include <string.h>

#define MAX_TABLE      (4u << 20)
#define MAX_ELEMENTS   (1u << 16)
#define MAX_SAFEPOINTS (256u << 10) /* bytes read of such a table */
/* that are mended: twenty times those of the largest functions */
#define MAX_POSITIONS (256u << 10)

struct optimized {
	struct v8_heap *heap;
	const struct v8_code_object *object;
	uint64_t function_info; /* without its tag */
	uint64_t deopt, literals;
	uint32_t n_deopt, n_literals;
	struct v8_inlining inlining;
	uint8_t *inlining_bytes, *positions, *safepoints;
	uint32_t n_positions, n_safepoints;
	struct v8_deopts deopts; /* without bytes: they cannot be read */
};

static uint64_t get_raw(const struct v8_inlining *inlining, uint32_t i)
{
	uint64_t raw;

	memcpy(&raw, inlining->bytes + 16 * (size_t)i, sizeof(raw));
	return raw;
}

static int32_t get_literal(const struct v8_inlining *inlining, uint32_t i)
{
	int32_t id;

	memcpy(&id, inlining->bytes + 16 * (size_t)i + 8, sizeof(id));
	return id;
}

bool v8_inlining_chain(const struct v8_layout *layout, const struct v8_inlining *inlining,
		       int32_t id, int32_t chain[V8_MAX_INLINED], uint32_t *ret_n)
{
	uint32_t n = 0;

	while (id >= 0) {
		int32_t next;

		if ((uint32_t)id >= inlining->n || n == V8_MAX_INLINED - 1)
			return false;
		chain[n++] = id;
		next = v8_position_of(layout, get_raw(inlining, (uint32_t)id)).inlining;
		if (next >= id)
			return false;
		id = next;
	}
	*ret_n = n;
	return true;
}

uint32_t v8_safepoint_return(const struct v8_layout *layout, bool is_maglev, const uint8_t *table,
			     uint32_t n, uint32_t off, int32_t *ret_deopt)
{
	struct v8_safepoint point;

	*ret_deopt = -1;
	for (uint32_t i = 0; v8_safepoint_get(layout, is_maglev, table, n, i, &point); i++) {
		if (point.pc == off || point.trampoline == (int64_t)off) {
			*ret_deopt = point.entry;
			return point.pc;
		}
	}
	return off;
}

static int read_safepoints(struct v8_heap *heap, const struct v8_code_object *code, uint8_t **ret,
			   uint32_t *ret_n)
{
	const struct v8_layout *layout = heap->layout;
	uint32_t at = code->bytes, n = MAX_SAFEPOINTS;
	int r = 0;

	if (v8_has(layout->code_safepoints)) {
		r = v8_field_int(heap, code->object, layout->code_safepoints, (int32_t *)&at);
		if (layout->version.major < 6 ||
		    (layout->version.major == 6 && layout->version.minor < 3))
			at = at >> 1 & 0x3fffffff; /* kind_specific_flags2, 6.2 */
		n = at < code->bytes ? code->bytes - at : 0;
	} else {
		int32_t metadata;

		r = v8_field_int(heap, code->object, layout->code_metadata_bytes, &metadata);
		n = r == 0 && metadata > 0 ? (uint32_t)metadata : 0;
	}
	n = EP_MIN(n, MAX_SAFEPOINTS);
	if (r < 0 || !n)
		return r < 0 ? r : -EBADMSG;
	*ret = malloc(n);
	if (!*ret)
		return -ENOMEM;
	*ret_n = n;
	return v8_heap_read(heap, code->start + at, *ret, n);
}

static int check_function(struct v8_heap *heap, uint64_t array, uint32_t n, uint64_t function_info)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t object;
	int r = v8_array_get(heap, array, n, (uint32_t)layout->deopt_sfi, &object);

	if (r == 0 && layout->deopt_sfi_is_wrapped) {
		r = v8_object_check(heap, &object, layout->type_sfi_wrapper);
		if (r == 0)
			r = v8_field(heap, object, layout->sfi_wrapper_sfi, &object);
	}
	return r == 0 && object != function_info + V8_TAG ? -EBADMSG : r;
}

static int read_optimized(struct v8_heap *heap, const struct v8_code_object *code,
			  uint64_t function_info, struct optimized *ret)
{
	const struct v8_layout *layout = heap->layout;
	uint64_t array, inlining;
	uint32_t n = 0, n_bytes = 0;
	int r = v8_field(heap, code->object, layout->code_deopt, &array);

	if (r == 0)
		r = v8_array_length(heap, &array, MAX_ELEMENTS, &n);
	if (r == 0)
		r = check_function(heap, array, n, function_info);
	if (r == 0)
		r = v8_array_get(heap, array, n, (uint32_t)layout->deopt_literals, &ret->literals);
	if (r == 0)
		r = v8_array_length(heap, &ret->literals, MAX_ELEMENTS, &ret->n_literals);
	if (r == 0)
		r = v8_array_get(heap, array, n, (uint32_t)layout->deopt_positions, &inlining);
	if (r == 0)
		r = v8_bytes_read(heap, inlining, MAX_TABLE, &ret->inlining_bytes, &n_bytes);
	if (r == 0)
		r = v8_positions_read(heap, code->object, layout->code_positions, &ret->positions,
			       &ret->n_positions);
	ret->heap = heap;
	ret->object = code;
	ret->deopt = array;
	ret->n_deopt = n;
	ret->function_info = function_info;
	ret->inlining = (struct v8_inlining){.bytes = ret->inlining_bytes, .n = n_bytes / 16};
	return r;
}

/* What is reported of it besides; it can be done without. */
static int read_deopts(struct optimized *code)
{
	int r = read_safepoints(code->heap, code->object, &code->safepoints, &code->n_safepoints);

	code->deopts = (struct v8_deopts){
		.heap = code->heap, .data = code->deopt, .literals = code->literals,
		.n_data = code->n_deopt, .n_literals = code->n_literals,
	};
	if (r == 0 || r == -EBADMSG)
		r = v8_deopts_init(&code->deopts);
	return r == -EBADMSG ? 0 : r;
}

static void fini(struct optimized *code)
{
	v8_deopts_fini(&code->deopts);
	free(code->safepoints);
	free(code->inlining_bytes);
	free(code->positions);
}

static int get_function(const struct optimized *code, int32_t id, uint64_t *ret)
{
	int32_t literal = id < 0 ? -1 : get_literal(&code->inlining, (uint32_t)id);
	uint64_t word;
	int r;

	*ret = code->function_info;
	if (literal < 0)
		return 0;
	r = v8_array_get(code->heap, code->literals, code->n_literals, (uint32_t)literal, &word);
	if (r == 0)
		r = v8_object_check(code->heap, &word, code->heap->layout->type_sfi);
	*ret = word - V8_TAG;
	return r;
}

/* All calls but the `skip` innermost. */
static int build(const struct optimized *code, struct v8_position at, const int32_t *chain,
		 uint32_t n, uint32_t skip, struct v8_stack *ret)
{
	int r = 0;

	ret->n = 0;
	for (uint32_t i = 0; r == 0 && i <= n; i++) {
		struct v8_call *call = &ret->calls[ret->n];

		call->script_off = at.script_off;
		if (i >= skip) {
			r = get_function(code, i < n ? chain[i] : -1, &call->function_info);
			ret->n++;
		}
		if (i < n)
			at = v8_position_of(code->heap->layout,
					    get_raw(&code->inlining, (uint32_t)chain[i]));
	}
	return r;
}

/* How many of the innermost of one are not around the other as well. */
static uint32_t count_own(const int32_t *chain, uint32_t n, const int32_t *other, uint32_t n_other)
{
	while (n > 0 && n_other > 0 && chain[n - 1] == other[n_other - 1]) {
		n--;
		n_other--;
	}
	return n;
}

static int stack_at(const struct optimized *code, bool is_return,
		    const struct v8_neighbours *near, struct v8_stack *ret)
{
	const struct v8_layout *layout = code->heap->layout;
	int32_t chain[V8_MAX_INLINED], other[V8_MAX_INLINED];
	uint32_t n = 0, n_other = 0, skip = 0;

	if (!near->has_before) {
		ret->calls[0].function_info = code->function_info;
		ret->calls[0].script_off = near->has_after ? V8_AT_START : V8_UNKNOWN_PLACE;
		ret->n = 1;
		return 0;
	}
	if (!v8_inlining_chain(layout, &code->inlining, near->before.inlining, chain, &n))
		return -EBADMSG;
	if (!is_return) {
		if (near->has_after && !v8_inlining_chain(layout, &code->inlining,
							  near->after.inlining, other, &n_other))
			return -EBADMSG;
		skip = count_own(chain, n, other, n_other);
	}
	return build(code, near->before, chain, n, skip, ret);
}

/* ---- by what it would deoptimize to ---- */

static int place_translated(const struct optimized *code, const struct v8_translated *frame,
			    struct v8_call *ret)
{
	uint64_t word;
	int r = frame->literal < 0 ? -EBADMSG : 0;

	if (r == 0)
		r = v8_array_get(code->heap, code->literals, code->n_literals,
				 (uint32_t)frame->literal, &word);
	if (r == 0)
		r = v8_object_check(code->heap, &word, code->heap->layout->type_sfi);
	if (r < 0)
		return r;
	ret->function_info = word - V8_TAG;
	return v8_function_place(code->heap, ret->function_info, frame->bytecode_off,
				 &ret->script_off);
}

/* The stack of a return, as V8's own traces have it (OptimizedFrame::Summarize). -EBADMSG: it
 * cannot be read. */
static int translated_stack(struct optimized *code, int32_t entry, struct v8_stack *ret)
{
	struct v8_translated frames[V8_MAX_TRANSLATED];
	struct v8_stack stack = {.is_translated = true};
	uint32_t n = entry < 0 ? 0 : v8_deopts_frames(&code->deopts, (uint32_t)entry, frames);
	int r = n ? 0 : -EBADMSG;

	for (uint32_t i = n; r == 0 && i-- > 0;)
		r = place_translated(code, &frames[i], &stack.calls[stack.n++]);
	if (r == 0 && stack.calls[n - 1].function_info != code->function_info)
		r = -EBADMSG;
	if (r == 0)
		*ret = stack;
	return r;
}

/* ---- where inlined functions were called ---- */

/*
 * Tables of positions are wrong at times. Maglev's stop at the first bytecode that has two
 * positions, as a loop's head has (MaglevGraphBuilder::UpdateSourceAndBytecodePosition, 11.3 to
 * 14.6): from there on all in that function have the same one, the calls of inlined functions, too.
 * TurboFan's of 6.2 to 8.4 have such calls at others' places. Entries of the deoptimization data
 * have the bytecodes of all functions around them.
 */
enum rank {
	SAME,	 /* in the same inlined call, by the table of positions */
	UNKNOWN, /* in one of the same functions */
	OTHER,	 /* in another one of the same functions */
};

struct candidate {
	int32_t bytecode_off;
	enum rank rank;
	uint32_t distance;
};

#define MAX_CANDIDATES 24
#define MAX_POINTS     4096u
#define NO_PC	       UINT32_MAX

struct level {
	struct candidate at[MAX_CANDIDATES];
	uint32_t n;
};

/* Around a place: the inlined calls, and what may be the bytecode of each; the outermost first. */
struct places {
	struct optimized *code;
	const int32_t *chain; /* innermost first */
	uint32_t n, pc;
	struct v8_position *positions; /* all of the table, once; they ascend */
	uint32_t n_positions;
	struct level levels[V8_MAX_INLINED];
	/* The nearest entry that has all of them, but within others. */
	uint32_t deeper, deeper_by, deeper_distance; /* by 0: none */
};

static void add_candidate(struct level *level, int32_t bytecode_off, enum rank rank,
			  uint32_t distance)
{
	for (uint32_t i = 0; i < level->n; i++) {
		struct candidate *at = &level->at[i];

		if (at->bytecode_off != bytecode_off)
			continue;
		if (rank < at->rank || (rank == at->rank && distance < at->distance)) {
			at->rank = rank;
			at->distance = distance;
		}
		return;
	}
	if (level->n < MAX_CANDIDATES)
		level->at[level->n++] = (struct candidate){bytecode_off, rank, distance};
}

/* The last position at or before an offset; NULL: none. */
static const struct v8_position *find_before(const struct places *places, uint32_t pc)
{
	const struct v8_position *positions = places->positions;
	size_t n = search_sorted(places->n_positions, i, positions[i].code_off <= (int64_t)pc);

	return n ? &positions[n - 1] : NULL;
}

/* How many of its outermost inlined calls a place has in common with the one that is looked at. */
static bool count_common(const struct places *places, uint32_t pc, uint32_t *ret)
{
	struct optimized *code = places->code;
	int32_t other[V8_MAX_INLINED];
	const struct v8_position *before;
	uint32_t n;

	/* After the last is what was moved out of the way. */
	if (pc == NO_PC || !places->n_positions ||
	    (int64_t)pc >= places->positions[places->n_positions - 1].code_off)
		return false;
	before = find_before(places, pc);
	if (!before || !v8_inlining_chain(code->heap->layout, &code->inlining, before->inlining,
					  other, &n))
		return false;
	for (*ret = 0; *ret < n && *ret < places->n; (*ret)++) {
		if (other[n - 1 - *ret] != places->chain[places->n - 1 - *ret])
			break;
	}
	return true;
}

/* Whether an entry has all of the chain within functions that the chain has not. */
static void take_deeper(struct places *places, const struct v8_translated *frames, uint32_t n,
			uint32_t entry, uint32_t distance)
{
	for (uint32_t by = 1; by + places->n < n; by++) {
		uint32_t same = 0;

		while (same < places->n &&
		       frames[by + 1 + same].literal ==
			       get_literal(&places->code->inlining,
					   (uint32_t)places->chain[places->n - 1 - same]))
			same++;
		if (same < places->n || (places->deeper_by && distance >= places->deeper_distance))
			continue;
		places->deeper = entry;
		places->deeper_by = by;
		places->deeper_distance = distance;
	}
}

/* What an entry says, which is the one of a place, or of one that is not known. */
static void take_entry(struct places *places, uint32_t entry, uint32_t pc)
{
	struct optimized *code = places->code;
	struct v8_translated frames[V8_MAX_TRANSLATED];
	uint32_t n = v8_deopts_frames(&code->deopts, entry, frames), common = 0;
	uint32_t distance = pc == NO_PC	      ? NO_PC
			    : pc > places->pc ? pc - places->pc
					      : places->pc - pc;
	bool is_known = n > 0 && count_common(places, pc, &common);

	take_deeper(places, frames, n, entry, distance);
	for (uint32_t level = 0; level < places->n && level + 1 < n; level++) {
		int32_t id = places->chain[places->n - 1 - level];

		if (frames[level + 1].literal != get_literal(&code->inlining, (uint32_t)id))
			return;
		add_candidate(&places->levels[level], frames[level].bytecode_off,
			      !is_known ? UNKNOWN : common > level ? SAME : OTHER, distance);
	}
}

static void take_safepoints(struct places *places)
{
	struct optimized *code = places->code;
	struct v8_safepoint point;

	for (uint32_t i = 0;
	     i < MAX_POINTS && v8_safepoint_get(code->heap->layout, code->object->is_maglev,
						code->safepoints, code->n_safepoints, i, &point);
	     i++) {
		if (point.entry >= 0)
			take_entry(places, (uint32_t)point.entry, point.pc - 1);
	}
}

/* Checks: where they are is known of Maglev's by their jumps; else they are taken for what they say
 * alone. */
static int take_checks(struct places *places)
{
	struct optimized *code = places->code;
	uint32_t n = EP_MIN(code->deopts.n_entries, MAX_POINTS), used = 0, bytes;
	ep_autofree struct v8_deopt_point *points = calloc(n + 1, sizeof(*points));
	ep_autofree uint32_t *exits = calloc(n + 1, sizeof(*exits));
	ep_autofree uint8_t *text = NULL;
	int r = points && exits ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < n; i++)
		exits[i] = v8_deopts_exit(&code->deopts, i);
	bytes = r == 0 && n ? EP_MIN(exits[0], code->object->bytes) : 0;
	if (code->object->is_maglev && bytes) {
		text = malloc(bytes);
		r = text ? v8_heap_read(code->heap, code->object->start, text, bytes) : -ENOMEM;
		if (r == 0)
			used = v8_deopt_jumps(text, bytes, exits, n, points, n);
	}
	for (uint32_t i = 0; r == 0 && i < used; i++)
		take_entry(places, points[i].entry, points[i].pc);
	for (uint32_t i = 0; r == 0 && i < n && !used; i++)
		take_entry(places, i, NO_PC);
	return r;
}

/* The table's place where an entry has it, too, which is no other call's for sure; else the nearest
 * one's. */
static int choose(struct v8_heap *heap, const struct level *level, struct v8_call *call)
{
	const struct candidate *best = NULL;
	int32_t place;
	int r = 0;

	for (uint32_t i = 0; i < level->n; i++) {
		const struct candidate *at = &level->at[i];

		if (!best || at->rank < best->rank ||
		    (at->rank == best->rank && at->distance < best->distance))
			best = at;
	}
	for (uint32_t i = 0; best && r == 0 && i < level->n; i++) {
		if (level->at[i].rank > best->rank)
			continue;
		r = v8_function_place(heap, call->function_info, level->at[i].bytecode_off, &place);
		if (r == 0 && place == call->script_off)
			return 0;
	}
	if (best && r == 0)
		r = v8_function_place(heap, call->function_info, best->bytecode_off, &place);
	if (best && r == 0)
		call->script_off = place;
	return r == -EBADMSG ? 0 : r;
}

/* A position takes two bytes at least. */
static int read_positions(struct places *places)
{
	const struct optimized *code = places->code;
	uint32_t max = EP_MIN(code->n_positions / 2, MAX_POSITIONS);
	struct v8_positions positions;

	places->positions = calloc(max + 1ull, sizeof(*places->positions));
	if (!places->positions)
		return -ENOMEM;
	v8_positions_init(&positions, code->heap->layout, code->positions, code->n_positions);
	while (places->n_positions < max &&
	       v8_positions_next(&positions, &places->positions[places->n_positions]))
		places->n_positions++;
	return 0;
}

/* 6.2, 6.8: a function knows where it begins and ends. */
static bool is_outside(const struct optimized *code, int32_t place)
{
	const struct v8_layout *layout = code->heap->layout;
	uint64_t function = code->function_info + V8_TAG;
	int32_t start, end;

	return v8_field_int(code->heap, function, layout->sfi_start, &start) == 0 &&
	       v8_field_int(code->heap, function, layout->sfi_end, &end) == 0 &&
	       (place < (int32_t)((uint32_t)start >> 2) || place > end);
}

/*
 * Where several functions may be called and all are inlined (JSInliningHeuristic, polymorphic), 6.2
 * forgets which inlined function the call is in: its place is outside of the one that it is
 * reported to be in.
 */
static int mend_callers(const struct places *places, struct v8_stack *stack)
{
	struct optimized *code = places->code;
	struct v8_translated frames[V8_MAX_TRANSLATED];
	struct v8_stack mended = *stack;
	uint32_t n = v8_deopts_frames(&code->deopts, places->deeper, frames);
	int r = 0;

	if (n <= places->deeper_by || mended.n + places->deeper_by > V8_MAX_INLINED)
		return 0;
	mended.n--;
	for (uint32_t i = places->deeper_by + 1; r == 0 && i-- > 0;)
		r = place_translated(code, &frames[i], &mended.calls[mended.n++]);
	if (r == 0)
		*stack = mended;
	return r == -EBADMSG ? 0 : r;
}

static void free_places(struct places *places)
{
	if (places)
		free(places->positions);
	free(places);
}

static int mend_places(struct places *places, struct v8_stack *stack)
{
	struct optimized *code = places->code;
	uint32_t n = places->n, skipped = n + 1 - stack->n;
	int r;

	take_safepoints(places);
	r = take_checks(places);
	if (r == -EBADMSG)
		r = 0;
	if (r == 0 && places->deeper_by && is_outside(code, stack->calls[stack->n - 1].script_off))
		return mend_callers(places, stack);
	/* The innermost has no call, but the place where it runs: that stays the table's. */
	for (uint32_t level = 0; r == 0 && level < n && n - level >= skipped; level++)
		r = choose(code->heap, &places->levels[level], &stack->calls[n - level - skipped]);
	return r;
}

static int mend_calls(struct optimized *code, uint32_t pc, const int32_t *chain, uint32_t n,
		      struct v8_stack *stack)
{
	struct places *places = calloc(1, sizeof(*places));
	int r;

	if (!places)
		return -ENOMEM;
	*places = (struct places){.code = code, .chain = chain, .n = n, .pc = pc};
	r = read_positions(places);
	if (r == 0)
		r = mend_places(places, stack);
	free_places(places);
	return r;
}

/* ---- all of it ---- */

static bool may_be_wrong(const struct v8_code_object *object, const struct v8_layout *layout)
{
	return object->is_maglev || layout->version.major < 9;
}

static int table_stack(struct optimized *code, uint32_t off, bool is_return, struct v8_stack *ret)
{
	const struct v8_layout *layout = code->heap->layout;
	int32_t chain[V8_MAX_INLINED];
	struct v8_neighbours near;
	uint32_t n = 0;
	int r;

	v8_positions_find(layout, code->positions, code->n_positions, (int64_t)off - is_return,
			  &near);
	r = stack_at(code, is_return, &near, ret);
	if (r < 0 || !near.has_before || !code->deopts.bytes ||
	    !may_be_wrong(code->object, layout) ||
	    !v8_inlining_chain(layout, &code->inlining, near.before.inlining, chain, &n) || n == 0)
		return r;
	return mend_calls(code, off - is_return, chain, n, ret);
}

int v8_optimized_stack(struct v8_heap *heap, const struct v8_code_object *object, uint64_t pc,
		       bool is_return, uint64_t function_info, struct v8_stack *ret)
{
	struct optimized code = {0};
	uint32_t off = (uint32_t)(pc - object->start);
	int32_t entry = -1;
	int r = read_optimized(heap, object, function_info, &code), translated = -EBADMSG;

	if (r == 0)
		r = read_deopts(&code);
	if (r == 0 && is_return) {
		/* A lazily deoptimized frame returns to what deoptimizes it, after all that has a
		 * position. */
		off = v8_safepoint_return(heap->layout, object->is_maglev, code.safepoints,
					  code.n_safepoints, off, &entry);
		translated = translated_stack(&code, entry, ret);
	}
	if (r == 0 && translated != 0)
		r = translated == -EBADMSG ?
			    table_stack(&code, off, is_return, ret) : translated;
	fini(&code);
	return r;
}
