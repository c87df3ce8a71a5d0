/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A VM whose file and memory are made here: one buffer, which is the file from virtual address 0
 * and the process from BIAS on. Its structures are laid out as no release has them.
 *
 *	0x1000	.rodata: strings
 *	0x4000	the variables that the file exports
 *	0x5000	gHotSpotVMStructs, 0x8000 -Types, 0x9000 -IntConstants, 0x9800 -LongConstants
 *	0xa000	static members; 0xa800 flags; 0xb000 heaps, the interpreter's queue
 *	0x10000	the heap of code, up to 0x18000; its segment map from 0x18000 on
 */
#ifndef TEST_HOTSPOT_MADE_UP_VM_H
#define TEST_HOTSPOT_MADE_UP_VM_H

#include "plugins/hotspot/hotspot.h"
#include "tests/kit/host.h"

#include <errno.h>
#include <string.h>

#define BIAS	   0x7f0000000000ull
#define VM_BYTES   0x1a000u
#define RODATA	   0x1000u
#define ELSEWHERE  0x3800u /* strings that are not in .rodata */
#define VARIABLES  0x4000u
#define STATICS	   0xa000u
#define FLAGS	   0xa800u
#define HEAP	   0xb000u
#define HEAP_LIST  0xb800u
#define QUEUE	   0xba00u
#define CODE	   0x10000u
#define CODE_END   0x18000u
#define SEGMAP	   0x18000u
#define BUFFER	   (CODE + 0x80) /* of the interpreter */
#define ROW_BYTES  48u

struct made_up_vm {
	uint8_t bytes[VM_BYTES];
	struct fake_host host;
	struct fake_symbol variables[22];
	struct hotspot_state state;
	uint32_t strings_end, elsewhere_end, structs_end, types_end, ints_end, longs_end;
};

static const char *const vm_variables[] = {
	"gHotSpotVMStructs",		       "gHotSpotVMStructEntryTypeNameOffset",
	"gHotSpotVMStructEntryFieldNameOffset", "gHotSpotVMStructEntryTypeStringOffset",
	"gHotSpotVMStructEntryIsStaticOffset", "gHotSpotVMStructEntryOffsetOffset",
	"gHotSpotVMStructEntryAddressOffset",  "gHotSpotVMStructEntryArrayStride",
	"gHotSpotVMTypes",		       "gHotSpotVMTypeEntryTypeNameOffset",
	"gHotSpotVMTypeEntryIsIntegerTypeOffset", "gHotSpotVMTypeEntryIsUnsignedOffset",
	"gHotSpotVMTypeEntrySizeOffset",       "gHotSpotVMTypeEntryArrayStride",
	"gHotSpotVMIntConstants",	       "gHotSpotVMIntConstantEntryNameOffset",
	"gHotSpotVMIntConstantEntryValueOffset", "gHotSpotVMIntConstantEntryArrayStride",
	"gHotSpotVMLongConstants",	       "gHotSpotVMLongConstantEntryNameOffset",
	"gHotSpotVMLongConstantEntryValueOffset", "gHotSpotVMLongConstantEntryArrayStride",
};

static inline void vm_put(struct made_up_vm *vm, uint32_t va, uint64_t value)
{
	if (va <= VM_BYTES - sizeof(value))
		memcpy(vm->bytes + va, &value, sizeof(value));
}

static inline void vm_put_int(struct made_up_vm *vm, uint32_t va, int32_t value)
{
	if (va <= VM_BYTES - sizeof(value))
		memcpy(vm->bytes + va, &value, sizeof(value));
}

/* --- its tables ------------------------------------------------------------------------------- */

static inline uint64_t vm_string(struct made_up_vm *vm, const char *text)
{
	uint32_t va = vm->strings_end;

	if (!text)
		return 0;
	memcpy(vm->bytes + va, text, strlen(text) + 1);
	vm->strings_end += (uint32_t)strlen(text) + 1;
	return BIAS + va;
}

