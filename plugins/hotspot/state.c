/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What BPF has to know of a VM: where its tables say that members are, and a few slots and pieces
 * of code that it does not publish.
 */
#include "core/base/util.h"
#include "plugins/hotspot/hotspot.h"

#include <errno.h>
#include <string.h>

#define WORD 8

/* --- fields of a block ------------------------------------------------------------------------ */

static struct hotspot_field absent_field(void)
{
	return (struct hotspot_field){.shift = 64};
}

static struct hotspot_field field_of(const struct hotspot_layout *layout, enum hotspot_field_id id)
{
	const struct hotspot_member *member = &layout->fields[id];

	if (!member->has || !member->bytes)
		return absent_field();
	return (struct hotspot_field){
		.off = member->off,
		.shift = (uint8_t)(64 - 8 * member->bytes),
		.is_signed = member->is_signed,
	};
}

static struct hotspot_field either(const struct hotspot_layout *layout, enum hotspot_field_id first,
				   enum hotspot_field_id second)
{
	return field_of(layout, hotspot_has(layout, first) ? first : second);
}

/*
 * Where code begins and ends: 9 to 22 say addresses; 8, and 23 on, offsets from the CodeBlob
 * (share/code/codeBlob.hpp, 8, 11 to 27: code_begin() is header_begin() + _code_offset, code_end()
 * header_begin() + _data_offset; header_begin() is `this`).
 */
static void fill_code(struct hotspot_state *state, const struct hotspot_layout *layout)
{
	state->relative = !hotspot_has(layout, HOTSPOT_F_blob_code_begin);
	state->code_begin = either(layout, HOTSPOT_F_blob_code_begin, HOTSPOT_F_blob_code_offset);
	state->code_end = state->relative ? field_of(layout, HOTSPOT_F_blob_data_offset)
					  : field_of(layout, HOTSPOT_F_blob_code_end);
	state->name = field_of(layout, HOTSPOT_F_blob_name);
	state->frame_complete = field_of(layout, HOTSPOT_F_blob_frame_complete);
	state->frame_size = field_of(layout, HOTSPOT_F_blob_frame_size);
}

/*
 * The handlers of deoptimization: addresses in 9 to 22, else offsets from the CodeBlob
 * (share/code/nmethod.hpp: 8, 25: header_begin() + _deopt_handler_offset; 26, 27: header_begin() +
 * _deopt_handler_entry_offset).
 */
static void fill_deopt(struct hotspot_state *state, const struct hotspot_layout *layout)
{
	state->deopt_relative = !hotspot_has(layout, HOTSPOT_F_deopt);
	state->deopt = either(layout, HOTSPOT_F_deopt, HOTSPOT_F_deopt_offset);
	state->deopt_mh = either(layout, HOTSPOT_F_deopt_mh, HOTSPOT_F_deopt_mh_offset);
	state->orig_pc = field_of(layout, HOTSPOT_F_nmethod_orig_pc);
}

static void fill_method(struct hotspot_state *state, const struct hotspot_layout *layout)
{
	state->method = field_of(layout, HOTSPOT_F_nmethod_method);
	state->compile_id = field_of(layout, HOTSPOT_F_nmethod_compile_id);
	state->verified_relative = !hotspot_has(layout, HOTSPOT_F_nmethod_verified_entry);
	state->verified_entry = either(layout, HOTSPOT_F_nmethod_verified_entry,
				       HOTSPOT_F_nmethod_verified_offset);
}

static void set_kind(struct hotspot_state *state, const struct hotspot_layout *layout,
		     enum hotspot_constant_id id, enum hotspot_blob blob)
{
	int64_t kind = layout->constants[id];

	if (layout->has_constant[id] && kind >= 0 && kind < HOTSPOT_MAX_KINDS)
		state->blobs[kind] = (uint8_t)blob;
}

