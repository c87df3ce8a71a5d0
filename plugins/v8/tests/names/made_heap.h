/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap that is made here, of any version: objects are laid out as that one's layout says, one
 * after the other, each with a map that says what it is.
 *
 *	BASE			the map of maps, then all else
 *	BASE + CODE_AT		code, as its alignment wants it
 */
#ifndef TEST_V8_MADE_HEAP_H
#define TEST_V8_MADE_HEAP_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/v8/symbolize/names.h"
#include "plugins/v8/tests/names/versions.h"

#include <errno.h>
#include <stdlib.h>

#define BASE	   0x7e0000200000ull
#define HEAP_BYTES 0x40000u
#define CODE_AT	   0x30000u
#define ALIAS(i)   ((uint64_t)(i) * HEAP_BYTES) /* to an address: the same bytes, in other pages */
#define N_ALIASES  16u
#define NEWLINES   0x600000000000ull /* here are newlines alone */
#define N_NEWLINES (4u << 20)
#define MAX_TYPES  64

struct made_heap {
	struct v8_layout layout;
	struct v8_state state;
	uint8_t *bytes;
	uint32_t used, code_used;
	struct {
		int32_t type;
		uint64_t map;
	} maps[MAX_TYPES];
	uint32_t n_maps;
	uint32_t n_reads, fail_at; /* 0: none fails */
	bool fails_on;		   /* all that follow, too */
	bool has_aliases;
	int fail_with;
	/* At so many reads a word changes. */
	uint32_t change_at;
	uint64_t change_addr, change_to;
};

static inline void put_bytes(struct made_heap *heap, uint64_t addr, const void *from, size_t n)
{
	if (n && addr >= BASE && addr - BASE + n <= HEAP_BYTES)
		memcpy(heap->bytes + (addr - BASE), from, n);
}

static inline void put64(struct made_heap *heap, uint64_t object, int32_t off, uint64_t value)
{
	if (v8_has(off))
		put_bytes(heap, object - V8_TAG + (uint32_t)off, &value, 8);
}

static inline void put32(struct made_heap *heap, uint64_t object, int32_t off, uint32_t value)
{
	if (v8_has(off))
		put_bytes(heap, object - V8_TAG + (uint32_t)off, &value, 4);
}

static inline uint64_t smi(int32_t value)
{
	return (uint64_t)(uint32_t)value << 32;
}

static inline uint64_t get64(const struct made_heap *heap, uint64_t object, int32_t off)
{
	uint64_t value;

	memcpy(&value, heap->bytes + (object - V8_TAG + (uint32_t)off - BASE), 8);
	return value;
}

static inline uint64_t take(struct made_heap *heap, uint32_t bytes)
{
	uint64_t addr = BASE + heap->used;

	heap->used += (uint32_t)EP_ALIGN_UP(bytes, 8);
	if (heap->used > CODE_AT)
		abort();
	return addr + V8_TAG;
}

static inline uint64_t map_of(struct made_heap *heap, int32_t type)
{
	uint64_t map;

	for (uint32_t i = 0; i < heap->n_maps; i++) {
		if (heap->maps[i].type == type)
			return heap->maps[i].map;
	}
	map = take(heap, 80);
	put64(heap, map, 0, heap->n_maps ? heap->maps[0].map : map);
	put_bytes(heap, map - V8_TAG + (uint32_t)heap->layout.map_type, &type,
		  heap->layout.map_type_bytes == 1 ? 1 : 2);
	if (heap->n_maps == MAX_TYPES)
		abort();
	heap->maps[heap->n_maps].type = type;
	heap->maps[heap->n_maps++].map = map;
	return map;
}

static inline uint64_t new_object(struct made_heap *heap, int32_t type, uint32_t bytes)
{
	uint64_t map = map_of(heap, type), object = take(heap, bytes);

	put64(heap, object, 0, map);
	return object;
}

static inline void made_heap_init(struct made_heap *heap, size_t version)
{
	*heap = (struct made_heap){.layout = layout_of(version), .used = 64,
				   .code_used = CODE_AT + 0x100};
	heap->state = state_of(&heap->layout);
	heap->bytes = calloc(1, HEAP_BYTES);
	if (!heap->bytes)
		abort();
	(void)map_of(heap, heap->layout.type_map);
}

static inline void made_heap_fini(struct made_heap *heap)
{
	free(heap->bytes);
}

