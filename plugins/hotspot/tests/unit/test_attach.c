/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A VM's tables, heaps and state, of a VM that is made up here: before they are, and as nobody
 * would make them. What they are in real ones the fixtures show.
 */
#include "core/base/clock.h"
#include "plugins/hotspot/code/heaps.h"
#include "plugins/hotspot/tests/unit/made_up_vm.h"
#include "plugins/shared/attach/attach.h"
#include "tests/kit/test.h"

static struct made_up_vm *new_vm(void)
{
	struct made_up_vm *vm = calloc(1, sizeof(*vm));

	assert_non_null(vm);
	ep_test_owns(vm, free);
	vm_init(vm);
	return vm;
}

/* One whole life: probe, attach; the outcome of attach. */
static int attach_to(struct made_up_vm *vm)
{
	void *executable = NULL, *instance = NULL;
	int r;

	assert_int_equal(hotspot_probe(fake_host_services(&vm->host), &vm->host.file, &executable),
			 0);
	r = hotspot_attach(executable, &vm->host.target, &instance);
	if (r == 0) {
		assert_int_equal(hotspot_refresh(instance), 0);
		hotspot_detach(instance);
	}
	hotspot_unload(executable);
	return r;
}

static int read_layout(struct made_up_vm *vm, struct hotspot_layout *layout)
{
	const struct memory memory = {.read = fake_memory_read, .arg = &vm->host.memory};
	struct hotspot_tables *tables;
	int r;

	assert_int_equal(
		hotspot_tables_find(fake_host_services(&vm->host), &vm->host.file, &tables), 0);
	vm->host.memory.n_reads = 0;
	r = hotspot_tables_read(tables, &memory, BIAS, layout);
	hotspot_tables_free(tables);
	return r;
}

/* --- tables ----------------------------------------------------------------------------------- */

#define VM_TEST(name) EP_TEST_OF(name, struct made_up_vm *vm, new_vm())

VM_TEST(values_are_extended_as_their_types_say)
{
	struct hotspot_layout layout;
	uint8_t blob[64];

	assert_int_equal(read_layout(vm, &layout), 0);
	memset(blob, 0xff, sizeof(blob));
	assert_int_equal((int64_t)hotspot_get(&layout, HOTSPOT_F_blob_frame_complete, blob, 64),
			 -1);
	assert_int_equal(hotspot_get(&layout, HOTSPOT_F_blob_header_size, blob, 64), 0xffff);
	assert_int_equal(hotspot_get(&layout, HOTSPOT_F_blob_header_size, blob, 49), 0);
	assert_int_equal(hotspot_get(&layout, HOTSPOT_F_blob_code_begin, blob, 64), 0);
}

/* A linker lets a name be the end of another string: then the pointer leads into that. */
VM_TEST(names_may_be_the_ends_of_others)
{
	struct hotspot_layout layout;

	vm_add_row(vm, vm_string(vm, "xyCompiledMethod") + 2,
		   vm_string(vm, "my_deopt_handler_begin") + 2, vm_string(vm, "address"), false,
		   128);
	assert_int_equal(read_layout(vm, &layout), 0);
	assert_true(hotspot_has(&layout, HOTSPOT_F_deopt));
	assert_int_equal(hotspot_off(&layout, HOTSPOT_F_deopt), 128);
}

/* The whole string's address is not the name's. */
VM_TEST(names_are_not_their_ends)
{
	struct hotspot_layout layout;

	vm_add_row(vm, vm_string(vm, "xyCompiledMethod"), vm_string(vm, "_deopt_handler_begin"),
		   vm_string(vm, "address"), false, 128);
	assert_int_equal(read_layout(vm, &layout), 0);
	assert_false(hotspot_has(&layout, HOTSPOT_F_deopt));
}

VM_TEST(names_outside_of_rodata_are_read)
{
	struct hotspot_layout layout;
	uint32_t inside = vm->strings_end;

	vm->strings_end = ELSEWHERE;
	vm_add_field(vm, "CompiledMethod", "_deopt_handler_begin", "volatile int", false, 128);
	vm->strings_end = inside;
	assert_int_equal(read_layout(vm, &layout), 0);
	assert_true(hotspot_has(&layout, HOTSPOT_F_deopt));
	assert_int_equal(layout.fields[HOTSPOT_F_deopt].bytes, 4);
	assert_int_equal(layout.fields[HOTSPOT_F_deopt].is_signed, 1);
}

VM_TEST(the_first_place_of_a_member_wins)
{
	struct hotspot_layout layout;

	vm_add_field(vm, "CompiledMethod", "_method", "Method*", false, 200);
	assert_int_equal(read_layout(vm, &layout), 0);
	assert_int_equal(hotspot_off(&layout, HOTSPOT_F_nmethod_method), 64);
}

VM_TEST(few_reads_suffice)
{
	struct hotspot_layout layout;

	assert_int_equal(read_layout(vm, &layout), 0);
	/* 22 variables, the four tables, type strings of pointers. */
	assert_true(vm->host.memory.n_reads < 22 + 8 + 32);
}