static inline void vm_add_row(struct made_up_vm *vm, uint64_t type, uint64_t field, uint64_t string,
			      bool is_static, uint64_t value)
{
	uint32_t at = vm->structs_end;

	vm_put(vm, at, type);
	vm_put(vm, at + 8, field);
	vm_put(vm, at + 16, string);
	vm_put_int(vm, at + 24, is_static);
	vm_put(vm, at + 32, is_static ? 0 : value);
	vm_put(vm, at + 40, is_static ? BIAS + value : 0);
	vm->structs_end += ROW_BYTES;
}

static inline void vm_add_type(struct made_up_vm *vm, const char *name, uint64_t size,
			       bool is_integer, bool is_unsigned)
{
	uint32_t at = vm->types_end;

	vm_put(vm, at, vm_string(vm, name));
	vm_put_int(vm, at + 20, is_integer);
	vm_put_int(vm, at + 24, is_unsigned);
	vm_put(vm, at + 32, size);
	vm->types_end += 40;
}

/* A field whose type is a row of the types, or a string of its own. */
static inline void vm_add_field(struct made_up_vm *vm, const char *type, const char *field,
				const char *string, bool is_static, uint64_t value)
{
	uint64_t name = 0;

	for (uint32_t at = 0x8000; string && at < vm->types_end; at += 40) {
		uint64_t addr;

		memcpy(&addr, vm->bytes + at, sizeof(addr));
		if (strcmp((const char *)vm->bytes + (addr - BIAS), string) == 0)
			name = addr;
	}
	vm_add_row(vm, vm_string(vm, type), vm_string(vm, field),
		   name ? name : vm_string(vm, string), is_static, value);
}

static inline void vm_add_constant(struct made_up_vm *vm, const char *name, int32_t value)
{
	vm_put(vm, vm->ints_end, vm_string(vm, name));
	vm_put_int(vm, vm->ints_end + 8, value);
	vm->ints_end += 16;
}

static inline void vm_put_variables(struct made_up_vm *vm)
{
	const uint64_t values[EP_LEN(vm_variables)] = {
		BIAS + 0x5000, 0, 8, 16, 24, 32, 40, ROW_BYTES, BIAS + 0x8000, 0, 20, 24, 32, 40,
		BIAS + 0x9000, 0, 8, 16, BIAS + 0x9800, 0, 8, 16,
	};

	_Static_assert(EP_LEN(vm_variables) == EP_LEN(vm->variables), "each has a symbol");
	for (uint32_t i = 0; i < EP_LEN(values); i++) {
		vm->variables[i] = (struct fake_symbol){vm_variables[i],
							{.va = VARIABLES + 8 * i, .bytes = 8}};
		vm_put(vm, VARIABLES + 8 * i, values[i]);
	}
}

static inline void vm_put_types(struct made_up_vm *vm)
{
	vm_add_type(vm, "int", 4, true, false);
	vm_add_type(vm, "u2", 2, true, true);
	vm_add_type(vm, "int16_t", 2, true, false);
	vm_add_type(vm, "uint32_t", 4, true, true);
	vm_add_type(vm, "bool", 1, false, false);
	vm_add_type(vm, "address", 8, false, false);
	vm_add_type(vm, "CodeBlobKind", 1, false, false);
	vm_add_type(vm, "VirtualSpace", 112, false, false);
	vm_add_type(vm, "CodeHeap", 256, false, false);
	vm_add_type(vm, "ConstantPool", 72, false, false);
	vm_add_type(vm, "HeapBlock", 8, false, false);
	vm_add_type(vm, "ConstMethod", 48, false, false);
	vm_add_type(vm, "StubQueue", 48, false, false);
	vm_add_type(vm, "JVMFlag", 24, false, false);
}

