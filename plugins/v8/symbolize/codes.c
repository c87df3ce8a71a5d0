/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/codes.h"

#include "core/base/util.h"
#include "plugins/v8/symbolize/bytecodes.h"
#include "plugins/v8/symbolize/optimized.h"

#include <errno.h>
#include <string.h>

#define MAX_BACK       (1u << 20) /* from an address to its code's header */
#define PIECE	       16384u
#define MAX_CODE       (16u << 20)
#define MAX_TABLE      (4u << 20)

/* ---- the code's object ---- */

static void set_kind(const struct v8_layout *layout, uint32_t flags, struct v8_code_object *code)
{
	int32_t kind = (int32_t)((flags & (uint32_t)layout->code_kind_mask) >>
				 layout->code_kind_shift);

	code->is_maglev = v8_has(layout->code_maglev) && kind == layout->code_maglev;
	if (kind == layout->code_optimized || code->is_maglev ||
	    (v8_has(layout->code_turboprop) && kind == layout->code_turboprop))
		code->kind = V8_CODE_OPTIMIZED;
	else if (v8_has(layout->code_baseline) && kind == layout->code_baseline)
		code->kind = V8_CODE_BASELINE;
	else if (v8_has(layout->code_js_to_wasm) && kind == layout->code_js_to_wasm)
		code->kind = V8_CODE_JS_TO_WASM;
	else if (v8_has(layout->code_wasm_to_js) && kind == layout->code_wasm_to_js)
		code->kind = V8_CODE_WASM_TO_JS;
	else if (v8_has(layout->code_wasm) && kind == layout->code_wasm)
		code->kind = V8_CODE_WASM;
	else if (v8_has(layout->code_handler) && kind == layout->code_handler)
		code->kind = V8_CODE_HANDLER;
	else if (v8_has(layout->code_builtin_kind) && kind == layout->code_builtin_kind)
		code->kind = V8_CODE_BUILTIN;
	else if (v8_has(layout->code_stub) && kind == layout->code_stub)
		code->kind = V8_CODE_STUB;
	else
		code->kind = V8_CODE_OTHER;
}

/* Whether there is code at `start` that holds pc. 1: there is, and it ends before. */
static int check_code(struct v8_heap *heap, uint64_t word, uint64_t start, uint64_t pc,
		      struct v8_code_object *ret)
{
	const struct v8_layout *layout = heap->layout;
	struct v8_code_object code = {.object = word, .start = start};
	uint64_t said = start;
	int32_t bytes, flags;
	int r = v8_object_check(heap, &code.object, layout->type_code);

	if (r == 0 && v8_has(layout->code_start))
		r = v8_field(heap, code.object, layout->code_start, &said);
	if (r == 0)
		r = v8_field_int(heap, code.object, layout->code_bytes, &bytes);
	if (r == 0)
		r = v8_field_int(heap, code.object, layout->code_flags, &flags);
	if (r < 0)
		return r;
	if (said != start || bytes <= 0 || (uint32_t)bytes > MAX_CODE)
		return -EBADMSG;
	if (pc - start > (uint32_t)bytes)
		return 1;
	code.bytes = (uint32_t)bytes;
	set_kind(layout, (uint32_t)flags, &code);
	*ret = code;
	return 0;
}

/* A word of an object, of those that may stand there. */
static bool may_be_object(uint64_t word)
{
	return v8_is_object(word) && word >> 47 == 0;
}

/*
 * Goes back through pieces of memory that overlap by a header. Few of the code's own bytes look
 * like two pointers; those are looked at closely. 1: after the last code before pc, which is in
 * none.
 */
static int search_piece(struct v8_heap *heap, const uint8_t *bytes, uint64_t from, uint64_t last,
			uint64_t pc, struct v8_code_object *ret)
{
	const struct v8_layout *layout = heap->layout;
	uint32_t first = (uint32_t)layout->code_first, align = (uint32_t)layout->code_alignment;
	bool is_stream = v8_has(layout->stream_code);

	for (uint64_t start = last; start >= from + first; start -= align) {
		uint64_t object = start - first, map, word;
		int r;

		memcpy(&map, bytes + (object - from), sizeof(map));
		if (!may_be_object(map))
			continue;
		word = object + V8_TAG;
		if (is_stream)
			memcpy(&word, bytes + (object - from) + layout->stream_code, sizeof(word));
		if (!may_be_object(word))
			continue;
		r = check_code(heap, word, start, pc, ret);
		if (r != -EBADMSG && r != -EFAULT)
			return r;
	}
	return -EBADMSG;
}