static inline int made_heap_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct made_heap *heap = arg;

	heap->n_reads++;
	if (heap->n_reads == heap->fail_at || (heap->fails_on && heap->n_reads > heap->fail_at))
		return heap->fail_with;
	if (heap->change_at && heap->n_reads == heap->change_at)
		put_bytes(heap, heap->change_addr, &heap->change_to, 8);
	if (addr >= NEWLINES && ep_in_bounds(addr - NEWLINES, bytes, N_NEWLINES)) {
		memset(buf, '\n', bytes);
		return 0;
	}
	if (heap->has_aliases && addr >= BASE && addr - BASE < ALIAS(N_ALIASES))
		addr = BASE + (addr - BASE) % HEAP_BYTES;
	if (addr < BASE || !ep_in_bounds(addr - BASE, bytes, HEAP_BYTES))
		return -EFAULT;
	memcpy(buf, heap->bytes + (addr - BASE), bytes);
	return 0;
}

/* ---- strings ---- */

#define ONE_BYTE 8
enum { SEQUENTIAL = 0, CONS = 1, EXTERNAL = 2, SLICED = 3, THIN = 5 };

static inline uint64_t new_string(struct made_heap *heap, int shape, uint32_t length,
				  uint32_t bytes)
{
	uint64_t string = new_object(heap, shape, EP_MAX(40u, 32 + bytes));

	if (heap->layout.string_len_is_smi)
		put64(heap, string, heap->layout.string_len, smi((int32_t)length));
	else
		put32(heap, string, heap->layout.string_len, length);
	return string;
}

static inline uint64_t one_byte(struct made_heap *heap, const char *text)
{
	uint32_t n = (uint32_t)strlen(text);
	uint64_t string = new_string(heap, SEQUENTIAL | ONE_BYTE, n, n);

	put_bytes(heap, string - V8_TAG + (uint32_t)heap->layout.string_chars, text, n);
	return string;
}

static inline uint64_t two_byte(struct made_heap *heap, const uint16_t *units, uint32_t n)
{
	uint64_t string = new_string(heap, SEQUENTIAL, n, 2 * n);

	put_bytes(heap, string - V8_TAG + (uint32_t)heap->layout.string_chars, units, 2 * n);
	return string;
}

/* Of what has two fields: see enum. */
static inline uint64_t other_string(struct made_heap *heap, int shape, uint32_t length,
				    uint64_t first, uint64_t second)
{
	uint64_t string = new_string(heap, shape, length, 0);

	put64(heap, string, heap->layout.string_first, first);
	if ((shape & 7) != THIN)
		put64(heap, string, heap->layout.string_second, second);
	return string;
}

/* ---- arrays ---- */

static inline uint64_t new_array(struct made_heap *heap, int32_t type, const uint64_t *words,
				 uint32_t n)
{
	uint64_t array = new_object(heap, type, 16 + 8 * n);

	put64(heap, array, heap->layout.array_len, smi((int32_t)n));
	put_bytes(heap, array - V8_TAG + (uint32_t)heap->layout.array_data, words, 8 * n);
	return array;
}

static inline uint64_t new_bytes(struct made_heap *heap, const void *bytes, uint32_t n)
{
	uint64_t array = new_object(heap,
				    v8_has(heap->layout.type_trusted_byte_array) ?
					    heap->layout.type_trusted_byte_array :
					    heap->layout.type_byte_array,
				    16 + n);

	put64(heap, array, heap->layout.array_len, smi((int32_t)n));
	put_bytes(heap, array - V8_TAG + (uint32_t)heap->layout.array_data, bytes, n);
	return array;
}

/* ---- tables of positions ---- */

struct table {
	uint8_t bytes[512];
	uint32_t n;
	uint32_t code_off;
	uint64_t raw;
};

static inline void put_leb(struct table *table, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		table->bytes[table->n++] = (uint8_t)(value | 0x80);
	table->bytes[table->n++] = (uint8_t)value;
}

static inline uint64_t raw_position(const struct v8_layout *layout, int32_t off, int32_t inlining)
{
	return (uint64_t)(uint32_t)(off + 1) << layout->position_shift |
	       (uint64_t)(uint32_t)(inlining + 1) << 31;
}

static inline void add_position(struct table *table, const struct v8_layout *layout,
				uint32_t code_off, int32_t off, int32_t inlining, bool is_statement)
{
	uint64_t raw = raw_position(layout, off, inlining);
	int64_t delta = (int64_t)(raw - table->raw);
	int32_t code = (int32_t)(code_off - table->code_off);

	if (!table->n)
		code += layout->positions_before;

	if (layout->positions_unsigned) {
		put_leb(table, (uint32_t)code << 2 | is_statement);
	} else {
		if (!is_statement)
			code = -code - 1;
		put_leb(table, (uint32_t)code << 1 ^ (uint32_t)(code >> 31));
	}
	put_leb(table, (uint64_t)delta << 1 ^ (uint64_t)(delta >> 63));
	table->code_off = code_off;
	table->raw = raw;
}

