/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/util.h"
#include "plugins/shared/x86/flow.h"
#include "plugins/v8/v8.h"

#include <string.h>

#define WORD 8

/* --- what tells functions apart --------------------------------------------------------------- */

struct field {
	int32_t off;
	uint32_t bytes;
	uint64_t mask;
};

static void add_mask(struct v8_state *state, const struct field *field)
{
	uint32_t at = (uint32_t)field->off - state->cookie_at;

	if ((uint32_t)field->off < state->cookie_at || at % WORD + field->bytes > WORD ||
	    at / WORD >= V8_COOKIE_WORDS)
		return;
	state->cookie_masks[at / WORD] |= field->mask << at % WORD * 8;
}

/* The words that end with the last of the fields: what is after an object may not be there. */
static void fill_fields(struct v8_state *state, const struct field *fields, size_t n)
{
	int32_t end = 0;

	for (size_t i = 0; i < n; i++) {
		if (v8_has(fields[i].off))
			end = EP_MAX(end, fields[i].off + (int32_t)fields[i].bytes);
	}
	end = (end + WORD - 1) / WORD * WORD;
	state->cookie_at = (uint16_t)EP_MAX(end - V8_COOKIE_WORDS * WORD, 0);
	for (size_t i = 0; i < n; i++) {
		if (v8_has(fields[i].off))
			add_mask(state, &fields[i]);
	}
}

static void fill_cookie(struct v8_state *state, const struct v8_layout *layout)
{
	uint32_t counts = (uint32_t)layout->sfi_length_bytes;
	uint64_t count_mask = counts == 2 ? UINT16_MAX : UINT32_MAX;
	const struct field unique = {layout->sfi_unique_id, 4, UINT32_MAX};
	const struct field fields[] = {
		{layout->sfi_literal_id, 4, UINT32_MAX},
		{layout->sfi_length, counts, count_mask},
		{layout->sfi_parameters, counts, count_mask},
		{layout->sfi_flags, 4, (uint32_t)layout->sfi_fixed_flags},
	};

	if (!v8_has(layout->sfi_unique_id)) {
		fill_fields(state, fields, EP_LEN(fields));
		return;
	}
	/* In the lower half of the last word: what is after an object may not be there. */
	state->flags |= V8_STATE_UNIQUE_ID;
	state->cookie_at = (__u16)EP_MAX(layout->sfi_unique_id - (V8_COOKIE_WORDS - 1) * WORD, 0);
	add_mask(state, &unique);
}

/* --- frames ----------------------------------------------------------------------------------- */

static void set_type(struct v8_state *state, int32_t number, enum v8_type type)
{
	if (number >= 0 && number < V8_MAX_TYPES)
		state->types[number] = (uint8_t)type;
}

static void fill_types(struct v8_state *state, const struct v8_layout *layout)
{
	const struct {
		int32_t number;
		enum v8_type type;
	} types[] = {
		{layout->frame_entry, V8_TYPE_ENTRY},
		{layout->frame_construct_entry, V8_TYPE_ENTRY},
		{layout->frame_exit, V8_TYPE_EXIT},
		{layout->frame_builtin_exit, V8_TYPE_EXIT},
		{layout->frame_api_callback, V8_TYPE_EXIT},
		{layout->frame_api_accessor, V8_TYPE_EXIT},
		{layout->frame_api_indexed, V8_TYPE_EXIT},
		{layout->frame_api_construct, V8_TYPE_EXIT},
		{layout->frame_wasm_exit, V8_TYPE_EXIT},
		{layout->frame_stub, V8_TYPE_STUB},
		{layout->frame_stub_with_context, V8_TYPE_STUB},
		{layout->frame_construct, V8_TYPE_CONSTRUCT},
		{layout->frame_fast_construct, V8_TYPE_CONSTRUCT},
		{layout->frame_adaptor, V8_TYPE_ADAPTOR},
		{layout->frame_internal, V8_TYPE_INTERNAL},
		{layout->frame_wasm, V8_TYPE_WASM},
		{layout->frame_wasm_debug_break, V8_TYPE_WASM},
		{layout->frame_c_wasm_entry, V8_TYPE_C_WASM_ENTRY},
		{layout->frame_regexp, V8_TYPE_REGEXP},
		{layout->frame_wasm_to_js, V8_TYPE_TO_JS},
		{layout->frame_wasm_to_js_function, V8_TYPE_TO_JS},
		{layout->frame_stack_switch, V8_TYPE_SWITCH},
		{layout->frame_wasm_stack_entry, V8_TYPE_SWITCH},
	};

	for (size_t i = 0; i < EP_LEN(types); i++)
		set_type(state, types[i].number, types[i].type);
	if (!v8_has(layout->frame_regexp))
		state->flags |= V8_STATE_REGEXP_UNMARKED;
}