/* --- before it is there ----------------------------------------------------------------------- */

EP_TEST(nothing_is_refused_before_it_is_made)
{
	static const struct {
		const char *label;
		uint32_t va; /* of a word that is not set yet */
		uint64_t value;
	} words[] = {
		{"a stride that is in .bss, which is not mapped yet", VARIABLES + 8 * 7, 1u << 20},
		{"an offset beyond the row", VARIABLES + 8 * 2, ROW_BYTES - 7},
		{"an offset that wraps", VARIABLES + 8 * 2, UINT64_MAX - 3},
		{"no structs", VARIABLES, 0},
		{"no stride", VARIABLES + 8 * 7, 0},
		{"the first row is not relocated", 0x5000, 0},
		{"nor a later one", 0x5000 + 5 * ROW_BYTES, 0},
		{"no types", 0x8000, 0},
		{"no ints", 0x9000, 0},
		{"no longs", 0x9800, 0},
		{"no heaps", STATICS, 0},
		{"no heap in the list", HEAP_LIST, 0},
		{"a heap that is not reserved", HEAP + 16, 0},
		{"no interpreter", STATICS + 8, 0},
		{"no buffer", QUEUE + 8, 0},
		{"an empty heap", CODE, 0},
	};

	for (size_t i = 0; i < EP_LEN(words); i++) {
		struct made_up_vm *vm = new_vm();
		int r;

		vm_put(vm, words[i].va, words[i].value);
		r = attach_to(vm);
		if (r != EP_NOT_YET || vm->host.n_warnings)
			fail_msg("%s: %d, %u warnings", words[i].label, r, vm->host.n_warnings);
	}
}

/* --- attach ----------------------------------------------------------------------------------- */

/* What was reported of a process after it was attached, after its interpreter has grown, and once
 * more. */
static void refresh_in_growth(struct made_up_vm *vm, uint32_t n_told[3])
{
	void *executable = NULL, *instance = NULL;

	vm_add_field(vm, "StubQueue", "_queue_end", "int", false, 28);
	assert_int_equal(hotspot_probe(fake_host_services(&vm->host), &vm->host.file, &executable),
			 0);
	assert_int_equal(hotspot_attach(executable, &vm->host.target, &instance), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hotspot_refresh(instance), 0);
		n_told[i] = vm->host.n_states;
		vm_put_int(vm, QUEUE + 28, 0x2000);
	}
	hotspot_detach(instance);
	hotspot_unload(executable);
}

/* Before the first pause is over nothing else is looked at again. */
EP_TEST(an_interpreter_that_has_grown_is_read_again_once)
{
	uint32_t n_told[3] = {0};
	uint64_t start_ns;
	int tries = 0;

	do {
		start_ns = ep_clock_mono_ns();
		refresh_in_growth(new_vm(), n_told);
	} while (ep_clock_mono_ns() - start_ns >= ATTACH_FIRST_PAUSE_NS && ++tries < 20);
	assert_int_equal(n_told[0], 1);
	assert_int_equal(n_told[1], 2);
	assert_int_equal(n_told[2], 2);
}

VM_TEST(the_zero_vm_is_refused_in_one_line)
{
	vm_put(vm, STATICS + 24, vm_string(vm, "OpenJDK 64-Bit Zero VM (17+35)"));
	assert_int_equal(attach_to(vm), -ENOTSUP);
	assert_int_equal(vm->host.n_warnings, 1);
	assert_non_null(strstr(vm->host.logged, "Zero"));
}

static void count_advice(void *arg, const char *found, const char *fix)
{
	*(unsigned int *)arg += strstr(fix, "-XX:+DebugNonSafepoints") != NULL;
}

/* How often a user is advised to set the flag. */
static unsigned int advise(struct made_up_vm *vm)
{
	void *executable = NULL, *instance = NULL;
	unsigned int n = 0;

	assert_int_equal(hotspot_probe(fake_host_services(&vm->host), &vm->host.file, &executable),
			 0);
	assert_int_equal(hotspot_attach(executable, &vm->host.target, &instance), 0);
	assert_int_equal(hotspot_advise(instance, count_advice, &n), 0);
	hotspot_detach(instance);
	hotspot_unload(executable);
	return n;
}

VM_TEST(the_flag_for_exact_lines_is_read)
{
	assert_int_equal(advise(vm), 1);
	vm->bytes[FLAGS + 0x100] = 1;
	assert_int_equal(advise(vm), 0);
	/* More flags than there can be. */
	vm->bytes[FLAGS + 0x100] = 0;
	vm_put(vm, STATICS + 40, 1u << 30);
	assert_int_equal(advise(vm), 0);
}