/* ---- scripts and functions ---- */

static inline uint64_t new_script(struct made_heap *heap, uint64_t name, uint64_t source,
				  int32_t id)
{
	const struct v8_layout *layout = &heap->layout;
	uint64_t script = new_object(heap, layout->type_script, 160);

	put64(heap, script, layout->script_name, name);
	put64(heap, script, layout->script_source, source);
	put64(heap, script, layout->script_id, smi(id));
	return script;
}

struct made_scope {
	uint64_t name, inferred, outer;
	int32_t start, end;
	uint32_t n_locals;
	bool is_class;
};

/* With locals, a receiver and a saved class variable where there are such, so that slots move. */
static inline uint64_t new_scope(struct made_heap *heap, const struct made_scope *made)
{
	const struct v8_layout *layout = &heap->layout;
	uint32_t type = (uint32_t)(made->is_class ? layout->scope_type_class :
						    layout->scope_type_function);
	uint64_t scope =
		new_object(heap, layout->type_scope_info, 16 + 8 * (16 + 2 * made->n_locals));
	uint32_t flags = type, n = made->n_locals;
	int32_t slot = layout->scope_head;
#define SLOT(i) (layout->scope_first + 8 * (i))

	put64(heap, scope, SLOT(layout->scope_parameters), smi(2));
	if (v8_has(layout->scope_stack_locals))
		put64(heap, scope, SLOT(layout->scope_stack_locals), smi(1));
	put64(heap, scope, SLOT(layout->scope_context_locals), smi((int32_t)n));
	if (v8_has(layout->scope_start)) {
		put64(heap, scope, SLOT(layout->scope_start), smi(made->start));
		put64(heap, scope, SLOT(layout->scope_start + 1), smi(made->end));
	}
	if (layout->scope_has_parameter_names)
		slot += 2 + 1 + 1;
	if (v8_has(layout->scope_hash_names_at) && n >= (uint32_t)layout->scope_hash_names_at)
		slot += (int32_t)n + 1;
	else
		slot += 2 * (int32_t)n;
	if (v8_has(layout->scope_saved_class_bit)) {
		flags |= 1u << layout->scope_saved_class_bit;
		slot++;
	}
	if (layout->scope_has_receiver_slot) {
		flags |= 2u << layout->scope_receiver_shift;
		slot++;
	}
	if (made->name) {
		flags |= 1u << layout->scope_function_variable_shift;
		put64(heap, scope, SLOT(slot), made->name);
		slot += 2;
	}
	if (made->inferred && v8_has(layout->scope_inferred_name_bit)) {
		flags |= 1u << layout->scope_inferred_name_bit;
		put64(heap, scope, SLOT(slot++), made->inferred);
	}
	if (layout->scope_types_with_position >> type & 1) {
		put64(heap, scope, SLOT(slot++), smi(made->start));
		put64(heap, scope, SLOT(slot++), smi(made->end));
	}
	if (made->outer && v8_has(layout->scope_outer_bit)) {
		flags |= 1u << layout->scope_outer_bit;
		put64(heap, scope, SLOT(slot++), made->outer);
	}
	put64(heap, scope, SLOT(0), layout->scope_flags_raw ? flags : smi((int32_t)flags));
#undef SLOT
	return scope;
}

struct made_function {
	struct made_scope scope;
	uint64_t script, bytecodes;
	uint32_t kind;
	int32_t literal;
	uint32_t unique_id;
};

static inline uint64_t new_function(struct made_heap *heap, const struct made_function *made)
{
	const struct v8_layout *layout = &heap->layout;
	uint64_t function = new_object(heap, layout->type_sfi, 160);
	struct made_scope scope = made->scope;
	uint64_t name = scope.name;

	if (v8_has(layout->sfi_scope_info)) { /* 6.2 */
		scope.name = 0;
		put64(heap, function, layout->sfi_name, name ? name : one_byte(heap, ""));
		put64(heap, function, layout->sfi_scope_info, new_scope(heap, &scope));
	} else {
		put64(heap, function, layout->sfi_name, new_scope(heap, &scope));
	}
	if (v8_has(layout->sfi_inferred_name))
		put64(heap, function, layout->sfi_inferred_name,
		      scope.inferred ? scope.inferred : one_byte(heap, ""));
	if (v8_has(layout->sfi_start))
		put32(heap, function, layout->sfi_start, (uint32_t)scope.start << 2);
	if (v8_has(layout->sfi_end))
		put32(heap, function, layout->sfi_end, (uint32_t)scope.end);
	put64(heap, function, layout->sfi_script, made->script);
	put64(heap, function, layout->sfi_data, made->bytecodes);
	put32(heap, function, layout->sfi_flags, made->kind << layout->sfi_kind_shift);
	put32(heap, function, layout->sfi_literal_id, (uint32_t)made->literal);
	put32(heap, function, layout->sfi_unique_id, made->unique_id);
	return function;
}

