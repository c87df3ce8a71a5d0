/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin over a file and a process that hold anything where the input says so:
 *
 *	input	version: major, minor; records: where (4 bytes: what, offset), value (8 bytes)
 *
 * BPF relies on what it is given: slots below rbp, ranges that are disjoint.
 */
#include "plugins/v8/tests/attach/made_v8.h"
#include "tests/kit/fuzz.h"

#define MAX_RECORDS 64
#define RECORD	    12

static void change_one(struct made_v8 *v8, uint32_t where, uint64_t value)
{
	uint32_t off = where >> 3 & 0xffff;

	switch (where & 7) {
	case 0:
	case 1:
		made_put(v8->heap, off % (MADE_HEAP_BYTES - 8), value);
		break;
	case 2:
		made_put(v8->code, off % (MADE_CODE_BYTES - 8), value);
		break;
	case 3:
		made_put(v8->rodata, off % (MADE_BYTES - 8), value);
		break;
	case 4:
		v8->symbols[off % v8->host.n_symbols].symbol.va = value;
		break;
	case 5:
		v8->sections[0].symbol.bytes = value;
		break;
	default:
		made_put(v8->data, off % (MADE_BYTES - 8), value);
	}
}

static void change(struct made_v8 *v8, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < MAX_RECORDS && size >= RECORD; i++, data += RECORD, size -= RECORD) {
		uint32_t where;
		uint64_t value;

		memcpy(&where, data, sizeof(where));
		memcpy(&value, data + 4, sizeof(value));
		change_one(v8, where, value);
	}
}

static void check_state(const struct v8_state *state)
{
	if (state->function_slot >= 0 || state->array_slot >= 0 || state->offset_slot >= 0 ||
	    state->regexp_rbx_slot >= 0 || state->array_reg > 15 || state->offset_reg > 15 ||
	    state->cookie_at > 4096 || state->js_function_shared > 4096)
		abort();
	for (size_t i = 0; i < V8_MAX_TYPES; i++) {
		if (state->types[i] >= V8_N_TYPES)
			abort();
	}
}

static void check_ranges(const struct made_v8 *v8)
{
	for (size_t i = 0; i < v8->host.n_ranges; i++) {
		if (v8->host.ranges[i].start >= v8->host.ranges[i].end ||
		    (i && i + 1 < v8->host.n_ranges &&
		     v8->host.ranges[i].start < v8->host.ranges[i - 1].end))
			abort();
	}
}

/* What most files publish, so that it can be wrong. */
static void publish(struct made_v8 *v8)
{
	made_publish(v8, "v8dbg_class_Map__instance_type__uint16_t", 12);
	made_publish(v8, "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", 16);
	made_publish(v8, "v8dbg_class_SharedFunctionInfo__script__Object", 32);
	made_publish(v8, "v8dbg_class_JSFunction__shared__SharedFunctionInfo", 24);
	made_publish(v8, "v8dbg_off_fp_function", -16);
	made_publish(v8, "v8dbg_off_fp_bytecode_array", -32);
	made_publish(v8, "v8dbg_frametype_EntryFrame", 1);
	made_publish(v8, "v8dbg_InterpreterBytecodeArrayRegister", 12);
	made_publish(v8, "_ZN2v88internal7Isolate12isolate_key_E", 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made_v8 v8;
	void *executable = NULL, *instance = NULL;

	if (size < 2)
		return 0;
	made_init(&v8, data[0] % 20, data[1] % 10);
	publish(&v8);
	/* An odd size: the file is hostile as well. */
	if (size & 1)
		change(&v8, data + 2, size - 2);
	if (v8_probe(fake_host_services(&v8.host), &v8.host.file, &executable) != 0)
		return 0;
	change(&v8, data + 2, size - 2);
	if (v8_attach(executable, &v8.host.target, &instance) == 0) {
		check_state(&v8.state);
		check_ranges(&v8);
		(void)v8_refresh(instance);
		v8_detach(instance);
	}
	v8_unload(executable);
	return 0;
}