/* One warning, and it is final. */
EP_TEST(layouts_that_do_not_hold_are_refused)
{
	static const struct {
		const char *label;
		uint32_t va;
		uint64_t value;
	} words[] = {
		{"more heaps than there can be", HEAP_LIST, 0x7fffffff00000000},
		{"fewer than none", HEAP_LIST, 0xffffffff00000000},
		{"a heap that ends before it begins", HEAP + 24, BIAS},
		{"a heap of a terabyte", HEAP + 24, BIAS + (1ull << 40)},
		{"a heap in the kernel", HEAP + 16, 0xffff800000000000},
		{"segments of no size", HEAP, 0},
		{"segments of any size", HEAP, 63ull << 32},
		{"a segment map that is too short", HEAP + 128 + 8, BIAS + SEGMAP + 8},
		{"an interpreter that is in no heap", QUEUE + 8, BIAS + 0x1000},
		{"a block one segment longer than the heap", CODE, 0x100000201},
		{"a block neither used nor not", CODE, 0x700000100},
		{"code before its header", CODE + 8 + 24, 0x8},
		{"a header of no size", CODE + 8 + 48, 0},
		{"code beyond its block", CODE + 8 + 28, 0x7fffffff},
	};

	for (size_t i = 0; i < EP_LEN(words); i++) {
		struct made_up_vm *vm = new_vm();
		int r;

		vm_put(vm, words[i].va, words[i].value);
		r = attach_to(vm);
		if (r != -ENOTSUP || vm->host.n_warnings != 1 || vm->host.n_states)
			fail_msg("%s: %d, %u warnings", words[i].label, r, vm->host.n_warnings);
	}
}

/* Each row that attach needs, in turn, names something else. */
EP_TEST(rows_may_be_missing)
{
	uint32_t n = 0;

	for (uint32_t at = 0x5000; n == 0 || at < 0x5000 + n * ROW_BYTES; at += ROW_BYTES) {
		struct made_up_vm *vm = new_vm();
		int r;

		n = (vm->structs_end - 0x5000) / ROW_BYTES;
		vm_put(vm, at + 8, vm_string(vm, "_other"));
		r = attach_to(vm);
		/* As a rule one warning; the interpreter's own rows may just not be relocated; some
		 * members are not in all releases. */
		assert_true((r == -ENOTSUP && vm->host.n_warnings == 1) || r == EP_NOT_YET ||
			    r == 0);
		assert_int_equal(r == 0, vm->host.n_states > 0);
	}
	assert_true(n > 40);
}

VM_TEST(tables_without_an_end_are_refused)
{
	struct hotspot_layout layout;

	/* Rows of 8 bytes, each with a name, up to the end of memory. */
	memset(vm->bytes + 0x9800, 0x41, VM_BYTES - 0x9800);
	vm_put(vm, VARIABLES + 8 * 21, 16);
	assert_int_equal(read_layout(vm, &layout), -EFAULT);
}

/* --- ranges ----------------------------------------------------------------------------------- */

EP_TEST(pieces_are_cut_out_of_heaps)
{
	static const struct hotspot_heap heaps[] = {
		{.start = 0x1000, .end = 0x2000, .segmap = 0x9000, .log2_segment = 6},
		{.start = 0x3000, .end = 0x4000, .segmap = 0xa000, .log2_segment = 7},
	};
	static const struct ep_range pieces[] = {
		{.start = 0x800, .end = 0x900, .data = 1},
		{.start = 0x1000, .end = 0x1100, .data = 2},
		{.start = 0x1100, .end = 0x1200, .data = 3},
		{.start = 0x1800, .end = 0x2000, .data = 4},
		{.start = 0x3800, .end = 0x3900, .data = 5},
		{.start = 0x5000, .end = 0x5100, .data = 6},
	};
	static const uint64_t expected[][2] = {
		{0x800, 0x900},	  {0x1000, 0x1100}, {0x1100, 0x1200}, {0x1200, 0x1800},
		{0x1800, 0x2000}, {0x3000, 0x3800}, {0x3800, 0x3900}, {0x3900, 0x4000},
		{0x5000, 0x5100},
	};
	struct ep_range ranges[64];
	size_t n = hotspot_heaps_ranges(heaps, 2, pieces, EP_LEN(pieces), ranges, EP_LEN(ranges));

	assert_int_equal(n, EP_LEN(expected));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(ranges[i].start, expected[i][0]);
		assert_int_equal(ranges[i].end, expected[i][1]);
	}
	assert_int_equal(ranges[3].data, 6ull << HOTSPOT_SEGMENT_SHIFT | (0x9000 - (0x1000 >> 6)));
	assert_int_equal(ranges[4].data, 4);
}

EP_TEST(more_pieces_than_room_leave_the_heaps)
{
	static const struct hotspot_heap heap = {.start = 0, .end = 1 << 20, .segmap = 0x9000};
	struct ep_range pieces[64], ranges[40];
	size_t n;

	for (size_t i = 0; i < EP_LEN(pieces); i++)
		pieces[i] = (struct ep_range){.start = 0x100 * i + 0x10, .end = 0x100 * i + 0x20};
	n = hotspot_heaps_ranges(&heap, 1, pieces, EP_LEN(pieces), ranges, EP_LEN(ranges));
	assert_true(n <= EP_LEN(ranges));
	assert_int_equal(ranges[n - 1].end, 1 << 20);
}