static inline uint64_t new_bytecodes(struct made_heap *heap, const uint8_t *bytes, uint32_t n,
				     uint64_t positions)
{
	const struct v8_layout *layout = &heap->layout;
	uint64_t array = new_object(heap, layout->type_bytecode_array,
				    (uint32_t)layout->bytecode_first + n);

	put64(heap, array, layout->bytecode_len, smi((int32_t)n));
	put64(heap, array, layout->bytecode_positions, positions);
	put_bytes(heap, array - V8_TAG + (uint32_t)layout->bytecode_first, bytes, n);
	return array;
}

/* ---- code ---- */

struct made_code {
	int32_t kind;
	uint32_t bytes;
	uint64_t deopt, positions;
	const uint8_t *safepoints;
	uint32_t n_safepoints;
};

/* Address of the first instruction; *ret_code: its object. */
static inline uint64_t new_code(struct made_heap *heap, const struct made_code *made,
				uint64_t *ret_code)
{
	const struct v8_layout *layout = &heap->layout;
	uint32_t align = (uint32_t)layout->code_alignment;
	uint32_t at = (uint32_t)EP_ALIGN_UP(heap->code_used + (uint32_t)layout->code_first, align);
	uint64_t start = BASE + at, holder = start - (uint32_t)layout->code_first + V8_TAG;
	uint64_t code = holder;
	uint32_t bytes = made->bytes;

	heap->code_used = at + bytes + made->n_safepoints;
	if (heap->code_used > HEAP_BYTES)
		abort();
	put64(heap, holder, 0, map_of(heap, layout->type_code));
	if (v8_has(layout->stream_code)) {
		code = new_object(heap, layout->type_code, 128);
		put64(heap, holder, 0, map_of(heap, layout->type_stream));
		put64(heap, holder, layout->stream_code, code);
		put64(heap, code, layout->code_start, start);
	}
	put_bytes(heap, start + bytes, made->safepoints, made->n_safepoints);
	if (v8_has(layout->code_safepoints)) { /* in the instructions' bytes */
		bytes += made->n_safepoints;
		put32(heap, code, layout->code_safepoints,
		      layout->version.major == 6 && layout->version.minor == 2 ? made->bytes << 1 :
										 made->bytes);
	}
	put32(heap, code, layout->code_bytes, bytes);
	put32(heap, code, layout->code_metadata_bytes, made->n_safepoints);
	put32(heap, code, layout->code_flags, (uint32_t)made->kind << layout->code_kind_shift);
	put64(heap, code, layout->code_deopt, made->deopt);
	put64(heap, code, layout->code_positions, made->positions);
	*ret_code = code;
	return start;
}

/* Deoptimization data of a function; literals: functions that were inlined. */
static inline uint64_t new_deopt(struct made_heap *heap, uint64_t function,
				 const uint64_t *literals, uint32_t n, uint64_t inlining)
{
	const struct v8_layout *layout = &heap->layout;
	uint64_t words[24] = {0};
	int32_t type = layout->type_fixed_array;

	if (layout->deopt_sfi_is_wrapped) {
		uint64_t wrapper = new_object(heap, layout->type_sfi_wrapper, 16);

		put64(heap, wrapper, layout->sfi_wrapper_sfi, function);
		function = wrapper;
		type = layout->type_protected_array;
	}
	words[layout->deopt_sfi] = function;
	words[layout->deopt_literals] = new_array(heap, layout->type_fixed_array, literals, n);
	words[layout->deopt_positions] = inlining;
	return new_array(heap, type, words, 24);
}

/* ---- frames ---- */

static inline uint64_t cookie_of(const struct made_heap *heap, uint64_t function)
{
	__u64 words[V8_COOKIE_WORDS], masks[V8_COOKIE_WORDS];

	for (int32_t i = 0; i < V8_COOKIE_WORDS; i++) {
		words[i] = get64(heap, function, heap->state.cookie_at + 8 * i);
		masks[i] = heap->state.cookie_masks[i];
	}
	return v8_cookie(words, masks, heap->state.flags & V8_STATE_UNIQUE_ID);
}

static inline struct ep_raw_frame frame_of(const struct made_heap *heap, uint32_t kind,
					   uint64_t function, uint64_t word, uint32_t aux)
{
	return (struct ep_raw_frame){
		.flags = kind << V8_FRAME_SHIFT,
		.aux = aux,
		.n_words = 3,
		.words = {function - V8_TAG, cookie_of(heap, function), word},
	};
}

#endif
