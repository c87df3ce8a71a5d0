/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin over a VM whose file and memory hold anything where the input says so:
 *
 *	input	records: va (4 bytes), value (8 bytes); some change the file, and all the process
 *
 * BPF relies on what it is given: bounds of slots and offsets, ranges that are disjoint.
 */
#include "plugins/hotspot/tests/unit/made_up_vm.h"
#include "tests/kit/fuzz.h"

#define MAX_RECORDS 64

static void check_state(const struct hotspot_state *state)
{
	const struct hotspot_field *fields[] = {
		&state->name,		&state->kind,	    &state->code_begin, &state->code_end,
		&state->frame_complete, &state->frame_size, &state->method,	&state->compile_id,
		&state->verified_entry, &state->deopt,	    &state->deopt_mh,	&state->orig_pc,
	};

	for (size_t i = 0; i < EP_LEN(fields); i++) {
		if (fields[i]->shift > 64 ||
		    (fields[i]->shift < 64 &&
		     state->block_header_bytes + fields[i]->off + 8 > HOTSPOT_BLOB_BYTES))
			abort();
	}
	if (state->block_bytes <= state->block_header_bytes ||
	    state->block_bytes > HOTSPOT_BLOB_BYTES)
		abort();
	if (state->block_length_shift >= 64 || state->bcp_slot >= 0 || state->method_slot >= 0 ||
	    state->wrapper_slot >= 0 || state->block_used_off >= state->block_header_bytes)
		abort();
}

static void check_ranges(const struct made_up_vm *vm)
{
	for (size_t i = 0; i < vm->host.n_ranges; i++) {
		if (vm->host.ranges[i].start >= vm->host.ranges[i].end ||
		    (i && vm->host.ranges[i].start < vm->host.ranges[i - 1].end))
			abort();
	}
}

static void change(struct made_up_vm *vm, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < MAX_RECORDS && size >= 12; i++, data += 12, size -= 12) {
		uint32_t va;
		uint64_t value;

		memcpy(&va, data, sizeof(va));
		memcpy(&value, data + 4, sizeof(value));
		vm_put(vm, va % VM_BYTES, value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made_up_vm vm;
	void *executable = NULL, *instance = NULL;

	vm_init(&vm);
	/* An odd size: the file is hostile as well. */
	if (size & 1)
		change(&vm, data, size);
	if (hotspot_probe(fake_host_services(&vm.host), &vm.host.file, &executable) != 0)
		return 0;
	change(&vm, data, size);
	if (hotspot_attach(executable, &vm.host.target, &instance) == 0) {
		check_state(&vm.state);
		check_ranges(&vm);
		(void)hotspot_refresh(instance);
		hotspot_detach(instance);
	}
	hotspot_unload(executable);
	return 0;
}