static inline void vm_put_fields(struct made_up_vm *vm)
{
	static const struct {
		const char *type, *field, *string;
		bool is_static;
		uint32_t value;
	} rows[] = {
		{"CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", true, STATICS},
		{"CodeHeap", "_memory", "VirtualSpace", false, 16},
		{"CodeHeap", "_segmap", "VirtualSpace", false, 128},
		{"CodeHeap", "_log2_segment_size", "int", false, 4},
		{"VirtualSpace", "_low_boundary", "char*", false, 0},
		{"VirtualSpace", "_high_boundary", "char*", false, 8},
		{"VirtualSpace", "_low", "char*", false, 16},
		{"VirtualSpace", "_high", "char*", false, 24},
		{"GrowableArrayBase", "_len", "int", false, 4},
		{"GrowableArray<int>", "_data", "int*", false, 8},
		{"HeapBlock::Header", "_length", "uint32_t", false, 0},
		{"HeapBlock::Header", "_used", "bool", false, 4},
		{"CodeBlob", "_name", "const char*", false, 8},
		{"CodeBlob", "_kind", "CodeBlobKind", false, 52},
		{"CodeBlob", "_size", "int", false, 16},
		{"CodeBlob", "_header_size", "u2", false, 48},
		{"CodeBlob", "_code_offset", "int", false, 24},
		{"CodeBlob", "_data_offset", "int", false, 28},
		{"CodeBlob", "_frame_complete_offset", "int16_t", false, 50},
		{"CodeBlob", "_frame_size", "int", false, 32},
		{"nmethod", "_method", "Method*", false, 64},
		{"nmethod", "_compile_id", "int", false, 72},
		{"nmethod", "_verified_entry_offset", "u2", false, 76},
		{"nmethod", "_deopt_handler_entry_offset", "int", false, 80},
		{"nmethod", "_orig_pc_offset", "int", false, 84},
		{"Method", "_constMethod", "ConstMethod*", false, 8},
		{"ConstMethod", "_constants", "ConstantPool*", false, 8},
		{"ConstantPool", "_pool_holder", "InstanceKlass*", false, 24},
		{"ConstantPool", "_length", "int", false, 52},
		{"Klass", "_name", "Symbol*", false, 24},
		{"Symbol", "_length", "u2", false, 4},
		{"ConstMethod", "_code_size", "u2", false, 34},
		{"ConstMethod", "_name_index", "u2", false, 36},
		{"ConstMethod", "_signature_index", "u2", false, 38},
		{"ConstMethod", "_method_idnum", "u2", false, 40},
		{"JavaThread", "_anchor", "JavaFrameAnchor", false, 1000},
		{"JavaFrameAnchor", "_last_Java_sp", "intptr_t*", false, 0},
		{"JavaFrameAnchor", "_last_Java_pc", "address", false, 8},
		{"JavaFrameAnchor", "_last_Java_fp", "intptr_t*", false, 16},
		{"JavaCallWrapper", "_anchor", "JavaFrameAnchor", false, 32},
		{"AbstractInterpreter", "_code", "StubQueue*", true, STATICS + 8},
		{"StubQueue", "_stub_buffer", "address", false, 8},
		{"StubQueue", "_buffer_limit", "int", false, 20},
		{"StubRoutines", "_call_stub_return_address", "address", true, STATICS + 16},
		{"Abstract_VM_Version", "_s_internal_vm_info_string", "const char*", true,
		 STATICS + 24},
		{"JVMFlag", "flags", "JVMFlag*", true, STATICS + 32},
		{"JVMFlag", "numFlags", "size_t", true, STATICS + 40},
		{"JVMFlag", "_name", "const char*", false, 8},
		{"JVMFlag", "_addr", NULL, false, 0},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++)
		vm_add_field(vm, rows[i].type, rows[i].field, rows[i].string, rows[i].is_static,
			     rows[i].value);
}

