/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/code/builtins.h"

#include "plugins/shared/search.h"
#include "plugins/shared/x86/decode.h"
#include "plugins/v8/code/file.h"

#include "core/base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct v8_builtins {
	struct v8_metadata_table metadata; /* owns the names */
	struct v8_builtin *list;	   /* ascending by address */
	uint32_t *by_name;		   /* indexes in list */
	size_t n;
	uint64_t va, bytes;
	uint64_t dispatch_return;
	struct v8_entry_offsets offsets;
};

/* --- the list */

static int by_address(const void *a, const void *b)
{
	const struct v8_builtin *left = a, *right = b;

	return left->va < right->va ? -1 : left->va > right->va;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct v8_builtin *list = arg;

	return strcmp(list[*(const uint32_t *)a].name, list[*(const uint32_t *)b].name);
}

/* "LdaZeroHandler", "WideAddHandler": kinds BCH, and those of handlers only; see BUILTIN_LIST. */
static bool is_handler(const char *name, uint8_t kind, uint8_t handlers)
{
	size_t len = strlen(name);

	return kind == handlers && len > 7 && !strcmp(name + len - 7, "Handler");
}

static uint8_t kind_of_handlers(const struct v8_metadata_table *metadata)
{
	for (uint32_t i = 0; i < metadata->n; i++)
		if (!strcmp(metadata->names + metadata->rows[i].name, "LdaZeroHandler"))
			return metadata->rows[i].kind;
	return UINT8_MAX;
}

static int make_list(struct v8_builtins *builtins, const struct v8_blob *blob)
{
	const struct v8_metadata_table *metadata = &builtins->metadata;
	uint8_t handlers = kind_of_handlers(metadata);

	builtins->list = calloc(metadata->n, sizeof(*builtins->list));
	builtins->by_name = calloc(metadata->n, sizeof(*builtins->by_name));
	if (!builtins->list || !builtins->by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < metadata->n; i++) {
		const char *name = metadata->names + metadata->rows[i].name;

		if (!blob->places[i].bytes)
			continue;
		builtins->by_name[builtins->n] = (uint32_t)builtins->n;
		builtins->list[builtins->n++] = (struct v8_builtin){
			.name = name,
			.va = blob->va + blob->places[i].off,
			.bytes = blob->places[i].bytes,
			.id = (uint16_t)i,
			.kind = metadata->rows[i].kind,
			.flags = is_handler(name, metadata->rows[i].kind, handlers)
					 ? V8_BUILTIN_HANDLER
					 : 0,
		};
	}
	qsort(builtins->list, builtins->n, sizeof(*builtins->list), by_address);
	qsort_r(builtins->by_name, builtins->n, sizeof(*builtins->by_name), by_name,
		builtins->list);
	return 0;
}

/* --- what single builtins tell */

static const uint8_t *code_of(const struct v8_builtins *builtins, const struct v8_blob *blob,
			      const char *name, size_t *ret_bytes)
{
	const struct v8_builtin *builtin = v8_builtins_find(builtins, name);

	*ret_bytes = builtin ? builtin->bytes : 0;
	return builtin ? blob->code + (builtin->va - blob->va) : NULL;
}

/*
 * InterpreterEntryTrampoline dispatches by a register that it has loaded from the dispatch table
 * with an index: mov r, [r15 + bytecode * 8] | call r (Generate_InterpreterEntryTrampoline,
 * builtins-x64.cc; r15: kInterpreterDispatchTableRegister).
 */
static uint64_t find_dispatch(const uint8_t *code, size_t bytes)
{
	struct x86_insn insn;
	size_t at = 0, loaded = 0;
	uint16_t written = 0;

	while (at < bytes && !x86_decode(code + at, bytes - at, &insn)) {
		const uint8_t *op = code + at;
		bool from_table = insn.bytes == 4 && (op[0] & 0xf8) == 0x48 && (op[0] & 1) &&
				  op[1] == 0x8b && (op[2] & 0xc7) == 0x04 && (op[3] & 0xc7) == 0xc7;

		if (insn.kind == X86_CALL && !insn.has_target && loaded && insn.bytes <= 3) {
			uint8_t reg =
				(uint8_t)((op[insn.bytes - 1] & 7) | (insn.bytes == 3 ? 8 : 0));

			if (op[insn.bytes - 2] == 0xff && written == X86_BIT(reg))
				return at + insn.bytes;
		}
		if (from_table) {
			loaded = at;
			written = insn.written;
		}
		at += insn.bytes;
	}
	return 0;
}