int v8_code_find(struct v8_heap *heap, uint64_t pc, struct v8_code_object *ret)
{
	uint32_t first = (uint32_t)heap->layout->code_first;
	uint32_t align = (uint32_t)heap->layout->code_alignment, n = V8_PAGE_BYTES;
	ep_autofree uint8_t *bytes = NULL;
	uint64_t last, back = 0;
	int r = -EBADMSG;

	if (first < 16 || first > 256 || align < 16 || align > 256 || pc < MAX_BACK + PIECE)
		return -EBADMSG;
	bytes = malloc(PIECE + 2 * V8_PAGE_BYTES);
	if (!bytes)
		return -ENOMEM;
	for (last = pc / align * align; r == -EBADMSG && back < MAX_BACK; n = PIECE) {
		uint64_t to = EP_ALIGN_DOWN(last, V8_PAGE_BYTES) + V8_PAGE_BYTES;
		uint64_t from = EP_ALIGN_DOWN(last - first, V8_PAGE_BYTES) + V8_PAGE_BYTES - n;

		r = v8_heap_read_now(heap, from, bytes, to - from);
		if (r == -EFAULT && n > V8_PAGE_BYTES) { /* no further than there is memory */
			from += n - V8_PAGE_BYTES;
			r = v8_heap_read_now(heap, from, bytes, to - from);
		}
		if (r == 0)
			r = search_piece(heap, bytes, from, last, pc, ret);
		/* On with the first whose header was not within. */
		last -= (last - from - first) / align * align + align;
		back = pc - last;
	}
	return r == -EFAULT || r > 0 ? -EBADMSG : r;
}

/* ---- bytecodes ---- */

int v8_positions_read(struct v8_heap *heap, uint64_t object, int32_t off, uint8_t **ret,
		      uint32_t *ret_n)
{
	uint64_t table;
	uint16_t type;
	int r = v8_field(heap, object, off, &table);

	*ret = NULL;
	*ret_n = 0;
	if (r < 0 || !v8_is_object(table))
		return r;
	r = v8_object_type(heap, &table, &type);
	if (r == 0 && v8_type_is(type, heap->layout->type_oddball))
		return 0;
	/* 6.2 to 7.x: a cache of frames may be before it (SourcePositionTableWithFrameCache). */
	if (r == 0 && !v8_type_is_bytes(heap->layout, type))
		r = v8_field(heap, table, 8, &table);
	return r < 0 ? r : v8_bytes_read(heap, table, MAX_TABLE, ret, ret_n);
}

static int place_in(struct v8_heap *heap, uint64_t array, uint32_t off, int32_t *ret)
{
	ep_autofree uint8_t *table = NULL;
	struct v8_neighbours found;
	uint32_t n;
	int r = v8_positions_read(heap, array, heap->layout->bytecode_positions, &table, &n);

	*ret = V8_UNKNOWN_PLACE;
	if (r < 0 || !table)
		return r;
	v8_positions_find(heap->layout, table, n, off, &found);
	if (found.has_before)
		*ret = found.before.script_off;
	else if (found.has_after)
		*ret = V8_AT_START;
	return 0;
}

int v8_bytecode_place(struct v8_heap *heap, uint64_t array, uint32_t off, int32_t *ret)
{
	uint64_t object = array + V8_TAG;
	int32_t length;
	int r = v8_object_check(heap, &object, heap->layout->type_bytecode_array);

	if (r == 0)
		r = v8_field_smi(heap, object, heap->layout->bytecode_len, &length);
	if (r < 0)
		return r;
	if (length < 0 || off >= (uint32_t)length)
		return -EBADMSG;
	return place_in(heap, object, off, ret);
}

/* ---- baseline code ---- */

/* What the interpreter runs, after what may be before it. */
static int follow_bytecodes(struct v8_heap *heap, uint64_t *object)
{
	uint16_t type;
	int r = v8_object_type(heap, object, &type);

	if (r == 0 && v8_type_is(type, heap->layout->type_interpreter_data)) {
		r = v8_field(heap, *object, heap->layout->interpreter_data_bytecode, object);
		if (r == 0)
			r = v8_object_type(heap, object, &type);
	}
	if (r == 0 && !v8_type_is(type, heap->layout->type_bytecode_array))
		r = -EBADMSG;
	return r;
}

int v8_bytecodes_of(struct v8_heap *heap, uint64_t function_info, uint64_t *ret)
{
	uint64_t data;
	int r = v8_field(heap, function_info + V8_TAG, heap->layout->sfi_data, &data);

	if (r == 0)
		r = follow_bytecodes(heap, &data);
	if (r == 0)
		*ret = data - V8_TAG;
	return r;
}

/* 9.4: between the function and its code are BaselineData. */
static int find_bytecodes_of_data(struct v8_heap *heap, const struct v8_code_object *code,
				  uint64_t data, uint64_t *ret)
{
	uint64_t of;
	int r = v8_object_check(heap, &data, heap->layout->type_baseline_data);

	if (r == 0)
		r = v8_field(heap, data, heap->layout->baseline_data_code, &of);
	if (r == 0 && of != code->object)
		r = -EBADMSG;
	if (r == 0)
		r = v8_field(heap, data, heap->layout->baseline_data_data, ret);
	return r == 0 ? follow_bytecodes(heap, ret) : r;
}