static inline void vm_put_heap(struct made_up_vm *vm)
{
	vm_put(vm, STATICS, BIAS + HEAP_LIST);
	vm_put_int(vm, HEAP_LIST + 4, 1);
	vm_put(vm, HEAP_LIST + 8, BIAS + HEAP_LIST + 16);
	vm_put(vm, HEAP_LIST + 16, BIAS + HEAP);
	vm_put_int(vm, HEAP + 4, 6);
	vm_put(vm, HEAP + 16, BIAS + CODE);
	vm_put(vm, HEAP + 24, BIAS + CODE_END);
	vm_put(vm, HEAP + 128 + 8, BIAS + SEGMAP + 0x200);
	vm_put(vm, HEAP + 128 + 16, BIAS + SEGMAP);
	/* The first block: the interpreter's. */
	vm_put_int(vm, CODE, 0x100);
	vm->bytes[CODE + 4] = 1;
	vm_put(vm, CODE + 8 + 8, vm_string(vm, "Interpreter"));
	vm_put_int(vm, CODE + 8 + 16, 0x3000);
	vm_put_int(vm, CODE + 8 + 24, 0x78);
	vm_put_int(vm, CODE + 8 + 28, 0x3000);
	vm_put_int(vm, CODE + 8 + 48, 0x40);
}

static inline void vm_put_interpreter(struct made_up_vm *vm)
{
	static const uint8_t restore_bcp[] = {0x4c, 0x8b, 0x6d, 0xc0};

	vm_put(vm, STATICS + 8, BIAS + QUEUE);
	vm_put(vm, QUEUE + 8, BIAS + BUFFER);
	vm_put_int(vm, QUEUE + 20, 0x2000);
	vm_put(vm, STATICS + 16, BIAS + CODE + 0x4000);
	vm_put(vm, STATICS + 24, vm_string(vm, "OpenJDK 64-Bit Server VM (0)"));
	for (uint32_t i = 0; i < 32; i++)
		memcpy(vm->bytes + BUFFER + 64 * i, restore_bcp, sizeof(restore_bcp));
}

/* DebugNonSafepoints is the second; 0: off. */
static inline void vm_put_flags(struct made_up_vm *vm)
{
	vm_put(vm, STATICS + 32, BIAS + FLAGS);
	vm_put(vm, STATICS + 40, 3);
	vm_put(vm, FLAGS + 8, vm_string(vm, "UseOther"));
	vm_put(vm, FLAGS + 24, BIAS + FLAGS + 0x100);
	vm_put(vm, FLAGS + 24 + 8, vm_string(vm, "DebugNonSafepoints"));
}

static inline void vm_init(struct made_up_vm *vm)
{
	static const struct fake_symbol sections[] = {{".rodata", {RODATA, ELSEWHERE - RODATA}}};

	memset(vm, 0, sizeof(*vm));
	fake_host_init(&vm->host, &vm->state, sizeof(vm->state));
	fake_memory_add(&vm->host.contents, 0, vm->bytes, VM_BYTES);
	fake_memory_add(&vm->host.memory, BIAS, vm->bytes, VM_BYTES);
	vm->host.file.path = "/libjvm.so";
	vm->host.target.bias = BIAS;
	vm->host.symbols = vm->variables;
	vm->host.n_symbols = EP_LEN(vm->variables);
	vm->host.sections = sections;
	vm->host.n_sections = EP_LEN(sections);
	vm->host.no_variable = vm->host.no_key = -ENOTSUP;
	vm->strings_end = RODATA + 16;
	vm->elsewhere_end = ELSEWHERE;
	vm->structs_end = 0x5000;
	vm->types_end = 0x8000;
	vm->ints_end = 0x9000;
	vm->longs_end = 0x9800;
	vm_put_variables(vm);
	vm_put_types(vm);
	vm_put_fields(vm);
	vm_add_constant(vm, "frame::entry_frame_call_wrapper_offset", -6);
	vm_add_constant(vm, "frame::interpreter_frame_sender_sp_offset", -1);
	vm_add_constant(vm, "frame::interpreter_frame_last_sp_offset", -2);
	vm_add_constant(vm, "CodeBlobKind::Nmethod", 1);
	vm_add_constant(vm, "CodeBlobKind::Vtable", 4);
	/* As a long, which some are. */
	vm_put(vm, 0x9800, vm_string(vm, "CodeBlobKind::Adapter"));
	vm_put(vm, 0x9808, 3);
	vm_put_heap(vm);
	vm_put_interpreter(vm);
	vm_put_flags(vm);
}

#endif