/* push [r13 + disp32]: 41 ff b5; disp8: 41 ff 75. *ret: the displacement. */
static bool is_push_of_root(const uint8_t *op, unsigned int bytes, int32_t *ret)
{
	if (op[0] != 0x41 || op[1] != 0xff)
		return false;
	if (bytes == 7 && op[2] == 0xb5)
		memcpy(ret, op + 3, 4);
	else if (bytes == 4 && op[2] == 0x75)
		*ret = (int8_t)op[3];
	else
		return false;
	return true;
}

/* mov rax, [r13 + X] right before test rax, rax (Generate_JSEntryVariant: js_entry_sp). */
static bool is_load_of_root(const uint8_t *op, size_t left, unsigned int bytes, int32_t *ret)
{
	static const uint8_t test[] = { 0x48, 0x85, 0xc0 };

	if (left < bytes + sizeof(test) || op[0] != 0x49 || op[1] != 0x8b ||
	    memcmp(op + bytes, test, sizeof(test)))
		return false;
	if (bytes == 7 && op[2] == 0x85)
		memcpy(ret, op + 3, 4);
	else if (bytes == 4 && op[2] == 0x45)
		*ret = (int8_t)op[3];
	else
		return false;
	return true;
}

static void find_entry_offsets(const uint8_t *code, size_t bytes, struct v8_entry_offsets *ret)
{
	int32_t *pushes[] = { &ret->c_entry_fp, &ret->fast_c_call_fp, &ret->fast_c_call_pc };
	struct x86_insn insn;
	size_t at = 0, n_pushes = 0;

	while (at < bytes && !ret->js_entry_sp && !x86_decode(code + at, bytes - at, &insn)) {
		if (n_pushes < EP_LEN(pushes) &&
		    is_push_of_root(code + at, insn.bytes, pushes[n_pushes]))
			n_pushes++;
		else if (n_pushes &&
			 is_load_of_root(code + at, bytes - at, insn.bytes, &ret->js_entry_sp))
			break;
		at += insn.bytes;
	}
}

/* CEntry gives the C function its isolate as third argument: lea rdx, [r13 - 0x80] (isolate-data.h:
 * the root register is biased). */
static void find_isolate(const uint8_t *code, size_t bytes, struct v8_entry_offsets *ret)
{
	static const uint8_t lea[] = { 0x49, 0x8d, 0x55 };
	struct x86_insn insn;
	size_t at = 0;

	while (at < bytes && !x86_decode(code + at, bytes - at, &insn)) {
		if (insn.bytes == 4 && !memcmp(code + at, lea, sizeof(lea))) {
			ret->isolate = (int8_t)code[at + 3];
			return;
		}
		at += insn.bytes;
	}
}

/*
 * DeoptimizationEntry takes a frame off the stack: mov rbx, [rax + input_] | ... mov rcx, [rbx]
 * (frame_size_) | add rcx, rsp | lea rdx, [rbx + frame_content_] (Generate_DeoptimizationEntry,
 * builtins-x64.cc, 9.4 to 14.6).
 */
static void find_deopt_offsets(const uint8_t *code, size_t bytes, struct v8_entry_offsets *ret)
{
	static const uint8_t input[] = { 0x48, 0x8b, 0x58 };
	static const uint8_t content[] = { 0x48, 0x8b, 0x0b, 0x48, 0x01, 0xe1, 0x48, 0x8d, 0x93 };
	struct x86_insn insn;
	int32_t input_off = 0;

	for (size_t at = 0; at < bytes && !x86_decode(code + at, bytes - at, &insn);
	     at += insn.bytes) {
		if (insn.bytes == 4 && !memcmp(code + at, input, sizeof(input)))
			input_off = (int8_t)code[at + 3];
		if (bytes - at < sizeof(content) + 4 || memcmp(code + at, content, sizeof(content)))
			continue;
		ret->deopt_input = input_off;
		memcpy(&ret->deopt_content, code + at + sizeof(content), 4);
		return;
	}
}