/* Kinds are of 23 and newer; without them a blob's name tells. */
static void fill_kinds(struct hotspot_state *state, const struct hotspot_layout *layout)
{
	state->kind = field_of(layout, HOTSPOT_F_blob_kind);
	state->has_pusha = layout->statics[HOTSPOT_S_heap] && !layout->statics[HOTSPOT_S_heaps];
	state->has_kind = state->kind.shift != 64 &&
			  layout->has_constant[HOTSPOT_C_kind_nmethod];
	set_kind(state, layout, HOTSPOT_C_kind_nmethod, HOTSPOT_BLOB_METHOD);
	set_kind(state, layout, HOTSPOT_C_kind_adapter, HOTSPOT_BLOB_ADAPTER);
	set_kind(state, layout, HOTSPOT_C_kind_vtable, HOTSPOT_BLOB_VTABLE);
	set_kind(state, layout, HOTSPOT_C_kind_mh_adapter, HOTSPOT_BLOB_MH_ADAPTER);
}

static const char *check_block(const struct hotspot_layout *layout)
{
	const struct hotspot_member *length = &layout->fields[HOTSPOT_F_block_length];
	const struct hotspot_member *used = &layout->fields[HOTSPOT_F_block_used];
	uint32_t header = layout->sizes[HOTSPOT_Z_block_bytes];

	if (!length->has || length->off != 0 || !length->bytes)
		return "HeapBlock::Header::_length";
	if (!used->has || used->bytes != 1)
		return "HeapBlock::Header::_used";
	if (header < length->bytes || header <= used->off || header > 64)
		return "sizeof(HeapBlock)";
	return NULL;
}

static const char *fill_block(struct hotspot_state *state, const struct hotspot_layout *layout)
{
	const char *why = check_block(layout);

	if (why)
		return why;
	state->block_bytes = 0;
	state->block_header_bytes = (uint8_t)layout->sizes[HOTSPOT_Z_block_bytes];
	state->block_length_shift =
		(uint8_t)(64 - 8 * layout->fields[HOTSPOT_F_block_length].bytes);
	state->block_used_off = (uint8_t)layout->fields[HOTSPOT_F_block_used].off;
	return NULL;
}

/* What BPF reads of a block ends with the last of them. */
static const char *check_fields(struct hotspot_state *state)
{
	const struct {
		const struct hotspot_field *field;
		const char *name;
		bool is_optional;
	} fields[] = {
		{&state->name, "CodeBlob::_name", false},
		{&state->kind, "CodeBlob::_kind", true},
		{&state->code_begin, "where a CodeBlob's code begins", false},
		{&state->code_end, "where a CodeBlob's code ends", false},
		{&state->frame_complete, "CodeBlob::_frame_complete_offset", false},
		{&state->frame_size, "CodeBlob::_frame_size", false},
		{&state->method, "nmethod::_method", false},
		{&state->compile_id, "nmethod::_compile_id", false},
		{&state->verified_entry, "nmethod::_verified_entry_point", true},
		{&state->deopt, "nmethod::_deopt_handler_begin", true},
		{&state->deopt_mh, "nmethod::_deopt_mh_handler_begin", true},
		{&state->orig_pc, "nmethod::_orig_pc_offset", true},
	};

	for (size_t i = 0; i < EP_LEN(fields); i++) {
		const struct hotspot_field *field = fields[i].field;
		uint32_t end;

		if (field->shift == 64 && fields[i].is_optional)
			continue;
		if (field->shift == 64 ||
		    !ep_in_bounds(state->block_header_bytes + field->off, WORD, HOTSPOT_BLOB_BYTES))
			return fields[i].name;
		end = state->block_header_bytes + field->off + (64u - field->shift) / 8;
		state->block_bytes = (uint16_t)EP_MAX(state->block_bytes, end);
	}
	return NULL;
}

/* --- threads and interpreter ------------------------------------------------------------------ */

static uint16_t offset_of(const struct hotspot_layout *layout, enum hotspot_field_id id)
{
	return (uint16_t)hotspot_off(layout, id);
}