/* The code is the function's where that has it, or both have the same bytecodes. */
static int find_bytecodes(struct v8_heap *heap, const struct v8_code_object *code,
			  uint64_t function_info, uint64_t *ret)
{
	uint64_t data, object;
	int r = v8_field(heap, function_info + V8_TAG, heap->layout->sfi_data, &data);

	if (r < 0)
		return r;
	if (v8_has(heap->layout->type_baseline_data))
		return find_bytecodes_of_data(heap, code, data, ret);
	r = v8_field(heap, code->object, heap->layout->code_deopt, &object);
	if (r == 0)
		r = follow_bytecodes(heap, &object);
	if (r == 0 && data != code->object) {
		r = follow_bytecodes(heap, &data);
		if (r == 0 && data != object)
			r = -EBADMSG;
	}
	*ret = object;
	return r;
}

static int read_bytecodes(struct v8_heap *heap, uint64_t array, uint8_t **ret, uint32_t *ret_n)
{
	ep_autofree uint8_t *bytes = NULL;
	int32_t n;
	int r = v8_field_smi(heap, array, heap->layout->bytecode_len, &n);

	if (r < 0)
		return r;
	if (n < 0 || (uint32_t)n > MAX_TABLE)
		return -EBADMSG;
	bytes = malloc((size_t)n + 1);
	if (!bytes)
		return -ENOMEM;
	r = v8_heap_read(heap, array - V8_TAG + (uint32_t)heap->layout->bytecode_first, bytes,
			 (uint32_t)n);
	if (r < 0)
		return r;
	*ret = ep_take(bytes);
	*ret_n = (uint32_t)n;
	return 0;
}

static int baseline_stack(struct v8_heap *heap, const struct v8_code_object *code, uint64_t pc,
			  bool is_return, uint64_t function_info, struct v8_stack *ret)
{
	ep_autofree uint8_t *sizes = NULL, *bytes = NULL;
	struct v8_bytecodes bytecodes = {0};
	uint64_t array;
	int32_t off, place = V8_UNKNOWN_PLACE;
	int r = find_bytecodes(heap, code, function_info, &array);

	if (r == 0)
		r = v8_positions_read(heap, code->object, heap->layout->code_positions, &sizes,
			       &bytecodes.n_sizes);
	if (r == 0)
		r = read_bytecodes(heap, array, &bytes, &bytecodes.n_bytes);
	if (r < 0)
		return r;
	bytecodes.sizes = sizes;
	bytecodes.bytes = bytes;
	r = v8_bytecodes_find(&heap->layout->version, &bytecodes, (uint32_t)(pc - code->start),
			      is_return, &off);
	if (r == 0 && off == V8_BEFORE_BYTECODES)
		place = V8_AT_START;
	else if (r == 0)
		r = place_in(heap, array, (uint32_t)off, &place);
	if (r < 0 && r != -ENOTSUP && r != -EBADMSG)
		return r;
	ret->calls[0] = (struct v8_call){.function_info = function_info, .script_off = place};
	ret->n = 1;
	return 0;
}

/* ---- any code ---- */

/* Also of a function that has baseline code. */
static int find_array(struct v8_heap *heap, uint64_t function_info, uint64_t *ret)
{
	uint64_t data;
	uint16_t type;
	int r = v8_field(heap, function_info + V8_TAG, heap->layout->sfi_data, &data);

	if (r == 0)
		r = v8_object_type(heap, &data, &type);
	if (r == 0 && v8_type_is(type, heap->layout->type_code))
		r = v8_field(heap, data, heap->layout->code_deopt, &data);
	else if (r == 0 && v8_type_is(type, heap->layout->type_baseline_data))
		r = v8_field(heap, data, heap->layout->baseline_data_data, &data);
	if (r == 0)
		r = follow_bytecodes(heap, &data);
	*ret = data;
	return r;
}

int v8_function_place(struct v8_heap *heap, uint64_t function_info, int32_t off, int32_t *ret)
{
	uint64_t array;
	int r = off < -1 ? -EBADMSG : find_array(heap, function_info, &array);

	*ret = V8_AT_START;
	return r == 0 && off >= 0 ? place_in(heap, array, (uint32_t)off, ret) : r;
}

int v8_code_stack(struct v8_heap *heap, const struct v8_code_object *code, uint64_t pc,
		  bool is_return, uint64_t function_info, struct v8_stack *ret)
{
	ret->is_translated = false;
	if (code->kind == V8_CODE_OPTIMIZED)
		return v8_optimized_stack(heap, code, pc, is_return, function_info, ret);
	if (code->kind == V8_CODE_BASELINE)
		return baseline_stack(heap, code, pc, is_return, function_info, ret);
	return -EBADMSG;
}