/* CEntry's name has its options in it:
 * "CEntry_Return1_DontSaveFPRegs_ArgvOnStack_NoBuiltinExit". */
static const struct v8_builtin *find_prefix(const struct v8_builtins *builtins, const char *prefix)
{
	for (size_t i = 0; i < builtins->n; i++)
		if (!strncmp(builtins->list[i].name, prefix, strlen(prefix)))
			return &builtins->list[i];
	return NULL;
}

static void read_single_ones(struct v8_builtins *builtins, const struct v8_blob *blob)
{
	const struct v8_builtin *c_entry = find_prefix(builtins, "CEntry_Return1_");
	size_t bytes;
	const uint8_t *code = code_of(builtins, blob, "InterpreterEntryTrampoline", &bytes);
	uint64_t at = code ? find_dispatch(code, bytes) : 0;

	if (at)
		builtins->dispatch_return = blob->va + (uint64_t)(code - blob->code) + at;
	code = code_of(builtins, blob, "JSEntry", &bytes);
	if (code)
		find_entry_offsets(code, bytes, &builtins->offsets);
	code = code_of(builtins, blob, "DeoptimizationEntry_Eager", &bytes);
	if (code)
		find_deopt_offsets(code, bytes, &builtins->offsets);
	if (c_entry)
		find_isolate(blob->code + (c_entry->va - blob->va), c_entry->bytes,
			     &builtins->offsets);
}

/* --- the whole */

static void freep(struct v8_builtins **builtins)
{
	v8_builtins_free(*builtins);
}

int v8_builtins_read(const struct ep_unwinder_host *host, const struct ep_file *file,
		     struct v8_builtins **ret_builtins)
{
	uint32_t reads = 0;
	const struct v8_reader reader = { .host = host, .file = file, .reads = &reads };
	ep_cleanup(freep) struct v8_builtins *builtins = calloc(1, sizeof(*builtins));
	ep_cleanup(v8_blob_free) struct v8_blob blob = { 0 };
	int r;

	if (!builtins)
		return -ENOMEM;
	r = v8_metadata_read(&reader, &builtins->metadata);
	if (!r)
		r = v8_blob_read(&reader, builtins->metadata.n, &blob);
	if (!r)
		r = make_list(builtins, &blob);
	if (r)
		return r;
	builtins->va = blob.va;
	builtins->bytes = blob.bytes;
	read_single_ones(builtins, &blob);
	*ret_builtins = ep_take(builtins);
	return 0;
}

void v8_builtins_free(struct v8_builtins *builtins)
{
	if (!builtins)
		return;
	v8_metadata_free(&builtins->metadata);
	free(builtins->list);
	free(builtins->by_name);
	free(builtins);
}

uint64_t v8_builtins_va(const struct v8_builtins *builtins)
{
	return builtins->va;
}

uint64_t v8_builtins_bytes(const struct v8_builtins *builtins)
{
	return builtins->bytes;
}

size_t v8_builtins_count(const struct v8_builtins *builtins)
{
	return builtins->n;
}

const struct v8_builtin *v8_builtins_get(const struct v8_builtins *builtins, size_t index)
{
	return &builtins->list[index];
}

const struct v8_builtin *v8_builtins_find(const struct v8_builtins *builtins, const char *name)
{
	const struct v8_builtin *list = builtins->list;
	const uint32_t *by_name = builtins->by_name;
	size_t at = search_sorted(builtins->n, i, strcmp(list[by_name[i]].name, name) < 0);

	return at < builtins->n && !strcmp(list[by_name[at]].name, name) ? &list[by_name[at]]
									 : NULL;
}

const struct v8_builtin *v8_builtins_at(const struct v8_builtins *builtins, uint64_t va)
{
	size_t n = search_sorted(builtins->n, i, builtins->list[i].va <= va);

	return n && va - builtins->va < builtins->bytes ? &builtins->list[n - 1] : NULL;
}

uint64_t v8_builtins_dispatch_return(const struct v8_builtins *builtins)
{
	return builtins->dispatch_return;
}

void v8_builtins_entry_offsets(const struct v8_builtins *builtins, struct v8_entry_offsets *ret)
{
	*ret = builtins->offsets;
}