static void fill_frames(struct v8_state *state, const struct v8_layout *layout)
{
	state->function_slot = (__s8)(layout->fp_function / WORD);
	state->array_slot = (__s8)(layout->fp_bytecode_array / WORD);
	state->offset_slot = (__s8)(layout->fp_bytecode_off / WORD);
	state->regexp_rbx_slot = (__s8)(layout->regexp_rbx / WORD);
	/* V8 numbers registers as the machine does (codegen/x64/register-x64.h). */
	state->array_reg = (__u8)x86_dwarf_register(layout->reg_bytecode_array & 15);
	state->offset_reg = (__u8)x86_dwarf_register(layout->reg_bytecode_off & 15);
	state->js_function_shared = (__u16)layout->function_shared;
	state->bytecode_header = (__u16)layout->bytecode_first;
	state->bytecode_length = (__u16)layout->bytecode_len;
	state->gc_state = (__u8)layout->state_gc;
	fill_types(state, layout);
}

/* --- builtins --------------------------------------------------------------------------------- */

static uint32_t in_blob(const struct v8_executable *exe, uint64_t va)
{
	return (uint32_t)(va - v8_builtins_va(exe->builtins));
}

/* What has no frame of its own: DeoptimizationEntry_Eager and those that follow it. */
static void fill_deopt(struct v8_state *state, const struct v8_executable *exe)
{
	static const char prefix[] = "DeoptimizationEntry_";
	struct v8_entry_offsets offsets = {0};
	size_t i = 0, n = v8_builtins_count(exe->builtins);

	while (i < n &&
	       strncmp(v8_builtins_get(exe->builtins, i)->name, prefix, strlen(prefix)) != 0)
		i++;
	if (i == n)
		return;
	state->deopt_begin = in_blob(exe, v8_builtins_get(exe->builtins, i)->va);
	while (i < n &&
	       strncmp(v8_builtins_get(exe->builtins, i)->name, prefix, strlen(prefix)) == 0)
		i++;
	state->deopt_end = i < n ? in_blob(exe, v8_builtins_get(exe->builtins, i)->va) :
				   (uint32_t)v8_builtins_bytes(exe->builtins);
	v8_builtins_entry_offsets(exe->builtins, &offsets);
	if (offsets.deopt_input > 0 && offsets.deopt_content > 0 && offsets.deopt_content < 4096) {
		state->deopt_input = (__u16)offsets.deopt_input;
		state->deopt_content = (__u16)offsets.deopt_content;
	}
}

static void fill_enters(struct v8_state *state, const struct v8_executable *exe)
{
	static const char *const names[] = {
		"InterpreterEnterAtBytecode",		"InterpreterEnterAtNextBytecode",
		"BaselineOrInterpreterEnterAtBytecode", "BaselineOrInterpreterEnterAtNextBytecode",
		"InterpreterEnterBytecodeDispatch",	"InterpreterEnterBytecodeAdvance",
	};
	size_t n = 0;

	for (size_t i = 0; i < EP_LEN(names) && n < V8_MAX_ENTERS; i++) {
		const struct v8_builtin *builtin = v8_builtins_find(exe->builtins, names[i]);

		if (builtin)
			state->enter_offs[n++] = in_blob(exe, builtin->va);
	}
}