static const char *fill_thread(struct hotspot_state *state, const struct hotspot_layout *layout)
{
	static const struct {
		enum hotspot_field_id id;
		const char *name;
	} required[] = {
		{HOTSPOT_F_thread_anchor, "JavaThread::_anchor"},
		{HOTSPOT_F_anchor_sp, "JavaFrameAnchor::_last_Java_sp"},
		{HOTSPOT_F_anchor_pc, "JavaFrameAnchor::_last_Java_pc"},
		{HOTSPOT_F_anchor_fp, "JavaFrameAnchor::_last_Java_fp"},
		{HOTSPOT_F_wrapper_anchor, "JavaCallWrapper::_anchor"},
	};

	for (size_t i = 0; i < EP_LEN(required); i++) {
		if (!hotspot_has(layout, required[i].id))
			return required[i].name;
	}
	state->thread_anchor = offset_of(layout, HOTSPOT_F_thread_anchor);
	state->anchor_sp = offset_of(layout, HOTSPOT_F_anchor_sp);
	state->anchor_pc = offset_of(layout, HOTSPOT_F_anchor_pc);
	state->anchor_fp = offset_of(layout, HOTSPOT_F_anchor_fp);
	state->thread_vframes = offset_of(layout, HOTSPOT_F_thread_vframes);
	state->thread_continuation = offset_of(layout, HOTSPOT_F_thread_continuation);
	state->wrapper_anchor = offset_of(layout, HOTSPOT_F_wrapper_anchor);
	return NULL;
}

/* ConstMethod's code follows it (constMethod.hpp: code_base() is `this + 1`, 8 to 27). */
static const char *fill_interpreted(struct hotspot_state *state,
				    const struct hotspot_layout *layout)
{
	uint32_t first = hotspot_off(layout, HOTSPOT_F_const_code_size);

	if (!hotspot_has(layout, HOTSPOT_F_method_const))
		return "Method::_constMethod";
	/* BPF reads the four at once. */
	if (!hotspot_has(layout, HOTSPOT_F_const_code_size) ||
	    hotspot_off(layout, HOTSPOT_F_const_name) != first + 2 ||
	    hotspot_off(layout, HOTSPOT_F_const_signature) != first + 4 ||
	    hotspot_off(layout, HOTSPOT_F_const_number) != first + 6)
		return "ConstMethod::_code_size and what follows";
	if (layout->sizes[HOTSPOT_Z_const_bytes] < first + 8)
		return "sizeof(ConstMethod)";
	if (!hotspot_has(layout, HOTSPOT_F_names_const_pool) ||
	    !hotspot_has(layout, HOTSPOT_F_names_pool_holder) ||
	    !hotspot_has(layout, HOTSPOT_F_names_class_name))
		return "the way from a ConstMethod to its class";
	if (!hotspot_has(layout, HOTSPOT_F_names_pool_len) ||
	    layout->sizes[HOTSPOT_Z_names_pool_bytes] > UINT16_MAX ||
	    layout->sizes[HOTSPOT_Z_names_pool_bytes] <
		    hotspot_off(layout, HOTSPOT_F_names_pool_len) + sizeof(uint64_t))
		return "sizeof(ConstantPool) and ConstantPool::_length";
	state->const_pool = offset_of(layout, HOTSPOT_F_names_const_pool);
	state->pool_holder = offset_of(layout, HOTSPOT_F_names_pool_holder);
	state->pool_len = offset_of(layout, HOTSPOT_F_names_pool_len);
	state->pool_bytes = (uint16_t)layout->sizes[HOTSPOT_Z_names_pool_bytes];
	state->class_name = offset_of(layout, HOTSPOT_F_names_class_name);
	state->symbol_shift = hotspot_symbol_shift(layout);
	state->method_const = offset_of(layout, HOTSPOT_F_method_const);
	state->const_code_size = (uint16_t)first;
	state->const_bytes = (uint16_t)layout->sizes[HOTSPOT_Z_const_bytes];
	return NULL;
}

/* What is not where BPF can keep it is 0, and so is not kept. */
static void fill_names(struct hotspot_state *state, const struct hotspot_layout *layout)
{
	size_t bytes = hotspot_class_bytes(layout);

	state->const_words = offset_of(layout, HOTSPOT_F_names_const_words);
	state->pool_file = offset_of(layout, HOTSPOT_F_names_pool_file);
	state->class_file = state->pool_file ? 0 : offset_of(layout, HOTSPOT_F_names_class_file);
	state->class_bytes = bytes <= UINT16_MAX ? (uint16_t)bytes : 0;
	state->symbol_length = (uint8_t)offset_of(layout, HOTSPOT_F_names_symbol_bytes);
	state->symbol_body = (uint8_t)offset_of(layout, HOTSPOT_F_names_symbol_body);
}

