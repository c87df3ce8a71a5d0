/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/scopes.h"

#include "core/base/util.h"

#include <errno.h>

#define MAX_LOCALS (1 << 15)
#define TYPE_MASK  15u

struct reader {
	struct v8_heap *heap;
	uint64_t object;
	uint32_t slot;
	int error; /* the first */
};

static uint64_t get_slot(struct reader *reader)
{
	int32_t off = reader->heap->layout->scope_first + 8 * (int32_t)reader->slot++;
	uint64_t word = 0;
	int r = reader->error ? 0 : v8_field(reader->heap, reader->object, off, &word);

	if (r < 0)
		reader->error = r;
	return word;
}

static int32_t get_smi(struct reader *reader)
{
	uint64_t word = get_slot(reader);

	if (!v8_is_smi(word) && !reader->error)
		reader->error = -EBADMSG;
	return v8_smi(word);
}

static uint32_t get_count(struct reader *reader)
{
	int32_t n = get_smi(reader);

	if (!reader->error && (n < 0 || n > MAX_LOCALS))
		reader->error = -EBADMSG;
	return reader->error ? 0 : (uint32_t)n;
}

static bool has_flag(uint32_t flags, int32_t bit)
{
	return v8_has(bit) && (flags >> (bit & 31) & 1);
}

static bool is_type(uint32_t flags, int32_t type)
{
	return v8_has(type) && (flags & TYPE_MASK) == (uint32_t)type;
}

/* The counts, and by them the slots up to after the locals. */
static void skip_locals(struct reader *reader, uint32_t flags)
{
	const struct v8_layout *layout = reader->heap->layout;
	uint32_t parameters = get_count(reader), stack = 0, context;

	if (v8_has(layout->scope_stack_locals))
		stack = get_count(reader);
	context = get_count(reader);
	reader->slot = (uint32_t)layout->scope_head;
	if (layout->scope_module_count_first && is_type(flags, layout->scope_type_module))
		reader->slot++;
	if (layout->scope_has_parameter_names)
		reader->slot += parameters + 1 + stack;
	if (v8_has(layout->scope_hash_names_at) &&
	    context >= (uint32_t)layout->scope_hash_names_at)
		reader->slot += 1 + context;
	else
		reader->slot += 2 * context;
}

static void get_positions(struct reader *reader, struct v8_scope *scope)
{
	int32_t start = get_smi(reader), end = get_smi(reader);

	if (reader->error)
		return;
	if (start > end) {
		reader->error = -EBADMSG;
		return;
	}
	scope->start = start;
	scope->end = end;
}

static uint64_t get_name(struct reader *reader)
{
	uint64_t word = get_slot(reader);

	return v8_is_object(word) ? word : 0;
}

static void read_variable_part(struct reader *reader, struct v8_scope *scope)
{
	const struct v8_layout *layout = reader->heap->layout;
	uint32_t flags = scope->flags;
	uint32_t receiver = flags >> layout->scope_receiver_shift & 3;

	if (has_flag(flags, layout->scope_saved_class_bit))
		reader->slot++;
	if (layout->scope_has_receiver_slot && (receiver == 1 || receiver == 2))
		reader->slot++;
	if (flags >> layout->scope_function_variable_shift & 3) {
		scope->name = get_name(reader);
		reader->slot++;
	}
	if (has_flag(flags, layout->scope_inferred_name_bit))
		scope->inferred = get_name(reader);
	if (layout->scope_types_with_position >> (flags & TYPE_MASK) & 1)
		get_positions(reader, scope);
	if (has_flag(flags, layout->scope_outer_bit))
		scope->outer = get_name(reader);
}

int v8_scope_read(struct v8_heap *heap, uint64_t *object, struct v8_scope *ret)
{
	const struct v8_layout *layout = heap->layout;
	struct v8_scope scope = {.start = -1, .end = -1};
	struct reader reader = {.heap = heap};
	int r = v8_object_check(heap, object, layout->type_scope_info);
	uint64_t flags;

	if (r < 0)
		return r;
	reader.object = *object;
	flags = get_slot(&reader);
	if (!layout->scope_flags_raw && !v8_is_smi(flags))
		return reader.error ? reader.error : -EBADMSG;
	scope.flags = layout->scope_flags_raw ? (uint32_t)flags : (uint32_t)(flags >> 32);
	scope.is_class = is_type(scope.flags, layout->scope_type_class);
	skip_locals(&reader, scope.flags);
	if (v8_has(layout->scope_start)) {
		uint32_t slot = reader.slot;

		reader.slot = (uint32_t)layout->scope_start;
		get_positions(&reader, &scope);
		reader.slot = slot;
	}
	read_variable_part(&reader, &scope);
	if (reader.error)
		return reader.error;
	*ret = scope;
	return 0;
}