/* Those of bytecodes are one after the other, by address (7.8 to 14.6: by what nm says of
 * each). */
static void fill_handlers(struct v8_state *state, const struct v8_executable *exe)
{
	for (size_t i = 0; i < v8_builtins_count(exe->builtins); i++) {
		const struct v8_builtin *builtin = v8_builtins_get(exe->builtins, i);

		if (!(builtin->flags & V8_BUILTIN_HANDLER))
			continue;
		if (!state->handlers_end)
			state->handlers_begin = in_blob(exe, builtin->va);
		state->handlers_end = in_blob(exe, builtin->va) + builtin->bytes;
	}
}

static void fill_interpreter(struct v8_state *state, const struct v8_executable *exe)
{
	const struct v8_builtin *iet =
		v8_builtins_find(exe->builtins, "InterpreterEntryTrampoline");
	uint64_t dispatch = v8_builtins_dispatch_return(exe->builtins);

	if (!iet || !dispatch || !exe->iet_push)
		return;
	state->iet_begin = in_blob(exe, iet->va);
	state->iet_end = state->iet_begin + iet->bytes;
	state->iet_push = exe->iet_push;
	state->iet_return_off = in_blob(exe, dispatch);
	state->iet_behind = exe->iet_behind;
}

/*
 * The isolate's members, from r13 as JSEntry finds them. current_vm_state_ is two words after
 * js_entry_sp_ (execution/thread-local-top.h, isolate.h before 8.x; 6.2 to 14.6).
 */
static void fill_isolate(struct v8_state *state, const struct v8_executable *exe)
{
	struct v8_entry_offsets offsets = {0};

	v8_builtins_entry_offsets(exe->builtins, &offsets);
	if (offsets.isolate >= 0 || offsets.isolate < -4096)
		return;
	state->root_off = (__u16)-offsets.isolate;
	if (offsets.c_entry_fp > 0)
		state->c_entry_fp = (__u32)(offsets.c_entry_fp - offsets.isolate);
	if (offsets.js_entry_sp > 0)
		state->vm_state = (__u32)(offsets.js_entry_sp - offsets.isolate + 2 * WORD);
}

/* --- names of programs that end at once: what v8_keep.bpf.c knows, a byte for each member ----- */

#define MAX_SLOT   64 /* the last of the words that v8_keep.bpf.c looks at */
#define MAX_OFFSET 255

/* The largest of them, with `bytes` after it. */
static int32_t end_of(const int32_t *offs, size_t n, int32_t bytes)
{
	int32_t end = 0;

	for (size_t i = 0; i < n; i++) {
		if (v8_has(offs[i]))
			end = EP_MAX(end, offs[i] + bytes);
	}
	return (int32_t)EP_ALIGN_UP((uint32_t)end, WORD);
}

static bool are_bytes(const int32_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (values[i] < 0 || values[i] > MAX_OFFSET)
			return false;
	}
	return true;
}

/* What v8_keep.bpf.c takes for granted. */
static bool is_usual(const struct v8_layout *layout)
{
	return !layout->string_len_is_smi && layout->string_len >= 0 &&
	       layout->string_len <= MAX_SLOT && layout->script_id >= 0 &&
	       layout->script_id <= MAX_SLOT && layout->map_type >= 0 && layout->map_type <= 14 &&
	       layout->map_type_bytes == 2 && layout->scope_first + 16 <= MAX_SLOT &&
	       layout->scope_parameters == 1 && layout->scope_context_locals == 2 &&
	       !v8_has(layout->scope_stack_locals) && !layout->scope_has_parameter_names &&
	       layout->scope_receiver_shift == V8_KEEP_SCOPE_RECEIVER &&
	       layout->scope_saved_class_bit == V8_KEEP_SCOPE_SAVED_CLASS &&
	       layout->scope_function_variable_shift == V8_KEEP_SCOPE_FUNCTION &&
	       layout->scope_inferred_name_bit == V8_KEEP_SCOPE_INFERRED &&
	       !v8_has(layout->sfi_inferred_name) && !v8_has(layout->sfi_scope_info);
}