static int8_t slot_of(const struct hotspot_layout *layout, enum hotspot_constant_id id,
		      int8_t otherwise)
{
	int64_t slot = layout->constants[id];

	return layout->has_constant[id] && slot >= -64 && slot < 0 ? (int8_t)slot : otherwise;
}

/*
 * An interpreter's frame, in words from fp (src/hotspot/cpu/x86/frame_x86.hpp, 9 to 27;
 * src/cpu/x86/vm/frame_x86.hpp, 8):
 *
 *		8	9 to 27
 *	-1	sender sp	published from 9 on
 *	-2	last sp		published from 9 on
 *	-3	method
 *	-4	mdx		mirror
 *	-5	cache		mdp
 *	-6	locals		cache
 *	-7	bcx		locals
 *	-8	-		bcp
 *
 * The interpreter keeps its bcp in r13, and loads and saves it all over its code
 * (InterpreterMacroAssembler:: restore_bcp, save_bcp; src/hotspot/cpu/x86/interp_masm_x86.hpp):
 *
 *	mov disp8(%rbp),%r13	4c 8b 6d disp8
 *	mov %r13,disp8(%rbp)	4c 89 6d disp8
 *
 * so the code says which slot it is. Until it is made, the constants that came with the mirror do.
 */
#define MAX_INTERPRETER	(1u << 20) /* 85 to 256 KiB in 8 to 28 */
#define PIECE		16384
#define ENOUGH_USES	16
#define PLENTY_OF_USES	256 /* the first tenth of the code has them */

static void count_bcp_uses(const uint8_t *code, size_t bytes, uint32_t uses[256])
{
	for (size_t i = 0; i + 4 <= bytes; i++) {
		if (code[i] == 0x4c && (code[i + 1] == 0x8b || code[i + 1] == 0x89) &&
		    code[i + 2] == 0x6d)
			uses[code[i + 3]]++;
	}
}

static uint32_t sum(const uint32_t uses[256])
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < 256; i++)
		total += uses[i];
	return total;
}

/* The slot that nine of ten uses have; 0: not known. */
static int8_t most_used(const uint32_t uses[256])
{
	uint32_t best = 0, total = sum(uses);

	for (uint32_t i = 0; i < 256; i++) {
		if (uses[i] > uses[best])
			best = i;
	}
	if (total < ENOUGH_USES || uses[best] * 10 < total * 9 || best % WORD)
		return 0;
	return (int8_t)((int8_t)best / WORD);
}

static int8_t find_bcp_slot(const struct memory *memory, const struct hotspot_layout *layout)
{
	uint8_t queue[256], code[PIECE];
	uint32_t uses[256] = {0};
	uint64_t addr = 0, buffer, limit;

	if (!hotspot_has(layout, HOTSPOT_F_queue_buffer) ||
	    memory_read(memory, layout->statics[HOTSPOT_S_interpreter], &addr, sizeof(addr)) < 0 ||
	    memory_read(memory, addr, queue, layout->sizes[HOTSPOT_Z_queue_bytes]) < 0)
		return 0;
	buffer = hotspot_get(layout, HOTSPOT_F_queue_buffer, queue, sizeof(queue));
	limit = hotspot_get(layout, HOTSPOT_F_queue_limit, queue, sizeof(queue));
	for (uint64_t off = 0;
	     off < limit && limit <= MAX_INTERPRETER && sum(uses) < PLENTY_OF_USES; off += PIECE) {
		size_t n = EP_MIN(limit - off, (uint64_t)PIECE);

		if (memory_read(memory, buffer + off, code, n) < 0)
			break;
		count_bcp_uses(code, n, uses);
	}
	return most_used(uses);
}

