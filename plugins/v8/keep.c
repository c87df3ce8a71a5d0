/* SPDX-License-Identifier: Apache-2.0 */
/* The layout as v8_keep.bpf.c knows it: a byte for each member that it wants. */
#include "core/base/util.h"
#include "plugins/v8/v8.h"

#define WORD	   8
#define MAX_SLOT   64 /* the last of the words that v8_keep.bpf.c looks at */
#define MAX_OFFSET 255

/* The largest of them, with `bytes` behind it. */
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

void v8_keep_fill(const struct v8_layout *layout, uint32_t cookie_at, struct v8_keep_layout *ret)
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