static void fill_keep(const struct v8_layout *layout, uint32_t cookie_at,
		      struct v8_keep_layout *ret)
{
	const int32_t sfi[] = {
		layout->sfi_name,	layout->sfi_script,
		layout->sfi_data,	layout->sfi_flags,
		layout->sfi_literal_id, (int32_t)cookie_at + (V8_COOKIE_WORDS - 1) * WORD};
	const int32_t script[] = {layout->script_name,	   layout->script_source_url,
				  layout->script_id,	   layout->script_type,
				  layout->script_line_off, layout->script_column_off};
	int32_t sfi_bytes = end_of(sfi, EP_LEN(sfi), WORD),
		script_bytes = end_of(script, EP_LEN(script), WORD);
	int32_t hash_at =
		v8_has(layout->scope_hash_names_at) ? layout->scope_hash_names_at : MAX_OFFSET;
	const int32_t bytes[] = {
		sfi_bytes,
		layout->sfi_name,
		layout->sfi_script,
		layout->sfi_data,
		script_bytes,
		layout->script_name,
		hash_at,
		layout->type_nonstring,
		layout->script_source_url,
		layout->scope_head,
		layout->scope_first,
		layout->scope_type_module,
		layout->string_chars,
		layout->string_first,
		layout->string_second,
	};

	*ret = (struct v8_keep_layout){0};
	if (!is_usual(layout) || !are_bytes(bytes, EP_LEN(bytes)))
		return;
	*ret = (struct v8_keep_layout){
		.type_scope_info = (__u16)layout->type_scope_info,
		.type_script = (__u16)layout->type_script,
		.type_nonstring = (__u8)layout->type_nonstring,
		.map_type = (__u8)layout->map_type,
		.sfi_bytes = (__u8)sfi_bytes,
		.sfi_name = (__u8)layout->sfi_name,
		.sfi_script = (__u8)layout->sfi_script,
		.script_bytes = (__u8)script_bytes,
		.script_name = (__u8)layout->script_name,
		.script_url = (__u8)layout->script_source_url,
		.script_id = (__u8)layout->script_id,
		.scope_first = (__u8)layout->scope_first,
		.scope_head = (__u8)layout->scope_head,
		.scope_hash_at = (__u8)hash_at,
		.scope_module = layout->scope_module_count_first ? (__u8)layout->scope_type_module
								 : MAX_OFFSET,
		.flags = (__u8)((layout->scope_flags_raw ? V8_KEEP_SCOPE_RAW : 0) |
				(layout->scope_has_receiver_slot ? V8_KEEP_SCOPE_HAS_RECEIVER : 0)),
		.string_len = (__u8)layout->string_len,
		.string_chars = (__u8)layout->string_chars,
		.string_first = (__u8)layout->string_first,
		.string_second = (__u8)layout->string_second,
	};
}

/* --- all of it -------------------------------------------------------------------------------- */

void v8_state_fill(const struct v8_executable *exe, struct v8_state *ret)
{
	*ret = (struct v8_state){0};
	fill_frames(ret, &exe->layout);
	fill_cookie(ret, &exe->layout);
	fill_keep(&exe->layout, ret->cookie_at, &ret->keep);
	if (!exe->builtins) {
		ret->flags |= V8_STATE_HEAP_BUILTINS;
		return;
	}
	ret->blob_va = v8_builtins_va(exe->builtins);
	ret->blob_bytes = (__u32)v8_builtins_bytes(exe->builtins);
	fill_handlers(ret, exe);
	fill_interpreter(ret, exe);
	fill_enters(ret, exe);
	fill_deopt(ret, exe);
	fill_isolate(ret, exe);
}