static const char *fill_slots(struct hotspot_state *state, const struct memory *memory,
			      const struct hotspot_layout *layout)
{
	bool has_mirror = layout->has_constant[HOTSPOT_C_last_sp_slot];
	int8_t bcp;

	if (layout->sizes[HOTSPOT_Z_queue_bytes] > 256)
		return "sizeof(StubQueue)";
	bcp = find_bcp_slot(memory, layout);
	state->sender_sp_slot = slot_of(layout, HOTSPOT_C_sender_sp_slot, -1);
	state->last_sp_slot = slot_of(layout, HOTSPOT_C_last_sp_slot, -2);
	state->method_slot = state->last_sp_slot - 1;
	state->bcp_slot = bcp ? bcp : state->method_slot - (has_mirror ? 5 : 4);
	return state->bcp_slot < state->method_slot ? NULL : "the bcp of the interpreter's frame";
}

/* --- code ------------------------------------------------------------------------------------- */

/* A pointer in a variable; 0: no such variable, or not set yet. */
static int read_pointer(const struct memory *memory, uint64_t addr, __u64 *ret)
{
	*ret = 0;
	return addr ? memory_read(memory, addr, ret, sizeof(*ret)) : 0;
}

static uint64_t at_va(uint64_t bias, uint64_t va)
{
	return va ? bias + va : 0;
}

/*
 * JavaThread::_cont_entry is not published in 21 to 24, but the return barrier begins with
 *
 *	mov _cont_entry(%r15),%rsp	49 8b a7 disp32, or 49 8b 67 disp8
 *
 * (src/hotspot/cpu/x86/stubGenerator_x86_64.cpp, generate_cont_thaw, 21: "if (return_barrier)
 * movptr(rsp, Address(r15_thread, JavaThread::cont_entry_offset()))").
 */
static void find_cont_entry(struct hotspot_state *state, const struct memory *memory)
{
	uint8_t code[32];
	uint32_t off;

	if (state->thread_continuation || !state->return_barrier ||
	    memory_read(memory, state->return_barrier, code, sizeof(code)) < 0)
		return;
	for (size_t i = 0; i + 7 <= sizeof(code); i++) {
		if (code[i] != 0x49 || code[i + 1] != 0x8b || code[i + 2] != 0xa7)
			continue;
		memcpy(&off, code + i + 3, sizeof(off));
		if (off <= UINT16_MAX && off % WORD == 0)
			state->thread_continuation = (uint16_t)off;
		return;
	}
}

static int fill_addresses(const struct hotspot_executable *exe, const struct memory *memory,
			  uint64_t bias, const struct hotspot_layout *layout,
			  struct hotspot_state *state)
{
	uint64_t published = layout->statics[HOTSPOT_S_continuation_return];
	int r = read_pointer(memory, layout->statics[HOTSPOT_S_call_stub_return],
			     &state->call_stub_return);

	if (r == 0)
		r = read_pointer(memory, at_va(bias, exe->return_barrier_va),
				 &state->return_barrier);
	if (r == 0)
		r = read_pointer(memory, at_va(bias, exe->return_barrier_exception_va),
				 &state->return_barrier_exception);
	if (r < 0)
		return r;
	state->continuation_return_at =
		published ? published : at_va(bias, exe->continuation_return_va);
	state->safepoints_at = at_va(bias, exe->safepoints.va);
	state->safepoints_shift = exe->safepoints.bytes == 4 ? 32 : 0;
	find_cont_entry(state, memory);
	return 0;
}

int hotspot_state_fill(const struct hotspot_executable *exe, const struct memory *memory,
		       uint64_t bias, const struct hotspot_layout *layout,
		       struct hotspot_state *state, const char **ret_why)
{
	const char *why = fill_block(state, layout);

	fill_code(state, layout);
	fill_method(state, layout);
	fill_deopt(state, layout);
	fill_kinds(state, layout);
	fill_names(state, layout);
	if (!why)
		why = check_fields(state);
	if (!why)
		why = fill_thread(state, layout);
	if (!why)
		why = fill_interpreted(state, layout);
	/* Not published by a VM whose frames are not the template interpreter's. */
	if (!why && !layout->has_constant[HOTSPOT_C_wrapper_slot])
		why = "frame::entry_frame_call_wrapper_offset";
	if (!why)
		why = fill_slots(state, memory, layout);
	if (why) {
		*ret_why = why;
		return -ENOTSUP;
	}
	state->wrapper_slot = slot_of(layout, HOTSPOT_C_wrapper_slot, -6);
	return fill_addresses(exe, memory, bias, layout, state);
}
